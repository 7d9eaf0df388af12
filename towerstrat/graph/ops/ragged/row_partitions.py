"""Row partitions as tensors: splits, lengths, rows of values, and the places that slices of rows name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DType, HostArray, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic, reductions

Inputs = Sequence[Tensor]


def integers(value: Any, dtype: DType | None = None) -> Tensor:
    """A partition as a vector of int32 or int64; Python values become ``dtype``, by default int64."""
    if isinstance(value, Tensor) or hasattr(value, "dtype"):
        found = convert_to_tensor(value)
        if found.dtype not in (int32, int64):
            raise ValueError(f"A row partition must be int32 or int64, got {found.dtype.name}.")
        return found
    return convert_to_tensor(value, dtype or int64)


def splits_of(lengths: Tensor) -> Tensor:
    """Splits ``[rows + 1]`` of lengths ``[rows]``."""
    return arrays.concat([arrays.zeros([1], lengths.dtype), reductions.cumsum(lengths)], 0)


def rowids_of(splits: Tensor, values: Tensor) -> Tensor:
    """The row of each of ``[n, ...]`` values: how many inner splits are at or before its place."""
    count = arrays.shape(values, out_type=splits.dtype)[0]
    inner = splits[1:-1]
    begins = segments.unsorted_segment_sum(arrays.ones_like(inner), inner, count + 1)
    return reductions.cumsum(begins)[:-1]


def largest(lengths: Tensor) -> Tensor:
    """The largest length; 0 of none."""
    return reductions.reduce_max(arrays.concat([lengths, arrays.zeros([1], lengths.dtype)], 0))


def joined(values: Tensor) -> Tensor:
    """The first two dimensions as one."""
    sizes = arrays.shape(values)
    return arrays.reshape(values, arrays.concat([sizes[:1] * sizes[1:2], sizes[2:]], 0))


def padded(values: Tensor, splits: Tensor, width: Any, default: Tensor) -> Tensor:
    """Rows filled up, or cut, to ``width``: ``[rows, width, ...]``; ``default`` is an inner value."""
    columns = arrays.range(arithmetic.cast(convert_to_tensor(width), splits.dtype))
    wanted = arrays.expand_dims(splits[:-1], 1) + columns
    last = arrays.shape(values, out_type=splits.dtype)[0]
    inside = arithmetic.less(wanted, arrays.expand_dims(splits[1:], 1))
    found = arrays.where(inside, wanted, arrays.zeros_like(wanted) + last)
    rows = rows_at(arrays.concat([values, arrays.expand_dims(default, 0)], 0), arrays.reshape(found, [-1]))
    return arrays.reshape(rows, arrays.concat([arrays.shape(found), arrays.shape(values)[1:]], 0))


def cut_or_filled(x: Tensor, size: int, default: Tensor) -> Tensor:
    """``[n, ...]`` with ``size`` rows: cut, or filled up with a value that broadcasts to a row."""
    kept = x[:size]
    missing = arithmetic.maximum(constant(size) - arrays.shape(kept)[0], constant(0))
    row = arrays.broadcast_to(default, arrays.concat([arrays.expand_dims(missing, 0), arrays.shape(x)[1:]], 0))
    return arrays.concat([kept, row], 0)


def _range_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    starts = inputs[0]
    if any(t.dtype is not starts.dtype for t in inputs):
        raise TypeError(f"Expected one element type, got {', '.join(t.dtype.name for t in inputs)}.")
    rows = next((size_at(t.shape, 0) for t in inputs if t.dims != () and t.dims is not None), 1)
    return [Signature(attrs["splits"], (None if rows is None else rows + 1,)), Signature(starts.dtype, (None,))]


def _range(starts: Any, limits: Any, deltas: Any, *, splits: DType) -> tuple[HostArray, HostArray]:
    given = [np.asarray(t).reshape(-1) for t in (starts, limits, deltas)]
    lengths = {len(t) for t, raw in zip(given, (starts, limits, deltas), strict=True) if np.ndim(raw)}
    if len(lengths) > 1:
        raise ValueError(f"starts, limits, and deltas must have the same shape, got lengths {sorted(lengths)}.")
    count = lengths.pop() if lengths else 1
    first, last, step = (np.broadcast_to(t, (count,)) for t in given)
    if (step == 0).any():
        raise ValueError("Requires delta != 0")
    sizes = np.maximum(np.ceil((last - first) / step), 0).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(splits.np)
    inside = np.arange(sizes.sum()) - np.repeat(ends[:-1], sizes)
    values = np.repeat(first, sizes) + inside.astype(first.dtype) * np.repeat(step, sizes)
    return ends, values.astype(first.dtype)


define_op("RaggedRange", _range_rule, _range, numpy=_range, dynamic=True, differentiable=False)


def ranges(starts: Tensor, limits: Tensor, deltas: Tensor, splits: DType) -> tuple[Tensor, Tensor]:
    """(splits, values) of the rows ``range(starts[i], limits[i], deltas[i])``; scalars are for all rows."""
    found, values = add("RaggedRange", [starts, limits, deltas], {"splits": splits})
    return found, values
