"""What towers are fed with: the input modes of ``TPUConfig`` as pipelines with a part for every tower."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.graph_input import Computed
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.towers.engine.batch_splitting import BatchSplit, ElementPerReplica, share_of
from towerstrat.towers.engine.local_batches import dealt

PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5
"""The input modes: values of ``InputPipelineConfig``."""


class SplitAlong(DatasetNode):
    """Each batch divided into equal parts, every component along a dimension of its own.

    Args:
      child: batches of all towers together, of known sizes along these dimensions.
      share: the towers, and those of this process.
      dimensions: of the components.
    """

    kind = "SplitAlong"

    def __init__(self, child: DatasetNode, share: LocalIndices, dimensions: Sequence[int]):
        self.children = (child,)
        self.share: LocalIndices = share
        self.towers = share.count
        self.dimensions = tuple(dimensions)
        found = zip(child.structure.dims, self.dimensions, strict=True)
        self.structure = child.structure.with_dims([self._share(d, along) for d, along in found])

    def _share(self, dims: Any, along: int) -> Any:
        if dims is None or dims[along] is None or dims[along] % self.towers:
            raise ValueError(
                f"batch_axis divides dimension {along} of a component of shape {dims} among {self.towers} towers; its "
                "size must be known and a multiple of their number."
            )
        return (*dims[:along], dims[along] // self.towers, *dims[along + 1 :])

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Mapped(self.children[0].open(opening), self._split)

    def _split(self, element: Element) -> Element:
        parts = zip(element, self.dimensions, strict=True)
        return [self.share.of(np.stack(np.split(x, self.towers, axis=along))) for x, along in parts]

    def cardinality(self) -> int:
        return self.children[0].cardinality()


class Joined(DatasetNode):
    """Successive batches as one: those of several hosts that have one pipeline.

    Args:
      child: the batches; of known shapes, those that do not suffice are left out.
      count: how many make one.
      dimensions: of the components, along which their parts follow each other; None: the first.
    """

    kind = "Joined"

    sure = True

    def __init__(self, child: DatasetNode, count: int, dimensions: Sequence[int] | None):
        self.children = (child,)
        self.count = count
        dims = child.structure.dims
        self.dimensions = tuple(dimensions) if dimensions is not None else (0,) * len(dims)
        self.whole = all(d is not None and None not in d for d in dims)
        found = zip(dims, self.dimensions, strict=True)
        self.structure = child.structure.with_dims([self._longer(d, along) for d, along in found])

    def _longer(self, dims: Any, along: int) -> Any:
        if dims is None or dims[along] is None:
            return dims
        return (*dims[:along], dims[along] * self.count if self.whole else None, *dims[along + 1 :])

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Joins(self, self.children[0].open(opening))

    def cardinality(self) -> int:
        count = self.children[0].cardinality()
        return count if count < 0 else count // self.count if self.whole else -(-count // self.count)


class _Joins(ElementIterator):
    checkpointed = {"source": "source", "taken": "taken"}

    def __init__(self, node: Joined, source: Iterator[Element]):
        self.node = node
        self.source = source
        self.taken: list[Element] = []
        """What was taken for the next element before an exception or an interrupt; the source goes on behind it."""

    def __next__(self) -> Element:
        while len(self.taken) < self.node.count and (element := next(self.source, None)) is not None:
            self.taken.append(element)
        taken, self.taken = self.taken, []
        if not taken or (self.node.whole and len(taken) < self.node.count):
            raise StopIteration
        columns = zip(*taken, strict=True)
        return [np.concatenate(column, axis=d) for column, d in zip(columns, self.node.dimensions, strict=True)]


class Broadcast(DatasetNode):
    """Each element as a whole for every tower."""

    kind = "Broadcast"

    def __init__(self, child: DatasetNode, share: LocalIndices):
        self.children = (child,)
        self.share: LocalIndices = share
        self.towers = share.count
        self.structure = child.structure

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Mapped(self.children[0].open(opening), self._repeat)

    def _repeat(self, element: Element) -> Element:
        return [self.share.of(np.broadcast_to(x, (self.towers, *x.shape))) for x in element]

    def cardinality(self) -> int:
        return self.children[0].cardinality()


class Marked(DatasetNode):
    """Elements with one more component, the numbers of the rows that are there; filled up with rows of zeros.

    Args:
      child: its elements have a part for each tower, or are those of the only one.
      share: the towers, and those of this process; None: one tower, whose elements are no parts.
      size: how many rows a tower's part of each component gets; None: those that it has.
    """

    kind = "Marked"

    def __init__(self, child: DatasetNode, share: LocalIndices | None, size: int | None):
        self.children = (child,)
        self.share = share
        self.towers = None if share is None else len(share.own)
        self.size = size
        inner = child.structure
        if size is not None:
            inner = inner.with_dims([None if d is None else (size, *d[1:]) if d else d for d in inner.dims])
        self.structure = Structure.joined((inner, Structure(None, [int32], [(None,)])))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Mapped(self.children[0].open(opening), self._mark)

    def cardinality(self) -> int:
        return self.children[0].cardinality()

    def _mark(self, element: Element) -> Element:
        if self.towers is None:
            count = next((len(x) for x in element if x.ndim), 1)
            return [*(self._filled(x, 0) for x in element), np.arange(count, dtype=np.int32)]
        counts = next((_counts(x) for x in element if _rank(x)), [1] * self.towers)
        numbers = [np.arange(count, dtype=np.int32) for count in counts]
        rows: Any = np.stack(numbers) if len(set(counts)) == 1 else UnevenShards.of(numbers)
        assert self.share is not None
        return [*(self._filled(x, 1) for x in element), self.share.of(rows) if len(counts) != self.towers else rows]

    def _filled(self, part: Any, dimension: int) -> Any:
        """A component with as many rows as wanted along a dimension."""
        if self.size is None or np.ndim(getattr(part, "padded", part)) <= dimension:
            return part
        array: Any = part.padded if isinstance(part, UnevenShards) else part
        missing = self.size - array.shape[dimension]
        if missing < 0:
            raise ValueError(
                f"A batch has {array.shape[dimension]} rows for a tower, at most {self.size} were expected: the input "
                "function has to batch by params['batch_size']."
            )
        width = [(0, missing if i == dimension else 0) for i in range(array.ndim)]
        return np.pad(array, width) if missing else array


def _rank(part: Any) -> int:
    """The rank of a tower's part."""
    return np.ndim(getattr(part, "padded", part)) - 1


