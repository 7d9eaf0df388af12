"""The table of value cases, ``cases.tsv``: kind, name and test, separated by tabs and sorted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parent / "cases.tsv"


class Row(NamedTuple):
    """A line of the table.

    Attributes:
      kind, name: of the thing (``universe.py``).
      test: the name of a test of the default run that fails where the thing is disturbed.
    """

    kind: str
    name: str
    test: str


def read() -> tuple[Row, ...]:
    """All lines, as they are now."""
    return tuple(Row(*line.split("\t")) for line in FILE.read_text(encoding="utf-8").splitlines())


rows = cache(read)
"""All lines, as they are when they are asked for first."""


@cache
def tests() -> frozenset[str]:
    """The tests that are named: they run by default, marked ``long`` or not."""
    return frozenset(row.test for row in rows())


def write(found: Iterable[Row]) -> None:
    """Replaces the table."""
    new = FILE.with_suffix(".new")
    new.write_text("".join("\t".join(row) + "\n" for row in sorted(set(found))), encoding="utf-8")
    new.replace(FILE)
