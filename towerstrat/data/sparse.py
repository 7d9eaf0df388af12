"""Sparse tensors as elements: the three components of each, sliced into rows and joined to batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.data.pipeline import Array, Element
from towerstrat.data.structure import Structure
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.shapes import Dims


def refuse(structure: Structure, what: str) -> None:
    """Raises TypeError where an element has sparse tensors."""
    if structure.sparse:
        raise TypeError(f"{what} takes no sparse tensors; make them dense in a map, by tf.sparse_tensor_to_dense.")


def _shifted(dims: Sequence[Dims], structure: Structure, step: int) -> list[Dims]:
    found = list(dims)
    for place in structure.sparse:
        shape = structure.dims[place + 2]
        rank = None if shape is None or shape[0] is None else shape[0] + step
        found[place : place + 3] = [(None, rank), (None,), (rank,)]
    return found


def row_dims(dims: Sequence[Dims], structure: Structure) -> list[Dims]:
    """Shapes of the components of rows; ``dims`` has those of dense ones."""
    return _shifted(dims, structure, -1)


def batched_dims(dims: Sequence[Dims], structure: Structure) -> list[Dims]:
    """Shapes of the components of batches; ``dims`` has those of dense ones."""
    return _shifted(dims, structure, 1)


def rows(arrays: Sequence[Array], structure: Structure) -> Sequence[Element]:
    """The rows of components ``[n, ...]``. Raises InvalidArgumentError where they differ in number."""
    inside = {place + i for place in structure.sparse for i in range(3)}
    sizes = {int(arrays[place + 2][0]) for place in structure.sparse}
    sizes |= {len(a) for i, a in enumerate(arrays) if i not in inside}
    if len(sizes) != 1:
        raise InvalidArgumentError(None, None, f"Expected components alike in their first dimension, got {sizes}.")
    found: list[list[Any]] = [
        [None if i in inside else a[row, ...] for i, a in enumerate(arrays)] for row in range(sizes.pop())
    ]
    for place in structure.sparse:
        indices, values, shape = arrays[place : place + 3]
        for row, element in enumerate(found):
            mine = indices[:, 0] == row
            element[place : place + 3] = [indices[mine, 1:], values[mine], shape[1:]]
    return found


def batched(columns: Sequence[Sequence[Array]], places: Sequence[int]) -> dict[int, Array]:
    """The joined components of sparse tensors by number: one more dimension in front, the largest of each other.

    Raises:
      InvalidArgumentError: sparse tensors of different ranks.
    """
    found: dict[int, Array] = {}
    for place in places:
        indices, values, shapes = columns[place : place + 3]
        if len({len(shape) for shape in shapes}) > 1:
            raise InvalidArgumentError(
                None, None, f"Cannot batch sparse tensors of different ranks: {[len(shape) for shape in shapes]}."
            )
        numbers = np.repeat(np.arange(len(indices), dtype=np.int64), [len(part) for part in indices])
        found[place] = np.concatenate([numbers[:, None], np.concatenate(indices)], 1)
        found[place + 1] = np.concatenate(values)
        found[place + 2] = np.array([len(shapes), *np.max(shapes, axis=0)], np.int64)
    return found
