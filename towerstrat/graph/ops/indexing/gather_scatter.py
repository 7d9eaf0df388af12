"""Picking and placing elements by index: gather, scatter, one-hot, masks, partitions, unique values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import refuse
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.integer_arguments import optional_integer
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape, merge
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, bool_, float32, int32
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.array.array_kernels import check_integers, dims_from, sizes_of
from towerstrat.graph.ops.array.arrays import (  # fmt: skip
    concat,
    expand_dims,
    ones,
    operand,
    reshape,
    shape_tensor,
    squeeze,
    stack,
    where,
)
from towerstrat.graph.ops.array.arrays import shape as shape_
from towerstrat.graph.ops.array.arrays import size as size_
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.axis_inputs import along, define_along, known_axis, normal_axis
from towerstrat.graph.ops.building.op_builder import add, add_op, reserve_name
from towerstrat.graph.ops.indexing.unique_rows import lower_unique
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.ops.math.reductions import reduce

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


# ---- by index ------------------------------------------------------------------------------------------------------


def _gather_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, indices = inputs
    check_integers(indices, "indices")
    if x.dims is None:
        return [Signature(x.dtype, None)]
    if not x.dims:
        raise ValueError("Expected params of rank 1 or higher, got a scalar.")
    axis = normal_axis(attrs["axis"], len(x.dims))
    if indices.dims is None:
        return [Signature(x.dtype, None)]
    batch = attrs.get("batch_dims", 0)
    if not TensorShape(x.dims[:batch]).is_compatible_with(indices.dims[:batch]):
        raise ValueError(f"Expected {batch} batch dimensions in common, got shapes {x.shape} and {indices.shape}.")
    return [Signature(x.dtype, (*x.dims[:axis], *indices.dims[batch:], *x.dims[axis + 1 :]))]


def _gather(x: Any, indices: Any, *, axis: int, batch_dims: int = 0) -> Any:
    take: Any = partial(jnp.take, axis=axis % jnp.ndim(x) - batch_dims, mode="clip")
    for _ in range(batch_dims):
        take = jax.vmap(take)
    return take(x, indices)


def _along_axis(op: Operation, values: Sequence[Any]) -> int | None:
    """The size that indices must be below; None where a row has no entries."""
    shape, axis = list(np.shape(values[0])), op.attrs["axis"]
    size = shape.pop(int(values[2] if axis is None else axis))
    return None if 0 in shape else int(size)


def _check_gather(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    """Every index is in range; of rows that were summed by index some may be left over, which a write drops later."""
    source = op.inputs[1].op
    while source.type in ("Cast", "Identity"):
        source = source.inputs[0].op
    summed = source.type in ("DeduplicateRows", "Unique", "UniqueWithCounts")
    check = input_checks.rows if summed else input_checks.in_range
    size = _along_axis(op, values)
    return None if size is None else check(values[1], size)


define_along(
    "GatherV2", _gather_rule, _gather, numpy=numpy_kernels.gather, numpy_takes_objects=True,
    check=InputCheck(_check_gather, (1,)), derivative="linear", additive=True,
)  # fmt: skip


def gather(
    params: Any, indices: Any, validate_indices: Any = None, name: str | None = None, axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:  # fmt: skip
    """The slices ``params[indices[i]]`` along ``axis``. Rows of a variable are looked up without a copy of it.

    ``validate_indices`` changes nothing, as in the original. A run raises InvalidArgumentError where an index is out of
    range. The others are as of ``gather_v2``.
    """
    return gather_v2(params, indices, None, axis, batch_dims, name)


def rows_at(x: Any, places: Any) -> Tensor:
    """``x[places]``: the gradient is dense, as that of the original's kernels, where ``tf.gather`` gives rows."""
    return along("GatherV2", (convert_to_tensor(x), convert_to_tensor(places)), 0, {"_dense_gradient": True})[0]


