"""Values of towers that are separate eager tensors: combined by operations that are executed, or put into one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.eager.context import context
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.ops.array.arrays import concat, identity
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.indexing.segments import add_n
from towerstrat.graph.ops.math.arithmetic import truediv


def stacked(parts: Sequence[Any], axis: Axis, dims: Any = None) -> Tensor:
    """One tensor with a value at each position, from one array or tensor for each.

    Args:
      dims: the shape that functions see; default that of the parts, None for sizes in which they differ.

    Raises:
      TypeError: element types differ. ValueError: ranks do.
    """
    tensors = [convert_to_tensor(p) for p in parts]
    dtype = tensors[0].dtype
    if any(t.dtype is not dtype for t in tensors):
        raise TypeError(f"Expected values of one type from all {axis.name}s, got {[t.dtype.name for t in tensors]}.")
    arrays: list[Any] = [t.host() if isinstance(t, EagerTensor) else constant_value(t) for t in tensors]
    if any(a is None for a in arrays):
        return all_reduce.distribute(tensors, axis)
    shapes = [a.shape for a in arrays]
    if dims is None:
        if len({len(s) for s in shapes}) > 1:
            raise ValueError(f"Expected values of one rank from all {axis.name}s, got shapes {shapes}.")
        dims = tuple([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)])
    array: Any = np.stack(arrays) if all(s == shapes[0] for s in shapes) else UnevenShards.of(arrays)
    return ShardedTensor(context(), array, dtype, axis, dims)


def combined(how: str, parts: Sequence[Any]) -> Any:
    """The towers' values as one: ``how`` is "sum", "mean" or "first"."""
    if how == "first":
        return convert_to_tensor(parts[0]) if not isinstance(parts[0], IndexedSlices) else parts[0]
    if all(isinstance(p, IndexedSlices) for p in parts):
        values = [p.values * (1.0 / len(parts)) if how == "mean" else p.values for p in parts]
        return IndexedSlices(concat(values, 0), concat([p.indices for p in parts], 0), parts[0].dense_shape)
    total = add_n([convert_to_tensor(p) for p in parts])
    return truediv(total, len(parts)) if how == "mean" else total


def copied(tensor: Any) -> Tensor:
    """Another tensor with the same array."""
    eager = context()
    return identity(tensor) if eager.recording([tensor]) else eager.tensor(tensor.array, tensor.dtype)


def of_one_array(parts: Sequence[Any]) -> bool:
    """Whether the towers' values are copies of one."""
    first = parts[0]
    return isinstance(first, EagerTensor) and all(isinstance(p, EagerTensor) and p.array is first.array for p in parts)


def joined(tensor: ShardedTensor, dim: int) -> Tensor:
    """The values of all positions, concatenated along a dimension."""
    return concat([tensor.part(position) for position in range(tensor.axis.size)], dim)
