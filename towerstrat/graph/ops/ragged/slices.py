"""Rows, and parts of rows, of ragged tensors: ``rt[i]``, ``rt[a:b]``, ``rt[:, j]``, ``tf.gather``."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.ragged import row_partitions
from towerstrat.graph.ops.sparse.ordering import required


def taken(values: Any, indices: Tensor) -> Any:
    """The rows at ``indices``, ``[n]``, of a tensor or of a ragged tensor."""
    return gathered(values, indices) if isinstance(values, Partitioned) else rows_at(values, indices)


def gathered(x: Any, indices: Any) -> Any:
    """The rows of a ragged tensor at ``indices``, a scalar or ``[n]``. Raises ValueError for indices of higher rank."""
    at = row_partitions.integers(indices)
    if at.dims == ():
        return row(x, at)
    if at.dims is None or len(at.dims) != 1:
        raise ValueError(f"Expected indices of a ragged tensor to be a scalar or a vector, got shape {at.shape}.")
    count = x.nrows(at.dtype)
    inside = reductions.reduce_all(arithmetic.logical_and(at >= 0, at < count))
    with required(inside, "indices are not in [0, rows):", at, count):
        starts, limits = gather_scatter.gather(x.row_starts(), at), gather_scatter.gather(x.row_limits(), at)
    return _between(x, starts, limits)


def _between(x: Any, starts: Tensor, limits: Tensor, step: int = 1) -> Any:
    """Rows that begin and end at places of the values."""
    kind = x.row_splits.dtype
    splits, at = row_partitions.ranges(starts, limits, constant(np.asarray(step, kind.np), kind), kind)
    return type(x)(taken(x.values, at), splits)


def row(x: Any, index: Any) -> Any:
    """One row; a negative index counts from the end."""
    at = convert_to_tensor(index, x.row_splits.dtype) if isinstance(index, int) else index
    at = arithmetic.cast(at, x.row_splits.dtype)
    count = x.nrows()
    place = arrays.where(at < 0, at + count, at)
    with required(
        arithmetic.logical_and(place >= 0, place < count), "slice index is out of bounds: index, rows", at, count
    ):
        place = arrays.identity(place)
    return x.values[x.row_splits[place] : x.row_splits[place + 1]]


def item(x: Any, key: Any) -> Any:
    """``x[key]``: integers and slices for each dimension, ``...`` alone at the end.

    Raises:
      ValueError: a key that ragged tensors do not take here, such as ``tf.newaxis``; or too many of them.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    if keys and keys[-1] is Ellipsis:
        keys.pop()
    if not keys:
        return x
    first, rest = keys[0], keys[1:]
    _check(first)
    if not isinstance(first, slice):
        found = row(x, first)
        return found[tuple(rest)] if rest else found
    rows = x if first == slice(None) else _rows(x, first)
    return _inner(rows, rest) if rest else rows


def _check(key: Any) -> None:
    whole = isinstance(key, int | np.integer | slice) and not isinstance(key, bool)
    if not whole and not (isinstance(key, Tensor) and key.dtype.is_integer and key.dims == ()):
        raise ValueError(
            f"Expected integers and slices as keys of a ragged tensor, got {key!r}. Use tf.gather, or to_tensor()."
        )


def _rows(x: Any, key: slice) -> Any:
    return _between(x, x.row_starts()[key], x.row_limits()[key])


def _inner(x: Any, keys: list[Any]) -> Any:
    """``x[:, *keys]``."""
    first, rest = keys[0], keys[1:]
    _check(first)
    starts, limits = x.row_starts(), x.row_limits()
    if not isinstance(first, slice):
        raise ValueError(f"Cannot index into an inner ragged dimension, got {first!r}: a row may be too short for it.")
    cut = x
    if first != slice(None):
        if first.step is not None and (not isinstance(first.step, int) or first.step <= 0):
            raise ValueError(f"Expected a positive step in a slice of ragged rows, got {first.step!r}.")
        begin = _clipped(first.start, starts, limits, starts)
        cut = _between(
            x, begin, arithmetic.maximum(_clipped(first.stop, starts, limits, limits), begin), first.step or 1
        )
    return cut.with_values(cut.values[(slice(None), *rest)]) if rest else cut


def _clipped(bound: Any, starts: Tensor, limits: Tensor, default: Tensor) -> Tensor:
    """Index of a slice's bound in each row."""
    if bound is None:
        return default
    at = arrays.zeros_like(starts) + arithmetic.cast(convert_to_tensor(bound), starts.dtype)
    return arithmetic.minimum(arithmetic.maximum(arrays.where(at < 0, limits + at, starts + at), starts), limits)
