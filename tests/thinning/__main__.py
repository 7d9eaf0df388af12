"""``python -m tests.thinning FOLDER --seconds S`` chooses which tests of the default run are left to the long run.

FOLDER has the record of a default run without thinning (``--whole -p tests.thinning.recorder``). A test goes, the
dearest first, where each line of the package that it runs is run by ``others`` tests that stay. ``others`` is as large
as the seconds allow, and at least one: whatever line the tests ran is run still. These stay:

- tests of value cases (``tests/value_cases/cases.tsv``), and those that noticed a mutant
  (``tests/mutants/mutants.tsv``);
- tests below ``CHEAP`` seconds;
- tables that say by themselves what they cover, and promises that no line of the package shows (``TABLES``);
- of each test function that takes less than ``DEAR`` seconds one case.

Writes ``thinned.txt`` and prints what stays by seconds.
"""

from __future__ import annotations

import argparse
import pathlib
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.mutants import __main__ as mutants
from tests.thinning import lines, table
from tests.thinning.lines import Record
from tests.value_cases import table as value_cases

CHEAP = 0.1
"""Seconds of processor below which a test stays."""
DEAR = 3.0
"""Seconds of processor from which on the last case of a test function may go."""
TABLES = (
    "tests/modes/", "tests/faults/", "tests/training/kills/", "tests/test_programs.py", "tests/test_docs.py",
    "tests/test_architecture.py", "tests/test_safety.py", "tests/hosts/test_attacks.py",
)  # fmt: skip
MOST = 10
"""The largest number of other tests that a line is asked to be run by."""


def function(test: str) -> str:
    """The test function of a test."""
    return test.partition("[")[0]


def choose(records: Sequence[Record], stay: Iterable[str], others: int) -> list[str]:
    """The tests that go, the dearest first.

    Args:
      records: of all tests.
      stay: tests that stay whatever they run.
      others: by how many tests that stay each line that a test runs has to be run for the test to go.
    """
    runs, cases, stay = Counter[tuple[str, int]](), Counter(function(record.test) for record in records), set(stay)
    for record in records:
        runs.update(record.lines)
    gone = []
    for record in sorted(records, key=lambda record: -record.seconds):
        last = cases[function(record.test)] == 1 and record.seconds < DEAR
        fixed = record.test in stay or record.test.startswith(TABLES) or record.seconds < CHEAP
        if not last and not fixed and all(runs[line] > others for line in record.lines):
            gone.append(record.test)
            runs.subtract(record.lines)
            cases[function(record.test)] -= 1
    return gone


def fitted(records: Sequence[Record], stay: Iterable[str], seconds: float) -> tuple[list[str], int]:
    """The tests that go so that the others take some seconds, and by how many of them each line is run at least."""
    stay = set(stay)
    for others in range(MOST, 0, -1):
        gone = choose(records, stay, others)
        left = set(gone)
        if sum(record.seconds for record in records if record.test not in left) <= seconds:
            return gone, others
    return gone, 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.thinning", description="Leaves tests to the long run.")
    parser.add_argument("folder", type=pathlib.Path, help="what tests.thinning.recorder wrote")
    parser.add_argument("--seconds", type=float, required=True, help="of processor that the tests may take")
    arguments = parser.parse_args()
    records = lines.read(arguments.folder)
    stay = value_cases.tests() | {row.noticed for row in mutants.read()}
    gone, others = fitted(records, stay, arguments.seconds)
    table.FILE.write_text("".join(f"{test}\n" for test in sorted(gone)), encoding="utf-8")
    left, seconds = set(gone), Counter[str]()
    for record in records:
        seconds[function(record.test)] += record.seconds * (record.test not in left)
    print(*(f"{value:7.1f} s  {name}" for name, value in seconds.most_common(40)), sep="\n")
    before = sum(record.seconds for record in records)
    print(f"{len(records)} tests, {before:.0f} s of processor; {len(gone)} of {before - seconds.total():.0f} s go; ")
    print(f"each line that one of them runs is run by at least {others} that stay")


if __name__ == "__main__":
    main()
