"""Reductions over the towers of an axis: the values of all positions as one that is equal everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import string
from towerstrat.graph.ops.array.arrays import concat, reshape, split
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.math.arithmetic import truediv
from towerstrat.towers.engine.eager_tower_values import combined


def reduced(how: str, local: Any, axis: Axis, own: bool) -> Any:
    """The towers' values as one.

    Args:
      how: "sum", "mean" or "first".
      local: the value in tower context: what can be a tensor, or ``IndexedSlices``, whose rows are concatenated.
      own: whether a gradient in tower context is that of the tower's own share alone; see ``all_reduce.all_reduce``.
    """
    if get_default_graph().executing_eagerly:
        return combined(how, [_part(local, position) for position in range(axis.size)])
    with get_default_graph().under(None):
        if isinstance(local, IndexedSlices):
            return _rows(how, local, axis, own)
        tensor = convert_to_tensor(local)
        if tensor.dtype is string and how != "first":
            raise TypeError(f"{tensor!r} (created at {tensor.op.line}) is text, and text has no {how}: unwrap it.")
        if how == "mean" and tensor.dtype.is_integer:
            return truediv(all_reduce.all_reduce(tensor, axis, "sum", own=own), axis.size)
        return all_reduce.all_reduce(tensor, axis, how, own=own)


def _part(local: Any, position: int) -> Any:
    """What one tower has of an eager value."""
    if isinstance(local, IndexedSlices):
        return IndexedSlices(_part(local.values, position), _part(local.indices, position), local.dense_shape)
    return local.part(position) if isinstance(local, ShardedTensor) else local


def _rows(how: str, local: IndexedSlices, axis: Axis, own: bool) -> IndexedSlices:
    if how == "first":
        values = all_reduce.select(local.values, axis, 0)
        return IndexedSlices(values, all_reduce.select(local.indices, axis, 0), local.dense_shape)
    scaled = local.values * (1.0 / axis.size) if how == "mean" else local.values
    values = all_reduce.all_concat(scaled, axis, own=own)
    return IndexedSlices(values, all_reduce.all_concat(local.indices, axis), local.dense_shape)


def reduced_together(how: str, locals: Sequence[Tensor], axis: Axis, own: bool, packs: int) -> list[Tensor]:
    """``reduced`` of tensors of one type and known shapes, concatenated and split into ``packs`` collectives."""
    graph = get_default_graph()
    sizes = [_size(t) for t in locals]
    total = sum(sizes)
    packs = max(min(packs, total), 1)
    with graph.under(axis):
        flat = [reshape(t, [-1]) for t in locals]
        joined = concat(flat, 0) if len(flat) > 1 else flat[0]
        each = total // packs
        parts = split(joined, [each] * (packs - 1) + [total - each * (packs - 1)]) if packs > 1 else [joined]
    with graph.under(None):
        sums = [reduced(how, part, axis, own) for part in parts]
        joined = concat(sums, 0) if packs > 1 else sums[0]
        flat = split(joined, sizes) if len(sizes) > 1 else [joined]
        return [reshape(part, t.shape.as_list()) for part, t in zip(flat, locals, strict=True)]


def packable(tensor: Tensor) -> bool:
    """Whether a tensor can be reduced together with others: its size is known while the graph is built."""
    return tensor.shape.is_fully_defined()


def _size(tensor: Tensor) -> int:
    size = tensor.shape.num_elements()
    assert size is not None
    return size


def size_in_bytes(tensor: Tensor) -> int:
    """The size of a tensor of a known shape."""
    return _size(tensor) * tensor.dtype.size
