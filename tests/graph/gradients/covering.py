"""Covering arrays: few rows in which every allowed combination of some factors' values occurs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

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
