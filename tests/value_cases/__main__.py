"""``python -m tests.value_cases --prove | --record FILE [PYTEST ARGUMENT...] | --find FILE [--kind KIND]``.

``--prove`` runs the test of each row of ``cases.tsv`` with its thing disturbed, in a process of its own: the test has
to fail, and to pass where the same is done with a change of nothing. ``--record`` runs tests, and adds to a file the
things that each of them comes by. ``--find`` looks among those for a test of each thing that has no row, the cheapest
first, and adds the rows that it has proven to ``cases.tsv``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.value_cases import table
from tests.value_cases.change import SAME, WRONG
from tests.value_cases.proofs import LIMIT, failures, with_tests
from tests.value_cases.table import Row
from tests.value_cases.universe import KINDS, missing, watch

TRIES = 8
"""The number of tests that are tried for a thing."""


def notices(item: pytest.Item, row: Row) -> bool:
    """Whether a row's test fails with its thing disturbed."""
    return bool(failures([item], partial(KINDS[row.kind].disturb, row.name, WRONG)))


def is_case(item: pytest.Item, row: Row) -> bool:
    """Whether a row's test notices its thing disturbed, and nothing where that is changed by nothing."""
    return notices(item, row) and failures([item], partial(KINDS[row.kind].disturb, row.name, SAME)) == []


def unfit(items: Mapping[str, pytest.Item], rows: Sequence[Row]) -> set[str]:
    """The tests of rows that fail where a change of nothing is made to their things: they look at more than values."""
    tests = sorted({row.test for row in rows})
    together = failures([items[test] for test in tests], partial(_change_nothing, rows), limit=LIMIT * len(tests))
    # Those that fail among all the others' changes may do without these.
    alone = {test: [row for row in rows if row.test == test] for test in (tests if together is None else together)}
    return {test for test, own in alone.items() if failures([items[test]], partial(_change_nothing, own)) != []}


def _change_nothing(rows: Iterable[Row]) -> None:
    for kind, name in sorted({(row.kind, row.name) for row in rows}):
        KINDS[kind].disturb(name, SAME)


def prove(rows: Sequence[Row]) -> int:
    """Prints what is not proven; returns how much that is."""
    wrong: list[str] = []

    def work(items: Mapping[str, pytest.Item]) -> None:
        wrong.extend(f"{test} does not pass with a change of nothing" for test in sorted(unfit(items, rows)))
        for row in rows:
            if not notices(items[row.test], row):
                wrong.append(f"{row.kind} {row.name}: {row.test} passes with a wrong value of it")

    with_tests([row.test for row in rows], work)
    print(*wrong, f"{len(rows)} rows, {len(wrong)} not proven", sep="\n")
    return len(wrong)


class Recorder:
    """A plugin of pytest that writes of each test the seconds of the processor and the things that it comes by."""

    def __init__(self, file: Any):
        self.file = file
        self.touched: set[tuple[str, str]] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        watch(lambda kind, name: self.touched.add((kind, name)))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.touched.clear()
        start = time.process_time()
        yield
        line = [item.nodeid, round(time.process_time() - start, 3), sorted(self.touched)]
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()


def candidates(file: Path) -> dict[tuple[str, str], list[str]]:
    """By kind and name the tests that come by it: those that come by little else first, then the cheap ones."""
    found: dict[tuple[str, str], dict[str, tuple[int, float]]] = defaultdict(dict)
    for line in file.read_text().splitlines():
        test, seconds, touched = json.loads(line)
        for kind, name in touched:
            found[kind, name][test] = (len(touched), seconds)
    return {key: sorted(tests, key=tests.__getitem__) for key, tests in found.items()}


def find(file: Path, kinds: Sequence[str]) -> None:
    """Adds rows for what has none to the table, as they are proven."""
    known = candidates(file)
    wanted = [(kind, name) for kind in kinds for name in missing(kind)]
    tests = {test for key in wanted for test in known.get(key, ())}

    def work(items: Mapping[str, pytest.Item]) -> None:
        new: list[Row] = []
        for key in wanted:
            named = {row.test for row in (*table.rows(), *new) if row.name == key[1]}
            tried = sorted((t for t in known.get(key, ()) if t in items), key=lambda test: test not in named)
            row = next((r for t in tried[:TRIES] if is_case(items[t], r := Row(*key, t))), None)
            print(*(row or [*key, f"none of {len(tried)}"]), sep="\t", flush=True)
            if row is not None:
                new.append(row)
                table.write([*table.rows(), *new])
        wrong = unfit(items, new)
        print(*(f"{test} does not pass with a change of nothing" for test in sorted(wrong)), sep="\n")
        table.write(row for row in (*table.rows(), *new) if row.test not in wrong)

    with_tests(tests, work)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.value_cases", description=__doc__)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--find", type=Path)
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="only this kind")
    options, rest = parser.parse_known_args(arguments)
    kinds = options.kind or list(KINDS)
    if options.record:
        with options.record.open("a") as file:
            return pytest.main(["-q", "-p", "no:cacheprovider", *rest], plugins=[Recorder(file)])
    if options.find:
        find(options.find, kinds)
        return 0
    return prove([row for row in table.rows() if row.kind in kinds and all(r in row.test for r in rest)])


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
