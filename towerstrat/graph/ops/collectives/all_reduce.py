"""Collectives along a named mesh axis: sums, gathers, selections, and the values that differ by axis index.

An index along the axis is called a position here; along the towers' axis each is a tower. A value is varying (may
differ by position) or invariant (JAX's types under ``jax.shard_map``). Two towers, x varying:

    x                               [1., 2.] at 0, [3., 6.] at 1
    all_reduce(x, axis, "sum")      [4., 8.]; "mean" [2., 4.]; "first" [1., 2.]       invariant
    all_concat(x, axis)             [1., 2., 3., 6.]                                  invariant
    select(x, axis, 1)              [3., 6.]                                          invariant
    divide(y, axis, 0)              halves of y: [4] -> [2]                           varying
    distribute([a, b], axis)        a at 0, b at 1                                    varying
    position(axis)                  0 at 0, 1 at 1                                    varying

Each builds an operation; the ``_lower_...`` functions evaluate it on JAX values. Where the axis is not mapped
(``lowering.axis`` is None) there is one position, and most are the identity.

Shapes may differ by position, as those of a last batch do. Such a value comes as a ``ByClass``; collectives
(``handles_shard_classes``) pad it to the largest shape, communicate, and cut the result to the exact shapes.

The first three give their gradients as ``backward``. In tower context the evaluator has summed the cotangents over the
positions before it calls one, unless the operation is ``own``: what is left is to pass each position its share.

Gloo sends each buffer by itself, at some 0.3 ms each: there the first sum takes those that follow along (``_total``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, at_first, vary
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, same
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import Array, DType, HostArray, int32, string
from towerstrat.graph.ir.uneven_shards import exactly
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import DifferentShapes
from towerstrat.graph.lowering.shard_classes import ByClass
from towerstrat.graph.ops.building.op_builder import add_op


def all_reduce(value: Tensor, axis: Axis, how: str, name: str | None = None, own: bool = False) -> Tensor:
    """Reduces the values at all positions to one that is equal everywhere (``lax.psum``); dtype and shape stay.

    Args:
      value: the value of each position, of any shape.
      axis: the axis to reduce along.
      how: "sum", "mean" (of integers floored), or "first" for the value at position 0. Of booleans sum and mean are OR.
      name: of the operation; by default "all_reduce".
      own: whether a gradient in tower context is the derivative of the position's own share alone, rather than the sum
        over the positions of the derivatives.

    Raises:
      InvalidArgumentError: at run time: the shapes differ by position, unless ``how`` is "first".
    """
    attrs = {"axis": axis, "how": how, **({"own": True} if own else {})}
    return add_op("AllReduce", [value], attrs, name or "all_reduce")


def all_concat(value: Tensor, axis: Axis, name: str | None = None, dim: int = 0, own: bool = False) -> Tensor:
    """Concatenates the values at all positions, in order (``lax.all_gather``).

    Args:
      value: the value of each position, of rank 1 or more.
      axis: the axis to gather along.
      name: of the operation; by default "all_concat".
      dim: the dimension to concatenate along; from the end where negative.
      own: as of ``all_reduce``.

    Raises:
      ValueError: the value has no such dimension.
      InvalidArgumentError: at run time: other dimensions differ by position.
    """
    attrs = {"axis": axis, "dim": dim, **({"own": True} if own else {})}
    return add_op("AllConcat", [value], attrs, name or "all_concat")


def select(value: Tensor, axis: Axis, position: int, name: str | None = None) -> Tensor:
    """Broadcasts the value at one position to all: an invariant tensor."""
    if value.dtype is string and not value.varies:
        return value  # text is on the host, where there are no positions
    return add_op("SelectPosition", [value], {"axis": axis, "position": position}, name or "select")


def distribute(values: Sequence[Tensor], axis: Axis, name: str | None = None) -> Tensor:
    """A varying tensor with the value of ``values[i]`` at position i. The values have one dtype and shape."""
    graph = get_default_graph()
    return graph.add("FromPositions", values, {"axis": axis}, name or "from_positions", axis=axis).outputs[0]


def own_of(values: Sequence[Tensor], axis: Axis, name: str | None = None) -> Tensor:
    """A varying tensor that is at position i the value which ``values[i]`` has there.

    The values have one dtype; shapes may differ, as each position evaluates by its own shard class.
    """
    return get_default_graph().add("OwnOfPositions", values, {"axis": axis}, name or "own", axis=axis).outputs[0]


def divide(value: Tensor, axis: Axis, dim: int, name: str | None = None) -> Tensor:
    """Splits a value along ``dim`` into equal parts, part i for position i: a varying tensor.

    Where a program gets the value from the host and uses nothing but its parts, each device is sent its part only.

    Raises:
      ValueError: the value has no such dimension, or it does not divide by the number of positions.
      InvalidArgumentError: at run time: it does not, and the size was not known before.
    """
    attrs = {"axis": axis, "dim": dim}
    return get_default_graph().add("Divide", (value,), attrs, name or "divide", axis=axis).outputs[0]


def pcast_varying(value: Tensor, axis: Axis, name: str | None = None) -> Tensor:
    """The same value at each position, typed as varying (``lax.pcast``)."""
    return get_default_graph().add("Spread", (value,), {"axis": axis}, name or "spread", axis=axis).outputs[0]


def position(axis: Axis, name: str | None = None) -> Tensor:
    """The index of each position along the axis, a scalar int32 (``lax.axis_index``)."""
    return get_default_graph().add("PositionIndex", (), {"axis": axis}, name or "position", axis=axis).outputs[0]


def position_input(axis: Axis, dtype: DType, dims: Dims, name: str | None = None) -> Tensor:
    """A placeholder for a varying value.

    It is fed an array ``[positions, *dims]`` or an ``UnevenShards``; where the axis is not mapped, an array ``dims``.

    Args:
      axis: the axis that its values vary along.
      dtype: element type.
      dims: the shape at a position, as far as it is known.
      name: of the operation; by default "position_input".
    """
    attrs = {"axis": axis, "dtype": dtype, "shape": None if dims is None else tuple(dims)}
    return get_default_graph().add("PositionInput", (), attrs, name or "position_input", axis=axis).outputs[0]


def _reduce(lowering: Lowering, tensor: Tensor, value: Array, how: str) -> jax.Array:
    """Reduces values along a mapped axis. A sum of booleans is their OR; a mean of integers is floored."""
    axis = lowering.axis
    assert axis is not None
    if how == "first":
        return at_first(vary(jnp.asarray(value), axis), axis)
    total = _total(lowering, tensor, _summand(value, axis), axis)
    if jnp.asarray(value).dtype == jnp.bool_:
        return total.astype(jnp.bool_)
    if how == "mean":
        if jnp.issubdtype(total.dtype, jnp.integer):
            return total // np.asarray(axis.size, total.dtype)
        return total * np.asarray(1.0 / axis.size, total.dtype)
    return total


def _summand(value: Array, axis: Axis) -> jax.Array:
    """The value to sum for a value, as varying: booleans as int32."""
    summand: jax.Array = vary(jnp.asarray(value), axis)
    return summand.astype(jnp.int32) if summand.dtype == jnp.bool_ else summand


_TOGETHER = 1 << 20
"""Bytes of a value up to which it is packed with others into one buffer."""


def _total(lowering: Lowering, tensor: Tensor, value: jax.Array, axis: Axis) -> jax.Array:
    """The sum of a tensor's values along a mapped axis.

    Where each buffer is sent by itself (``Axis.sends_unfused``), the ``AllReduce`` operations ahead whose inputs are
    evaluated already are summed in the same buffer, and later find their totals here.
    """
    if lowering.classes.partition is not None or lowering.vjp.active or not axis.sends_unfused:
        alone: jax.Array = lax.psum(value, axis.name)
        return alone
    totals: dict[Tensor, jax.Array] = lowering.memoize("totals", dict)
    if tensor not in totals:
        values = {tensor: value}
        for op in lowering.upcoming if value.nbytes <= _TOGETHER else ():
            if op.type != "AllReduce" or op.attrs["how"] == "first":
                continue
            other = op.inputs[0]
            if other.varies and other not in totals and other not in values and lowering.is_known(other):
                summand = _summand(lowering.value(other), axis)
                if summand.nbytes <= _TOGETHER:
                    values[other] = summand
        totals.update(_totals(lowering, values, axis))
    return totals[tensor]


def _totals(lowering: Lowering, values: Mapping[Tensor, jax.Array], axis: Axis) -> dict[Tensor, jax.Array]:
    """The sums of some tensors' values, one buffer per dtype; that of float32 also tells whether a check has failed."""
    packs: dict[np.dtype[Any], list[Tensor]] = {}
    for tensor, value in values.items():
        packs.setdefault(value.dtype, []).append(tensor)
    failing = lowering.errors.failure_count()
    totals: dict[Tensor, jax.Array] = {}
    for dtype, tensors in packs.items():
        parts = [values[t].ravel() for t in tensors]
        term = failing if failing is not None and dtype == failing.dtype else None
        if term is not None:
            parts.append(term.ravel())
        total: jax.Array = lax.psum(parts[0] if len(parts) == 1 else jnp.concatenate(parts), axis.name)
        start = 0
        for tensor in tensors:
            size = values[tensor].size
            totals[tensor] = total[start : start + size].reshape(values[tensor].shape)
            start += size
        if term is not None:
            lowering.errors.set_failure_count(total[start])
    return totals


