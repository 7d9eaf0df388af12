"""The tests that ``thinned.txt`` leaves to the long run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "thinned.txt"


@cache
def thinned() -> frozenset[str]:
    """The names of tests that run with ``--long`` alone, though they are not marked ``long``."""
    return frozenset(FILE.read_text(encoding="utf-8").splitlines())
