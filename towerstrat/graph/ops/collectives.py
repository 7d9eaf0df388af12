"""Operations across the positions of a named axis: sums, gathers, selections, indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.core import get_default_graph
from towerstrat.graph.elements import Operation, Tensor
from towerstrat.graph.lowering import Lowering
from towerstrat.graph.mesh import Axis, vary
from towerstrat.graph.ops.build import one
from towerstrat.graph.registry import Signature, define, same
from towerstrat.graph.types import DType, int32


def all_reduce(value: Tensor, axis: Axis, how: str, name: str | None = None) -> Tensor:
    """One value from those at all positions: their "sum", "mean", or the "first" position's."""
    return one("AllReduce", [value], {"axis": axis, "how": how}, name or "all_reduce")


def all_concat(value: Tensor, axis: Axis, name: str | None = None) -> Tensor:
    """The values of all positions, joined along the first dimension: ``[positions * n, ...]``."""
    return one("AllConcat", [value], {"axis": axis}, name or "all_concat")


def select(value: Tensor, axis: Axis, position: int, name: str | None = None) -> Tensor:
    """The value at one position."""
    return one("SelectPosition", [value], {"axis": axis, "position": position}, name or "select")


def distribute(values: Sequence[Tensor], axis: Axis, name: str | None = None) -> Tensor:
    """Value i at position i, of values of one type and shape."""
    graph = get_default_graph()
    return graph.add("FromPositions", values, {"axis": axis}, name or "from_positions", axis=axis).outputs[0]


def position(axis: Axis, name: str | None = None) -> Tensor:
    """Each position's own index, int32."""
    return get_default_graph().add("PositionIndex", (), {"axis": axis}, name or "position", axis=axis).outputs[0]


def position_input(axis: Axis, dtype: DType, dims: Sequence[int | None] | None, name: str | None = None) -> Tensor:
    """A placeholder for a value that differs by position.

    It is fed one array ``[positions, ...]``, or an ``Uneven``; where the axis has one position, the value itself.

    Args:
      dims: the shape at a position, as far as it is known.
    """
    attrs = {"axis": axis, "dtype": dtype, "shape": None if dims is None else tuple(dims)}
    return get_default_graph().add("PositionInput", (), attrs, name or "position_input", axis=axis).outputs[0]


def _reduced(value: Any, axis: Axis, how: str) -> Any:
    value = vary(jnp.asarray(value), axis)
    if how == "first":
        first = lax.axis_index(axis.name) == 0
        value = jnp.where(first, value, jnp.zeros_like(value))
    if value.dtype == jnp.bool_:
        return lax.psum(value.astype(jnp.int32), axis.name).astype(jnp.bool_)
    total = lax.psum(value, axis.name)
    if how == "mean":
        if jnp.issubdtype(total.dtype, jnp.integer):
            return total // np.asarray(axis.size, total.dtype)
        return total * np.asarray(1.0 / axis.size, total.dtype)
    return total


def _lower_reduce(lowering: Lowering, op: Operation) -> list[Any]:
    (tensor,) = op.inputs
    if lowering.axis is None:
        return [lowering.value(tensor)]
    how = op.attrs["how"]
    if not tensor.varies and how != "sum":
        return [lowering.invariant(tensor)]
    return [_reduced(lowering.value(tensor), lowering.axis, how)]


def _reduce_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Any], outer: Operation
) -> Mapping[Tensor, Any]:
    """In tower context, the same reduction of the cotangents; outside, what each tower contributed to the one value."""
    (cotangent,) = cotangents
    (tensor,) = op.inputs
    axis, how = lowering.axis, op.attrs["how"]
    if axis is None:
        return {tensor: cotangent}
    cotangent = vary(cotangent, axis)
    if outer.axis is not None:
        cotangent = vary(lax.psum(cotangent, axis.name), axis)
    if how == "mean":
        cotangent = cotangent * np.asarray(1.0 / axis.size, cotangent.dtype)
    elif how == "first":
        cotangent = jnp.where(lax.axis_index(axis.name) == 0, cotangent, jnp.zeros_like(cotangent))
    return {tensor: cotangent}


def _gathered(value: Any, axis: Axis) -> Any:
    """``[positions, ...]``, known to be equal everywhere."""
    return lax.all_gather(vary(jnp.asarray(value), axis), axis.name, to="invarying")


def _lower_concat(lowering: Lowering, op: Operation) -> list[Any]:
    value = jnp.asarray(lowering.value(op.inputs[0]))
    if lowering.axis is None:
        return [value]
    gathered = _gathered(value, lowering.axis)
    return [gathered.reshape(-1, *value.shape[1:]) if value.size else gathered.reshape(0, *value.shape[1:])]


def _concat_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    (value,) = inputs
    if value.dims is None:
        return [Signature(value.dtype, None)]
    if not value.dims:
        raise ValueError("Expected a value of rank 1 or more to join along its first dimension, got a scalar.")
    first = None if value.dims[0] is None else value.dims[0] * attrs["axis"].size
    return [Signature(value.dtype, (first, *value.dims[1:]))]


def _lower_select(lowering: Lowering, op: Operation) -> list[Any]:
    (tensor,) = op.inputs
    if lowering.axis is None or not tensor.varies:
        return [lowering.invariant(tensor)]
    gathered = lowering.shared(("gathered", tensor), lambda: _gathered(lowering.value(tensor), op.attrs["axis"]))
    return [gathered[op.attrs["position"]]]


def _select_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Any], outer: Operation
) -> Mapping[Tensor, Any]:
    (cotangent,) = cotangents
    axis = lowering.axis
    if axis is None:
        return {op.inputs[0]: cotangent}
    cotangent = vary(cotangent, axis)
    if outer.axis is not None:
        cotangent = vary(lax.psum(cotangent, axis.name), axis)
    here = lax.axis_index(axis.name) == op.attrs["position"]
    return {op.inputs[0]: jnp.where(here, cotangent, jnp.zeros_like(cotangent))}


def _lower_distribute(lowering: Lowering, op: Operation) -> list[Any]:
    values = [jnp.asarray(lowering.value(t)) for t in op.inputs]
    if lowering.axis is None:
        return [values[0]]
    stacked = jnp.stack([vary(v, lowering.axis) for v in values])
    return [lax.dynamic_index_in_dim(stacked, lax.axis_index(lowering.axis.name), 0, keepdims=False)]


define("AllReduce", same, lower=_lower_reduce, backward=_reduce_backward, collective=True, hidden=("axis",))
define("AllConcat", _concat_rule, lower=_lower_concat, differentiable=False, collective=True, hidden=("axis",))
define("SelectPosition", same, lower=_lower_select, backward=_select_backward, collective=True, hidden=("axis",))
define("FromPositions", same, lower=_lower_distribute, per_position=True, hidden=("axis",))
define(
    "PositionIndex",
    lambda inputs, attrs: [Signature(int32, ())],
    lower=lambda lowering, op: [lowering.position()],
    per_position=True,
    differentiable=False,
    hidden=("axis",),
)
define(
    "PositionInput",
    lambda inputs, attrs: [Signature(attrs["dtype"], attrs["shape"])],
    lower=lambda lowering, op: lowering.missing_feed(op),
    per_position=True,
    hidden=("axis",),
)