def _lower_reduce(lowering: Lowering, op: Operation) -> list[Array]:
    """Reduces values padded to the largest shape; shapes may differ for "first" only."""
    (tensor,) = op.inputs
    axis = lowering.axis
    if axis is None:
        return [lowering.value(tensor)]
    how: str = op.attrs["how"]
    # The mean and the first of equal values are that value; a sum over N positions is N times it.
    if not tensor.varies and how != "sum":
        return [lowering.invariant(tensor)]
    value = lowering.value(tensor)
    shapes = _shapes(lowering, value)
    reduced = _reduce(lowering, tensor, lowering.classes.padded_value(value), how)
    if how == "first":
        return [reduced[exactly(shapes[0])]]
    if len(set(shapes)) > 1:
        raise InvalidArgumentError(
            None, op,
            f"Values are reduced elementwise over {axis.name}s, and their shapes differ: {_shape_text(shapes)}. Reduce "
            "over the rows too (axis=0), or use batches of one size (drop_remainder=True).",
        )  # fmt: skip
    return [reduced]


def _shapes(lowering: Lowering, value: Array | ByClass) -> list[tuple[int, ...]]:
    """The shape of a value at each position, in order."""
    assert lowering.axis is not None
    if isinstance(value, ByClass):
        assert lowering.classes.partition is not None
        return lowering.classes.partition.by_position(value.shapes)
    return [np.shape(value)] * lowering.axis.size


