"""Sparse tensors joined and cut, and entries chosen, added or replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.given_arguments import one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DTypeLike, HostArray, as_dtype, bool_, float32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.indexing import gather_scatter, segments, sorting
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.sparse.ordering import axis_of, int64_tensor, rank_of, required, sparse_reorder


def _only(axis: int, rank: int) -> HostArray:
    """True at ``axis`` alone."""
    return np.arange(rank) == axis


def sparse_concat(
    axis: Any, sp_inputs: Any, name: str | None = None, expand_nonconcat_dim: bool = False, concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """Sparse tensors joined along a dimension, in row-major order. No gradient, as in the original.

    Args:
      axis: which one.
      sp_inputs: SparseTensors of one rank and element type.
      expand_nonconcat_dims: the other dimensions may differ, the largest is the result's; ``expand_nonconcat_dim`` is
        an old name.
      concat_dim: the deprecated name of ``axis``.

    Raises:
      TypeError: an input that is no SparseTensor. A run raises InvalidArgumentError where other dimensions differ.
    """
    axis = one_of(axis, concat_dim, "axis", "concat_dim")
    parts = [SparseTensor.from_value(x) for x in _listed(sp_inputs)]
    if len(parts) == 1:
        return parts[0]
    place, rank = axis_of(parts[0], axis), rank_of(parts[0])
    with get_default_graph().name_scope(name or "SparseConcat"):
        shapes = arrays.stack([x.dense_shape for x in parts])
        along = _only(place, rank)
        largest = reductions.reduce_max(shapes, 0)
        ends = reductions.cumsum(shapes[:, place])
        shape = arrays.where(constant(along), arrays.zeros_like(largest) + ends[-1], largest)
        alike = reductions.reduce_all(arithmetic.logical_or(constant(along), arithmetic.equal(shapes, largest)))
        if one_of(expand_nonconcat_dims, expand_nonconcat_dim or None, "expand_nonconcat_dims", "expand_nonconcat_dim"):
            alike = constant(True)
        with required(alike, "Input shapes must match in all dimensions but the one of concatenation", shapes):
            step = constant(along.astype(np.int64))
            moved = [x.indices + step * (end - x.dense_shape[place]) for x, end in
                     zip(parts, arrays.unstack(ends, len(parts)), strict=True)]  # fmt: skip
            values = arrays.stop_gradient(arrays.concat([x.values for x in parts], 0))
            return sparse_reorder(SparseTensor(arrays.concat(moved, 0), values, shape))


def _listed(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple) or (isinstance(values, tuple) and hasattr(values, "dense_shape")):
        raise TypeError(f"Inputs must be a list of SparseTensors, got {values!r}.")
    if not values:
        raise ValueError("Expected one SparseTensor at least.")
    return values


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Some of the entries.

    Args:
      sp_input: SparseTensor with n entries.
      to_retain: bool ``[n]``, True for those that are kept. How many these are depends on values, see ``tf.where``.

    Raises:
      ValueError: another static number than that of entries.
    """
    x = SparseTensor.from_value(sp_input)
    chosen = convert_to_tensor(to_retain)
    chosen.shape.assert_has_rank(1)
    chosen.shape.assert_is_compatible_with(x.values.shape)
    return retained(x, chosen, gather_scatter.gather)


def retained(x: SparseTensor, chosen: Tensor, take: Callable[[Tensor, Tensor], Tensor] = rows_at) -> SparseTensor:
    """The entries where ``chosen`` is true; ``take`` decides whether the gradient is dense."""
    places = arrays.reshape(arrays.where(chosen), [-1])
    return SparseTensor(gather_scatter.gather(x.indices, places), take(x.values, places), x.dense_shape)


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The entries of a part of the shape; their number depends on values, see ``tf.where``.

    Args:
      start, size: int64 ``[rank]``. A part that goes past the end ends there.
    """
    x = SparseTensor.from_value(sp_input)
    with get_default_graph().name_scope(name or "SparseSlice"):
        first, count = int64_tensor(start), int64_tensor(size)
        inside = arithmetic.logical_and(x.indices >= first, x.indices < first + count)
        kept = retained(x, reductions.reduce_all(inside, 1))
        rest = arithmetic.maximum(x.dense_shape - first, constant(0, int64))
        return SparseTensor(kept.indices - first, kept.values, arithmetic.minimum(count, rest))


class KeywordRequired:
    """The default of a first argument that nothing may be given for: the others are given by name."""

    def __repr__(self) -> str:
        return "KeywordRequired()"


_BY_NAME = KeywordRequired()


def sparse_split(
    keyword_required: Any = _BY_NAME, sp_input: Any = None, num_split: Any = None, axis: Any = None,
    name: str | None = None, split_dim: Any = None,
) -> list[SparseTensor]:  # fmt: skip
    """The parts of a sparse tensor along a dimension; the first ones are larger by one where it does not divide.

    Args:
      keyword_required: nothing: all arguments are given by name.
      num_split: a Python integer, how many parts.
      axis: the dimension.
      split_dim: the deprecated name of ``axis``.

    Raises:
      ValueError: arguments that are missing, or given by position; ``num_split`` is not positive.
    """
    if keyword_required is not _BY_NAME:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None or num_split is None:
        raise ValueError(f"{'sp_input' if sp_input is None else 'num_split'} is required")
    axis = one_of(axis, split_dim, "axis", "split_dim")
    if axis is None:
        raise ValueError("axis is required")
    x = SparseTensor.from_value(sp_input)
    if num_split < 1:
        raise ValueError(f"Expected num_split of at least 1, got {num_split}.")
    place, rank = axis_of(x, axis), rank_of(x)
    with get_default_graph().name_scope(name or "SparseSplit"):
        along = constant(_only(place, rank).astype(np.int64))
        length = x.dense_shape[place]
        with required(length >= num_split, "num_split must be in the interval [1, size of the dimension]", length):
            size, larger = length // num_split, length % num_split
        found = []
        for i in range(num_split):
            index = constant(i, int64)
            start = index * size + arithmetic.minimum(index, larger)
            width = size + arithmetic.cast(index < larger, int64)
            found.append(sparse_slice(x, along * start, x.dense_shape + along * (width - length)))
        return found


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Which ids a sparse tensor has: bool ``[..., vocab_size]`` from ids ``[..., n]``.

    Args:
      sp_input: SparseTensor of int32 or int64 ids; a run raises InvalidArgumentError for one that is not below
        ``vocab_size``.
    """
    x = SparseTensor.from_value(sp_input)
    with get_default_graph().name_scope(name or "SparseToIndicator"):
        present = x.with_values(arrays.ones_like(x.values, bool_))
        merged = sparse_merge(x, present, vocab_size)
        inputs = [merged.indices, merged.dense_shape, merged.values, constant(False)]
        return add_op("SparseToDense", inputs, {"validate_indices": False})


