"""What ``==`` of tensors and variables means: the same object, or equal values."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.convert import constant
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ops import math
from towerstrat.graph.variables.variables import Variable

_VALUES = [False]


def _is_equal(self: Any, other: Any) -> Any:
    if not _VALUES[0] or self is None or other is None or not _has_values():
        return self is other
    try:
        return math.equal(self, other)
    except (TypeError, ValueError):
        return constant(False)


def _is_not_equal(self: Any, other: Any) -> Any:
    if not _VALUES[0] or other is None or not _has_values():
        return self is not other
    try:
        return math.not_equal(self, other)
    except (TypeError, ValueError):
        return constant(True)


def _has_values() -> bool:
    graph = get_default_graph()
    return graph.executing_eagerly or graph.building_function


def enable_tensor_equality() -> None:
    """From now on ``==`` and ``!=`` of tensors and variables compare values, where they are eager or in a function."""
    _VALUES[0] = True


def disable_tensor_equality() -> None:
    """From now on ``==`` tells whether two tensors are one object."""
    _VALUES[0] = False


for _kind in (Tensor, Variable):
    _hash = _kind.__hash__
    _kind.__eq__ = _is_equal  # type: ignore[method-assign]
    _kind.__ne__ = _is_not_equal  # type: ignore[method-assign]
    _kind.__hash__ = _hash  # type: ignore[method-assign]