def _shape_text(shapes: Sequence[tuple[int, ...]]) -> str:
    """Shapes by position as text for a message, at most eight."""
    shown = ", ".join(str(list(s)) for s in shapes[:8])
    return shown if len(shapes) <= 8 else f"{shown}, ... ({len(shapes)} in all)"


def _reduce_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, Array]:
    """The cotangent of each position's value: that of the result, for "mean" a share of it, for "first" only at 0."""
    (cotangent,) = cotangents
    (tensor,) = op.inputs
    axis = lowering.axis
    how: str = op.attrs["how"]
    if axis is None:
        return {tensor: cotangent}
    cotangent = vary(cotangent, axis)
    shape = np.shape(lowering.value(tensor))
    if shape != cotangent.shape:  # only with "first": the value here is of another shape than the first position's
        return {tensor: vary(jnp.zeros(shape, cotangent.dtype), axis)}
    if how == "mean":
        cotangent = cotangent * np.asarray(1.0 / axis.size, cotangent.dtype)
    elif how == "first":
        cotangent = jnp.where(lax.axis_index(axis.name) == 0, cotangent, jnp.zeros_like(cotangent))
    return {tensor: cotangent}


def _gather(value: Array, axis: Axis) -> jax.Array:
    """All-gathers a value to ``[positions, ...]``, typed as invariant."""
    gathered: jax.Array = lax.all_gather(vary(jnp.asarray(value), axis), axis.name, to="invarying")
    return gathered


