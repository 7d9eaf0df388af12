"""Operation types that move elements or tell shapes: their rules and kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value, constant_value_as_dims, partial_value
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.node_writer import NodeWriter, identity_nodes, name_of
from towerstrat.graph.ir.op_registry import Signature, define_op, same
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.types import int32, int64
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.axis_inputs import define_along, normal_axis

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


def check_integers(tensor: Any, what: str) -> None:
    if not tensor.dtype.is_integer:
        raise TypeError(f"Expected integer {what}, got {tensor.dtype.name} ({tensor.name}). Use tf.cast.")


# ---- what a shape is -----------------------------------------------------------------------------------------------


def _shape_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    return [Signature(attrs["out_type"], (None if dims is None else len(dims),))]


def _size_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(attrs["out_type"], ())]


def _lower_shape(lowering: Lowering, op: Operation) -> list[Any]:
    return [np.array(np.shape(lowering.value(op.inputs[0])), op.outputs[0].dtype.np)]


def _lower_size(lowering: Lowering, op: Operation) -> list[Any]:
    return [np.asarray(np.size(lowering.value(op.inputs[0])), op.outputs[0].dtype.np)]


def _lower_rank(lowering: Lowering, op: Operation) -> list[Any]:
    return [np.asarray(np.ndim(lowering.value(op.inputs[0])), np.int32)]


def _shape_n_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [_shape_rule([t], attrs)[0] for t in inputs]


def _lower_shape_n(lowering: Lowering, op: Operation) -> list[Any]:
    return [np.array(np.shape(lowering.value(t)), op.outputs[0].dtype.np) for t in op.inputs]


define_op("ShapeN", _shape_n_rule, lower=_lower_shape_n, differentiable=False)
define_op("Shape", _shape_rule, lower=_lower_shape, differentiable=False,
       numpy=lambda x, *, out_type: np.array(np.shape(x), out_type.np), view=True)  # fmt: skip
define_op("Size", _size_rule, lower=_lower_size, differentiable=False,
       numpy=lambda x, *, out_type: np.asarray(np.size(x), out_type.np), view=True)  # fmt: skip
define_op("Rank", lambda inputs, attrs: [Signature(int32, ())], lower=_lower_rank, differentiable=False,
       numpy=lambda x: np.asarray(np.ndim(x), np.int32), view=True)  # fmt: skip


# ---- as it is ------------------------------------------------------------------------------------------------------


def _identity(x: Any) -> Any:
    return x


def _all_same(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(t.dtype, t.dims) for t in inputs]


def _like_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(attrs.get("dtype") or inputs[0].dtype, inputs[0].dims)]


def _ensured(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    if not TensorShape(dims).is_compatible_with(attrs["shape"]):
        raise ValueError(f"Expected a tensor of shape {TensorShape(attrs['shape'])}, got {TensorShape(dims)}.")
    return [Signature(inputs[0].dtype, shapes.merge(dims, attrs["shape"]))]


def _ensure(x: Any, *, shape: Dims) -> Any:
    if not TensorShape(shape).is_compatible_with(x.shape):
        raise ValueError(f"Expected a tensor of shape {TensorShape(shape)}, got {x.shape}.")
    return x


define_op(
    "Identity", same, _identity, numpy=_identity, numpy_takes_objects=True, derivative="linear", additive=True,
    entrywise=True, polynomial=True, passes_rows=True, same_bits=True,
)  # fmt: skip
for _type in ("Snapshot", "GuaranteeConst", "PlaceholderIdentity"):
    define_op(
        _type, same, _identity, numpy=_identity, numpy_takes_objects=True,
        nodes=identity_nodes if _type == "PlaceholderIdentity" else None,
    )  # fmt: skip
for _type in ("StopGradient", "PreventGradient"):
    define_op(_type, same, _identity, numpy=_identity, numpy_takes_objects=True, differentiable=False)
define_op("IdentityN", _all_same, lambda *xs: xs, numpy=lambda *xs: xs, derivative="linear")
define_op("EnsureShape", _ensured, _ensure, numpy=_ensure, derivative="linear")


def _like_nodes(writer: NodeWriter, op: Operation) -> None:
    """Of another element type the original fills the shape."""
    x, dtype = op.inputs[0], op.outputs[0].dtype
    if x.dtype is dtype:
        writer.write_same(op)
        return
    shape = writer.node("Shape", "Shape", [name_of(x)], T=x.dtype)
    value = writer.constant("Const", np.asarray(op.type == "OnesLike", dtype.np), dtype)
    writer.node("", "Fill", [shape, value], T=dtype)


define_op(
    "ZerosLike", _like_rule, lambda x, *, dtype=None: jnp.zeros(x.shape, dtype.np if dtype else x.dtype),
    numpy=lambda x, *, dtype=None: np.zeros(x.shape, dtype.np if dtype else x.dtype), differentiable=False,
    nodes=_like_nodes,
    additive=True, entrywise=True, same_bits=True,
)  # fmt: skip
define_op(
    "OnesLike", _like_rule, lambda x, *, dtype=None: jnp.ones(x.shape, dtype.np if dtype else x.dtype),
    numpy=lambda x, *, dtype=None: np.ones(x.shape, dtype.np if dtype else x.dtype), differentiable=False,
    nodes=_like_nodes,
    entrywise=True, same_bits=True,
)  # fmt: skip


# ---- other shapes for the same elements ----------------------------------------------------------------------------


def _number_of(dims: Dims) -> int | None:
    if dims is None or None in dims:
        return None
    result = 1
    for dim in dims:
        result *= dim or 0
    return result


def _reshape_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, shape = inputs
    check_integers(shape, "shape")
    entries = partial_value(shape)
    if entries is None:
        length = shape.dims[0] if shape.dims else None
        return [Signature(x.dtype, None if length is None else (None,) * length)]
    if any(e is not None and e < -1 for e in entries):
        raise ValueError(f"Expected sizes of at least -1 in a new shape, got {list(entries)}.")
    if entries.count(-1) > 1:
        raise ValueError(f"Expected at most one -1 in a new shape, got {list(entries)}.")
    return [Signature(x.dtype, _reshaped(x, entries))]


def _reshaped(x: Any, entries: tuple[int | None, ...]) -> Dims:
    dims: list[int | None] = [None if e == -1 else e for e in entries]
    total = _number_of(x.dims)
    known = 1
    for dim in dims:
        known *= 1 if dim is None else dim
    missing = [i for i, d in enumerate(dims) if d is None]
    if total is not None and not missing and known != total:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements, shape {TensorShape(x.dims)}, to shape {list(entries)}."
        )
    if total is not None and len(missing) == 1:
        if known and total % known == 0:
            dims[missing[0]] = total // known
        elif known:
            raise ValueError(
                f"Cannot reshape a tensor with {total} elements, shape {TensorShape(x.dims)}, to shape "
                f"{list(entries)}: {total} is not divisible by {known}."
            )
    elif len(missing) == 1 and x.dims is not None and known:
        dims[missing[0]] = _quotient(x.dims, known)
    return tuple(dims)


def _quotient(dims: tuple[int | None, ...], known: int) -> int | None:
    """The remaining size where exactly one factor is unknown on both sides and the known ones agree: not a number."""
    return 0 if 0 in dims else None


def _reshape_sizes(x: Any, shape: Any) -> tuple[int, ...]:
    sizes = [int(d) for d in np.ravel(shape).tolist()]
    total = math.prod(np.shape(x))
    if sizes.count(-1) == 1:
        rest = math.prod(d for d in sizes if d != -1)
        if rest == 0 or total % rest:
            if rest == 0 and total == 0:
                raise ValueError(f"Cannot infer the missing size of {sizes} for an empty tensor, shape {np.shape(x)}.")
            raise ValueError(f"Cannot reshape {np.shape(x)} ({total} elements) to {sizes}.")
        sizes[sizes.index(-1)] = total // rest
    if math.prod(sizes) != total:
        raise ValueError(f"Cannot reshape {np.shape(x)} to {sizes}.")
    return tuple(sizes)


define_op("Reshape", _reshape_rule, lambda x, shape: jnp.reshape(x, _reshape_sizes(x, shape)), static=(1,),
       numpy=lambda x, shape: np.reshape(x, _reshape_sizes(x, shape)), numpy_takes_objects=True, view=True,
       derivative="linear", additive=True)  # fmt: skip


def _expand_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    if dims is None:
        return [Signature(inputs[0].dtype, None)]
    axis = normal_axis(attrs["axis"], len(dims) + 1)
    return [Signature(inputs[0].dtype, (*dims[:axis], 1, *dims[axis:]))]


def _squeeze_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims, axes = inputs[0].dims, attrs["squeeze_dims"]
    if dims is None:
        return [Signature(inputs[0].dtype, None)]
    if not axes:
        known = None if None in dims else tuple(d for d in dims if d != 1)
        return [Signature(inputs[0].dtype, known)]
    gone = {normal_axis(a, len(dims)) for a in axes}
    for axis in gone:
        if dims[axis] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}.")
    return [Signature(inputs[0].dtype, tuple(d for i, d in enumerate(dims) if i not in gone))]


def _squeeze(x: Any, *, squeeze_dims: tuple[int, ...]) -> Any:
    return x.squeeze(axis=tuple(squeeze_dims) if squeeze_dims else None)


define_along("ExpandDims", _expand_rule, lambda x, *, axis: jnp.expand_dims(x, axis), new=True,
             numpy=lambda x, *, axis: np.expand_dims(x, axis), numpy_takes_objects=True, view=True,
             derivative="linear", additive=True)  # fmt: skip
define_op("Squeeze", _squeeze_rule, lambda x, *, squeeze_dims: _squeeze(jnp.asarray(x), squeeze_dims=squeeze_dims),
       numpy=_squeeze, numpy_takes_objects=True, view=True, derivative="linear", additive=True)  # fmt: skip


# ---- several into one, one into several ----------------------------------------------------------------------------


def _check_types(inputs: Inputs, what: str) -> None:
    for other in inputs[1:]:
        if other.dtype is not inputs[0].dtype:
            raise TypeError(f"Tensors to {what} must have one element type, got "
                            f"{[t.dtype.name for t in inputs]}. Use tf.cast.")  # fmt: skip


def _concat_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _check_types(inputs, "concatenate")
    axis = attrs["axis"]
    ranks = {len(t.dims) for t in inputs if t.dims is not None}
    if not ranks:
        return [Signature(inputs[0].dtype, None)]
    if len(ranks) > 1:
        raise ValueError(f"Expected tensors of one rank to concatenate, got shapes {[str(t.shape) for t in inputs]}.")
    rank = ranks.pop()
    if rank == 0:
        raise ValueError("Scalars cannot be concatenated; use tf.stack.")
    axis = normal_axis(axis, rank)
    total: int | None = 0
    merged: list[int | None] = [None] * rank
    for tensor in inputs:
        if tensor.dims is None:
            total = None
            continue
        for i, dim in enumerate(tensor.dims):
            if i == axis:
                total = None if dim is None or total is None else total + dim
            elif merged[i] is None:
                merged[i] = dim
            elif dim is not None and merged[i] != dim:
                raise ValueError(
                    f"Dimension {i} in both shapes must be equal, but they are {merged[i]} and {dim}: concatenating "
                    f"along axis {axis} the shapes {[str(t.shape) for t in inputs]}."
                )
    merged[axis] = total
    return [Signature(inputs[0].dtype, tuple(merged))]


def _pack_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _check_types(inputs, "stack")
    dims: Dims = None
    for tensor in inputs:
        if not TensorShape(dims).is_compatible_with(tensor.dims):
            raise ValueError(f"Shapes must be equal to be stacked, but are {[str(t.shape) for t in inputs]}.")
        dims = shapes.merge(dims, tensor.dims)
    if dims is None:
        return [Signature(inputs[0].dtype, None)]
    axis = normal_axis(attrs["axis"], len(dims) + 1)
    return [Signature(inputs[0].dtype, (*dims[:axis], len(inputs), *dims[axis:]))]


def _unpack_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    (x,) = inputs
    if x.dims is None:
        return [Signature(x.dtype, None)] * attrs["num"]
    axis = normal_axis(attrs["axis"], len(x.dims))
    if x.dims[axis] not in (attrs["num"], None):
        raise ValueError(f"Expected {attrs['num']} slices along axis {axis}, got shape {x.shape}.")
    return [Signature(x.dtype, x.dims[:axis] + x.dims[axis + 1 :])] * attrs["num"]


def _unpack(x: Any, *, axis: int, num: int) -> Any:
    if x.shape[axis] != num:
        raise ValueError(f"Expected {num} slices along axis {axis}, got shape {x.shape}.")
    return tuple(x[(slice(None),) * (axis % x.ndim) + (i,)] for i in range(num))


def _split_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    (x,), axis, parts = inputs, attrs["axis"], attrs["num_split"]
    if x.dims is None:
        return [Signature(x.dtype, None)] * parts
    axis = normal_axis(axis, len(x.dims))
    size = x.dims[axis]
    if size is not None and size % parts:
        raise ValueError(f"Dimension {axis} of {x.shape} must be evenly divisible by {parts} but is {size}.")
    part = None if size is None else size // parts
    return [Signature(x.dtype, (*x.dims[:axis], part, *x.dims[axis + 1 :]))] * parts


def _split(x: Any, *, axis: int, num_split: int) -> Any:
    if x.shape[axis] % num_split:
        raise ValueError(f"Dimension size must be evenly divisible by {num_split} but is {x.shape[axis]}.")
    numpy = np if isinstance(x, np.ndarray) else jnp
    return tuple(numpy.split(x, num_split, axis=axis))


def _split_v_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, sizes = inputs
    parts, axis = attrs["num_split"], attrs["axis"]
    if x.dims is None:
        return [Signature(x.dtype, None)] * parts
    axis = normal_axis(axis, len(x.dims))
    entries = list(partial_value(sizes) or (None,) * parts)
    total = x.dims[axis]
    if entries.count(-1) > 1:
        raise ValueError(f"Expected at most one -1 among the sizes of a split, got {entries}.")
    if None not in entries:
        fixed = sum(e for e in entries if e is not None and e != -1)
        if -1 in entries:
            entries[entries.index(-1)] = None if total is None else total - fixed
        elif total is not None and fixed != total:
            raise ValueError(f"Sizes {entries} do not add up to {total}, dimension {axis} of {x.shape}.")
    entries = [None if e == -1 else e for e in entries]
    if any(e is not None and e < 0 for e in entries):
        raise ValueError(f"Sizes of a split must not be negative, got {entries} of dimension {total}.")
    return [Signature(x.dtype, (*x.dims[:axis], e, *x.dims[axis + 1 :])) for e in entries]


def _split_v(x: Any, sizes: Any, *, axis: int, num_split: int) -> Any:
    parts = [int(s) for s in sizes]
    total = x.shape[axis]
    if -1 in parts:
        parts[parts.index(-1)] = total - sum(s for s in parts if s != -1)
    if sum(parts) != total or min(parts) < 0:
        raise ValueError(f"Sizes {[int(s) for s in sizes]} do not add up to {total}, dimension {axis} of {x.shape}.")
    numpy = np if isinstance(x, np.ndarray) else jnp
    return tuple(numpy.split(x, np.cumsum(parts)[:-1].tolist(), axis=axis))


define_along("ConcatV2", _concat_rule, lambda *xs, axis: jnp.concatenate(xs, axis),
             numpy=lambda *xs, axis: np.concatenate(xs, axis), numpy_takes_objects=True,
             derivative="linear", additive=True, same_bits=True)  # fmt: skip
define_op("Pack", _pack_rule, lambda *xs, axis: jnp.stack(xs, axis), numpy_takes_objects=True,
       numpy=lambda *xs, axis: np.stack(xs, axis), derivative="linear", additive=True, same_bits=True)  # fmt: skip
define_op("Unpack", _unpack_rule, lambda x, **attrs: _unpack(jnp.asarray(x), **attrs), numpy_takes_objects=True,
       view=True, numpy=_unpack, derivative="linear", additive=True)  # fmt: skip
define_along(
    "Split", _split_rule, _split, numpy=_split, numpy_takes_objects=True, view=True, derivative="linear", additive=True
)
define_along("SplitV", _split_v_rule, _split_v, static=(1,), numpy=_split_v, derivative="linear", additive=True)


# ---- order ---------------------------------------------------------------------------------------------------------


def _transpose_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x = inputs[0]
    perm = attrs.get("perm")
    if len(inputs) > 1:
        found = constant_value(inputs[1])
        perm = None if found is None else tuple(int(p) for p in found)
        if found is None:
            return [Signature(x.dtype, None if x.dims is None else (None,) * len(x.dims))]
    if perm is None:
        return [Signature(x.dtype, None if x.dims is None else x.dims[::-1])]
    if x.dims is None:
        return [Signature(x.dtype, (None,) * len(perm))]
    if sorted(p % max(len(x.dims), 1) for p in perm) != list(range(len(x.dims))):
        raise ValueError(f"Expected a permutation of {len(x.dims)} dimensions, got {list(perm)} for shape {x.shape}.")
    return [Signature(x.dtype, tuple(x.dims[p] for p in perm))]


def _transpose(x: Any, order: Any = None, *, perm: tuple[int, ...] | None = None) -> Any:
    if order is not None:
        perm = tuple(int(p) for p in order)
    return (np if isinstance(x, np.ndarray) else jnp).transpose(x, perm)


def _reverse_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x = inputs[0]
    axes = constant_value(inputs[1])
    check_integers(inputs[1], "axis")
    if inputs[1].dims is not None and len(inputs[1].dims) != 1:
        raise ValueError(f"Expected a list of dimensions as axis, got shape {inputs[1].shape}.")
    if axes is not None and x.dims is not None:
        found = [normal_axis(int(a), len(x.dims)) for a in axes.ravel()]
        if len(set(found)) < len(found):
            raise ValueError(f"An axis is given twice: {axes.tolist()}.")
    return [Signature(x.dtype, x.dims)]


def _roll_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_integers(inputs[1], "shift")
    check_integers(inputs[2], "axis")
    if inputs[1].dims is not None and inputs[2].dims is not None and inputs[1].dims != inputs[2].dims:
        raise ValueError(f"shift and axis must have the same size, got {inputs[1].shape} and {inputs[2].shape}.")
    if inputs[0].dims == ():
        raise ValueError("A scalar cannot be rolled: expected a tensor of rank 1 or higher.")
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    axes = [int(a) for a in np.ravel(axis)]
    shifts = shift.reshape(-1)
    for i, a in enumerate(axes):
        x = jnp.roll(x, shifts[i], a)
    return x


def _check_axes(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    x, axes = values
    rank = np.ndim(x)
    if not input_checks.on_host(axes):
        return None
    return input_checks.first_of(
        (axes < -rank) | (axes >= rank), axes,
        message=lambda where, a: f"'axis'{where} = {int(a)} is out of valid range [{-rank}, {rank - 1}]",
    )  # fmt: skip


define_op(
    "Transpose", _transpose_rule, _transpose, static=(1,), numpy=_transpose, numpy_takes_objects=True,
    derivative="linear", additive=True, same_bits=True,
)  # fmt: skip
define_op(
    "ConjugateTranspose",
    _transpose_rule,
    lambda x, *order, **attrs: jnp.conj(_transpose(x, *order, **attrs)),
    static=(1,),
    numpy=lambda x, *order, **attrs: np.conj(_transpose(x, *order, **attrs)),
)
define_op("ReverseV2", _reverse_rule, lambda x, axis: lax.rev(x, tuple(int(a) % x.ndim for a in np.ravel(axis))),
       static=(1,), numpy=lambda x, axis: np.flip(x, tuple(int(a) for a in np.ravel(axis))),
       numpy_takes_objects=True, check=InputCheck(_check_axes, (1,)),
       derivative="linear", additive=True, same_bits=True)  # fmt: skip
define_op("Roll", _roll_rule, _roll, static=(2,), numpy=numpy_kernels.roll, derivative="linear", same_bits=True)


# ---- sizes given by values -----------------------------------------------------------------------------------------


def dims_from(tensor: Any) -> Dims:
    """The shape that an integer tensor describes, as far as it is known."""
    check_integers(tensor, "shape")
    found = constant_value_as_dims(tensor)
    if found is not None:
        return found
    length = tensor.dims[0] if tensor.dims else None
    return None if length is None else (None,) * length


def sizes_of(value: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in np.ravel(value))


def _fill_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    sizes, value = inputs
    if value.dims not in ((), None):
        raise ValueError(f"Expected a scalar to fill with, got shape {value.shape}.")
    return [Signature(value.dtype, dims_from(sizes))]


define_op("Fill", _fill_rule, lambda sizes, value: jnp.broadcast_to(value, sizes_of(sizes)), static=(0,),
       numpy=lambda sizes, value: np.full(sizes_of(sizes), value, value.dtype), derivative="linear")  # fmt: skip


def _tile_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, multiples = inputs
    check_integers(multiples, "multiples")
    times = constant_value_as_dims(multiples)
    if times is None:
        return [Signature(x.dtype, None if x.dims is None else (None,) * len(x.dims))]
    if x.dims is None:
        return [Signature(x.dtype, (None,) * len(times))]
    if len(times) != len(x.dims):
        raise ValueError(f"Expected one multiple for each of {len(x.dims)} dimensions, got {len(times)}.")
    return [Signature(x.dtype, tuple(None if d is None or t is None else d * t
                                     for d, t in zip(x.dims, times, strict=True)))]  # fmt: skip


def _broadcast_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, dims = inputs[0], dims_from(inputs[1])
    if dims is not None and x.dims is not None:
        if len(x.dims) > len(dims):
            raise ValueError(f"Cannot broadcast a tensor of shape {x.shape} to fewer dimensions, {TensorShape(dims)}.")
        joint = shapes.broadcast(x.dims, dims)
        if any(d is not None and j is not None and j != d for d, j in zip(dims, joint or (), strict=True)):
            raise ValueError(f"Cannot broadcast a tensor of shape {x.shape} to {TensorShape(dims)}.")
    return [Signature(x.dtype, dims)]


def _multiples(times: Any) -> tuple[int, ...]:
    found = sizes_of(times)
    for i, count in enumerate(found):
        if count < 0:
            raise ValueError(f"Expected multiples[{i}] >= 0, but got {count}")
    return found


define_op("Tile", _tile_rule, lambda x, times: jnp.tile(x, _multiples(times)), static=(1,),
       numpy=lambda x, times: np.tile(x, _multiples(times)),
       derivative="linear", additive=True, same_bits=True)  # fmt: skip
define_op("BroadcastTo", _broadcast_rule, lambda x, sizes: jnp.broadcast_to(x, sizes_of(sizes)), static=(1,),
       numpy=lambda x, sizes: np.broadcast_to(x, sizes_of(sizes)),
       derivative="linear", additive=True, same_bits=True)  # fmt: skip


def _range_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    values = [constant_value(t) for t in inputs]
    for tensor in inputs:
        if tensor.dims not in ((), None):
            raise ValueError(f"Expected scalars for start, limit and delta, got shape {tensor.shape}.")
    if any(v is None for v in values):
        return [Signature(inputs[0].dtype, (None,))]
    return [Signature(inputs[0].dtype, (_range_length(*values),))]


def _range_length(start: Any, limit: Any, delta: Any) -> int:
    start, limit, delta = (v.item() for v in (start, limit, delta))
    if delta == 0:
        raise ValueError("Requires delta != 0, got 0.")
    if (limit - start) * delta < 0:
        raise ValueError(f"Requires start and limit in the direction of delta, got {start}, {limit}, {delta}.")
    return max(0, int(np.ceil((limit - start) / delta)))


def _range(start: Any, limit: Any, delta: Any) -> Any:
    length = _range_length(start, limit, delta)
    return (start + np.arange(length).astype(start.dtype) * delta).astype(start.dtype)


define_op("Range", _range_rule, _range, numpy=_range, static=(0, 1, 2), differentiable=False)


def _linspace_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    number = constant_value(inputs[2])
    return [Signature(inputs[0].dtype, (None if number is None else int(number),))]


def _linspace(start: Any, stop: Any, number: Any) -> Any:
    if int(number) < 1:
        raise ValueError(f"Requires num > 0, got {int(number)}.")
    return jnp.linspace(start, stop, int(number), dtype=start.dtype)


define_op("LinSpace", _linspace_rule, _linspace, static=(2,), numpy=numpy_kernels.linspace, differentiable=False)


def _where_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    condition, x, y = inputs
    if not condition.dtype.is_bool:
        raise TypeError(f"Expected a bool condition, got {condition.dtype.name}.")
    if x.dtype is not y.dtype:
        raise TypeError(f"Expected x and y of one element type, got {x.dtype.name} and {y.dtype.name}. Use tf.cast.")
    if not x.shape.is_compatible_with(y.shape):
        raise ValueError(f"x and y must have the same shape, got {x.shape} and {y.shape}.")
    dims = shapes.merge(x.dims, y.dims)
    cond = condition.dims
    if cond is not None and dims is not None and cond != () and not TensorShape(cond).is_compatible_with(dims):
        vector = len(cond) == 1 and len(dims) > 0 and (cond[0] is None or dims[0] in (None, cond[0]))
        if not vector:
            raise ValueError(
                f"Expected a condition of shape {TensorShape(dims)}, a scalar, or a vector as long as its first "
                f"dimension, got {condition.shape}."
            )
    elif cond is not None and dims is not None and len(cond) == len(dims) and len(cond) > 0:
        dims = shapes.merge(dims, cond)
    return [Signature(x.dtype, dims)]


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    if condition.ndim == 1 and x.ndim > 1:
        condition = condition.reshape((-1,) + (1,) * (x.ndim - 1))
    on_host = all(isinstance(v, np.ndarray) for v in (condition, x, y))
    return (np if on_host else jnp).where(condition, x, y)


define_op(
    "Select", _where_rule, _chosen, numpy=_chosen, derivative="linear", additive=True, entrywise=True, same_bits=True
)


def _broadcast_choice_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    condition, x, y = inputs
    if not condition.dtype.is_bool:
        raise TypeError(f"Expected a bool condition, got {condition.dtype.name} ({condition.name}).")
    return [Signature(x.dtype, shapes.broadcast(condition.dims, shapes.broadcast(x.dims, y.dims)))]


def _broadcast_choice(condition: Any, x: Any, y: Any) -> Any:
    on_host = all(isinstance(v, np.ndarray) for v in (condition, x, y))
    return (np if on_host else jnp).where(condition, x, y)


define_op(
    "SelectV2", _broadcast_choice_rule, _broadcast_choice, numpy=_broadcast_choice, derivative="linear", additive=True,
    entrywise=True, same_bits=True,
)  # fmt: skip


def _repeat_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, repeats = inputs
    check_integers(repeats, "repeats")
    if x.dims is None:
        return [Signature(x.dtype, None)]
    axis, counts = normal_axis(attrs["axis"], len(x.dims)), constant_value(repeats)
    size = x.dims[axis]
    total = None
    if counts is not None:
        total = int(np.sum(counts)) if counts.size != 1 else None if size is None else size * int(counts.reshape(()))
    return [Signature(x.dtype, (*x.dims[:axis], total, *x.dims[axis + 1 :]))]


define_op("Repeat", _repeat_rule, lambda x, repeats, *, axis: jnp.repeat(x, np.asarray(repeats), axis), static=(1,),
       numpy=lambda x, repeats, *, axis: np.repeat(x, repeats, axis), derivative="linear")  # fmt: skip


# ---- shapes as values ----------------------------------------------------------------------------------------------


def _broadcast_args_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    lengths = [t.dims[0] if t.dims else None for t in inputs]
    return [Signature(inputs[0].dtype, (None if None in lengths else max(n for n in lengths if n is not None),))]


def _broadcast_args(x: Any, y: Any) -> Any:
    return np.array(np.broadcast_shapes(sizes_of(x), sizes_of(y)), x.dtype)


def _matrix_perm(rank: Any) -> Any:
    count = int(rank)
    return np.array([*range(count - 2), count - 1, count - 2], np.int32)


define_op("BroadcastArgs", _broadcast_args_rule, _broadcast_args, static=(0, 1), numpy=_broadcast_args,
       differentiable=False)  # fmt: skip
define_op("MatrixPerm", lambda inputs, attrs: [Signature(int32, (None,))], _matrix_perm, static=(0,),
       numpy=_matrix_perm,
       differentiable=False)  # fmt: skip


def _where_coordinates_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    return [Signature(int64, (None, None if dims is None else len(dims)))]


define_op("Where", _where_coordinates_rule, lambda x: jnp.argwhere(x).astype(jnp.int64), dynamic=True,
       numpy=lambda x: np.argwhere(x).astype(np.int64), differentiable=False)  # fmt: skip
