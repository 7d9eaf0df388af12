"""Sets along the last dimension, and how far sequences are apart. The host computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import HostArray, float32, int8, int16, int32, int64, string, uint8, uint16
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add, add_op

Inputs = Sequence[Tensor]
Groups = dict[tuple[int, ...], list[Any]]
"""Leading index -> the entries of that row, in order."""


def _groups(indices: HostArray, values: HostArray) -> Groups:
    found: Groups = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(index[:-1]), []).append(value)
    return found


def _checked(indices: HostArray, shape: HostArray, what: str) -> None:
    """Raises ValueError for indices outside of the shape, or out of order."""
    rows = indices.tolist()
    for place, index in enumerate(rows):
        if any(not 0 <= i < n for i, n in zip(index, shape.tolist(), strict=True)):
            raise ValueError(f"{what}: index {index} is out of bounds for the shape {shape.tolist()}.")
        if place and index <= rows[place - 1]:
            raise ValueError(f"{what}: indices[{place}] = {index} is out of order or repeated.")


# ---- sets ----------------------------------------------------------------------------------------------------------

_ELEMENTS = (int8, int16, int32, int64, string, uint8, uint16)
_RESULTS = {
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
}


def _set_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    a, b = inputs[1], inputs[4]
    for x in (a, b):
        if x.dtype not in _ELEMENTS:
            raise TypeError(f"Expected sets of integers or strings, got {x.dtype.name}.")
    if a.dtype is not b.dtype:
        raise TypeError(f"Expected sets of one element type, got {a.dtype.name} and {b.dtype.name}.")
    rank = size_at(inputs[2].shape, 0)
    return [Signature(int64, (None, rank)), Signature(a.dtype, (None,)), Signature(int64, (rank,))]


def _set_operation(*parts: Any, operation: str, validate_indices: bool) -> tuple[HostArray, HostArray, HostArray]:
    a_indices, a_values, a_shape, b_indices, b_values, b_shape = (np.asarray(p) for p in parts)
    if a_shape.shape != b_shape.shape or (a_shape[:-1] != b_shape[:-1]).any():
        raise ValueError(f"Mismatched group shapes {a_shape[:-1].tolist()} and {b_shape[:-1].tolist()}.")
    if validate_indices:
        _checked(a_indices, a_shape, "a")
        _checked(b_indices, b_shape, "b")
    a, b = _groups(a_indices, a_values), _groups(b_indices, b_values)
    combine = _RESULTS[operation]
    rows = {group: sorted(combine(set(a.get(group, ())), set(b.get(group, ())))) for group in sorted(a.keys() | b)}
    places = [(*group, i) for group, row in rows.items() for i in range(len(row))]
    values = np.empty(len(places), a_values.dtype)
    values[:] = [value for row in rows.values() for value in row]
    longest = max(map(len, rows.values()), default=0)
    return (
        np.array(places, np.int64).reshape(-1, len(a_shape)),
        values,
        np.array([*a_shape[:-1], longest], np.int64),
    )


define_op(
    "SparseToSparseSetOperation", _set_rule, _set_operation, numpy=_set_operation, dynamic=True, differentiable=False
)


def _as_sparse(x: Any) -> SparseTensor:
    """A set as a SparseTensor: every entry of a tensor counts."""
    if isinstance(x, SparseTensor | SparseTensorValue):
        return SparseTensor.from_value(x)
    tensor = convert_to_tensor(x)
    places = arrays.where(arrays.ones(arrays.shape(tensor), "bool"))
    return SparseTensor(places, arrays.reshape(tensor, [-1]), arrays.shape(tensor, out_type=int64))


def _combined(operation: str, a: Any, b: Any, validate_indices: bool) -> SparseTensor:
    tensors = [t for x in (a, b) for t in _as_sparse(x)._tensors()]
    attrs = {"operation": operation, "validate_indices": bool(validate_indices)}
    return SparseTensor(*add("SparseToSparseSetOperation", tensors, attrs))


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Elements of both sets, sorted, row by row of the last dimension.

    Args:
      a, b: tensors or SparseTensors of integers or strings, alike but for the last dimension.
      validate_indices: whether indices that are outside, repeated or out of order are an error.
    """
    return _combined("intersection", a, b, validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Elements of ``a`` that ``b`` has not (``aminusb=False``: the other way round). See ``set_intersection``."""
    return _combined("a-b" if aminusb else "b-a", a, b, validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Elements of either set. Arguments as of ``set_intersection``."""
    return _combined("union", a, b, validate_indices)


def _size_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[1].dtype not in _ELEMENTS:
        raise TypeError(f"Expected sets of integers or strings, got {inputs[1].dtype.name}.")
    rank = size_at(inputs[2].shape, 0)
    return [Signature(int32, None if rank is None else (None,) * (rank - 1))]


def _set_size(indices: Any, values: Any, shape: Any, *, validate_indices: bool) -> HostArray:
    indices, values, shape = (np.asarray(p) for p in (indices, values, shape))
    if validate_indices:
        _checked(indices, shape, "a")
    sizes = np.zeros(tuple(shape[:-1]), np.int32)
    for group, row in _groups(indices, values).items():
        sizes[group] = len(set(row))
    return sizes


define_op("SetSize", _size_rule, _set_size, numpy=_set_size, dynamic=True, differentiable=False)


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """The number of distinct entries in each row of a SparseTensor's last dimension, int32.

    Raises:
      TypeError: ``a`` is no SparseTensor.
    """
    if not isinstance(a, SparseTensor | SparseTensorValue):
        raise TypeError(f"Expected `SparseTensor`, got {a!r}.")
    return add_op("SetSize", SparseTensor.from_value(a)._tensors(), {"validate_indices": bool(validate_indices)})


# ---- distances -----------------------------------------------------------------------------------------------------


def _distance_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[1].dtype is not inputs[4].dtype:
        raise TypeError(f"Expected one element type, got {inputs[1].dtype.name} and {inputs[4].dtype.name}.")
    rank = size_at(inputs[2].shape, 0)
    return [Signature(float32, None if rank is None else (None,) * (rank - 1))]


def _levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _edit_distance(*parts: Any, normalize: bool) -> HostArray:
    first, a, a_shape, second, b, b_shape = (np.asarray(p) for p in parts)
    if a_shape.shape != b_shape.shape:
        raise ValueError(f"Expected hypothesis and truth of one rank, got {a_shape.tolist()} and {b_shape.tolist()}.")
    result = np.zeros(tuple(np.maximum(a_shape[:-1], b_shape[:-1])), np.float32)
    guesses, truths = _groups(first, a), _groups(second, b)
    for group in guesses.keys() | truths:
        if any(i >= n for i, n in zip(group, result.shape, strict=True)):
            raise ValueError(f"Index {list(group)} is out of bounds for the shape {list(result.shape)}.")
        guess, truth = guesses.get(group, []), truths.get(group, [])
        distance = _levenshtein(guess, truth)
        result[group] = (distance / len(truth) if truth else np.inf) if normalize else distance
    return result


define_op("EditDistance", _distance_rule, _edit_distance, numpy=_edit_distance, dynamic=True, differentiable=False)


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = "edit_distance") -> Tensor:
    """Levenshtein distances of sequences along the last dimension, float32.

    Args:
      hypothesis, truth: SparseTensors of one rank and element type.
      normalize: divide by the length of the truth; infinity where that is 0.

    Raises:
      TypeError: one of them is no SparseTensor.
    """
    for what, x in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(x, SparseTensor | SparseTensorValue):
            raise TypeError(f"{what} must be a SparseTensor, got {x!r}.")
    tensors = [t for x in (hypothesis, truth) for t in SparseTensor.from_value(x)._tensors()]
    return add_op("EditDistance", tensors, {"normalize": bool(normalize)}, name or "EditDistance")
