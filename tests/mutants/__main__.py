"""``python -m tests.mutants``: are small wrong changes of the package noticed by the default tests of their rooms?

``--draw --seed S --count N`` draws mutants from the source as it is and writes ``mutants.tsv`` and its page. Without
it the mutants of that table, or those of the numbers that are given, are made one at a time in a copy of the tree, in
which the tests of the room run until their first failure. What noticed each is printed, and written into the table with
``--write``. ``--lines FOLDER``, which ``tests.thinning.recorder`` wrote, orders the tests and adds those of other
floors that run the line. The exit status is 1 where one is noticed by none.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import sys
from typing import NamedTuple

from tests.mutants import rooms
from tests.mutants.copies import ROOT, changed, copied, first_failure
from tests.mutants.drawing import draw
from tests.mutants.kinds import Mutant
from tests.mutants.page import page

MOST = 30
"""The number of files of tests of other floors that are run where those of the room notice nothing."""
PAGE = ROOT / "docs" / "mutants.md"
TABLE = pathlib.Path(__file__).with_name("mutants.tsv")


class Row(NamedTuple):
    """A mutant of the table.

    Attributes:
      number: from 1, in the order of the draw.
      file: of the package.
      line: where it was when the mutant was drawn.
      place: which of the occurrences of ``text`` in the file it is, from 0.
      noticed: the first default test of the room that failed, "" where none did.
      led_to: of what none had noticed when it was drawn, what it led to.
    """

    number: str
    kind: str
    file: str
    line: str
    place: str
    text: str
    instead: str
    noticed: str = ""
    led_to: str = ""

    def applied(self, source: bytes) -> tuple[bytes, int]:
        """The file with the change, and its line. Raises ValueError where the text is gone."""
        start = -1
        for _ in range(int(self.place) + 1):
            start = source.find(self.text.encode(), start + 1)
            if start < 0:
                raise ValueError(f"mutant {self.number}: {self.file} has no {self.text!r} number {self.place}")
        end = start + len(self.text.encode())
        return source[:start] + self.instead.encode() + source[end:], source.count(b"\n", 0, start) + 1


def row_of(number: int, mutant: Mutant) -> Row:
    """A mutant as whole lines, which are found again after changes elsewhere in the file."""
    source = (ROOT / mutant.file).read_bytes()
    start = source.rfind(b"\n", 0, mutant.start) + 1
    start += len(source[start:]) - len(source[start:].lstrip())
    end = source.index(b"\n", mutant.end)
    text = source[start:end].decode()
    instead = (source[start : mutant.start] + mutant.instead.encode() + source[mutant.end : end]).decode()
    place = source.count(text.encode(), 0, start)
    return Row(str(number), mutant.kind, mutant.file, str(mutant.line), str(place), text, instead)


def read() -> list[Row]:
    with TABLE.open(newline="") as file:
        return [Row(*row) for row in list(csv.reader(file, delimiter="\t"))[1:]]


def write(rows: list[Row]) -> None:
    """Writes the table and its page."""
    with TABLE.open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([Row._fields, *rows])
    PAGE.write_text(page(rows))


def noticed(copy: pathlib.Path, row: Row, lines: pathlib.Path | None) -> str:
    """The first default test that fails with a mutant, "" where none does: of the room, then of those that run it."""
    file = copy / row.file
    data, line = row.applied(file.read_bytes())
    with changed(file, data):
        found = first_failure(copy, rooms.tests(row.file, line, lines))
        others = rooms.elsewhere(row.file, line, lines)[:MOST] if lines and not found else []
        return first_failure(copy, others) if others else found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Small wrong changes, one at a time.")
    parser.add_argument("--draw", action="store_true", help="draw mutants and write the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--lines", type=pathlib.Path, help="a folder that tests.thinning.recorder wrote")
    parser.add_argument("--write", action="store_true", help="write what noticed them into the table")
    parser.add_argument("number", nargs="*", help="of mutants; all by default")
    arguments = parser.parse_args()
    if arguments.draw:
        write([row_of(i, mutant) for i, mutant in enumerate(draw(arguments.seed, arguments.count), 1)])
        return 0
    unseen = 0
    with copied() as copy:
        for row in [r for r in read() if not arguments.number or r.number in arguments.number]:
            test = noticed(copy, row, arguments.lines)
            unseen += not test
            print(f"{row.number}\t{row.kind}\t{row.file}:{row.line}\t{test or 'NOT NOTICED'}", flush=True)
            if arguments.write:
                write([r._replace(noticed=test) if r.number == row.number else r for r in read()])
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