def _lower_concat(lowering: Lowering, op: Operation) -> list[Array]:
    """Gathers values padded to the largest shape, and concatenates their exact parts."""
    value = lowering.value(op.inputs[0])
    if lowering.axis is None:
        return [value]
    shapes = _shapes(lowering, value)
    dim: int = op.attrs["dim"] % len(shapes[0])
    if len({(*s[:dim], *s[dim + 1 :]) for s in shapes}) > 1:
        raise InvalidArgumentError(
            None, op,
            f"Values are joined along dimension {dim}, and their shapes differ in another one: {_shape_text(shapes)}.",
        )  # fmt: skip
    gathered = _gather(lowering.classes.padded_value(value), lowering.axis)
    # Positions of one shape stand side by side: one slice and reshape per run of them, not per position.
    parts = []
    start = 0
    for shape, run in groupby(shapes):
        stop = start + len(list(run))
        rows = jnp.moveaxis(gathered[(slice(start, stop), *exactly(shape))], 0, dim)
        parts.append(rows.reshape(*shape[:dim], (stop - start) * shape[dim], *shape[dim + 1 :]))
        start = stop
    return [parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=dim)]


def _concat_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, Array]:
    """The slice of the concatenation's cotangent that belongs to each position."""
    (cotangent,) = cotangents
    (tensor,) = op.inputs
    axis = lowering.axis
    if axis is None:
        return {tensor: cotangent}
    dim: int = op.attrs["dim"] % cotangent.ndim
    sizes = [shape[dim] for shape in _shapes(lowering, lowering.value_by_class(tensor))]
    starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
    start = jnp.asarray(starts)[lax.axis_index(axis.name)]
    size = np.shape(lowering.value(tensor))[dim]
    return {tensor: lax.dynamic_slice_in_dim(vary(cotangent, axis), start, size, dim)}


def _concat_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    (value,) = inputs
    if value.dims is None:
        return [Signature(value.dtype, None)]
    rank = len(value.dims)
    dim: int = attrs["dim"]
    if not -rank <= dim < rank:
        raise ValueError(f"Expected a value with a dimension {dim} to join along, got shape {list(value.dims)}.")
    dims = list(value.dims)
    known = dims[dim]
    dims[dim] = None if known is None else known * attrs["axis"].size
    return [Signature(value.dtype, tuple(dims))]


def _lower_select(lowering: Lowering, op: Operation) -> list[Array]:
    (tensor,) = op.inputs
    position: int = op.attrs["position"]
    if lowering.axis is None or not tensor.varies:
        return [lowering.invariant(tensor)]
    value = lowering.value(tensor)
    # Selections of all positions share one gather.
    shared: tuple[jax.Array, list[tuple[int, ...]]] = lowering.memoize(
        ("gathered", tensor),
        lambda: (_gather(lowering.classes.padded_value(value), op.attrs["axis"]), _shapes(lowering, value)),
    )
    gathered, shapes = shared
    return [gathered[position][exactly(shapes[position])]]


def _select_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, Array]:
    (cotangent,) = cotangents
    (tensor,) = op.inputs
    axis = lowering.axis
    if axis is None:
        return {tensor: cotangent}
    shape = np.shape(lowering.value(tensor))
    if shape != cotangent.shape:
        return {tensor: vary(jnp.zeros(shape, cotangent.dtype), axis)}
    cotangent = vary(cotangent, axis)
    here = lax.axis_index(axis.name) == op.attrs["position"]
    return {tensor: jnp.where(here, cotangent, jnp.zeros_like(cotangent))}


def _lower_distribute(lowering: Lowering, op: Operation) -> list[Array]:
    """Stacks the values and indexes the stack by the axis index."""
    values = [jnp.asarray(lowering.value(t)) for t in op.inputs]
    if lowering.axis is None:
        return [values[0]]
    if len({v.shape for v in values}) > 1:
        raise DifferentShapes(op, [v.shape for v in values])
    stacked = jnp.stack([vary(v, lowering.axis) for v in values])
    return [lax.dynamic_index_in_dim(stacked, lax.axis_index(lowering.axis.name), 0, keepdims=False)]


def _own_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    first = inputs[0]
    if any(t.dtype is not first.dtype for t in inputs):
        listed = ", ".join(t.dtype.name for t in inputs)
        raise TypeError(f"Expected values of one type at all positions, got {listed}.")
    dims = first.dims
    for other in inputs[1:]:
        if dims is None or other.dims is None or len(other.dims) != len(dims):
            return [Signature(first.dtype, None)]
        dims = tuple([d if d == o else None for d, o in zip(dims, other.dims, strict=True)])
    return [Signature(first.dtype, dims)]


