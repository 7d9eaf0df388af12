"""``RaggedTensorValue``: the value of a ragged tensor as numpy arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.types import HostArray


class RaggedTensorValue:
    """A fetched ``RaggedTensor``.

    Args:
      values: ``[n, ...]``, a numpy array, or a RaggedTensorValue for several ragged dimensions.
      row_splits: int32 or int64 ``[rows + 1]``.

    Raises:
      TypeError: splits of another type, or of another rank.
    """

    def __init__(self, values: Any, row_splits: Any):
        if not isinstance(row_splits, np.ndarray) or row_splits.dtype not in (np.int32, np.int64):
            raise TypeError(f"row_splits must be a 1D int32 or int64 numpy array, got {row_splits!r}.")
        if row_splits.ndim != 1:
            raise TypeError(f"row_splits must be a vector, got shape {row_splits.shape}.")
        self.values = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self.row_splits = row_splits

    @classmethod
    def nested(cls, parts: Sequence[Any]) -> RaggedTensorValue:
        """Of flat values and the splits of each ragged dimension, the outermost first."""
        found: Any = parts[0]
        for splits in reversed(parts[1:]):
            found = cls(found, splits)
        result: RaggedTensorValue = found
        return result

    @property
    def flat_values(self) -> HostArray:
        found: HostArray = self.values.flat_values if isinstance(self.values, RaggedTensorValue) else self.values
        return found

    @property
    def nested_row_splits(self) -> tuple[HostArray, ...]:
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensorValue) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        rows = self.values.to_list() if isinstance(self.values, RaggedTensorValue) else self.values.tolist()
        splits = self.row_splits.tolist()
        return [rows[a:b] for a, b in itertools.pairwise(splits)]

    def numpy(self) -> HostArray:
        """The rows as numpy arrays, in an array of objects unless all lengths are one."""
        values = self.values.numpy() if isinstance(self.values, RaggedTensorValue) else self.values
        splits = self.row_splits.tolist()
        rows = [values[a:b] for a, b in itertools.pairwise(splits)]
        if len({len(row) for row in rows}) == 1 and not isinstance(self.values, RaggedTensorValue):
            return np.stack(rows)
        found = np.empty(len(rows), object)
        found[:] = rows
        return found

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"
