"""Batches of which a process makes the rows of its own positions alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline import mapping
from towerstrat.data.pipeline.batching import Batch
from towerstrat.data.pipeline.deferred_maps import Column, Columns, DeferredFunction, stacked, without_maps
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.iterator_state import Resumable
from towerstrat.data.pipeline.mapping import Map
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext, known, tensors_among
from towerstrat.data.pipeline.ordering import WithOptions
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.data.pipeline.row_functions import is_rowwise
from towerstrat.data.pipeline.table_rows import TablePass
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.types import string
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.towers.engine.batch_splitting import BatchSplit

_AHEAD, _AHEAD_BYTES = 8, 1 << 22
"""Batches, and their bytes, that are made ahead at most."""


class _Plan(NamedTuple):
    """What of a pipeline of batches waits until own rows are known.

    Attributes:
      child, recipe: the elements below the batch without the maps that wait, and these.
      batch: the batch.
      after: functions of the batch that work on each row by itself, in order.
      structure: of what these give.
    """

    child: DatasetNode
    recipe: DeferredFunction
    batch: Batch
    after: Sequence[Function]
    structure: Structure


def split_rows(node: DatasetNode, share: LocalIndices) -> DatasetNode:
    """Each batch of a pipeline divided among positions, of which this process makes its own.

    Maps below the batch that can wait are called for the process' own rows, and so are those above it that work on each
    row by itself. The rest is taken as a whole, so that orders, draws and places are those of one process.
    """
    whole = BatchSplit(Prefetch(node, 1), share)
    plan = None if share.whole else _planned(node)
    return whole if plan is None else _ahead(LocalRows(plan, plan.batch, whole.structure, share), whole)


def dealt(node: DatasetNode, share: LocalIndices, times: int, whole: DatasetNode) -> DatasetNode | None:
    """The batches of a pipeline dealt to positions in turn, of which this process makes its own; those of a step are
    the rows of one large batch. None where no maps can wait, or the last batch may be smaller.

    Args:
      times: how many batches a step has.
      whole: the same parts, of batches that are made as a whole.
    """
    plan = None if share.whole else _planned(node)
    if plan is None or not plan.batch.drop_remainder or not isinstance(plan.batch.size, int):
        return None
    large = Batch(plan.batch.children[0], plan.batch.size * times, True)
    return _ahead(LocalRows(plan, large, whole.structure, share), whole)


def _planned(node: DatasetNode) -> _Plan | None:
    """What waits; None where nothing does, or rows are not arrays of known shapes.

    Texts are on no device: each process has those of all positions.
    """
    found = node.structure
    if not all(d and None not in d[1:] for d in found.dims) or string in found.dtypes or found.composite:
        return None
    after: list[Function] = []
    batch = _behind(node)
    while type(batch) is Map and batch.function.of_one_element() and is_rowwise(batch.function):
        after.insert(0, batch.function)
        batch = _behind(batch.child)
    if type(batch) is not Batch or batch.children[0].structure.composite:
        return None
    if any(d is None or None in d for d in batch.children[0].structure.dims):
        return None  # Whether a batch is one of rows of one shape is seen where all of them are.
    child, recipe = without_maps(batch.children[0])
    return _Plan(child, recipe, batch, after, found) if recipe.functions or after else None


def _behind(node: DatasetNode) -> DatasetNode:
    """A node without those around it that change no element."""
    while isinstance(node, Prefetch | WithOptions):
        node = node.children[0]
    return node


def _ahead(node: LocalRows, whole: DatasetNode) -> DatasetNode:
    """Own rows, made ahead of their use.

    Where a process may fail to make its own, processes tell each other once how many batches they have made.
    """
    types = node.structure.dtypes
    bytes_of_row = sum(math.prod(node.inner(i)) * t.np.itemsize for i, t in enumerate(types))
    size = known(node.size)
    fitting = 1 if size is None else _AHEAD_BYTES // max(1, bytes_of_row * size // node.replicas * len(node.share.own))
    made = Prefetch(node, min(max(fitting, 1), _AHEAD) if node.alone else 1)
    made.meaning = whole
    return made


class LocalRows(DatasetNode):
    """The parts of batches for a process' own positions, each made of elements that all processes take.

    Args:
      plan: what waits until the rows are known.
      batch: the batch that is divided.
      structure: of one position's part.
      share: the positions, and those of this process.
    """

    kind = "OwnRows"

    def __init__(self, plan: _Plan, batch: Batch, structure: Structure, share: LocalIndices):
        self.children = (plan.child,)
        self.recipe = plan.recipe
        self.mapped = batch.children[0]
        self.after = list(plan.after)
        self.size = batch.size
        self.drop_remainder = batch.drop_remainder
        self.share: LocalIndices = share
        self.alone = any(f.may_fail() for f in self.recipe.functions) or any(f.may_fail(True) for f in self.after)
        self.partial = True
        self.replicas = share.count
        self.dims = [d and d[1:] for d in plan.structure.dims]
        self.structure = structure
        captured = [t for function in self.after for t in function.captures]
        self.tensors = (*self.recipe.tensors, *captured, *tensors_among(self.size))
        self._batches = batch.cardinality

    def cardinality(self) -> int:
        return self._batches()

    def inner(self, component: int) -> tuple[int, ...]:
        """The shape of one row."""
        return tuple([size or 0 for size in self.dims[component] or ()])

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        mapped = self.mapped.rows(opening)
        if mapped is not None:
            return _OwnRowsPull(self, _TableRows(mapped), None, opening)
        make = self.recipe.bind(opening)
        rows = self.children[0].rows(opening)
        source = _Elements(self.children[0].open(opening)) if rows is None else _TableRows(rows)
        return _OwnRowsPull(self, source, make, opening)


class _Elements(Resumable):
    """Elements that come in blocks, or one by one, so many at a time."""

    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element]):
        self.source = source

    def take(self, count: int) -> tuple[int, Callable[[Array], Columns]]:
        """How many of the next ``count`` elements there are, and what gives those of some numbers, one at least."""
        columns = self.source.next_batch_columns(count) if isinstance(self.source, ElementIterator) else None
        if columns is not None:
            return count, lambda own: [column[own] for column in columns]
        taken = list(islice(self.source, count))
        return len(taken), lambda own: [list(c) for c in zip(*(taken[i] for i in own.tolist()), strict=True)]


class _TableRows(Resumable):
    """The same of a pass over a table."""

    checkpointed = {"order": "order"}

    def __init__(self, rows: TablePass):
        self.rows = rows
        self.order = rows.order

    def take(self, count: int) -> tuple[int, Callable[[Array], Columns]]:
        numbers = self.order.take(count)
        return len(numbers), lambda own: list(self.rows.many(numbers[own]))


class _OwnRowsPull(ElementIterator):
    checkpointed = {"source": "source", "taken": "taken"}

    def __init__(
        self,
        node: LocalRows,
        source: _Elements | _TableRows,
        make: Callable[[Columns, bool], Columns] | None,
        opening: IteratorContext,
    ):
        self.source = source
        self.node = node
        self.size = int(opening.value(node.size))
        if self.size <= 0:
            raise InvalidArgumentError(None, None, f"Expected a batch_size greater than 0, got {self.size}.")
        self.make = make
        self.after = [function.bind_row(opening) for function in node.after]
        self.taken = 0

    def __next__(self) -> Element:
        node = self.node
        count, pick = self.source.take(self.size)
        if not count or (node.drop_remainder and count < self.size):
            raise StopIteration
        many = self.taken >= mapping.MANY_ROWS
        self.taken += count
        part = -(-count // node.replicas)
        counts = [min(part, max(0, count - i * part)) for i in range(node.replicas)]
        own = np.concatenate([np.arange(i * part, i * part + counts[i]) for i in node.share.own] or [np.zeros(0, int)])
        made: Columns = [np.zeros((0, *node.inner(i))) for i in range(len(node.dims))]
        if len(own):
            picked = pick(own)
            made = picked if self.make is None else self.make(picked, many)
            for function in self.after:
                made = function(_batch(made), 0)
        return [self._parts(i, column, part, counts) for i, column in enumerate(made)]

    def _parts(self, component: int, rows: Column, part: int, counts: Sequence[int]) -> Any:
        """A component's parts ``[own, rows, ...]``, padded where positions get different numbers of rows."""
        inner, share = self.node.inner(component), self.node.share
        shapes = {rows.shape[1:]} if isinstance(rows, np.ndarray) else set(map(np.shape, rows))
        if shapes - {inner}:
            raise InvalidArgumentError(
                None, None, f"Elements have shapes {sorted(shapes)}, expected {inner} for all of a batch.",
            )  # fmt: skip
        dtype = self.node.structure.dtypes[component].np
        if len(rows) == len(share.own) * part and isinstance(rows, np.ndarray):
            made = np.asarray(rows, dtype).reshape(len(share.own), part, *inner)
        else:
            made = np.zeros((len(share.own), part, *inner), dtype)
            first = 0
            for parts, i in zip(made, share.own, strict=True):
                for place in range(counts[i]):
                    parts[place, ...] = rows[first + place]
                first += counts[i]
        if min(counts) == part:
            return made
        return UnevenShards(made, [(n, *inner) for n in counts])


def _batch(rows: Columns) -> list[Array]:
    """Rows as one batch. Raises InvalidArgumentError where their shapes differ."""
    found = [stacked(column) for column in rows]
    for column, array in zip(rows, found, strict=True):
        if array is None:
            shapes = sorted({row.shape for row in column})
            raise InvalidArgumentError(None, None, f"Cannot batch tensors of different shapes: {shapes}.")
    return [array for array in found if array is not None]
