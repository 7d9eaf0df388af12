"""Long tables of cases: some of them by default, the whole table in the long run."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def spread(
    names: str | tuple[str, ...], cases: Iterable[Any], every: int | None = None, **how: Any
) -> Callable[..., Any]:
    """``pytest.mark.parametrize`` over a table, of which some cases run by default. The others are marked ``long``.

    Of a table whose cases compute values of one thing after the other, ``tests/value_cases/cases.tsv`` says which run
    by default: those that it names. Of a table that turns one thing this way and that it is each ``every``-th.

    Args:
      names: the parameter, or a tuple of several, as ``parametrize`` takes them.
      cases: the table; tuples of values where there are several parameters.
      every: the distance between cases that run by default, the first of which is the first of the table. It should
        have no factor in common with what the table repeats.
      **how: what else ``parametrize`` takes.
    """
    rows = [(case,) if isinstance(names, str) else case for case in cases]
    marks = [[pytest.mark.long] if every is None or i % every else [] for i in range(len(rows))]
    return pytest.mark.parametrize(names, [pytest.param(*r, marks=m) for r, m in zip(rows, marks, strict=True)], **how)
