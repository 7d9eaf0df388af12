"""Pipelines whose elements have a part for every replica: arrays ``[replicas, ...]``, or ``UnevenShards`` ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.data.elements.structure import RaggedParts
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.nodes import (
    INFINITE,
    UNKNOWN,
    DatasetNode,
    ElementIterator,
    IteratorContext,
    smallest,
    write_next,
)
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.uneven_shards import UnevenShards, of_parts
from towerstrat.platform import logs


def share_of(axis: Axis, apart: bool = False) -> LocalIndices:
    """This process' share of elements with a part for each position of an axis; where processes are apart its own."""
    return LocalIndices(len(axis.local_indices)) if apart else LocalIndices(axis.size, axis.local_indices)


class BatchSplit(DatasetNode):
    """Each batch divided among the replicas: the first gets the first rows, and the last may get fewer, or none.

    Every component is divided by its own size.

    Args:
      child: batches of all replicas together.
      share: the replicas, and those of this process.

    Attributes:
      structure: of one replica's part.
    """

    kind = "Split"

    sure = True

    def __init__(self, child: DatasetNode, share: LocalIndices):
        self.child = child
        self.children = (child,)
        self.share: LocalIndices = share
        self.replicas = replicas = share.count
        if child.structure.composite:
            raise UnsupportedError(
                f"Batches with sparse or ragged tensors cannot be divided among {replicas} replicas; make them "
                "dense in a map, by tf.sparse.to_dense or to_tensor()."
            )
        for name, dims in zip(child.structure.names(), child.structure.dims, strict=True):
            if dims == ():
                raise ValueError(
                    f"The dataset's component {name} is a scalar and has no batch to divide among {replicas} replicas. "
                    "Call batch(global_batch_size) on the dataset first, or use distribute_datasets_from_function."
                )
        self.structure = child.structure.with_dims([_share(d, replicas) for d in child.structure.dims])

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Splits(self.child.open(opening), self.share)

    def cardinality(self) -> int:
        return self.child.cardinality()


def _share(dims: Any, replicas: int) -> Any:
    if dims is None:
        return None
    batch = dims[0]
    return (batch // replicas if batch is not None and batch % replicas == 0 else None, *dims[1:])


class _Splits(ElementIterator):
    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], share: LocalIndices):
        self.source = source
        self.share = share

    def __next__(self) -> Element:
        return self._split(next(self.source))

    def next_into(self, out: Sequence[Array]) -> Element | None:
        if not self.share.whole:
            return super().next_into(out)
        rows = [b.reshape(b.shape[0] * b.shape[1], *b.shape[2:]) for b in out]
        element = write_next(self.source, rows)
        return None if element is None else self._split(element)

    def next_many(self, out: Sequence[Array]) -> int:
        if not isinstance(self.source, ElementIterator) or not self.share.whole:
            return 0
        return self.source.next_many([b.reshape(len(b), b.shape[1] * b.shape[2], *b.shape[3:]) for b in out])

    def _split(self, element: Element) -> Element:
        for part in element:
            if not np.ndim(part):
                raise ValueError(
                    f"A component of an element is a scalar, {part!r}, and has no batch to divide among "
                    f"{self.share.count} replicas. Call batch(global_batch_size) on the dataset first, or use "
                    "distribute_datasets_from_function."
                )
        return [self.share.of(divided(part, self.share.count)) for part in element]