def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Values at the places that ids name: ``values[i]`` at ``[*indices[i][:-1], ids[i]]``.

    Args:
      sp_ids: a SparseTensor of int32 or int64 ids, or a list of them, each with a dimension of its own.
      sp_values: a SparseTensor with the same indices.
      vocab_size: one more than the largest id, a list where ``sp_ids`` is one.
      already_sorted: the result is in order as it is.

    Raises:
      TypeError: ids or values that are no SparseTensor.
      ValueError: lists of different lengths.
    """
    values = SparseTensor.from_value(sp_values)
    many = isinstance(sp_ids, list | tuple) and not hasattr(sp_ids, "dense_shape")
    ids = [SparseTensor.from_value(x) for x in (sp_ids if many else [sp_ids])]
    sizes = list(vocab_size) if many and not isinstance(vocab_size, Tensor) else [vocab_size]
    if many and isinstance(vocab_size, Tensor):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints, got {vocab_size!r}.")
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with get_default_graph().name_scope(name or "SparseMerge"):
        columns = [arrays.expand_dims(int64_tensor(x.values), 1) for x in ids]
        places = arrays.concat([ids[0].indices[:, :-1], *columns], 1)
        ends = arrays.stack([arrays.reshape(int64_tensor(n), []) for n in sizes])
        merged = SparseTensor(places, values.values, arrays.concat([ids[0].dense_shape[:-1], ends], 0))
        return merged if already_sorted else sparse_reorder(merged)


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:  # fmt: skip
    """Gives rows without entries one: ``default_value`` at their first place.

    Args:
      sp_input: SparseTensor ``[n, ...]``.
      default_value: a scalar of its element type.

    Returns:
      The sparse tensor, in the order of its rows, and bool ``[n]``: True for rows that were empty.
    """
    x = SparseTensor.from_value(sp_input)
    with get_default_graph().name_scope(name or "SparseFillEmptyRows"):
        rows, count = x.indices[:, 0], x.dense_shape[0]
        default = convert_to_tensor(default_value, x.dtype, name="default_value")
        default.shape.assert_has_rank(0)
        empty = arithmetic.equal(segments.unsorted_segment_sum(arrays.ones_like(rows), rows, count), constant(0, int64))
        missing = arrays.where(empty)
        first = arrays.concat([missing, arrays.zeros([arrays.shape(missing)[0], rank_of(x) - 1], int64)], 1)
        places = arrays.concat([x.indices, first], 0)
        values = arrays.concat([x.values, arrays.fill(arrays.shape(missing)[:1], default)], 0)
        order = sorting.argsort(places[:, 0], stable=True)
        filled = SparseTensor(gather_scatter.gather(places, order), rows_at(values, order), x.dense_shape)
        return filled, empty


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """The rows of ``a`` whose index is not among ``mask_indices``; their number depends on values, see ``tf.where``."""
    with get_default_graph().name_scope(name or "sparse_mask") as scope:
        kept, places = gather_scatter.setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather_scatter.gather(a.values, places, name=scope), kept, a.dense_shape)


def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: DTypeLike = float32, name: str | None = None
) -> SparseTensor:  # fmt: skip
    """The unit matrix ``[num_rows, num_columns]``, square by default."""
    with get_default_graph().name_scope(name or "eye"):
        rows = int64_tensor(num_rows, "num_rows")
        columns = rows if num_columns is None else int64_tensor(num_columns, "num_columns")
        places = arrays.range(arithmetic.minimum(rows, columns))
        ones = arrays.ones(arrays.shape(places), as_dtype(dtype))
        return SparseTensor(arrays.stack([places, places], 1), ones, arrays.stack([rows, columns]))


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The entries of a tensor that are not zero (strings: empty); their number depends on values, see ``tf.where``."""
    with get_default_graph().name_scope(name or "dense_to_sparse"):
        x = convert_to_tensor(tensor)
        places = arrays.where(arithmetic.not_equal(x, arrays.zeros_like(x)))
        return SparseTensor(places, gather_scatter.gather_nd(x, places), arrays.shape(x, out_type=int64))
