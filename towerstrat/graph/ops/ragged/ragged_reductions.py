"""Reductions of ragged tensors along dimensions, and ragged tensors joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.integer_arguments import integers
from towerstrat.graph.ir.types import bool_, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.ragged import row_partitions, slices

_SEGMENTS = {
    "Sum": segments.unsorted_segment_sum,
    "Prod": segments.unsorted_segment_prod,
    "Max": segments.unsorted_segment_max,
    "Min": segments.unsorted_segment_min,
    "All": segments.unsorted_segment_min,
    "Any": segments.unsorted_segment_max,
}


def reduced(x: Any, type: str, axis: Any, keepdims: bool, name: str | None) -> Any:
    """The reduction of a ragged tensor along an axis, several, or all.

    Raises:
      ValueError: an axis that is not known or not there.
      NotImplementedError: the first two dimensions of rows that are ragged themselves.
    """
    if type == "Mean":
        ones = x.with_flat_values(arrays.ones_like(x.flat_values))
        total, count = (reduced(part, "Sum", axis, keepdims, None) for part in (x, ones))
        if not isinstance(total, Partitioned):
            return arithmetic.truediv(total, count)
        rows: Any = total
        return rows.with_flat_values(arithmetic.truediv(rows.flat_values, count.flat_values))
    if axis is None:
        return reductions.reduce(type, x.flat_values, None, keepdims, name)
    rank = x.shape.ndims
    axes = integers(axis)
    if axes is None or any(not -rank <= a < rank for a in axes):
        raise ValueError(f"Expected known axes in [-{rank}, {rank}), got {axis!r}.")
    found = x
    for place in sorted({a % rank for a in axes}, reverse=True):
        if isinstance(found, Partitioned):
            found = _along(found, type, place, keepdims)
        else:
            found = reductions.reduce(type, found, place, keepdims, None)
    return found


def _along(x: Any, type: str, axis: int, keepdims: bool) -> Any:
    if axis > 1:
        if isinstance(x.values, Partitioned):
            return x.with_values(_along(x.values, type, axis - 1, keepdims))
        return x.with_values(reductions.reduce(type, x.values, axis - 1, keepdims, None))
    if isinstance(x.values, Partitioned):
        raise NotImplementedError(
            f"A reduction along dimension {axis} of a tensor with {x.ragged_rank} ragged dimensions is not supported: "
            "reduce the inner dimensions first, or use to_tensor()."
        )
    which = x.columns() if axis == 0 else x.value_rowids()
    count = row_partitions.largest(x.row_lengths()) if axis == 0 else x.nrows()
    values = arithmetic.cast(x.values, int32) if x.values.dtype is bool_ else x.values
    found = _SEGMENTS[type](values, which, count)
    found = arithmetic.cast(arithmetic.greater(found, 0), bool_) if x.values.dtype is bool_ else found
    return arrays.expand_dims(found, axis) if keepdims else found


def concatenated(parts: Sequence[Any], axis: Any) -> Any:
    """Ragged tensors, and tensors among them, joined along dimension 0 or 1, or an inner one.

    Raises:
      ValueError: another axis, or numbers of ragged dimensions that differ.
    """
    ragged: list[Any] = [p for p in parts if isinstance(p, Partitioned)]
    made = type(ragged[0])
    rank = max(p.ragged_rank for p in ragged)
    rows: list[Any] = [p if isinstance(p, Partitioned) else made.from_tensor(p, ragged_rank=rank) for p in parts]
    if any(r.ragged_rank != rank for r in rows):
        raise ValueError(f"Expected ragged tensors of one ragged_rank, got {[r.ragged_rank for r in rows]}.")
    (place,) = integers(axis) or (None,)
    total = rows[0].shape.ndims
    if place is None or not -total <= place < total:
        raise ValueError(f"Expected a known axis in [-{total}, {total}), got {axis!r}.")
    kind = rows[0].row_splits.dtype
    rows = [r.with_row_splits_dtype(kind) for r in rows]
    if place % total > 1:
        return rows[0].with_values(arrays.concat([r.values for r in rows], place % total - 1))
    stacked = _stacked(made, rows)
    if place % total == 0:
        return stacked
    # Row i of the result is row i of each part: gather the rows in that order, then drop the inner borders.
    count, each = len(rows), rows[0].nrows()
    order = arrays.reshape(arrays.transpose(arrays.reshape(arrays.range(each * count), [count, -1])), [-1])
    mixed = slices.gathered(stacked, order)
    return made(mixed.values, mixed.row_splits[::count])


def _stacked(made: Any, rows: Sequence[Any]) -> Any:
    """Ragged tensors one after the other."""
    values = arrays.concat([r.values for r in rows], 0)
    return made(values, row_partitions.splits_of(arrays.concat([r.row_lengths() for r in rows], 0)))


def masked(x: Any, mask: Any) -> Any:
    """The values of a ragged tensor, or of a tensor, where the mask is true: a vector mask chooses rows."""
    if not isinstance(mask, Partitioned):
        return slices.taken(x, arrays.reshape(arrays.where(mask), [-1]))
    ragged: Any = mask
    kept = arithmetic.cast(ragged.values, ragged.row_splits.dtype)
    lengths = segments.unsorted_segment_sum(kept, ragged.value_rowids(), ragged.nrows())
    chosen = arrays.reshape(arrays.where(ragged.values), [-1])
    return type(x)(slices.taken(x.values, chosen), row_partitions.splits_of(lengths))
