"""Counts of integers in dense, sparse and ragged tensors: in all of one, or in each row.

Source: ``tensorflow/python/ops/bincount_ops.py`` and ``tensorflow/core/kernels/count_ops.cc`` of 2.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import HostArray, as_dtype, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.indexing import histograms
from towerstrat.graph.ops.indexing.segments import unsorted_segment_sum
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor
from towerstrat.graph.ops.sparse.ordering import required

Inputs = Sequence[Tensor]


class _Entries(NamedTuple):
    """The entries of a tensor.

    Attributes:
      values: ``[n]``.
      weights: ``[n]`` or None.
      rows: int64 ``[n]``, the row of each.
      number: int64 scalar, the number of rows; None where all are in one.
    """

    values: Tensor
    weights: Tensor | None
    rows: Tensor | None
    number: Tensor | None


def _checked(weights: Any, binary_output: bool, axis: Any) -> None:
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")


def _entries(values: Any, weights: Any, by_row: bool) -> _Entries:
    """Raises ValueError for weights of another kind than the values."""
    if isinstance(values, SparseTensor):
        return _of_sparse(values, weights, by_row)
    if isinstance(values, RaggedTensor):
        return _of_ragged(values, weights, by_row)
    if isinstance(weights, SparseTensor | RaggedTensor):
        raise ValueError(
            "Argument `weights` must be a tf.Tensor if `values` is a tf.Tensor. "
            f"Received weights={weights} of type: {type(weights).__name__}"
        )
    x = convert_to_tensor(values)
    flat = arrays.reshape(x, [-1])
    amounts = None if weights is None else arrays.reshape(convert_to_tensor(weights), [-1])
    if not by_row or x.shape.ndims == 1:
        return _Entries(flat, amounts, None, None)
    if x.shape.ndims != 2:
        raise ValueError(f"Shape must be at most rank 2 with axis=-1, got shape {x.shape}.")
    count, width = (arrays.shape(x, out_type=int64)[i] for i in range(2))
    return _Entries(flat, amounts, arrays.repeat(arrays.range(count), width), count)


def _of_sparse(values: SparseTensor, weights: Any, by_row: bool) -> _Entries:
    amounts = None
    if weights is not None:
        if not isinstance(weights, SparseTensor):
            raise ValueError(
                "Argument `weights` must be a SparseTensor if `values` is a SparseTensor. "
                f"Received weights={weights} of type: {type(weights).__name__}"
            )
        same = [
            reductions.reduce_all(arithmetic.equal(*pair))
            for pair in ((values.indices, weights.indices), (values.dense_shape, weights.dense_shape))
        ]
        with required(
            arithmetic.logical_and(*same), "'weights' and 'values' must have the same indices and dense shape."
        ):
            amounts = arrays.identity(weights.values)
    if not by_row or values.shape.ndims == 1:
        return _Entries(values.values, amounts, None, None)
    return _Entries(values.values, amounts, values.indices[:, 0], values.dense_shape[0])


def _of_ragged(values: RaggedTensor, weights: Any, by_row: bool) -> _Entries:
    amounts = None
    if weights is not None:
        if not isinstance(weights, RaggedTensor):
            raise ValueError(
                "`weights` must be a RaggedTensor if `values` is a RaggedTensor. "
                f"Received argument weights={weights} of type: {type(weights).__name__}."
            )
        same = reductions.reduce_all(
            arithmetic.equal(values.row_splits, arithmetic.cast(weights.row_splits, values.row_splits.dtype))
        )
        with required(same, "'weights' and 'values' must have the same row splits."):
            amounts = arrays.identity(weights.flat_values)
    if not by_row:
        return _Entries(values.flat_values, amounts, None, None)
    if values.ragged_rank != 1 or values.shape.ndims not in (2, None):
        raise ValueError(f"Shape must be rank 2 with axis=-1, got shape {values.shape}.")
    return _Entries(values.values, amounts, values.value_rowids(), values.nrows(int64))


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = int32,
    name: str | None = None, axis: int | None = None, binary_output: bool = False,
) -> Tensor:  # fmt: skip
    """Counts of the numbers from 0, or sums of the ``weights`` at their places.

    Args:
      arr: a tensor, SparseTensor (whose entries alone count) or RaggedTensor of numbers, at most a matrix for ``axis``
        -1.
      weights: of the kind and places of ``arr``.
      minlength, maxlength: bounds of the result's length, which is one more than the largest number.
      dtype: the result's without weights.
      axis: None or 0 counts in all of ``arr``, -1 in each row of a matrix.
      binary_output: 1 where a number occurs, instead of how often.

    Raises:
      ValueError: another axis, weights of another kind, or weights of a binary output. InvalidArgumentError, when it
        runs: a number below 0.
    """
    _checked(weights, binary_output, axis)
    with get_default_graph().name_scope(name or "bincount"):
        if not isinstance(arr, SparseTensor | RaggedTensor):
            found = histograms.counts(
                arithmetic.cast(arr, int32), weights, minlength, maxlength, dtype, by_row=axis == -1
            )
        else:
            entries = _entries(arr, weights, axis == -1)
            found = _table(entries, minlength, maxlength, dtype)
        return arithmetic.minimum(found, _one(found)) if binary_output else found


def _one(x: Tensor) -> Tensor:
    return constant(np.ones((), x.dtype.np), x.dtype)


def _table(entries: _Entries, minlength: Any, maxlength: Any, dtype: Any) -> Tensor:
    values = arithmetic.cast(entries.values, int32)
    if entries.rows is None or entries.number is None:
        return histograms.counts(values, entries.weights, minlength, maxlength, dtype, by_row=False)
    size = histograms.bins(values, minlength, maxlength)
    width = arithmetic.cast(size, int64)
    wide = arithmetic.cast(values, int64)
    amounts = arrays.ones_like(values, dtype=as_dtype(dtype)) if entries.weights is None else entries.weights
    with required(
        reductions.reduce_all(arithmetic.greater_equal(values, 0)), "Input arr must be non-negative!", entries.values
    ):
        places = arrays.where(
            arithmetic.less(wide, width), arithmetic.cast(entries.rows, int64) * width + wide, -arrays.ones_like(wide)
        )
    flat = unsorted_segment_sum(amounts, places, entries.number * width)
    return arrays.reshape(flat, arrays.stack([entries.number, width]))


# ---- as sparse tensors ---------------------------------------------------------------------------------------------


def _count_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    rank = 2 if attrs["by_row"] else 1
    return [Signature(int64, (None, rank)), Signature(inputs[1].dtype, (None,)), Signature(int64, (rank,))]


def _count(
    values: HostArray, weights: HostArray, rows: HostArray, count: HostArray, *, by_row: bool, weighted: bool,
    minlength: int, maxlength: int, binary: bool,
) -> tuple[HostArray, HostArray, HostArray]:  # fmt: skip
    values, weights, rows = (np.asarray(t) for t in (values, weights, rows))
    if (values < 0).any():
        raise ValueError(f"Input values must all be non-negative, got {values.min()}")
    if maxlength > 0:
        kept = values < maxlength
        values, rows = values[kept], rows[kept]
        weights = weights[kept] if weighted else weights
    size = maxlength if maxlength > 0 else max(int(values.max(initial=0)) + 1, minlength)
    pairs = np.stack([rows, values.astype(np.int64)], 1)
    places, which = np.unique(pairs, axis=0, return_inverse=True)
    found = np.zeros(len(places), weights.dtype)
    np.add.at(found, which.reshape(-1), weights if weighted else np.ones(1, weights.dtype))
    found = np.ones_like(found) if binary else found
    if by_row:
        return places, found, np.array([int(count), size], np.int64)
    return places[:, 1:], found, np.array([size], np.int64)


define_op("CountSparseOutput", _count_rule, _count, numpy=_count, dynamic=True, differentiable=False)


def sparse_bincount(
    values: Any, weights: Any = None, axis: int | None = 0, minlength: int | None = None, maxlength: int | None = None,
    binary_output: bool = False, name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """Counts of the numbers from 0, as the entries of a SparseTensor ``[length]``, or ``[rows, length]``.

    Args:
      values: a tensor, SparseTensor or RaggedTensor of integers, at most a matrix for ``axis`` -1.
      weights: of the kind and places of ``values``: the result has the sums of them, in their type.
      axis: None or 0 counts in all of ``values``, -1 in each row.
      minlength: the least length. maxlength: the length; larger numbers are left out.
      binary_output: 1 where a number occurs, instead of how often.

    Returns:
      SparseTensor of the type of ``values`` or ``weights``.

    Raises:
      ValueError: another axis, weights of another kind, or weights of a binary output. InvalidArgumentError, when it
        runs: a number below 0.
    """
    _checked(weights, binary_output, axis)
    with get_default_graph().name_scope(name or "count"):
        entries = _entries(values, weights, axis == -1)
        by_row = entries.rows is not None
        rows = (
            arrays.zeros_like(entries.values, dtype=int64)
            if entries.rows is None
            else arithmetic.cast(entries.rows, int64)
        )
        attrs = {
            "by_row": by_row,
            "weighted": entries.weights is not None,
            "minlength": -1 if minlength is None else int(minlength),
            "maxlength": -1 if maxlength is None else int(maxlength),
            "binary": bool(binary_output),
        }
        amounts = constant([], entries.values.dtype) if entries.weights is None else entries.weights
        count = constant(1, int64) if entries.number is None else entries.number
        return SparseTensor(
            *add("CountSparseOutput", [entries.values, amounts, rows, count], attrs, "CountSparseOutput")
        )
