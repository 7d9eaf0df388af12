"""Padding, blocks of space in depth or batch, reversed sequences, bit patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value, partial_values
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.integer_arguments import integer
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims, merge
from towerstrat.graph.ir.tensor_conversion import convert_sizes, convert_to_tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.array_kernels import check_integers
from towerstrat.graph.ops.array.arrays import operand
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.axis_inputs import normal_axis
from towerstrat.graph.ops.building.op_builder import add_op, add_unary, reserve_name

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]

# ---- padding -------------------------------------------------------------------------------------------------------


def _pairs(value: Any) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in np.reshape(value, (-1, 2))]


def _pad_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, paddings = inputs[:2]
    check_integers(paddings, "paddings")
    known = constant_value(paddings)
    rank = paddings.dims[0] if paddings.dims else None
    if x.dims is not None and rank is not None and rank != len(x.dims):
        raise ValueError(f"Expected paddings of shape [{len(x.dims)}, 2] for a tensor of shape {x.shape}, got "
                         f"{paddings.shape}.")  # fmt: skip
    if known is None:
        return [Signature(x.dtype, _partly_padded(x.dims, rank, partial_values(paddings)))]
    pairs = _pairs(known)
    if any(a < 0 or b < 0 for a, b in pairs):
        raise ValueError(f"Paddings must be non-negative, got {known.tolist()}.")
    dims: tuple[int | None, ...] = x.dims or (None,) * len(pairs)
    if "mode" in attrs:
        _check_mirror(dims, pairs, attrs["mode"])
    return [Signature(x.dtype, tuple(None if d is None else d + a + b for d, (a, b) in zip(dims, pairs, strict=True)))]


def _partly_padded(dims: Dims, rank: int | None, paddings: Any) -> Dims:
    """The static shape of a padded tensor where some paddings are not known."""
    count = len(dims) if dims is not None else rank
    if count is None:
        return None
    pairs = np.reshape(paddings, (-1, 2)).tolist() if paddings is not None and paddings.size == 2 * count else ()
    if dims is None or not pairs:
        return (None,) * count
    return tuple(
        None if d is None or a is None or b is None else d + a + b for d, (a, b) in zip(dims, pairs, strict=True)
    )


def _check_mirror(dims: Sequence[int | None], pairs: list[tuple[int, int]], mode: str) -> None:
    off = 1 if mode == "REFLECT" else 0
    for dim, (before, after) in zip(dims, pairs, strict=True):
        if dim is not None and max(before, after) > max(dim - off, 0):
            raise ValueError(
                f"Paddings of mode {mode} must be at most the dimension size{' less add_op' if off else ''}: "
                f"{(before, after)} for {dim}."
            )


def _pad(x: Any, paddings: Any, value: Any = None) -> Any:
    fill = np.zeros((), x.dtype) if value is None else value
    return lax.pad(jnp.asarray(x), fill, [(a, b, 0) for a, b in _pairs(paddings)])


def _mirror_pad(x: Any, paddings: Any, *, mode: str, numpy: Any = jnp) -> Any:
    pairs = _pairs(paddings)
    _check_mirror(x.shape, pairs, mode)
    return numpy.pad(x, pairs, mode="reflect" if mode == "REFLECT" else "symmetric")


_PADDINGS = input_checks.known_sizes(1, "Paddings must be non-negative: paddings{where} is {size}")
define_op(
    "Pad", _pad_rule, _pad, static=(1,), numpy=numpy_kernels.padded, check=_PADDINGS, derivative="linear",
    additive=True, same_bits=True,
)  # fmt: skip
define_op(
    "PadV2", _pad_rule, _pad, static=(1,), numpy=numpy_kernels.padded, check=_PADDINGS, derivative="linear",
    same_bits=True,
)  # fmt: skip
define_op(
    "MirrorPad", _pad_rule, _mirror_pad, static=(1,), numpy=partial(_mirror_pad, numpy=np), derivative="linear",
    same_bits=True,
)  # fmt: skip


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """``paddings[i] = (before, after)`` elements more along dimension i.

    Args:
      mode: "CONSTANT" (filled with ``constant_values``), "REFLECT" (mirrored without the border) or "SYMMETRIC".
    """
    mode = mode.upper()
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}; expected CONSTANT, REFLECT or SYMMETRIC.")
    type = "MirrorPad" if mode != "CONSTANT" else "Pad"
    zero = not isinstance(constant_values, Tensor) and constant_values == 0
    if type == "Pad" and not zero:
        type = "PadV2"
    name = reserve_name(get_default_graph(), name or type)
    x = operand(tensor, name, "tensor")
    widths = convert_sizes(paddings, f"{name}paddings/")
    if type == "PadV2":
        return add_op(
            type, (x, widths, convert_to_tensor(constant_values, x.dtype, name=f"{name}constant_values/")), None, name
        )
    return add_op(type, (x, widths), {"mode": mode} if type == "MirrorPad" else None, name)


# ---- blocks of space -----------------------------------------------------------------------------------------------


def _block_rule(into_depth: bool) -> Any:
    def rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
        (x,) = inputs
        block, last = attrs["block_size"], attrs["data_format"] == "NHWC"
        if block < 2:
            raise ValueError(f"Expected a block_size of at least 2, got {block}.")
        if x.dims is None:
            return [Signature(x.dtype, (None,) * 4)]
        if len(x.dims) != 4:
            raise ValueError(f"Expected a tensor of rank 4, got shape {x.shape}.")
        n, h, w, c = x.dims if last else (x.dims[0], *x.dims[2:], x.dims[1])
        if into_depth:
            h, w, c = _divided(h, block, x), _divided(w, block, x), None if c is None else c * block * block
        else:
            h, w = (None if d is None else d * block for d in (h, w))
            c = _divided(c, block * block, x)
        return [Signature(x.dtype, (n, h, w, c) if last else (n, c, h, w))]

    return rule


def _divided(dim: int | None, by: int, x: Any) -> int | None:
    if dim is not None and dim % by:
        raise ValueError(f"Expected a size divisible by {by} in shape {x.shape}, got {dim}.")
    return None if dim is None else dim // by


def _channels_last(function: Any) -> Any:
    def kernel(x: Any, *, block_size: int, data_format: str) -> Any:
        if data_format == "NHWC":
            return function(x, block_size)
        return jnp.moveaxis(function(jnp.moveaxis(x, 1, 3), block_size), 3, 1)

    return kernel


def _space_to_depth(x: Any, block: int) -> Any:
    n, h, w, c = x.shape
    x = jnp.reshape(x, (n, h // block, block, w // block, block, c))
    return jnp.reshape(jnp.transpose(x, (0, 1, 3, 2, 4, 5)), (n, h // block, w // block, block * block * c))


def _depth_to_space(x: Any, block: int) -> Any:
    n, h, w, c = x.shape
    depth = c // (block * block)
    x = jnp.reshape(x, (n, h, w, block, block, depth))
    return jnp.reshape(jnp.transpose(x, (0, 1, 3, 2, 4, 5)), (n, h * block, w * block, depth))


define_op("SpaceToDepth", _block_rule(True), _channels_last(_space_to_depth), derivative="linear")
define_op("DepthToSpace", _block_rule(False), _channels_last(_depth_to_space), derivative="linear")


def _block(type: str, x: Any, block_size: int, data_format: str, name: str | None) -> Tensor:
    if data_format not in ("NHWC", "NCHW"):
        raise UnsupportedError(f"{type} works on data_format NHWC and NCHW, got {data_format!r}.")
    return add_unary(type, x, name, {"block_size": integer(block_size, "block_size"), "data_format": data_format})


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Blocks of ``block_size`` x ``block_size`` pixels become channels of one pixel."""
    return _block("SpaceToDepth", input, block_size, data_format, name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Channels of a pixel become a block of ``block_size`` x ``block_size`` pixels."""
    return _block("DepthToSpace", input, block_size, data_format, name)


def _to_batch_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x = inputs[0]
    block, pads = constant_value(inputs[1]), constant_value(inputs[2])
    if x.dims is None or block is None or pads is None:
        return [Signature(x.dtype, None if x.dims is None else (None,) * len(x.dims))]
    sizes, pairs = [int(b) for b in block], _pairs(pads)
    many = int(np.prod(sizes, dtype=np.int64))
    dims = list(x.dims)
    dims[0] = None if dims[0] is None else dims[0] * many
    for i, (size, (before, after)) in enumerate(zip(sizes, pairs, strict=True), 1):
        dim = dims[i]
        dims[i] = None if dim is None else _divided(dim + before + after, size, x)
    return [Signature(x.dtype, tuple(dims))]


def _to_batch(x: Any, block: Any, paddings: Any) -> Any:
    sizes = [int(b) for b in block]
    count = len(sizes)
    x = _pad(x, [(0, 0), *_pairs(paddings), *[(0, 0)] * (x.ndim - 1 - count)])
    batch, space, rest = x.shape[0], x.shape[1 : count + 1], x.shape[count + 1 :]
    split = [part for dim, size in zip(space, sizes, strict=True) for part in (dim // size, size)]
    x = jnp.reshape(x, (batch, *split, *rest))
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, x.ndim)]
    x = jnp.transpose(x, order)
    inner = [dim // size for dim, size in zip(space, sizes, strict=True)]
    return jnp.reshape(x, (batch * int(np.prod(sizes, dtype=np.int64)), *inner, *rest))


def _from_batch_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x = inputs[0]
    block, crops = constant_value(inputs[1]), constant_value(inputs[2])
    if x.dims is None or block is None or crops is None:
        return [Signature(x.dtype, None if x.dims is None else (None,) * len(x.dims))]
    sizes, pairs = [int(b) for b in block], _pairs(crops)
    dims = list(x.dims)
    dims[0] = _divided(dims[0], int(np.prod(sizes, dtype=np.int64)), x)
    for i, (size, (before, after)) in enumerate(zip(sizes, pairs, strict=True), 1):
        dim = dims[i]
        dims[i] = None if dim is None else dim * size - before - after
    return [Signature(x.dtype, tuple(dims))]


def _from_batch(x: Any, block: Any, crops: Any) -> Any:
    sizes = [int(b) for b in block]
    count = len(sizes)
    batch = x.shape[0] // int(np.prod(sizes, dtype=np.int64))
    space, rest = x.shape[1 : count + 1], x.shape[count + 1 :]
    x = jnp.reshape(x, (*sizes, batch, *space, *rest))
    order = [count, *[p for i in range(count) for p in (count + 1 + i, i)], *range(2 * count + 1, x.ndim)]
    x = jnp.transpose(x, order)
    x = jnp.reshape(x, (batch, *[d * s for d, s in zip(space, sizes, strict=True)], *rest))
    keep = [slice(a, x.shape[i] - b) for i, (a, b) in enumerate(_pairs(crops), 1)]
    return x[(slice(None), *keep)]


define_op("SpaceToBatchND", _to_batch_rule, _to_batch, static=(1, 2), derivative="linear")
define_op("BatchToSpaceND", _from_batch_rule, _from_batch, static=(1, 2), derivative="linear")


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Blocks of space become batch entries, after zero padding."""
    name = reserve_name(get_default_graph(), name or "SpaceToBatchND")
    parts = (
        operand(input, name, "input"),
        operand(block_shape, name, "block_shape"),
        operand(paddings, name, "paddings"),
    )
    return add_op("SpaceToBatchND", parts, None, name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Batch entries become blocks of space, cropped afterwards."""
    name = reserve_name(get_default_graph(), name or "BatchToSpaceND")
    parts = (operand(input, name, "input"), operand(block_shape, name, "block_shape"), operand(crops, name, "crops"))
    return add_op("BatchToSpaceND", parts, None, name)


def _of_images(result: Tensor) -> Tensor:
    result.set_shape([None] * 4)
    return result


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None, block_shape: int | None = None
) -> Tensor:
    """``space_to_batch_nd`` with square blocks of two dimensions. ``block_size`` is an old name of ``block_shape``."""
    size = one_of(block_shape, block_size, "block_shape", "block_size")
    check_given("space_to_batch", block_shape=size)
    return _of_images(space_to_batch_nd(input, [size, size], paddings, name))


def batch_to_space(
    input: Any, crops: Any, block_size: int | None, name: str | None = None, block_shape: int | None = None
) -> Tensor:
    """``batch_to_space_nd`` with square blocks of two dimensions. ``block_size`` is an old name of ``block_shape``."""
    size = one_of(block_shape, block_size, "block_shape", "block_size")
    check_given("batch_to_space", block_shape=size)
    return _of_images(batch_to_space_nd(input, [size, size], crops, name))


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Paddings that make sizes divisible by the blocks, and the crops that undo them: two ``[n, 2]`` tensors.

    All arguments must be known while the graph is built.
    """
    values = [constant_value(convert_to_tensor(v)) for v in (input_shape, block_shape)]
    base = None if base_paddings is None else constant_value(convert_to_tensor(base_paddings))
    if values[0] is None or values[1] is None or (base_paddings is not None and base is None):
        raise ValueError("Expected shapes and paddings known while the graph is built.")
    sizes, blocks = (v.astype(np.int64) for v in values if v is not None)
    base = np.zeros((len(blocks), 2), np.int64) if base is None else base.astype(np.int64)
    extra = (blocks - (sizes + base.sum(1)) % blocks) % blocks
    paddings = np.stack([base[:, 0], base[:, 1] + extra], 1).astype(np.int32)
    crops = np.stack([np.zeros_like(extra), extra], 1).astype(np.int32)
    with get_default_graph().name_scope(name or "required_space_to_batch_paddings"):
        return convert_to_tensor(paddings, name="paddings"), convert_to_tensor(crops, name="crops")


# ---- sequences and bits --------------------------------------------------------------------------------------------


def _reverse_sequence_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, lengths = inputs
    check_integers(lengths, "seq_lengths")
    if x.dims is not None:
        seq, batch = (normal_axis(attrs[a], len(x.dims), a) for a in ("seq_dim", "batch_dim"))
        if seq == batch:
            raise ValueError(f"batch_dim == seq_dim == {seq}: expected two dimensions.")
        size = merge((x.dims[batch],), lengths.dims) or (None,)
        return [Signature(x.dtype, (*x.dims[:batch], size[0], *x.dims[batch + 1 :]))]
    return [Signature(x.dtype, None)]


def _reverse_sequence(x: Any, lengths: Any, *, seq_dim: int, batch_dim: int) -> Any:
    seq, batch = seq_dim % x.ndim, batch_dim % x.ndim
    places = np.arange(x.shape[seq]).astype(lengths.dtype)
    lengths = lengths[:, None]
    order = jnp.where(places < lengths, lengths - 1 - places, places)
    sequences = jnp.moveaxis(jnp.asarray(x), (batch, seq), (0, 1))
    # JAX 0.10 makes the indices of ``jnp.take_along_axis`` 64-bit ones, which a TPU computes in two halves.
    turned = jax.vmap(lambda sequence, at: sequence.at[at].get(mode="fill"))(sequences, order)
    return jnp.moveaxis(turned, (0, 1), (batch, seq))


def _check_lengths(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    x, lengths = values
    size = x.shape[op.attrs["seq_dim"] % x.ndim]

    def message(where: str, length: Any) -> str:
        place = where.strip("[]")
        return (
            f"seq_lens({place}) "
            + ("< 0" if length < 0 else f"> input.dims({op.attrs['seq_dim']})")
            + (f": {int(length)} of {size}")
        )

    return input_checks.first_of((lengths < 0) | (lengths > size), lengths, message=message)


define_op(
    "ReverseSequence", _reverse_sequence_rule, _reverse_sequence, check=InputCheck(_check_lengths, (1,)),
    derivative="linear",
)  # fmt: skip


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: str | None = None,
    seq_dim: Any = None, batch_dim: Any = None,
) -> Tensor:  # fmt: skip
    """The first ``seq_lengths[b]`` elements of each batch entry in reverse order. ``*_dim`` are old names."""
    name = reserve_name(get_default_graph(), name or "ReverseSequence")
    seq = one_of(seq_axis, seq_dim, "seq_axis", "seq_dim")
    batch = one_of(batch_axis, batch_dim, "batch_axis", "batch_dim")
    if seq is None:
        raise ValueError("Expected seq_axis, got None.")
    attrs = {"seq_dim": int(seq), "batch_dim": 0 if batch is None else int(batch)}
    return add_op(
        "ReverseSequence", (operand(input, name, "input"), operand(seq_lengths, name, "seq_lengths")), attrs, name
    )


def _bitcast_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    x, to = inputs[0], attrs["type"]
    if x.dims is None or x.dtype.size == to.size:
        return [Signature(to, x.dims)]
    if x.dtype.size > to.size:
        return [Signature(to, (*x.dims, x.dtype.size // to.size))]
    if not x.dims or x.dims[-1] not in (None, to.size // x.dtype.size):
        raise ValueError(f"Cannot bitcast {x.dtype.name} of shape {x.shape} to {to.name}: expected a last dimension of "
                         f"{to.size // x.dtype.size}.")  # fmt: skip
    return [Signature(to, x.dims[:-1])]


define_op(
    "Bitcast", _bitcast_rule, lambda x, *, type: lax.bitcast_convert_type(x, type.np), numpy=numpy_kernels.bitcast,
    differentiable=False,
)  # fmt: skip


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same bits read as another element type."""
    return add_unary("Bitcast", input, name, {"type": as_dtype(type)})
