"""Layers that do one thing while training and another otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.control.branches import cond
from towerstrat.graph.variables.variables import Variable


def known(training: Any) -> bool | None:
    """Whether it is training, where that is known while the graph is built, else None."""
    if training is None:
        return False
    if isinstance(training, Tensor):
        value = constant_value(training)
        return None if value is None else bool(value)
    if isinstance(training, Variable) or hasattr(training, "handle"):
        return None
    return bool(training)


def choose(training: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """The result of one of two functions; both are built where ``training`` is not known before the program runs."""
    static = known(training)
    if static is None:
        return cond(convert_to_tensor(training), true_fn, false_fn)
    return true_fn() if static else false_fn()
