"""Ragged tensors of other tensors' entries: crosses of features, slices by their partition, rows that are not empty.

Source: ``tensorflow/python/ops/ragged/ragged_array_ops.py`` of 2.15.
"""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DType, int32, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import gather_scatter, segments, sorting
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.ragged import row_partitions, slices
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor, as_values
from towerstrat.graph.ops.sparse.crosses import DEFAULT_KEY, crossed
from towerstrat.graph.ops.sparse.ordering import required


def _feature(given: Any) -> tuple[Any, DType | None]:
    """A feature as a dense or sparse one, and of a ragged one the type of its splits.

    Raises:
      ValueError: several ragged dimensions, or an element type that cannot be crossed.
    """
    if isinstance(given, SparseTensor | SparseTensorValue):
        return given, None
    x = as_values(given)
    if not x.dtype.is_integer and x.dtype is not string:
        raise ValueError(f"Unexpected dtype for inputs of a cross: {x.dtype.name}; expected integers or strings.")
    if not isinstance(x, RaggedTensor):
        return x, None
    if x.ragged_rank != 1:
        raise ValueError("tf.ragged.cross only supports inputs with rank=2")
    return x.to_sparse(), x.row_splits.dtype


def _crossed(inputs: Any, name: str, **attrs: Any) -> RaggedTensor:
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    with get_default_graph().name_scope(name):
        features = [_feature(given) for given in inputs]
        kinds = {kind for _, kind in features if kind is not None}
        kind = int32 if kinds == {int32} else int64
        found = crossed([feature for feature, _ in features], None, **attrs)
        rows, count = arithmetic.cast(found.indices[:, 0], kind), arithmetic.cast(found.dense_shape[0], kind)
        return RaggedTensor.from_value_rowids(found.values, rows, count, validate=False)


def cross(inputs: Any, name: str | None = None) -> RaggedTensor:
    """Every combination of the entries of features in a row, as strings with "_X_" between them.

    Args:
      inputs: a list of RaggedTensors, SparseTensors and tensors ``[batch, n]`` of integers or strings.

    Raises:
      TypeError: no list. ValueError: another element type, or several ragged dimensions.
    """
    return _crossed(inputs, name or "RaggedCross")


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> RaggedTensor:  # fmt: skip
    """Every combination of the entries of features in a row, as int64 hashes.

    Args:
      inputs: as of ``cross``.
      num_buckets: hashes are below it; 0: below 2**63 - 1.
      hash_key: where the hash starts; None: a fixed number.
    """
    key = DEFAULT_KEY if hash_key is None else hash_key
    return _crossed(inputs, name or "RaggedCross", hashed=True, num_buckets=num_buckets, key=key)


def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> RaggedTensor:
    """The slices of ``data`` in rows: row i has those whose partition is i, in their order.

    Args:
      data: a tensor or RaggedTensor.
      partitions: integers, as many as ``data`` has slices: its shape is the beginning of that of ``data``.
      num_partitions: an integer scalar, the number of rows.

    Raises:
      ValueError: partitions of unknown rank, or of another shape. InvalidArgumentError, when it runs: a partition that
        is not in ``[0, num_partitions)``.
    """
    with get_default_graph().name_scope(name or "SegmentStack"):
        x = as_values(data)
        parts = as_values(partitions)
        if isinstance(x, RaggedTensor):
            parts = arithmetic.cast(parts, x.row_splits.dtype) if parts.dtype is not x.row_splits.dtype else parts
        return _stacked(x, parts, arithmetic.cast(convert_to_tensor(num_partitions), parts.dtype))


def _stacked(x: Any, parts: Any, count: Tensor) -> RaggedTensor:
    rank = parts.shape.ndims
    if rank is None:
        raise ValueError("partitions must have known rank.")
    count.shape.assert_has_rank(0)
    parts.shape.assert_is_compatible_with(x.shape[:rank])
    if rank == 0:
        rows = arrays.expand_dims(parts, 0)
        values = RaggedTensor.from_row_lengths(x, x.nrows()[None]) if isinstance(x, RaggedTensor) else x[None]
        return RaggedTensor.from_value_rowids(values, rows, count, validate=False)
    if rank > 1:
        return _stacked(*_without_outer(x, parts), count)
    order = sorting.argsort(parts, stable=True)
    inside = reductions.reduce_all(arithmetic.logical_and(parts >= 0, parts < count))
    with required(inside, "partitions must be non-negative and less than num_partitions:", parts, count):
        return RaggedTensor.from_value_rowids(slices.taken(x, order), rows_at(parts, order), count, validate=False)


def _without_outer(x: Any, parts: Any) -> tuple[Any, Any]:
    """Both with their first two dimensions as one."""
    if not isinstance(x, RaggedTensor) and not isinstance(parts, RaggedTensor):
        return row_partitions.joined(x), row_partitions.joined(parts)
    kind = parts.dtype
    x, parts = (
        v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v, row_splits_dtype=kind) for v in (x, parts)
    )
    same = reductions.reduce_all(arithmetic.equal(x.row_splits, arithmetic.cast(parts.row_splits, x.row_splits.dtype)))
    with required(same, "data and partitions have incompatible ragged shapes"):
        return x.values, arrays.identity(parts.values) if isinstance(parts.values, Tensor) else parts.values


def ragged_fill_empty_rows(
    value_rowids: Any, values: Any, nrows: Any, default_value: Any, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gives rows without values one, ``default_value``.

    Args:
      value_rowids: int64 ``[n]``, the row of each value. values: ``[n]``.
      nrows: int64 scalar, the number of rows.
      default_value: a scalar of the values' type.

    Returns:
      The rows of values ``[m]``, the values ``[m]``, bool ``[nrows]``: True for rows that were empty, and int64
      ``[n]``: where each given value is.
    """
    with get_default_graph().name_scope(name or "RaggedFillEmptyRows"):
        rows, x = convert_to_tensor(value_rowids, int64), convert_to_tensor(values)
        default = convert_to_tensor(default_value, x.dtype)
        count = convert_to_tensor(nrows, int64)
        empty = arithmetic.equal(segments.unsorted_segment_sum(arrays.ones_like(rows), rows, count), constant(0, int64))
        missing = arrays.where(empty)[:, 0]
        every = arrays.concat([rows, missing], 0)
        order = sorting.argsort(every, stable=True)
        filled = arrays.concat([x, arrays.fill(arrays.shape(missing), default)], 0)
        back = arithmetic.cast(gather_scatter.invert_permutation(order), int64)
        return rows_at(every, order), rows_at(filled, order), empty, back[: arrays.shape(rows)[0]]


def ragged_fill_empty_rows_grad(
    reverse_index_map: Any, grad_values: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The gradients of ``ragged_fill_empty_rows`` for ``values`` ``[n]`` and ``default_value``.

    Args:
      reverse_index_map: int64 ``[n]``, its last result.
      grad_values: ``[m]``, the gradient for the values that it returned.
    """
    with get_default_graph().name_scope(name or "RaggedFillEmptyRowsGrad"):
        given = convert_to_tensor(grad_values)
        own = rows_at(given, convert_to_tensor(reverse_index_map, int64))
        return own, reductions.reduce_sum(given) - reductions.reduce_sum(own)
