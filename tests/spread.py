"""Long tables of cases: a spread of them by default, the whole table in the long run."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def spread(names: str | tuple[str, ...], cases: Iterable[Any], every: int, **how: Any) -> Callable[..., Any]:
    """``pytest.mark.parametrize`` over a table, of which each ``every``-th case runs by default.

    The other cases are marked ``long``. Which run by default depends on their places in the table alone; ``every``
    should have no factor in common with what the table repeats.

    Args:
      names: the parameter, or a tuple of several, as ``parametrize`` takes them.
      cases: the table; tuples of values where there are several parameters.
      every: the distance between cases that run by default, the first of which is the first of the table.
      **how: what else ``parametrize`` takes.
    """
    rows = [(case,) if isinstance(names, str) else case for case in cases]
    marks = [[pytest.mark.long] if i % every else [] for i in range(len(rows))]
    return pytest.mark.parametrize(names, [pytest.param(*r, marks=m) for r, m in zip(rows, marks, strict=True)], **how)
