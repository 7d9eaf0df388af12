"""Sparse and ragged tensors as elements: the components of each, sliced into rows and joined to batches.

Source: ``tensorflow/python/ops/ragged/ragged_tensor.py``, ``tensorflow/core/kernels/serialize_sparse_op.cc``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.data.elements.structure import RaggedParts, SparseParts, Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import int64

# ---- structures ----------------------------------------------------------------------------------------------------


def batched_structure(structure: Structure, size: int | None) -> Structure:
    """Of batches of ``size`` elements: a dimension more in front of each unit, a ragged one for ragged tensors."""
    return structure.over_units(lambda unit: _batched_unit(unit, size))


def rows_structure(structure: Structure) -> Structure:
    """Of the rows of elements."""
    return structure.over_units(_row_unit)


def any_size(structure: Structure) -> Structure:
    """Likewise, with as many entries of sparse and ragged tensors as there may be in another element."""
    return structure.over_units(_any_size) if structure.composite else structure


def static_rows(structure: Structure) -> int | None:
    """How many rows elements have, where a dense or ragged tensor says so."""
    for unit in structure.split():
        form = unit.template
        splits = isinstance(form, RaggedParts) and len(form) > 1
        dims = unit.dims[1 if splits else 0]
        if not isinstance(form, SparseParts) and dims and dims[0] is not None:
            return int(dims[0]) - 1 if splits else int(dims[0])
    return None


def _sparse(rank: int | None, dtype: Any) -> Structure:
    return Structure(SparseParts(None, None, None), [int64, dtype, int64], [(None, rank), (None,), (rank,)])


def _ragged(kind: type[RaggedParts], rank: int, dtype: Any, inner: Dims, count: int | None = None) -> Structure:
    """Of a ragged tensor. Args: inner: shape of a flat value. count: how many rows there are."""
    splits: list[Dims] = [(None,)] * rank
    if rank and count is not None:
        splits[0] = (count + 1,)
    flat = None if inner is None else (None, *inner)
    return Structure(kind([None] * (rank + 1)), [dtype, *[kind.splits_dtype] * rank], [flat, *splits])


def _inner(unit: Structure) -> Dims:
    dims = unit.dims[0]
    return None if dims is None else dims[1:]


def _batched_unit(unit: Structure, size: int | None) -> Structure:
    form = unit.template
    if isinstance(form, SparseParts):
        return _sparse(_shifted(unit, 1), unit.dtypes[1])
    if isinstance(form, RaggedParts):
        return _ragged(type(form), len(form), unit.dtypes[0], _inner(unit), size)
    return unit.with_dims([None if d is None else (size, *d) for d in unit.dims])


def _row_unit(unit: Structure) -> Structure:
    form = unit.template
    if isinstance(form, SparseParts):
        return _sparse(_shifted(unit, -1), unit.dtypes[1])
    if isinstance(form, RaggedParts) and len(form) > 1:
        return _ragged(type(form), len(form) - 2, unit.dtypes[0], _inner(unit))
    return Structure(None, unit.dtypes[:1], [None if d is None else d[1:] for d in unit.dims], unit.nested)


def _any_size(unit: Structure) -> Structure:
    form = unit.template
    if isinstance(form, SparseParts):
        return _sparse(_shifted(unit, 0), unit.dtypes[1])
    if isinstance(form, RaggedParts):
        return _ragged(type(form), len(form) - 1, unit.dtypes[0], _inner(unit))
    return unit


def _shifted(unit: Structure, step: int) -> int | None:
    """The rank of a sparse tensor, so much more."""
    shape = unit.dims[2]
    return None if shape is None or shape[0] is None else shape[0] + step


# ---- rows ----------------------------------------------------------------------------------------------------------


def rows(arrays: Sequence[Array], structure: Structure) -> list[Element]:
    """The rows of an element. Raises InvalidArgumentError where its values differ in their number."""
    parts = [_unit_rows(form, arrays[own]) for form, own in structure.units]
    sizes = {len(part) for part in parts}
    if len(sizes) != 1:
        raise InvalidArgumentError(None, None, f"Expected components alike in their first dimension, got {sizes}.")
    return [[array for part in row for array in part] for row in zip(*parts, strict=True)]


def _unit_rows(form: Any, arrays: Sequence[Array]) -> list[Element]:
    if isinstance(form, SparseParts):
        return sparse_rows(*arrays)
    if isinstance(form, RaggedParts) and len(form) > 1:
        flat, first, *inner = arrays
        return [_ragged_row(flat, inner, int(a), int(b)) for a, b in itertools.pairwise(first)]
    return [[arrays[0][i, ...]] for i in range(len(arrays[0]))]


def sparse_rows(indices: Array, values: Array, shape: Array) -> list[Element]:
    order = np.argsort(indices[:, 0], kind="stable")
    bounds = np.searchsorted(indices[order, 0], np.arange(int(shape[0]) + 1))
    own = [order[a:b] for a, b in itertools.pairwise(bounds)]
    return [[indices[mine, 1:], values[mine], shape[1:]] for mine in own]


def _ragged_row(flat: Array, inner: Sequence[Array], begin: int, end: int) -> Element:
    """The parts of the values from ``begin`` to ``end`` of the outermost ragged dimension."""
    found = []
    for splits in inner:
        part = splits[begin : end + 1]
        found.append(part - part[0])
        begin, end = int(part[0]), int(part[-1])
    return [flat[begin:end], *found]


# ---- batches -------------------------------------------------------------------------------------------------------


def batched(form: Any, columns: Sequence[Sequence[Array]]) -> list[Array] | None:
    """The components of a batch of sparse or ragged tensors; None for a dense one.

    Args:
      form: the template of one.
      columns: for each of its components those of all elements.

    Raises:
      InvalidArgumentError: sparse tensors of different ranks, ragged ones whose flat values do not fit.
    """
    if isinstance(form, SparseParts):
        return sparse_batch(*columns)
    if isinstance(form, RaggedParts):
        return _ragged_batch(form, *columns)
    return None


def sparse_batch(indices: Sequence[Array], values: Sequence[Array], shapes: Sequence[Array]) -> list[Array]:
    if len({len(shape) for shape in shapes}) > 1:
        ranks = [len(shape) for shape in shapes]
        raise InvalidArgumentError(None, None, f"Cannot batch sparse tensors of different ranks: {ranks}.")
    numbers = np.repeat(np.arange(len(indices), dtype=np.int64), [len(part) for part in indices])
    shape = np.array([len(shapes), *np.max(shapes, axis=0)], np.int64)
    return [np.concatenate([numbers[:, None], np.concatenate(indices)], 1), np.concatenate(values), shape]


def _ragged_batch(form: RaggedParts, flat: Sequence[Array], *splits: Sequence[Array]) -> list[Array]:
    inner = {array.shape[1:] for array in flat}
    if len(inner) > 1:
        raise InvalidArgumentError(
            None, None, f"Cannot batch ragged tensors whose flat values have different shapes: {sorted(inner)}."
        )
    kind = form.splits_dtype.np
    lengths = [[len(part) - 1 for part in splits[0]] if splits else [len(array) for array in flat]]
    found = [np.cumsum([0, *lengths[0]], dtype=kind)]
    for level in splits:
        steps = [np.diff(part) for part in level]
        found.append(np.concatenate([np.zeros(1, kind), np.cumsum(np.concatenate(steps), dtype=kind)]))
    return [np.concatenate(flat), *found]


def ragged_parts_of(array: Array, rank: int, kind: Any) -> Element:
    """The parts of a dense array ``[d0, ..., inner]`` as a ragged tensor of ``rank`` ragged dimensions."""
    sizes = array.shape
    found = []
    count = 1
    for axis in range(rank):
        count *= sizes[axis]
        found.append(np.arange(count + 1, dtype=kind) * kind.type(sizes[axis + 1]))
    return [array.reshape(-1, *sizes[rank + 1 :]) if rank else array, *found]
