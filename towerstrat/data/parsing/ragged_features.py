"""``tf.io.RaggedFeature``: the values of a feature in rows that other features say.

Source: ``tensorflow/python/ops/parsing_config.py`` and ``parsing_ops.py`` of 2.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, float32, int32, int64, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.math.reductions import cumsum, reduce_max
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor


class RowSplits(NamedTuple):
    key: str


class RowLengths(NamedTuple):
    key: str


class RowStarts(NamedTuple):
    key: str


class RowLimits(NamedTuple):
    key: str


class ValueRowIds(NamedTuple):
    key: str


class UniformRowLength(NamedTuple):
    length: int


_KINDS = (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)


class _Fields(NamedTuple):
    dtype: DType
    value_key: str | None
    partitions: Sequence[Any]
    row_splits_dtype: DType
    validate: bool


class RaggedFeature(_Fields):
    """Any number of values, in rows: a RaggedTensor ``[batch, values]``; of one example a vector.

    Args:
      dtype: float32, int64 or string.
      value_key: the feature of the values; default: the key of this one.
      partitions: how values are in rows, the outermost first: each is a ``RowSplits``, ``RowLengths``, ``RowStarts``,
        ``RowLimits`` or ``ValueRowIds`` of the key of an int64 feature, or a ``UniformRowLength``. Each adds
        a dimension.
      row_splits_dtype: int32 or int64.
      validate: whether a run checks that the partitions fit.

    Raises:
      ValueError: another type, or an empty key. TypeError: partitions that are none.
    """

    RowSplits = RowSplits
    RowLengths = RowLengths
    RowStarts = RowStarts
    RowLimits = RowLimits
    ValueRowIds = ValueRowIds
    UniformRowLength = UniformRowLength

    def __new__(
        cls, dtype: DTypeLike, value_key: str | None = None, partitions: Sequence[Any] = (),
        row_splits_dtype: DTypeLike = int32, validate: bool = False,
    ) -> RaggedFeature:  # fmt: skip
        if value_key is not None and (not isinstance(value_key, str) or not value_key):
            raise ValueError(f"Argument `value_key` must be a string that is not empty; got {value_key!r}")
        kind, splits = as_dtype(dtype), as_dtype(row_splits_dtype)
        if kind not in (int64, float32, string):
            raise ValueError(f"Argument `dtype` must be int64, float32, or bytes; got {kind!r}")
        if splits not in (int32, int64):
            raise ValueError(f"Argument `row_splits_dtype` must be int32 or int64; got {splits!r}")
        if not isinstance(partitions, list | tuple):
            raise TypeError(f"Argument `partitions` must be a list or tuple. Received partitions={partitions!r}.")
        for partition in partitions:
            if not isinstance(partition, _KINDS):
                raise TypeError(
                    f"Argument `partitions` must be a list of partition objects {_KINDS}; got: {partition!r}"
                )
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must be a bool; got {validate!r}")
        return super().__new__(cls, kind, value_key, partitions, splits, validate)

    def keys(self, key: str) -> dict[str, DType]:
        """The features that are read for the one of this key, with their element types."""
        partitions = {p.key: int64 for p in self.partitions if not isinstance(p, UniformRowLength)}
        return {self.value_key or key: self.dtype, **partitions}


def of_batch(key: str, feature: RaggedFeature, found: Mapping[str, SparseTensor]) -> Any:
    """The feature of a batch.

    Args:
      found: the features that it needs, each with the values of the whole batch.
    """
    result = _rows(found[feature.value_key or key], feature)
    for partition in reversed(feature.partitions):
        result = _divided(result, partition, feature, found)
    return result


def _rows(values: SparseTensor, feature: RaggedFeature) -> Any:
    """A sparse ``[batch, values]`` as a ragged tensor."""
    kind = feature.row_splits_dtype
    rows, count = (arithmetic.cast(t, kind) for t in (values.indices[:, 0], values.dense_shape[0]))
    return RaggedTensor.from_value_rowids(values.values, rows, count, validate=False)


def _divided(x: Any, partition: Any, feature: RaggedFeature, found: Mapping[str, SparseTensor]) -> Any:
    """A ragged tensor ``[batch, values, ...]`` with the values of each example in rows."""
    validate = feature.validate
    if isinstance(partition, UniformRowLength):
        return RaggedTensor.from_row_splits(
            _uniform(x.values, partition.length), arithmetic.floordiv(x.row_splits, partition.length), validate=validate
        )
    given = _rows(found[partition.key], feature)
    given = given.with_values(arithmetic.cast(given.values, feature.row_splits_dtype))
    if isinstance(partition, RowLengths):
        return given.with_values(RaggedTensor.from_row_lengths(x.values, given.values, validate=validate))
    if isinstance(partition, ValueRowIds):
        counts = arithmetic.maximum(reduce_max(given.with_values(given.values + 1), axis=1), 0)
        ids = given.values + arrays.repeat(cumsum(counts, exclusive=True), given.row_lengths())
        inner = RaggedTensor.from_value_rowids(x.values, ids, validate=validate)
        return RaggedTensor.from_row_lengths(inner, counts, validate=validate)
    if isinstance(partition, RowSplits):
        given = given[:, 1:]
    places = given.values + arrays.repeat(x.row_starts(), given.row_lengths())
    make = RaggedTensor.from_row_starts if isinstance(partition, RowStarts) else RaggedTensor.from_row_limits
    return given.with_values(make(x.values, places, validate=validate))


def _uniform(values: Any, length: int) -> Any:
    """Values in rows of one length: a ragged tensor of ragged ones, or a tensor with one dimension more."""
    if isinstance(values, RaggedTensor):
        return RaggedTensor.from_uniform_row_length(values, length)
    return arrays.reshape(values, arrays.concat([[-1, length], arrays.shape(values)[1:]], 0))


def of_one(key: str, feature: RaggedFeature, found: Mapping[str, SparseTensor]) -> Any:
    """The feature of one example, as ``of_batch``."""
    result: Any = found[feature.value_key or key].values
    for partition in reversed(feature.partitions):
        if isinstance(partition, UniformRowLength):
            result = _uniform(result, partition.length)
            continue
        given = arithmetic.cast(found[partition.key].values, feature.row_splits_dtype)
        result = _MAKERS[type(partition)](result, given, validate=feature.validate)
    return result


_MAKERS: Mapping[type, Any] = {
    RowSplits: RaggedTensor.from_row_splits,
    RowLengths: RaggedTensor.from_row_lengths,
    RowStarts: RaggedTensor.from_row_starts,
    RowLimits: RaggedTensor.from_row_limits,
    ValueRowIds: RaggedTensor.from_value_rowids,
}
