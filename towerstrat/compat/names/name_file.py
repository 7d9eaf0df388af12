"""The file of names, ``public_names.tsv``: where the object of each name is that programs import. One line a name.

Its columns are

- ``name``: dotted, below ``tf``, or below ``tensorflow`` for one of the original's inside,
- ``module`` and ``attribute``: where its object is, here or in a package that serves it; without an attribute it is the
  module. Two of each are a class here and the package's class that it extends. The attribute ``*`` stands for all names
  of the public modules in ``module``, which are searched in that order,
- ``first`` and ``last``: the versions between which the name is this object: 1.12, 1.15 (for 1.13 to 1.15) or 2.15.
  There are two namespaces: that of 1.x has what 1.12 or 1.15 has, that of 2.x what 2.15 has. Of a name inside no more
  is said than which of the two has it.

Lines are sorted by name, then by version.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

FILE = "public_names.tsv"
OURS = "towerstrat"


class Row(NamedTuple):
    """A line of the file; the attributes are its columns."""

    name: str
    module: str
    attribute: str
    first: str
    last: str

    def is_of(self, api: int) -> bool:
        """Whether a namespace has it: that of 1.x by 1, that of 2.x by 2."""
        return self.first.startswith("1.") if api == 1 else self.last.startswith("2.")

    @property
    def package(self) -> str:
        """The package that has the object, or the class that it extends: ``OURS`` where it is here alone."""
        return self.module.rpartition(" ")[2].partition(".")[0]


@cache
def _lines() -> Sequence[str]:
    return resources.files("towerstrat.compat.names").joinpath(FILE).read_text(encoding="utf-8").splitlines()[1:]


def _rows(lines: Sequence[str]) -> Sequence[Row]:
    return tuple(Row(*line.split("\t")) for line in lines)


@cache
def _public() -> Mapping[str, Sequence[Row]]:
    found: dict[str, list[Row]] = {}
    for row in below("tf"):
        found.setdefault(row.package, []).append(row)
    return found


def public(package: str, api: int) -> Sequence[Row]:
    """The lines of a namespace's public names whose objects are of a package."""
    return [row for row in _public()[package] if row.is_of(api)]


def inside() -> Mapping[str, Sequence[Row]]:
    """The lines of names inside, by the path of their module below ``tensorflow``."""
    found: dict[str, list[Row]] = {}
    for row in below("tensorflow"):
        found.setdefault(row.name.rpartition(".")[0].partition(".")[2], []).append(row)
    return found


def below(name: str) -> Sequence[Row]:
    """The lines of a name, and of those below it."""
    # Of what may follow a name a tab and a dot are before a slash, letters after it.
    return _rows(_lines()[bisect_left(_lines(), f"{name}\t") : bisect_left(_lines(), f"{name}/")])
