"""Covering arrays: few rows in which every allowed combination of some factors' values occurs; tables made of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Row = tuple[str, ...]
"""A value for each factor, in their order."""
Part = Mapping[int, str]
"""Values for some factors, by their places."""
Combination = tuple[tuple[int, str], ...]


def combinations(factors: Sequence[Sequence[str]], strength: int, allowed: Callable[[Part], bool]) -> list[Combination]:
    """All combinations of the values of ``strength`` factors that occur in some allowed row."""
    found = []
    for places in itertools.combinations(range(len(factors)), strength):
        for values in itertools.product(*(factors[p] for p in places)):
            part = dict(zip(places, values, strict=True))
            if _complete(part, factors, allowed, lambda part, place: factors[place]) is not None:
                found.append(tuple(part.items()))
    return found


def covering(
    factors: Sequence[Sequence[str]], strength: int, allowed: Callable[[Part], bool], first: Sequence[Row] = ()
) -> list[Row]:
    """Rows that have, with those of ``first``, all combinations of ``strength``: greedily, the same at each call.

    Args:
      factors: their values; of several that cover as much the first is taken.
      allowed: whether some values may occur together; asked for parts of rows too.
    """
    missing = dict.fromkeys(combinations(factors, strength, allowed))
    for row in first:
        _drop(row, strength, missing)

    def best(part: Part, place: int) -> Sequence[str]:
        """The values of a factor, those first that cover most with what is chosen."""
        others = list(itertools.combinations(sorted(part), strength - 1))

        def covered(value: str) -> int:
            return sum(_sorted({**{p: part[p] for p in chosen}, place: value}) in missing for chosen in others)

        return sorted(factors[place], key=lambda value: -covered(value))

    rows: list[Row] = []
    while missing:
        part = _complete(dict(next(iter(missing))), factors, allowed, best)
        assert part is not None
        rows.append(tuple(part[p] for p in range(len(factors))))
        _drop(rows[-1], strength, missing)
    return rows


def _sorted(part: Part) -> Combination:
    return tuple(sorted(part.items()))


def covered(row: Row, strength: int) -> list[Combination]:
    """The combinations that a row has."""
    return list(itertools.combinations(enumerate(row), strength))


def _drop(row: Row, strength: int, missing: dict[Combination, None]) -> None:
    for combination in covered(row, strength):
        missing.pop(combination, None)


def _complete(
    part: dict[int, str],
    factors: Sequence[Sequence[str]],
    allowed: Callable[[Part], bool],
    order: Callable[[Part, int], Sequence[str]],
) -> dict[int, str] | None:
    """An allowed row that has these values; None where there is none."""
    if not allowed(part):
        return None
    place = next((p for p in range(len(factors)) if p not in part), None)
    if place is None:
        return part
    for value in order(part, place):
        found = _complete({**part, place: value}, factors, allowed, order)
        if found is not None:
            return found
    return None


@dataclass(frozen=True)
class Rule:
    """A combination that there is not.

    Attributes:
      excludes: whether values are of it, by factor; a factor that is not chosen yet is "".
      reason: why.
    """

    excludes: Callable[[dict[str, str]], bool]
    reason: str


class Table:
    """Factors, what of them cannot be together, and rows.

    Args:
      factors: names and values.
    """

    def __init__(self, factors: Mapping[str, Sequence[str]], rules: Sequence[Rule]):
        self.names, self.factors, self.rules = tuple(factors), list(factors.values()), rules
        self._spaced = {value for values in self.factors for value in values if " " in value}

    def allowed(self, part: Part) -> bool:
        values = {name: part.get(i, "") for i, name in enumerate(self.names)}
        return not any(rule.excludes(values) for rule in self.rules)

    @functools.cached_property
    def pairs(self) -> list[Row]:
        """Rows that have all pairs of values."""
        return covering(self.factors, 2, self.allowed)

    @functools.cached_property
    def triples(self) -> list[Row]:
        """Rows that have, with those of ``pairs``, all triples of values."""
        return covering(self.factors, 3, self.allowed, self.pairs)

    def counts(self, rows: Sequence[Row], strength: int) -> tuple[int, int]:
        """(the combinations of values that the rows have, all that there are), as numbers."""
        every = set(combinations(self.factors, strength, self.allowed))
        return len(every & {c for row in rows for c in covered(row, strength)}), len(every)

    def left_out(self) -> dict[Combination, list[Rule]]:
        """The pairs of values that there are not, and the rules that say so by themselves."""
        every = combinations(self.factors, 2, lambda part: True)
        there = set(combinations(self.factors, 2, self.allowed))
        return {c: [rule for rule in self.rules if rule.excludes(self._values(c))] for c in every if c not in there}

    def _values(self, combination: Combination) -> dict[str, str]:
        return {**dict.fromkeys(self.names, ""), **{self.names[place]: value for place, value in combination}}

    @staticmethod
    def name_of(row: Row) -> str:
        return "-".join(row).replace(" ", "_")

    def named(self, name: str) -> Row:
        """The row of a name. Raises ValueError where there is none."""
        parts = ((value, value.replace("_", " ")) for value in name.split("-"))
        row = tuple(spaced if spaced in self._spaced else value for value, spaced in parts)
        if len(row) != len(self.factors) or not self.allowed(dict(enumerate(row))):
            raise ValueError(f"{name!r} is no row: values of {', '.join(self.names)} with - between them.")
        return row