def divided(batch: Array, replicas: int) -> Any:
    """A batch in parts for replicas, each of the rounded up share but for the last ones."""
    share = -(-len(batch) // replicas)
    if len(batch) == share * replicas:
        return batch.reshape(replicas, share, *batch.shape[1:])
    parts = [batch[i * share : (i + 1) * share] for i in range(replicas)]
    if batch.dtype.hasobject:
        return UnevenShards.of(parts)
    padded = np.zeros((replicas, share, *batch.shape[1:]), batch.dtype)
    padded.reshape(-1, *batch.shape[1:])[: len(batch)] = batch
    return UnevenShards(padded, [p.shape for p in parts])


class Shares(DatasetNode):
    """The parts of each batch, one after the other, as ``BatchSplit`` divides it: batches for one replica each.

    Args:
      child: batches of all replicas together.
      replicas: how many there are.
    """

    kind = "Shares"

    sure = True

    def __init__(self, child: DatasetNode, replicas: int):
        self.children = (child,)
        self.replicas = replicas
        self.structure = BatchSplit(child, LocalIndices(replicas)).structure

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Shares(self.children[0].open(opening), self.replicas)

    def cardinality(self) -> int:
        count = self.children[0].cardinality()
        return count * self.replicas if count >= 0 else count


class _Shares(ElementIterator):
    checkpointed = {"source": "source", "left": "left"}

    def __init__(self, source: Iterator[Element], replicas: int):
        self.source = source
        self.replicas = replicas
        self.left: list[Element] = []
        """Parts of the batch taken last that come next, in reverse order."""

    def __next__(self) -> Element:
        if not self.left:
            batch = next(self.source)
            sizes = [-(-len(x) // self.replicas) for x in batch]
            self.left = [
                [x[i * size : (i + 1) * size] for x, size in zip(batch, sizes, strict=True)]
                for i in reversed(range(self.replicas))
            ]
        return self.left.pop()


class ElementPerReplica(DatasetNode):
    """An element for each replica. Where no more are left for some of them, these get batches of nothing.

    Args:
      children: one pipeline, whose successive elements go to successive replicas; or one for each replica.
      share: the replicas that get elements, and those of this process; where processes are ``apart`` its own alone.
      drops: whether elements of known shapes that do not suffice for all replicas are left out.
      apart: whether the pipelines are this process' own.

    Raises:
      ValueError: pipelines whose elements differ in structure, type or static shape.
    """

    kind = "Dealt"

    sure = True

    def __init__(self, children: Sequence[DatasetNode], share: LocalIndices, drops: bool = True, apart: bool = False):
        self.children = tuple(children)
        self.share: LocalIndices = share
        self.apart = apart
        self.replicas = replicas = share.count
        self.structure = children[0].structure
        if any(isinstance(form, RaggedParts) for form, _ in self.structure.units):
            raise UnsupportedError(
                f"Elements with ragged tensors cannot be dealt to {replicas} replicas; make them dense by to_tensor()."
            )
        for child in children[1:]:
            if child.structure.key != self.structure.key:
                raise ValueError(
                    "The datasets of all replicas must have elements of one structure, with the same types and static "
                    f"shapes; got {self.structure.specs} and {child.structure.specs}."
                )
        self.fixed = all(d is not None and None not in d for d in self.structure.dims)
        """Whether shapes are known."""
        self.whole = drops and self.fixed
        """Whether no replica may go without a batch."""

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Deals([child.open(opening) for child in self.children], self.share, self.whole)

    def alike(self) -> int:
        counts = [child.cardinality() for child in self.children]
        if not self.fixed or UNKNOWN in counts:
            return UNKNOWN
        least = smallest(counts)
        return least // self.share.count if len(counts) == 1 and least > 0 else least

    def cardinality(self) -> int:
        counts = [child.cardinality() for child in self.children]
        if len(counts) == 1 and counts[0] >= 0:
            return counts[0] // self.share.count if self.whole else -(-counts[0] // self.share.count)
        finite = [c for c in counts if c != INFINITE]
        if not finite or (len(finite) < len(counts) and not self.whole):
            return INFINITE
        if UNKNOWN in finite:
            return UNKNOWN
        return min(finite) if self.whole else max(finite)


class _Deals(ElementIterator):
    checkpointed = {"sources": "sources", "taken": "taken"}

    def __init__(self, sources: Sequence[Iterator[Element]], share: LocalIndices, whole: bool):
        self.sources: list[Iterator[Element] | None] = list(sources)
        self.share = share
        self.whole = whole
        self.taken: list[Element | None] = []
        """What was taken for the next element before an exception or an interrupt; the source goes on behind it."""

    def __next__(self) -> Element:
        while len(self.taken) < self.share.count:
            self.taken.append(self._from(len(self.taken) % len(self.sources)))
        taken, self.taken = self.taken, []
        present = [element for element in taken if element is not None]
        if not present:
            raise StopIteration
        if self.whole and len(present) < self.share.count:
            logs.warning(
                "The data ends within a step: %d of the %d replicas would have a batch, and these batches are not "
                "used. Give each replica as many.", len(present), self.share.count,
            )  # fmt: skip
            raise StopIteration
        nothing = [_nothing(part) for part in present[0]]
        parts = [nothing if element is None else element for element in taken]
        return [self.share.of(of_parts(column)) for column in zip(*parts, strict=True)]

    def _from(self, number: int) -> Element | None:
        source = self.sources[number]
        found = None if source is None else next(source, None)
        if found is None:
            self.sources[number] = None
        return found


def _nothing(like: Array) -> Array:
    return like[:0] if like.ndim else np.full((), b"" if like.dtype.hasobject else 0, like.dtype)


class Filled(DatasetNode):
    """The elements, and copies of the last one until there is one for each of the replicas in the last step too.

    Args:
      child: pairs of an element and True, which is False for the copies.
      replicas: how many there are.
    """

    kind = "Filled"

    sure = True

    def __init__(self, child: DatasetNode, replicas: int):
        self.children = (child,)
        self.replicas = replicas
        self.structure = child.structure

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Filled(self.children[0].open(opening), self.replicas)

    def cardinality(self) -> int:
        count = self.children[0].cardinality()
        return -(-count // self.replicas) * self.replicas if count >= 0 else count


class _Filled(ElementIterator):
    checkpointed = {"source": "source", "given": "given", "last": "last"}

    def __init__(self, source: Iterator[Element], replicas: int):
        self.source = source
        self.replicas = replicas
        self.given = 0
        """How many elements of the step were given."""
        self.last: Element = []

    def __next__(self) -> Element:
        found = next(self.source, None)
        if found is None:
            if not self.given:
                raise StopIteration
            found = [*self.last[:-1], np.array(False)]
        self.given = (self.given + 1) % self.replicas
        self.last = found
        return found