def _gathered(params: Any, indices: Any, axis: Any, batch_dims: int, name: str | None) -> Any:
    if isinstance(params, Partitioned):
        return params._gathered(indices, axis)
    if isinstance(indices, Partitioned):
        refuse("tf.gather", "For ragged indices: pad them by to_tensor().", batch_dims=(batch_dims, 0))
        return indices._map_flat(lambda values: _gathered(params, values, axis, batch_dims, name))
    if not isinstance(axis, Tensor) and axis == batch_dims == 0 and hasattr(params, "sparse_read"):
        return params.sparse_read(indices, name=name)
    name = reserve_name(get_default_graph(), name or "GatherV2")
    parts = (operand(params, name, "params"), operand(indices, name, "indices"))
    return along("GatherV2", parts, axis, {"batch_dims": batch_dims} if batch_dims else None, name)[0]


def gather_v2(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``gather`` for each entry of the leading dimensions that ``params`` and ``indices`` have in common.

    Args:
      validate_indices: changes nothing, as in the original.
      axis: the dimension of ``params``; the first one after the common ones by default.
      batch_dims: how many dimensions they have in common; a negative number counts from the indices' rank.

    Raises:
      ValueError: an axis among the common dimensions, or common dimensions of different sizes.
      UnsupportedError: ragged indices with common dimensions.
    """
    axis = batch_dims if axis is None else known_axis(axis)
    if batch_dims < 0:
        found = convert_to_tensor(indices)
        if found.dims is None:
            raise ValueError("The rank of indices must be known where batch_dims is negative; use set_shape.")
        batch_dims += len(found.dims)
    if not isinstance(axis, Tensor) and 0 <= axis < batch_dims:
        raise ValueError(f"Expected an axis after the {batch_dims} batch dimensions, got {axis}.")
    return _gathered(params, indices, axis, batch_dims, name)


def _batch_gather(x: Any, indices: Any) -> Any:
    batch = indices.ndim - 1
    sizes = jnp.broadcast_shapes(x.shape[:batch], indices.shape[:batch])

    def rows(of: Any, at: Any) -> Any:
        return of.at[at].get(mode="clip")

    # JAX 0.10 makes the indices of ``jnp.take_along_axis`` 64-bit ones, which a TPU computes in two halves.
    for _ in range(batch):
        rows = jax.vmap(rows)
    return rows(*(jnp.broadcast_to(a, (*sizes, *a.shape[batch:])) for a in (x, indices)))


def _batch_gather_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, indices = inputs
    check_integers(indices, "indices")
    if x.dims is None or indices.dims is None:
        return [Signature(x.dtype, None)]
    return [Signature(x.dtype, (*indices.dims, *x.dims[len(indices.dims) :]))]


define_op(
    "BatchGather", _batch_gather_rule, lambda x, indices: _batch_gather(jnp.asarray(x), indices),
    numpy=numpy_kernels.batch_gather,
    check=input_checks.indices(lambda op, values: values[0].shape[values[1].ndim - 1]), derivative="linear",
)  # fmt: skip


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """``gather`` along the last dimension of the indices, for each entry of the dimensions in front of it."""
    name = reserve_name(get_default_graph(), name or "BatchGather")
    return add_op("BatchGather", (operand(params, name, "params"), operand(indices, name, "indices")), None, name)


def _gather_nd_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, indices = inputs
    check_integers(indices, "indices")
    if x.dims is None or indices.dims is None or indices.dims[-1] is None:
        return [Signature(x.dtype, None)]
    depth, batch = indices.dims[-1], attrs.get("batch_dims", 0)
    if depth + batch > len(x.dims):
        raise ValueError(f"indices.shape[-1] must be <= params.rank, got {indices.shape} for {x.shape}.")
    return [Signature(x.dtype, (*indices.dims[:-1], *x.dims[batch + depth :]))]


def _places(indices: Any) -> tuple[Any, ...]:
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def _gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    if batch_dims:
        return jax.vmap(partial(_gather_nd, batch_dims=batch_dims - 1))(jnp.asarray(x), indices)
    if indices.shape[-1] == 0:
        return jnp.broadcast_to(x, (*indices.shape[:-1], *x.shape))
    return jnp.asarray(x).at[_places(indices)].get(mode="clip")


def _check_gather_nd(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    x, indices = values
    shape = tuple(x.shape)
    if 0 in shape and 0 not in indices.shape and indices.shape[-1]:
        words = f"Requested more than 0 entries, but params is empty.  Params shape: [{','.join(map(str, shape))}]"
        return CheckResult(np.True_, (), lambda: words)
    return input_checks.coordinates(indices, shape[op.attrs.get("batch_dims", 0) :], "param shape")


define_op(
    "GatherNd", _gather_nd_rule, _gather_nd, numpy=numpy_kernels.gather_nd, check=InputCheck(_check_gather_nd, (1,)),
    derivative="linear",
)  # fmt: skip


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The slices at the coordinates in the last dimension of ``indices``.

    Args:
      batch_dims: for each entry of so many first dimensions, which both have in common.
    """
    name = reserve_name(get_default_graph(), name or "GatherNd")
    parts = (operand(params, name, "params"), operand(indices, name, "indices"))
    return add_op("GatherNd", parts, {"batch_dims": int(batch_dims)} if batch_dims else None, name)


def gather_nd_v2(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """``gather_nd`` for each entry of the first ``batch_dims`` dimensions, which both have in common."""
    return gather_nd(params, indices, name, batch_dims)


def _scatter_nd_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    indices, updates, sizes = inputs
    check_integers(indices, "indices")
    dims = dims_from(sizes)
    if dims is not None and indices.dims is not None and indices.dims[-1] is not None:
        wanted = (*indices.dims[:-1], *dims[indices.dims[-1] :])
        if not TensorShape(wanted).is_compatible_with(updates.dims):
            raise ValueError(f"Expected updates of shape {TensorShape(wanted)}, got {updates.shape}.")
    return [Signature(updates.dtype, dims)]


def _scatter_nd(indices: Any, updates: Any, sizes: Any) -> Any:
    zeros = jnp.zeros(sizes_of(sizes), updates.dtype)
    return zeros.at[_places(jnp.asarray(indices))].add(updates, mode="drop")


def _check_scatter_nd(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    indices, _, sizes = values
    return input_checks.coordinates(indices, sizes_of(sizes), "shape") if input_checks.on_host(sizes) else None


define_op(
    "ScatterNd", _scatter_nd_rule, _scatter_nd, static=(2,), numpy=numpy_kernels.form(numpy_kernels.scatter_nd),
    check=InputCheck(_check_scatter_nd, (0, 2)), derivative="linear",
)  # fmt: skip


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of a shape with ``updates`` added at coordinates."""
    name = reserve_name(get_default_graph(), name or "ScatterNd")
    parts = (operand(indices, name, "indices"), operand(updates, name, "updates"), shape_tensor(shape, f"{name}shape/"))
    return add_op("ScatterNd", parts, None, name)


def _scattered_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, indices, updates = inputs
    check_integers(indices, "indices")
    if x.dtype is not updates.dtype:
        raise TypeError(f"Expected updates of {x.dtype.name}, got {updates.dtype.name}. Use tf.cast.")
    if x.dims is not None and indices.dims is not None and indices.dims[-1] is not None:
        wanted = (*indices.dims[:-1], *x.dims[indices.dims[-1] :])
        if not TensorShape(wanted).is_compatible_with(updates.dims):
            raise ValueError(f"Expected updates of shape {TensorShape(wanted)}, got {updates.shape}.")
    return [Signature(x.dtype, x.dims)]


def _scattered(method: str) -> Any:
    def kernel(x: Any, indices: Any, updates: Any) -> Any:
        places = jnp.asarray(x).at[_places(jnp.asarray(indices))]
        return getattr(places, method)(updates, mode="drop")

    return kernel


def _changed(type: str, method: str, name: str, words: str) -> Any:
    define_op(
        type, _scattered_rule, _scattered(method), numpy=numpy_kernels.form(numpy_kernels.scattered(method)),
        check=input_checks.COORDINATES,
    )  # fmt: skip

    def function(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        name = reserve_name(get_default_graph(), name or type)
        x = operand(tensor, name, "tensor")
        given = (
            operand(updates, name, "updates") if isinstance(updates, Tensor) else convert_to_tensor(updates, x.dtype)
        )
        return add_op(type, (x, operand(indices, name, "indices"), given), None, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A tensor with ``updates`` {words} at the coordinates in the last dimension of ``indices``."
    return function


tensor_scatter_nd_update = _changed(
    "TensorScatterUpdate", "set", "tensor_scatter_nd_update", "in place of what was (of equal coordinates: any)"
)
tensor_scatter_nd_add = _changed("TensorScatterAdd", "add", "tensor_scatter_nd_add", "added")
tensor_scatter_nd_sub = _changed("TensorScatterSub", "subtract", "tensor_scatter_nd_sub", "subtracted")


def _one_hot_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    indices, depth, on, off = inputs
    check_integers(indices, "indices")
    size = constant_value(depth)
    if depth.dims not in ((), None):
        raise ValueError(f"Expected a scalar depth, got shape {depth.shape}.")
    if size is not None and int(size) < 0:
        raise ValueError(f"depth must be non-negative, got: {int(size)}")
    if on.dtype is not off.dtype:
        raise TypeError(f"Expected on_value and off_value of one element type, got {on.dtype.name}, {off.dtype.name}.")
    if indices.dims is None:
        return [Signature(on.dtype, None)]
    axis = normal_axis(attrs["axis"], len(indices.dims) + 1)
    known = None if size is None else int(size)
    return [Signature(on.dtype, (*indices.dims[:axis], known, *indices.dims[axis:]))]


def _one_hot(indices: Any, depth: Any, on: Any, off: Any, *, axis: int, numpy: Any = jnp) -> Any:
    axis = axis % (indices.ndim + 1)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = int(depth)
    classes = np.arange(int(depth)).astype(indices.dtype).reshape(shape)
    return numpy.where(numpy.expand_dims(indices, axis) == classes, on, off)


define_op("OneHot", _one_hot_rule, _one_hot, static=(1,), numpy=partial(_one_hot, numpy=np), differentiable=False)


def one_hot(
    indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: int | None = None, dtype: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A new dimension of size ``depth`` with ``on_value`` (1) at the index and ``off_value`` (0) elsewhere.

    Args:
      axis: where the new dimension is; the last one by default.
      dtype: default that of the given values, else float32.

    Raises:
      TypeError: values and dtype do not agree.
    """
    graph = get_default_graph()
    name = reserve_name(graph, name or "one_hot")
    to = None if dtype is None else as_dtype(dtype)
    given = {"on_value": on_value, "off_value": off_value}
    values = {k: convert_to_tensor(v, name=f"{name}{k}/") for k, v in given.items() if v is not None}
    for key, value in values.items():
        if to is not None and value.dtype is not to:
            raise TypeError(f"dtype {value.dtype!r} of {key} does not match dtype parameter {to!r}")
    kind = to or next((v.dtype for v in values.values()), float32)
    for key, number in (("on_value", 1), ("off_value", 0)):
        if key not in values:
            values[key] = constant(np.asarray(number).astype(kind.np), kind, name=f"{name}{key}/")
    places, size = operand(indices, name, "indices"), operand(depth, name, "depth", int32)
    parts = (places, size, values["on_value"], values["off_value"])
    return add_op("OneHot", parts, {"axis": optional_integer(axis, -1)}, name)


# ---- masks ---------------------------------------------------------------------------------------------------------


def boolean_mask(tensor: Any, mask: Any, name: str | None = "boolean_mask", axis: int | None = None) -> Tensor:
    """The elements (or slices) where the mask is true; their number depends on values, see ``tf.where``."""
    with get_default_graph().name_scope(name or "boolean_mask"):
        x = convert_to_tensor(tensor, name="tensor")
        chosen = convert_to_tensor(mask, name="mask")
        if chosen.dims is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.")
        if not chosen.dims:
            raise ValueError("mask cannot be scalar.")
        first = optional_integer(axis, 0)
        last = first + len(chosen.dims)
        x.shape[first:last].assert_is_compatible_with(chosen.shape)
        sizes = shape_(x)
        leading = reduce("Prod", sizes[first:last], [0], False, None)
        flat = reshape(x, concat([sizes[:first], expand_dims(leading, 0), sizes[last:]], 0))
        indices = squeeze(where(reshape(chosen, [-1])), axis=[1])
        return gather(flat, indices, axis=first)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None) -> Tensor:
    """``[..., maxlen]``: whether a position is before each length. ``maxlen`` is the largest length by default."""
    with get_default_graph().name_scope(name or "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        longest = reduce("Max", lengths, None, False, None) if maxlen is None else convert_to_tensor(maxlen)
        if longest.dims not in ((), None):
            raise ValueError("maxlen must be scalar for sequence_mask")
        zero, step = (constant(np.asarray(v, longest.dtype.np), longest.dtype) for v in (0, 1))
        result = add_op("Range", (zero, longest, step)) < cast(expand_dims(lengths, -1), longest.dtype)
        return result if dtype is None else cast(result, dtype)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinates of a grid from vectors of coordinates; ``indexing`` "xy" (the first two swapped) or "ij"."""
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with get_default_graph().name_scope(name or "meshgrid"):
        count = len(args)
        tensors = [convert_to_tensor(a) for a in args]
        places = list(range(count))
        if indexing == "xy" and count > 1:
            places[:2] = [1, 0]
        output = [
            reshape(x, [-1 if i == place else 1 for i in range(count)])
            for x, place in zip(tensors, places, strict=True)
        ]
        sizes = [size_(tensors[places.index(i)]) for i in range(count)]
        factor = ones(stack(sizes), tensors[0].dtype)
        return [x * factor for x in output]


# ---- unique values, partitions -------------------------------------------------------------------------------------


def _unique_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    (x,) = inputs
    if x.dims is not None and len(x.dims) != 1:
        raise ValueError(f"Expected a vector, got shape {x.shape}.")
    result = [Signature(x.dtype, (None,)), Signature(attrs["out_idx"], x.dims or (None,))]
    return [*result, Signature(attrs["out_idx"], (None,))] if attrs.get("counts") else result


def _unique(x: Any, *, out_idx: Any, counts: bool = False) -> tuple[Any, ...]:
    values, first, inverse, number = np.unique(np.asarray(x), True, True, True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    result = (values[order], rank[inverse.reshape(-1)].astype(out_idx.np))
    return (*result, number[order].astype(out_idx.np)) if counts else result


for _type in ("Unique", "UniqueWithCounts"):
    define_op(_type, _unique_rule, _unique, lower=lower_unique, numpy=_unique, dynamic=True, differentiable=False)


class Unique(NamedTuple):
    """The different values, and for each element which of them it is."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """``Unique``, and how often each value occurs."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]


class ListDiff(NamedTuple):
    """Elements that are in one vector only, and where they are in it."""

    out: Tensor
    idx: Tensor


def unique(x: Any, out_idx: Any = int32, name: str | None = None) -> Unique:
    """The different values of a vector in order of appearance, and for each element which of them it is."""
    return Unique(*add("Unique", (convert_to_tensor(x),), {"out_idx": as_dtype(out_idx)}, name))


def unique_with_counts(x: Any, out_idx: Any = int32, name: str | None = None) -> UniqueWithCounts:
    """``unique``, and how often each value occurs."""
    attrs = {"out_idx": as_dtype(out_idx), "counts": True}
    return UniqueWithCounts(*add("UniqueWithCounts", (convert_to_tensor(x),), attrs, name))


def _setdiff_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(inputs[0].dtype, (None,)), Signature(attrs["out_idx"], (None,))]


def _setdiff(x: Any, y: Any, *, out_idx: Any) -> tuple[Any, Any]:
    x = np.asarray(x)
    keep = np.flatnonzero(~np.isin(x, np.asarray(y)))
    return x[keep], keep.astype(out_idx.np)


define_op("ListDiff", _setdiff_rule, _setdiff, numpy=_setdiff, dynamic=True, differentiable=False)


def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """The elements of x that are not in y, in order, and their indices."""
    left = convert_to_tensor(x)
    attrs = {"out_idx": as_dtype(index_dtype)}
    return ListDiff(*add("ListDiff", (left, convert_to_tensor(y, left.dtype)), attrs, name or "ListDiff"))


def _partition_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    data, partitions = inputs
    dims: Dims = None
    if data.dims is not None and partitions.dims is not None:
        count = len(partitions.dims)
        if not TensorShape(data.dims[:count]).is_compatible_with(partitions.dims):
            raise ValueError(
                f"Expected data that starts with the shape of partitions {partitions.shape}, got {data.shape}."
            )
        dims = (None, *data.dims[count:])
    return [Signature(data.dtype, dims)] * attrs["num_partitions"]


def _partition(data: Any, partitions: Any, *, num_partitions: int) -> tuple[Any, ...]:
    where_to = np.asarray(partitions).reshape(-1)
    flat = jnp.reshape(data, (where_to.size, *data.shape[np.ndim(partitions) :]))
    return tuple(flat[np.flatnonzero(where_to == i)] for i in range(num_partitions))


define_op(
    "DynamicPartition", _partition_rule, _partition, numpy=numpy_kernels.partition, dynamic=True,
    check=input_checks.indices(lambda op, values: op.attrs["num_partitions"], description="partitions"),
    derivative="linear",
)  # fmt: skip


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """The slices of ``data`` by the number of the part each goes to. Sizes depend on values, see ``tf.where``."""
    parts = (convert_to_tensor(data), convert_to_tensor(partitions, int32))
    return add("DynamicPartition", parts, {"num_partitions": int(num_partitions)}, name)


def _stitch_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    count = attrs["N"]
    tail: Dims = None
    longest: int | None = 0
    for indices, data in zip(inputs[:count], inputs[count:], strict=True):
        known = constant_value(indices)
        longest = None if known is None or longest is None else max(longest, int(known.max(initial=-1)) + 1)
        if indices.dims is not None and data.dims is not None:
            tail = merge(tail, data.dims[len(indices.dims) :])
    return [Signature(inputs[count].dtype, None if tail is None else (longest, *tail))]


def _lower_stitch(lowering: Lowering, op: Operation) -> list[Any]:
    count = op.attrs["N"]
    indices = [lowering.static(op, i) for i in range(count)]
    data = [jnp.asarray(lowering.value(t)) for t in op.inputs[count:]]
    tail = data[0].shape[indices[0].ndim :]
    flat = jnp.concatenate([jnp.reshape(d, (i.size, *tail)) for i, d in zip(indices, data, strict=True)])
    order = np.concatenate([i.reshape(-1) for i in indices])
    size = int(order.max(initial=-1)) + 1
    source = np.full(size, len(order), np.int64)
    source[order] = np.arange(len(order))
    padded = jnp.concatenate([flat, jnp.zeros((1, *tail), flat.dtype)])
    return [padded[source]]


def _check_stitch(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    known = [v for v in values[: op.attrs["N"]] if input_checks.on_host(v) and np.size(v) and np.min(v) < 0]
    return (
        input_checks.first_of(known[0] < 0, message=lambda where: f"indices{where} is out of range") if known else None
    )


define_op(
    "DynamicStitch", _stitch_rule, lower=_lower_stitch, numpy=numpy_kernels.stitch,
    check=InputCheck(_check_stitch, tuple(range(64))), derivative="linear",
)  # fmt: skip


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """One tensor from parts: row ``indices[m][i]`` is ``data[m][i]``; where rows repeat, the last one stays."""
    where_to = [convert_to_tensor(i, int32) for i in indices]
    parts = [convert_to_tensor(d) for d in data]
    return add_op("DynamicStitch", (*where_to, *parts), {"N": len(where_to)}, name)


def _invert(x: Any) -> Any:
    return jnp.zeros(x.shape, x.dtype).at[x].set(np.arange(x.shape[0]).astype(x.dtype))


def _vector_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_integers(inputs[0], "a permutation")
    return [Signature(inputs[0].dtype, inputs[0].dims or (None,))]


def _check_permutation(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    (x,) = values
    size = x.shape[0]
    if not size:
        return None
    numpy: Any = np if input_checks.on_host(x) else jnp
    ordered = numpy.sort(x)
    wrong = ordered != np.arange(size).astype(x.dtype)
    bad = input_checks.outside(x, size)

    def message(out: Any, first: Any, repeated: Any) -> str:
        return f"{int(first)} is not between 0 and {size}" if out else f"{int(repeated)} is duplicated in the input."

    place = numpy.argmax(numpy.concatenate([np.zeros(1, bool), ordered[1:] == ordered[:-1]]))
    return CheckResult(numpy.any(wrong), (numpy.any(bad), x[numpy.argmax(bad)], ordered[place]), message)


define_op("InvertPermutation", _vector_rule, lambda x: _invert(jnp.asarray(x)), differentiable=False,
       numpy=lambda x: np.argsort(x).astype(x.dtype), check=InputCheck(_check_permutation))  # fmt: skip


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation that undoes x."""
    return add_op("InvertPermutation", (convert_to_tensor(x),), None, name)
