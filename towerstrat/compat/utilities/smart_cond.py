"""Branches that are chosen while the program is built where that is possible: ``smart_cond`` and ``smart_case``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.control import branches
from towerstrat.graph.variables.variables import Variable

Pairs = Mapping[Any, Callable[[], Any]] | Sequence[tuple[Any, Callable[[], Any]]]


def smart_constant_value(pred: Any) -> bool | None:
    """The value of a predicate, None where only a run tells it.

    Raises:
      TypeError: neither a tensor nor True, False, 1 or 0.
    """
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if isinstance(pred, int | float | np.generic) and pred in (0, 1):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """``true_fn()`` or ``false_fn()`` where the value of ``pred`` is known, else ``tf.cond`` of both.

    Raises:
      TypeError: a function that cannot be called, or as ``smart_constant_value``.
    """
    for what, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"`{what}` must be callable, got {function!r}.")
    value = smart_constant_value(pred)
    if value is None:
        return branches.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return true_fn() if value else false_fn()  # type: ignore[misc]


def smart_case(
    pred_fn_pairs: Pairs,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """``tf.case`` without the pairs whose predicates are known to be false, up to the first that is known to be true.

    Args:
      pred_fn_pairs, default, exclusive: see ``tf.case``.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    open_pairs = []
    for pred, function in pairs:
        value = smart_constant_value(pred)
        if value:
            default = function
            break
        if value is None:
            open_pairs.append((pred, function))
    if not open_pairs and default is not None:
        return default()
    return branches.case(open_pairs, default, exclusive=exclusive, name=name)


def cond_of_variable(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """``smart_cond`` of ``tensorflow.python.layers.utils``: ``pred`` may be a variable too."""
    if isinstance(pred, Variable):
        return branches.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return smart_cond(pred, true_fn, false_fn, name)


def constant_of_variable(pred: Any) -> bool | None:
    """``constant_value`` of ``tensorflow.python.layers.utils``: None of a variable."""
    return None if isinstance(pred, Variable) else smart_constant_value(pred)
