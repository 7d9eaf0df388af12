"""Regularizers: functions from a variable to a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

from towerstrat.graph.ir.default_graph import add_to_collection, get_collection, name_scope
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.variables.variables import GraphKeys

Regularizer = Callable[[Any], Any]


def _nothing(weights: Any) -> None:
    return None


def _check(scale: Any, name: str = "scale") -> None:
    if isinstance(scale, Integral):
        raise ValueError(f"{name} cannot be an integer: {scale}. Write {scale}.0.")
    if isinstance(scale, Real) and scale < 0.0:
        raise ValueError(f"Setting a {name} less than 0 on a regularizer: {scale}.")


def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """``scale * sum(|weights|)``. A scale of 0.0 regularizes nothing.

    Raises:
      ValueError: a negative or an integer scale.
    """
    _check(scale)
    if isinstance(scale, Real) and scale == 0.0:
        return _nothing

    def l1(weights: Any, name: str | None = None) -> Tensor:
        with name_scope(scope, "l1_regularizer", [weights]) as name:
            factor = convert_to_tensor(scale, weights.dtype, name="scale")
            return arithmetic.multiply(factor, reductions.reduce_sum(arithmetic.abs(weights)), name=name)

    return l1


def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """``scale * sum(weights ** 2) / 2``. A scale of 0.0 regularizes nothing.

    Raises:
      ValueError: a negative or an integer scale.
    """
    _check(scale)
    if isinstance(scale, Real) and scale == 0.0:
        return _nothing

    def l2(weights: Any) -> Tensor:
        with name_scope(scope, "l2_regularizer", [weights]) as name:
            factor = convert_to_tensor(scale, weights.dtype, name="scale")
            return arithmetic.multiply(factor, misc.l2_loss(weights), name=name)

    return l2


def l1_l2_regularizer(scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None) -> Regularizer | None:
    """The sum of both."""
    _check(scale_l1, "scale_l1")
    _check(scale_l2, "scale_l2")
    scope = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, Real) and scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if isinstance(scale_l2, Real) and scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list: Sequence[Regularizer | None], scope: str | None = None) -> Regularizer | None:
    """The sum of several; None where there are none."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def sum_reg(weights: Any) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            terms = [t for t in (r(weights) for r in regularizers) if t is not None]
            return segments.add_n(terms, name=name) if terms else None

    return sum_reg


def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Any] | None = None) -> Tensor:
    """The sum of a regularizer over variables, which is added to ``GraphKeys.REGULARIZATION_LOSSES``.

    Args:
      weights_list: default the collection ``GraphKeys.WEIGHTS``.

    Raises:
      ValueError: no variables, or a regularizer whose result is no scalar.
    """
    weights_list = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", values=weights_list) as scope:
        found = [regularizer(w) for w in weights_list]
        penalties = [constant(0.0) if p is None else p for p in found]
        for penalty in penalties:
            if penalty.shape.ndims != 0:
                raise ValueError(f"regularizer must return a scalar Tensor, got one of shape {penalty.shape}.")
        total = segments.add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
