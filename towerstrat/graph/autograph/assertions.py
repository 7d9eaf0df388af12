"""``assert`` statements."""

from __future__ import annotations

from collections.abc import Callable

from towerstrat.graph.autograph.values import is_staged, scalar_condition
from towerstrat.graph.ops.host.runtime_checks import Assert


def assert_stmt(test: object, message: Callable[[], object]) -> None:
    """Run an ``assert`` statement; of a tensor it raises InvalidArgumentError when the program runs."""
    if not is_staged(test):
        assert test, message()
        return
    said = message()
    Assert(scalar_condition(test, "assert statement"), [] if said is None else [said])
