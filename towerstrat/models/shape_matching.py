"""Which shapes of labels, predictions and weights go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic


def _misfit(weights: Dims, values: Dims) -> str | None:
    """Why weights of that shape cannot be broadcast to values of that shape, as far as it is known."""
    if weights is None or weights == () or values is None:
        return None
    described = f"values.shape={TensorShape(values)}. weights.shape={TensorShape(weights)}."
    if len(weights) != len(values):
        return (
            f"weights can not be broadcast to values. values.rank={len(values)}. weights.rank={len(weights)}. "
            f"{described} "
            "Weights must be a scalar, or have the values' rank and in each dimension their size or 1."
        )
    for i, (w, v) in enumerate(zip(weights, values, strict=True)):
        if w is not None and v is not None and w not in (1, v):
            return (
                f"weights can not be broadcast to values. Mismatch at dim {i}. {described} "
                "Weights must have the values' size or 1 in each dimension."
            )
    return None


def _settled(weights: Dims, values: Dims) -> bool:
    if weights == ():
        return True
    if weights is None or values is None:
        return False
    return all(w is not None and (w == 1 or v is not None) for w, v in zip(weights, values, strict=True))


def _rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _checked(weights: Any, values: Any) -> Any:
    problem = _misfit(np.shape(weights), np.shape(values))
    if problem:
        raise ValueError(problem)
    return weights


define_op("BroadcastableWeights", _rule, _checked)


def broadcastable(weights: Any, values: Tensor) -> Tensor:
    """``weights`` as a tensor, once it is sure that they can weigh ``values``.

    Raises:
      ValueError: they cannot; where shapes are not fully known the run raises InvalidArgumentError.
    """
    weights = convert_to_tensor(weights, name="weights")
    problem = _misfit(weights.dims, values.dims)
    if problem:
        raise ValueError(problem)
    if _settled(weights.dims, values.dims):
        return weights
    return get_default_graph().add("BroadcastableWeights", [weights, values], {}, "assert_broadcastable").outputs[0]


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """``weights`` in the shape of ``values``, of their element type."""
    values = convert_to_tensor(values, name="values")
    weights = broadcastable(convert_to_tensor(weights, values.dtype, name="weights"), values)
    if shapes.known(weights.dims) and weights.dims == values.dims:
        return weights
    return arithmetic.multiply(weights, arrays.ones_like(values), name="broadcast_weights")


def _fitted_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(inputs[0].dtype, None)]


def _fitted(x: Any, other: Any, *, excess: int, expands: bool) -> Any:
    difference = x.ndim - other.ndim - excess
    if difference == 1 and x.shape[-1] == 1:
        return x.reshape(x.shape[:-1])
    return x.reshape((*x.shape, 1)) if expands and difference == -1 and x.ndim else x


define_op("FittedRank", _fitted_rule, _fitted, numpy=_fitted)


def fitted(x: Tensor, other: Tensor, excess: int = 0, expands: bool = False) -> Tensor:
    """``x`` without its last dimension, of size 1, where that gives it the rank of ``other`` and ``excess``.

    Ranks that are not known while the graph is built are compared when it runs.

    Args:
      expands: an ``x`` that lacks one dimension gets one of size 1; a scalar stays.
    """
    if x.dims is None or other.dims is None:
        if x.dims is not None and not expands and (not x.dims or x.dims[-1] not in (1, None)):
            return x
        attrs = {"excess": excess, "expands": expands}
        return get_default_graph().add("FittedRank", [x, other], attrs, "remove_squeezable_dimensions").outputs[0]
    difference = len(x.dims) - len(other.dims) - excess
    if difference == 1 and x.dims[-1] in (1, None):
        return arrays.squeeze(x, [-1])
    return arrays.expand_dims(x, -1) if expands and difference == -1 and x.dims else x


def squeezed(labels: Any, predictions: Any, expected_rank_diff: int = 0) -> tuple[Tensor, Tensor]:
    """Labels and predictions, the one with a superfluous last dimension of 1 without it.

    Args:
      expected_rank_diff: the rank of predictions less that of labels as it should be.
    """
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    return fitted(labels, predictions, -expected_rank_diff), fitted(predictions, labels, expected_rank_diff)


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """``squeezed`` in a scope of names."""
    with get_default_graph().name_scope(name or "remove_squeezable_dimensions"):
        return squeezed(labels, predictions, expected_rank_diff)