def _counts(part: Any) -> list[int]:
    """How many rows each tower has."""
    return [shape[0] for shape in part.shapes] if isinstance(part, UnevenShards) else [part.shape[1]] * len(part)


class _Mapped(ElementIterator):
    """Elements of another pull, each passed through a function of the element alone."""

    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], function: Callable[[Element], Element]):
        self.source = source
        self._function = function

    def __next__(self) -> Element:
        return self._function(next(self.source))


def pipeline_of(result: Any) -> DatasetNode:
    """What an input function returned, a dataset or tensors, as a pipeline."""
    return result.node if isinstance(result, Dataset) else Computed(result)


def divided_among_hosts(
    node: DatasetNode, mode: int, axis: Axis, batch_axis: Sequence[int] | None, drops: bool, hosts: int
) -> DatasetNode:
    """A pipeline that all hosts have, of batches for one host or for a tower, dealt in turn: as ``divided``."""
    share = share_of(axis)
    times = share.count if mode == PER_HOST_V2 else hosts
    child = node if mode == PER_HOST_V2 else Joined(node, hosts, batch_axis)
    whole = divided([child], mode, share, batch_axis, drops, apart=False)
    own = dealt(node, share, times, whole) if drops and not any(batch_axis or ()) else None
    return whole if own is None else own


def divided(
    children: Sequence[DatasetNode],
    mode: int,
    share: LocalIndices,
    batch_axis: Sequence[int] | None,
    drops: bool,
    apart: bool,
) -> DatasetNode:
    """A pipeline with a part for every tower, in an input mode.

    Args:
      children: the pipelines of the calls of the input function: one, or one for each tower that they feed.
      share: the towers, and those of this process; where the pipelines are its own its towers alone.
      batch_axis: the dimension along which each component is divided; None: the first.
      drops: whether elements that do not suffice for all towers are left out.
      apart: whether the pipelines are this process' own.
    """
    child = children[0]
    if mode == BROADCAST:
        return Broadcast(child, share)
    if mode == PER_HOST_V2 or len(children) > 1:
        return ElementPerReplica(children, share, drops, apart)
    node: DatasetNode
    if batch_axis is not None and any(batch_axis):
        node = SplitAlong(child, share, batch_axis)
    else:
        node = BatchSplit(child, share)
    node.apart = apart
    return node
