"""Meaning of ``==`` of tensors and variables: the same object, or equal values."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.op_registry import define_operator
from towerstrat.graph.ir.python_operators import EQUALITY
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.math import arithmetic


def _is_equal(self: Any, other: Any) -> Any:
    if self is None or other is None or not _has_values():
        return self is other
    try:
        return arithmetic.equal(self, other)
    except (TypeError, ValueError):
        return constant(False)


def _is_not_equal(self: Any, other: Any) -> Any:
    if other is None or not _has_values():
        return self is not other
    try:
        return arithmetic.not_equal(self, other)
    except (TypeError, ValueError):
        return constant(True)


def _has_values() -> bool:
    graph = get_default_graph()
    return graph.executing_eagerly or graph.building_function


def enable_tensor_equality() -> None:
    """From now on ``==`` and ``!=`` of tensors and variables compare values, where they are eager or in a function."""
    EQUALITY.by_element = True


def disable_tensor_equality() -> None:
    """From now on ``==`` tells whether two tensors are one object."""
    EQUALITY.by_element = False


define_operator("__eq__", _is_equal)
define_operator("__ne__", _is_not_equal)
