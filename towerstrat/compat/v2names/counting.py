"""Counting with the arguments of 2.x: dense, ragged and sparse values, dense and sparse counts."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.types import int32, int64
from towerstrat.graph.ops import array, counting, indexing, math
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = int32,
    name: str | None = None, axis: int | None = None, binary_output: bool = False,
) -> Tensor:  # fmt: skip
    """How often each number from 0 occurs, or the sum of the ``weights`` of its places.

    Args:
      arr: integers; a tensor, a ragged or a sparse one, whose entries alone count.
      weights: of the same kind and shape. minlength, maxlength: bounds of the number of counts.
      dtype: of the counts, without weights.
      axis: None or 0 counts in all of ``arr``, -1 in each row of a matrix.
      binary_output: 1 where a number occurs, instead of how often.

    Raises:
      ValueError: another axis, or weights of a binary output.
    """
    _check(axis, binary_output, weights)
    if not isinstance(arr, RaggedTensor | SparseTensor):
        found = counting.counts(math.cast(arr, int32), weights, minlength, maxlength, dtype, by_row=axis == -1)
    elif axis == -1:
        found = _counts_of_rows(arr, weights, minlength, maxlength, dtype)
    else:
        amounts = None if weights is None else _entries(weights)
        found = counting.counts(math.cast(_entries(arr), int32), amounts, minlength, maxlength, dtype, by_row=False)
    return array.identity(math.minimum(found, 1) if binary_output else found, name or "bincount")


def sparse_bincount(
    values: Any, weights: Any = None, axis: int | None = 0, minlength: Any = None, maxlength: Any = None,
    binary_output: bool = False, name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """The counts of ``bincount`` as a sparse tensor, which has entries for the numbers that occur.

    Args:
      values, weights, axis, minlength, maxlength, binary_output: as of ``bincount``.

    Returns:
      ``[n]``, or ``[rows, n]`` for ``axis=-1`` of a matrix; of the type of the weights or the values.

    Raises:
      ValueError: as ``bincount`` does.
    """
    with get_default_graph().name_scope(name or "count"):
        given = values if isinstance(values, RaggedTensor | SparseTensor) else convert_to_tensor(values, name="values")
        bounds = {"minlength": minlength, "maxlength": maxlength, "axis": axis}
        occurring = bincount(given, dtype=given.dtype, **bounds)
        _check(axis, binary_output, weights)
        found = occurring if weights is None else bincount(given, weights, **bounds)
        found = math.minimum(found, 1) if binary_output else found
        places = indexing.where(occurring > 0)
        return SparseTensor(places, indexing.gather_nd(found, places), array.shape(found, out_type=int64))


def _check(axis: int | None, binary_output: bool, weights: Any) -> None:
    if axis not in (None, 0, -1):
        raise ValueError(f"Expected axis None, 0 or -1, got {axis!r}.")
    if binary_output and weights is not None:
        raise ValueError("Expected no weights with binary_output=True.")


def _entries(values: Any) -> Any:
    """The numbers of a tensor of any kind, one after the other."""
    if isinstance(values, RaggedTensor):
        return values.flat_values
    return values.values if isinstance(values, SparseTensor) else array.reshape(values, [-1])


def _counts_of_rows(arr: Any, weights: Any, minlength: Any, maxlength: Any, dtype: Any) -> Tensor:
    """The counts of each row of a ragged or sparse matrix: those of one vector in which each row has its own numbers.

    Raises:
      ValueError: it is no matrix.
    """
    if arr.shape.ndims != 2:
        raise ValueError(f"Expected a matrix for axis=-1, got shape {arr.shape}.")
    numbers = math.cast(_entries(arr), int32)
    if isinstance(arr, RaggedTensor):
        rows, count = arr.value_rowids(), arr.nrows()
    else:
        rows, count = arr.indices[:, 0], arr.dense_shape[0]
    rows, count = math.cast(rows, int32), math.cast(count, int32)
    length = counting.length_of(numbers, minlength, maxlength)
    total = count * length
    places = indexing.where(numbers < length, rows * length + numbers, array.zeros_like(numbers) + total)
    amounts = None if weights is None else _entries(weights)
    found = counting.counts(places, amounts, total, total, dtype, by_row=False)
    return array.reshape(found, [count, length])
