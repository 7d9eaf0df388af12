"""Several elements as one: batches, padded batches, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from towerstrat.data.elements import composite_elements
from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.nodes import (
    UNKNOWN,
    DatasetNode,
    ElementIterator,
    IteratorContext,
    copied_into,
    known,
    tensors_among,
)
from towerstrat.data.pipeline.table_rows import TablePass
from towerstrat.errors import DataLossError, InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.types import DType, string
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensorSpec

_LARGE = 1 << 16
"""Bytes of an element that is copied to its place in a batch as it comes."""
_AT_ONCE = 1 << 29
"""Bytes of a batch that is begun before it is known that so many elements come."""


def _positive(opening: IteratorContext, size: Any) -> int:
    size = opening.value(size)
    if size <= 0:
        raise InvalidArgumentError(None, None, f"Expected a batch_size greater than 0, got {size}.")
    return size


def _static_size(size: Any, drop_remainder: bool) -> int | None:
    return size if drop_remainder and isinstance(size, int) else None


def _batches(total: int, size: Any, drop_remainder: bool) -> int:
    """How many batches there are of so many elements."""
    size = known(size)
    if total < 0 or not size:
        return UNKNOWN if not size else total
    return total // size if drop_remainder else -(-total // size)


class RowBatches(ElementIterator):
    """Batches of the rows of a table: one gather each."""

    checkpointed = {"order": "order", "_ahead": "_ahead"}

    def __init__(self, rows: TablePass, size: int, drop_remainder: bool):
        self.rows = rows
        self.order = rows.order
        self.size = size
        self.drop_remainder = drop_remainder
        self._ahead: Array = np.zeros(0, np.int64)

    def _take(self, count: int) -> Array:
        if not len(self._ahead):
            return self.order.take(count)
        indices = np.concatenate([self._ahead, self.order.take(count - len(self._ahead))])
        self._ahead = indices[:0]
        return indices

    def _next(self) -> Array:
        indices = self._take(self.size)
        if not len(indices) or (self.drop_remainder and len(indices) < self.size):
            raise StopIteration
        return indices

    def __next__(self) -> Element:
        return self.rows.many(self._next())

    def next_into(self, out: Sequence[Array]) -> Element | None:
        indices = self._next()
        table = self.rows.table
        if self.rows.functions:
            return copied_into(out, self.rows.many(indices))
        if any(b.shape != (len(indices), *c.shape[1:]) for b, c in zip(out, table, strict=True)):
            return self.rows.many(indices)
        for column, buffer in zip(table, out, strict=True):
            column.take(indices, axis=0, out=buffer, mode="clip")
        return None

    def next_many(self, out: Sequence[Array]) -> int:
        table = self.rows.table
        if self.rows.functions or any(
            b.shape[1:] != (self.size, *c.shape[1:]) for b, c in zip(out, table, strict=True)
        ):
            return 0
        indices = self._take(len(out[0]) * self.size)
        whole, left = divmod(len(indices), self.size)
        rows = len(indices) - left
        self._ahead = indices[rows:]
        for column, buffer in zip(table, out, strict=True):
            column.take(indices[:rows], axis=0, out=buffer[:whole].reshape(rows, *column.shape[1:]), mode="clip")
        return whole


class Batches(ElementIterator):
    """Batches of elements that come one by one."""

    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], size: int, drop_remainder: bool, structure: Structure):
        self.source = source
        self.size = size
        self.drop_remainder = drop_remainder
        self.structure = structure

    def _collect(self, elements: list[Element]) -> list[Element]:
        """So many elements as a batch has, of which some were taken. Raises StopIteration where there are none."""
        if len(elements) == self.size:
            return elements
        for element in self.source:
            elements.append(element)
            if len(elements) == self.size:
                return elements
        if not elements or self.drop_remainder:
            raise StopIteration
        return elements

    def __next__(self) -> Element:
        columns = self._columns()
        if columns is not None:
            return columns
        first = next(self.source)
        if self.structure.composite or not self._pays_in_place(first):
            return self._stacked(self._collect([first]))
        return self._in_place(first)

    def _pays_in_place(self, first: Element) -> bool:
        """Whether elements are large, so that it is better not to hold them all, and the batch is not."""
        size = sum(array.nbytes for array in first)
        return size >= _LARGE and size * self.size <= _AT_ONCE

    def _in_place(self, first: Element) -> Element:
        """The next batch: each element is copied to its place while it is in the cache, and let go."""
        made = [np.empty((self.size, *array.shape), array.dtype) for array in first]
        count, others = 0, list[Element]()
        for element in chain([first], islice(self.source, self.size - 1)):
            if others or copied_into([column[count, ...] for column in made], element) is not None:
                others.append(element)
            else:
                count += 1
        if others:
            return self._stacked([*([column[i, ...] for column in made] for i in range(count)), *others])
        if count < self.size and self.drop_remainder:
            raise StopIteration
        return made if count == self.size else [column[:count].copy() for column in made]

    def _columns(self) -> Element | None:
        """The next batch, where its elements are made together."""
        if self.structure.composite:
            return None
        return self.source.next_batch_columns(self.size) if isinstance(self.source, ElementIterator) else None

    def _stacked(self, elements: Sequence[Element]) -> Element:
        columns = list(zip(*elements, strict=True))
        found: list[Array] = []
        for form, own in self.structure.units:
            joined = composite_elements.batched(form, columns[own])
            if joined is None:
                self._check_alike(own.start, columns[own.start])
                joined = [stack(columns[own.start])]
            found += joined
        return found

    def _check_alike(self, component: int, column: Sequence[Array]) -> None:
        shape = np.shape(column[0])
        for i, array in enumerate(column):
            if array.shape != shape:
                name = list(self.structure.names())[component]
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Cannot batch tensors of different shapes in component {component} ({name}): the first element "
                    f"had shape {list(shape)} and element {i} had shape {list(array.shape)}. Make them alike, or use "
                    "padded_batch.",
                )

    def next_into(self, out: Sequence[Array]) -> Element | None:
        columns = self._columns()
        if columns is not None:
            return copied_into(out, columns)
        elements = self._collect([])
        fits = not self.structure.composite and all(
            b.shape[:1] == (len(elements),) and all(e[i].shape == b.shape[1:] for e in elements)
            for i, b in enumerate(out)
        )
        if not fits:
            return self._stacked(elements)
        for i, buffer in enumerate(out):
            for row, element in enumerate(elements):
                buffer[row, ...] = element[i]
        return None


def stack(column: Sequence[Array]) -> Array:
    """Arrays of one shape along a new first dimension."""
    first = column[0]
    result = np.empty((len(column), *first.shape), first.dtype)
    for row, array in enumerate(column):
        result[row, ...] = array  # The ellipsis takes a string out of its scalar array.
    return result


class Batch(DatasetNode):
    """``size`` elements at a time; the last batch is smaller, or left out."""

    kind = "Batch"

    def __init__(self, child: DatasetNode, size: Any, drop_remainder: bool):
        if any(child.structure.nested):
            raise TypeError(
                "batch: the elements have datasets in them, which make no tensor. Batch each of them: "
                "dataset.flat_map(lambda window: window.batch(size))."
            )
        self.children = (child,)
        self.size = size
        self.drop_remainder = drop_remainder
        self.tensors = tensors_among(size)
        first = _static_size(size, drop_remainder)
        self.structure = composite_elements.batched_structure(child.structure, first)
        self.sure = all(d is not None and None not in d for d in child.structure.dims)

    def cardinality(self) -> int:
        return _batches(self.children[0].cardinality(), self.size, self.drop_remainder)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        size = _positive(opening, self.size)
        child = self.children[0]
        rows = None if child.structure.composite else child.rows(opening)
        if rows is not None:
            return RowBatches(rows, size, self.drop_remainder)
        return Batches(child.open(opening), size, self.drop_remainder, child.structure)


class PaddedBatches(Batches):
    """Batches of elements of different sizes, filled up to one."""

    def __init__(
        self, source: Iterator[Element], size: int, drop_remainder: bool, structure: Structure,
        wanted: Sequence[Dims], fillings: Sequence[Array],
    ):  # fmt: skip
        super().__init__(source, size, drop_remainder, structure)
        self.wanted = wanted
        self.fillings = fillings

    def _columns(self) -> Element | None:
        """None: elements are filled up one by one."""
        return None

    def _stacked(self, elements: Sequence[Element]) -> Element:
        columns = zip(*elements, strict=True)
        return [self._padded(i, column) for i, column in enumerate(columns)]

    def _padded(self, component: int, column: Sequence[Array]) -> Array:
        wanted = self.wanted[component]
        rank = column[0].ndim if wanted is None else len(wanted)
        for array in column:
            if array.ndim != rank:
                raise InvalidArgumentError(
                    None, None, f"padded_batch: expected rank {rank} in component {component}, got shape {array.shape}."
                )
        largest = [max(a.shape[d] for a in column) for d in range(rank)]
        sizes: list[Any] = [big if wanted is None or wanted[d] is None else wanted[d] for d, big in enumerate(largest)]
        if any(big > size for big, size in zip(largest, sizes, strict=True)):
            raise DataLossError(
                None,
                None,
                f"padded_batch: component {component} has an element larger than the padded shape "
                f"{list(wanted or ())}: sizes up to {largest}.",
            )
        result = np.full((len(column), *sizes), self.fillings[component][()], dtype=column[0].dtype)
        for row, array in enumerate(column):
            place: Any = (row, *(slice(n) for n in array.shape), ...)  # else a string would be put in as an array
            result[place] = array
        return result

    def next_into(self, out: Sequence[Array]) -> Element | None:
        return ElementIterator.next_into(self, out)


class PaddedBatch(DatasetNode):
    """Like ``Batch``, with every component filled up to the largest size of the batch, or to a given one.

    Args:
      shapes: for each component the padded shape (a tensor where it is known only later).
      fillings: for each component the value to fill with.
    """

    kind = "PaddedBatch"

    def __init__(
        self, child: DatasetNode, size: Any, shapes: Sequence[Any], fillings: Sequence[Any], drop_remainder: bool
    ):
        self.children = (child,)
        self.size = size
        self.shapes = shapes
        self.fillings = fillings
        self.drop_remainder = drop_remainder
        self.tensors = tensors_among(size, *shapes, *fillings)
        first = _static_size(size, drop_remainder)
        dims: list[Dims] = []
        for shape in shapes:
            if isinstance(shape, TensorShape):
                dims.append(None if shape.raw is None else (first, *shape.raw))
            else:
                length = shape.dims[0] if shape.dims else None
                dims.append(None if length is None else (first, *[None] * length))
        self.structure = child.structure.with_dims(dims)

    def cardinality(self) -> int:
        return _batches(self.children[0].cardinality(), self.size, self.drop_remainder)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        wanted: list[Dims] = []
        for shape in self.shapes:
            if isinstance(shape, TensorShape):
                wanted.append(shape.raw)
            else:
                wanted.append(tuple(None if d < 0 else int(d) for d in opening.values[shape]))
        fillings = [opening.values[f] if isinstance(f, Tensor) else f for f in self.fillings]
        child = self.children[0]
        size = _positive(opening, self.size)
        return PaddedBatches(child.open(opening), size, self.drop_remainder, child.structure, wanted, fillings)


class SparseBatches(Batches):
    """Batches of arrays of different sizes, as the entries of one sparse tensor."""

    def __init__(self, source: Iterator[Element], size: int, structure: Structure, wanted: TensorShape):
        super().__init__(source, size, False, structure)
        self.wanted = wanted

    def _columns(self) -> Element | None:
        """None: elements are joined one by one."""
        return None

    def _stacked(self, elements: Sequence[Element]) -> Element:
        arrays = [element[0] for element in elements]
        for array in arrays:
            limits = self.wanted.as_list()
            fits = len(limits) == array.ndim
            if not fits or any(w is not None and n > w for n, w in zip(array.shape, limits, strict=True)):
                raise DataLossError(
                    None, None, f"dense_to_sparse_batch: expected elements within {limits}, got shape {array.shape}."
                )
        places = [np.argwhere(np.ones(array.shape, bool)).astype(np.int64) for array in arrays]
        columns: list[list[Array]] = [
            places,
            [array.reshape(-1) for array in arrays],
            [self._row(array) for array in arrays],
        ]
        return composite_elements.batched(self.structure.template, columns) or []

    def _row(self, array: Array) -> Array:
        sizes = zip(array.shape, self.wanted.as_list(), strict=True)
        return np.array([n if w is None else w for n, w in sizes], np.int64)

    def next_into(self, out: Sequence[Array]) -> Element | None:
        return ElementIterator.next_into(self, out)


class SparseBatch(DatasetNode):
    """``size`` arrays at a time, as one sparse tensor ``[size, *wanted]``; unknown sizes are the largest of a batch."""

    kind = "SparseBatch"

    def __init__(self, child: DatasetNode, size: Any, wanted: TensorShape):
        self.children = (child,)
        self.size = size
        self.wanted = wanted
        self.tensors = tensors_among(size)
        shape = None if wanted.raw is None else [None, *wanted.raw]
        self.structure = Structure.of_types(child.structure.dtypes[0], shape, SparseTensor)

    def cardinality(self) -> int:
        return _batches(self.children[0].cardinality(), self.size, False)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        size = _positive(opening, self.size)
        return SparseBatches(self.children[0].open(opening), size, self.structure, self.wanted)


class RaggedElements(ElementIterator):
    """Elements whose arrays of unknown sizes are ragged tensors."""

    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], before: Structure, after: Structure):
        self.source = source
        self.places = [own for _, own in before.units]
        self.ranks = [len(b.dtypes) - 1 if b.composite and not a.composite else 0 for a, b in _pairs(before, after)]
        self.kinds = [part.dtypes[-1].np for part in after.split()]

    def __next__(self) -> Element:
        element = next(self.source)
        found: list[Array] = []
        for own, rank, kind in zip(self.places, self.ranks, self.kinds, strict=True):
            arrays = element[own]
            found += composite_elements.ragged_parts_of(arrays[0], rank, kind) if rank else arrays
        return found


def _pairs(before: Structure, after: Structure) -> list[tuple[Structure, Structure]]:
    return list(zip(before.split(), after.split(), strict=True))


class ToRagged(DatasetNode):
    """The same elements; a tensor of which a size is not known is a ragged tensor up to its last such dimension."""

    kind = "ToRagged"

    def __init__(self, child: DatasetNode, splits_dtype: DType):
        self.children = (child,)
        self.splits_dtype = splits_dtype
        self.structure = child.structure.over_units(self._unit)

    def _unit(self, unit: Structure) -> Structure:
        dims = unit.dims[0]
        if unit.composite or dims is None or None not in dims:
            return unit
        rank = max(axis for axis, size in enumerate(dims) if size is None)
        return Structure.of_specs(RaggedTensorSpec(dims, unit.dtypes[0], rank, self.splits_dtype))

    def cardinality(self) -> int:
        return self.children[0].cardinality()

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        child = self.children[0]
        return RaggedElements(child.open(opening), child.structure, self.structure)


class UnbatchedPull(ElementIterator):
    checkpointed = {"source": "source", "current": "current", "position": "position"}

    def __init__(self, source: Iterator[Element], structure: Structure):
        self.source = source
        self.structure = structure
        self.current: Element = []
        self.position = 0
        self._cut: tuple[Element, list[Element]] = ([], [])

    def _rows(self) -> list[Element]:
        if self._cut[0] is not self.current:
            self._cut = self.current, composite_elements.rows(self.current, self.structure)
        return self._cut[1]

    def __next__(self) -> Element:
        while not self.current or self.position >= len(self._rows()):
            self.current = next(self.source)
            self.position = 0
        self.position += 1
        return self._rows()[self.position - 1]


class Unbatch(DatasetNode):
    """The rows of each element, one by one."""

    kind = "Unbatch"

    def __init__(self, child: DatasetNode):
        self.children = (child,)
        if any(d == () for d in child.structure.dims):
            raise ValueError("unbatch: expected elements with a first dimension, got a scalar component.")
        self.structure = composite_elements.rows_structure(child.structure)

    def cardinality(self) -> int:
        total = self.children[0].cardinality()
        size = composite_elements.static_rows(self.children[0].structure)
        return UNKNOWN if size is None else total if total < 0 else total * size

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        child = self.children[0]
        return UnbatchedPull(child.open(opening), child.structure)


def default_filling(dtype: Any) -> Array:
    """What padding is made of where nothing was given: zero, or the empty string."""
    if dtype is string:
        filling = np.empty((), object)
        filling[()] = b""
        return filling
    return np.zeros((), dtype.np)