def _lower_own(lowering: Lowering, op: Operation) -> list[Array]:
    if lowering.axis is None:
        return [lowering.value(op.inputs[0])]
    assert lowering.classes.partition is not None
    assert lowering.classes.shard_class is not None
    return [lowering.value(op.inputs[lowering.classes.partition.first_of(lowering.classes.shard_class)])]


def _lower_constants(lowering: Lowering, op: Operation) -> list[Array]:
    """Indexes the stacked constants by the axis index."""
    values: Sequence[HostArray] = op.attrs["values"]
    if lowering.axis is None:
        return [values[0]]
    stacked = vary(jnp.asarray(np.stack(values)), lowering.axis)
    return [lax.dynamic_index_in_dim(stacked, lax.axis_index(lowering.axis.name), 0, keepdims=False)]


def _divide_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    (value,) = inputs
    if value.dims is None:
        return [Signature(value.dtype, None)]
    rank = len(value.dims)
    dim: int = attrs["dim"]
    count: int = attrs["axis"].size
    if not -rank <= dim < rank:
        raise ValueError(f"{dim} is no dimension of a value of shape {value.shape}.")
    dims = list(value.dims)
    size = dims[dim]
    if size is not None and size % count:
        raise ValueError(f"Dimension size must be evenly divisible by {count} but is {size}, dimension {dim}.")
    dims[dim] = None if size is None else size // count
    return [Signature(value.dtype, tuple(dims))]


def _lower_divide(lowering: Lowering, op: Operation) -> list[Array]:
    value = jnp.asarray(lowering.value(op.inputs[0]))
    dim: int = op.attrs["dim"]
    count: int = op.attrs["axis"].size
    size, left = divmod(value.shape[dim], count)
    if left:
        raise InvalidArgumentError(
            None, op, f"Dimension size must be evenly divisible by {count} but is {value.shape[dim]}, dimension {dim}."
        )
    axis = lowering.axis
    start = 0 if axis is None else lax.axis_index(axis.name) * size
    return [lax.dynamic_slice_in_dim(vary(value, axis), start, size, dim)]


for _type, _rule, _lower, _backward, _execute in (
    ("AllReduce", same, _lower_reduce, _reduce_backward, None),
    ("AllConcat", _concat_rule, _lower_concat, _concat_backward, None),
    ("SelectPosition", same, _lower_select, _select_backward,
     lambda context, inputs, attrs: [inputs[0].part(attrs["position"])]),
):  # fmt: skip
    define_op(
        _type,
        _rule,
        lower=_lower,
        backward=_backward,
        collective=True,
        handles_shard_classes=True,
        hidden=("axis", "own"),
        execute=_execute,
    )
define_op("Divide", _divide_rule, lower=_lower_divide, always_varies=True, hidden=("axis",))
define_op(
    "OwnOfPositions",
    _own_rule,
    lower=_lower_own,
    always_varies=True,
    hidden=("axis",),
    index_dependent=True,
)
define_op(
    "ConstOfPositions",
    lambda inputs, attrs: [Signature(attrs["dtype"], np.shape(attrs["values"][0]))],
    lower=_lower_constants,
    always_varies=True,
    differentiable=False,
    own="value",
    hidden=("axis", "values"),
)
define_op(
    "FromPositions", same, lower=_lower_distribute, always_varies=True, hidden=("axis", "joined"), derivative="linear"
)
define_op(
    "Spread",
    same,
    lower=lambda lowering, op: [vary(jnp.asarray(lowering.value(op.inputs[0])), lowering.axis)],
    always_varies=True,
    hidden=("axis",),
)
define_op(
    "PositionIndex",
    lambda inputs, attrs: [Signature(int32, ())],
    lower=lambda lowering, op: [lowering.position()],
    always_varies=True,
    differentiable=False,
    hidden=("axis",),
)
define_op(
    "PositionInput",
    lambda inputs, attrs: [Signature(attrs["dtype"], attrs["shape"])],
    lower=lambda lowering, op: lowering.raise_unfed(op),
    always_varies=True,
    is_placeholder=True,
    hidden=("axis",),
)
