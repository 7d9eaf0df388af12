"""Transformations that pass elements on as they are: order, selection and combination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from towerstrat.data.elements import structure as nest
from towerstrat.data.elements.options import Options
from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.cache import CachedPull, Memory
from towerstrat.data.pipeline.iterator_state import resumed
from towerstrat.data.pipeline.nodes import (
    INFINITE,
    UNKNOWN,
    DatasetNode,
    ElementIterator,
    IteratorContext,
    Seeds,
    added,
    known,
    smallest,
    tensors_among,
)
from towerstrat.data.pipeline.shuffling import ShuffledPull
from towerstrat.data.pipeline.sources import RowPull
from towerstrat.data.pipeline.table_rows import (
    InOrder,
    Limited,
    Order,
    Repeated,
    RowFunction,
    Sharded,
    Shuffled,
    TablePass,
    UniformStream,
)
from towerstrat.errors import FailedPreconditionError, InvalidArgumentError
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.platform import logs
from towerstrat.platform.plain import State


class Reordering(DatasetNode):
    """A node that can work on row numbers wherever its only child is a pass over a table."""

    sure = True

    def __init__(self, child: DatasetNode):
        self.children = (child,)
        self.structure = child.structure

    @property
    def child(self) -> DatasetNode:
        return self.children[0]

    def cardinality(self) -> int:
        return self.child.cardinality()

    def reorder(self, opening: IteratorContext, order: Order) -> Order:
        raise NotImplementedError

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        """The pass element by element, where the child is no pass over a table."""
        raise NotImplementedError

    def rows(self, opening: IteratorContext) -> TablePass | None:
        rows = self.child.rows(opening)
        return None if rows is None else rows.reordered(self.reorder(opening, rows.order))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        rows = self.rows(opening)
        return self.pull(opening) if rows is None else RowPull(rows)


# ---- selection ---------------------------------------------------------------------------------------------------


class LimitedPull(ElementIterator):
    checkpointed = {"source": "source", "skip": "skip", "left": "left"}

    def __init__(self, source: Iterator[Element], skip: int, limit: int | None):
        self.source = source
        self.skip = skip
        self.left = limit

    def __next__(self) -> Element:
        while self.skip:
            next(self.source)
            self.skip -= 1
        if self.left is None:
            return next(self.source)
        if self.left <= 0:
            raise StopIteration
        element = next(self.source)
        self.left -= 1
        return element

    def next_batch_columns(self, count: int) -> Element | None:
        if self.skip or (self.left is not None and self.left < count) or not isinstance(self.source, ElementIterator):
            return None
        columns = self.source.next_batch_columns(count)
        if columns is not None and self.left is not None:
            self.left -= count
        return columns


class Take(Reordering):
    """The first ``count`` elements; all of them where it is negative."""

    kind = "Take"

    def __init__(self, child: DatasetNode, count: Any):
        super().__init__(child)
        self.count = count
        self.tensors = tensors_among(count)

    def cardinality(self) -> int:
        count, total = known(self.count), self.child.cardinality()
        if count is None:
            return UNKNOWN
        return total if count < 0 else smallest([count, total])

    def _limit(self, opening: IteratorContext) -> int | None:
        count = opening.value(self.count)
        return None if count < 0 else count

    def reorder(self, opening: IteratorContext, order: Order) -> Order:
        return Limited(order, 0, self._limit(opening))

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        return LimitedPull(self.child.open(opening), 0, self._limit(opening))


class Skip(Reordering):
    """All but the first ``count`` elements; none where it is negative."""

    kind = "Skip"

    def __init__(self, child: DatasetNode, count: Any):
        super().__init__(child)
        self.count = count
        self.tensors = tensors_among(count)

    def cardinality(self) -> int:
        count, total = known(self.count), self.child.cardinality()
        if count is None:
            return UNKNOWN
        if count < 0:
            return 0
        return total if total < 0 else max(0, total - count)

    def reorder(self, opening: IteratorContext, order: Order) -> Order:
        count = opening.value(self.count)
        return Limited(order, max(count, 0), 0 if count < 0 else None)

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        count = opening.value(self.count)
        return LimitedPull(self.child.open(opening), max(count, 0), 0 if count < 0 else None)


class ShardedPull(ElementIterator):
    checkpointed = {"source": "source", "position": "position"}

    def __init__(self, source: Iterator[Element], number: int, index: int):
        self.source = source
        self.number = number
        self.index = index
        self.position = 0

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            mine = self.position % self.number == self.index
            self.position += 1
            if mine:
                return element


class Shard(Reordering):
    """Every ``number``-th element, starting at ``index``."""

    kind = "Shard"

    def __init__(self, child: DatasetNode, number: Any, index: Any):
        super().__init__(child)
        self.number = number
        self.index = index
        self.tensors = tensors_among(number, index)

    def cardinality(self) -> int:
        number, index, total = known(self.number), known(self.index), self.child.cardinality()
        if number is None or index is None or total < 0:
            return total if total == INFINITE else UNKNOWN
        return len(range(index, total, number))

    def _checked(self, opening: IteratorContext) -> tuple[int, int]:
        number, index = opening.value(self.number), opening.value(self.index)
        if not 0 <= index < number:
            raise InvalidArgumentError(
                None, None, f"Dataset.shard: expected 0 <= index < num_shards, got {index} and {number}."
            )
        return number, index

    def reorder(self, opening: IteratorContext, order: Order) -> Order:
        return Sharded(order, *self._checked(opening))

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        return ShardedPull(self.child.open(opening), *self._checked(opening))


# ---- repetition and order ----------------------------------------------------------------------------------------


class RepeatedPull(ElementIterator):
    checkpointed = {"left": "left", "current": "current", "seen_in_pass": "seen_in_pass"}

    def __init__(self, child: DatasetNode, opening: IteratorContext, count: int):
        self.child = child
        self.opening = opening
        self.left = count
        self.current: Iterator[Element] | None = None
        self.seen_in_pass = False

    def __next__(self) -> Element:
        while True:
            if self.current is None:
                if self.left == 0:
                    raise StopIteration
                self.left -= 1
                self.current = self.child.open(self.opening)
                self.seen_in_pass = False
            for element in self.current:
                self.seen_in_pass = True
                return element
            self.current = None
            if not self.seen_in_pass and self.left < 0:
                self.left = 0

    def next_batch_columns(self, count: int) -> Element | None:
        columns = self.current.next_batch_columns(count) if isinstance(self.current, ElementIterator) else None
        self.seen_in_pass |= columns is not None
        return columns

    def resumed(self, name: str, state: State) -> Any:
        opens = name == "current" and state is not None
        return resumed(self.child.open(self.opening) if opens else getattr(self, name), state)


class Repeat(Reordering):
    """``count`` passes one after the other; endless where it is negative."""

    kind = "Repeat"

    def __init__(self, child: DatasetNode, count: Any):
        super().__init__(child)
        self.count = count
        self.tensors = tensors_among(count)

    def cardinality(self) -> int:
        count, total = known(self.count), self.child.cardinality()
        if count is None:
            return UNKNOWN
        if count == 0 or total == 0:
            return 0
        if count < 0 or total == INFINITE:
            return INFINITE
        return total if total == UNKNOWN else total * count

    def rows(self, opening: IteratorContext) -> TablePass | None:
        rows = self.child.rows(opening)
        if rows is None:
            return None
        first = [rows.order]

        def open_pass() -> Order:
            if first:
                return first.pop()
            again = self.child.rows(opening)
            assert again is not None
            return again.order

        return rows.reordered(Repeated(open_pass, opening.value(self.count)))

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        return RepeatedPull(self.child, opening, opening.value(self.count))


class Shuffle(Reordering):
    """A random order: each element is drawn from the next ``size`` that were not drawn yet."""

    kind = "Shuffle"

    def __init__(self, child: DatasetNode, size: Any, seeds: Seeds, reshuffle: bool):
        super().__init__(child)
        self.size = size
        self.seeds = seeds
        self.reshuffle = reshuffle
        self.tensors = tensors_among(size, seeds.seed)

    def _size(self, opening: IteratorContext) -> int:
        size = opening.value(self.size)
        if size <= 0:
            raise InvalidArgumentError(None, None, f"Dataset.shuffle: buffer_size must be greater than 0, got {size}.")
        return size

    def _draws(self, opening: IteratorContext) -> UniformStream:
        draws: UniformStream = opening.cached(
            self, lambda: UniformStream(opening.generator(self.seeds, self.reshuffle))
        )
        return draws if self.reshuffle else draws.again()

    def reorder(self, opening: IteratorContext, order: Order) -> Order:
        return Shuffled(order, self._size(opening), self._draws(opening))

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        return ShuffledPull(self.child.open(opening), self._size(opening), self._draws(opening))


# ---- combination -------------------------------------------------------------------------------------------------


def side_by_side(parts: Sequence[TablePass]) -> tuple[RowFunction, ...]:
    """The functions of passes over several tables as one over all of their columns."""
    if not any(part.functions for part in parts):
        return ()

    def combined(which: str) -> Any:
        def call(columns: Sequence[Any], places: Any) -> list[Any]:
            result: list[Any] = []
            start = 0
            for part in parts:
                own: Sequence[Any] = columns[start : start + len(part.table)]
                start += len(part.table)
                for function in part.functions:
                    own = getattr(function, which)(own, places)
                result += own
            return result

        return call

    return (RowFunction(combined("one"), combined("many")),)


class ZippedPull(ElementIterator):
    checkpointed = {"sources": "sources"}

    def __init__(self, sources: Sequence[Iterator[Element]]):
        self.sources = sources

    def __next__(self) -> Element:
        return [x for source in self.sources for x in next(source)]


class Zip(DatasetNode):
    """One element of each, side by side; ends with the shortest."""

    kind = "Zip"

    def __init__(self, parts: Any):
        self.children = tuple(nest.flatten(parts))
        self.structure = Structure.joined(nest.map_leaves(lambda node: node.structure, parts))

    def cardinality(self) -> int:
        return smallest([child.cardinality() for child in self.children])

    def rows(self, opening: IteratorContext) -> TablePass | None:
        parts = [child.rows(opening) for child in self.children]
        sizes = [part.plain for part in parts if part is not None and part.plain is not None]
        if len(sizes) != len(parts):
            return None
        size = min(sizes)
        found = [part for part in parts if part is not None]
        table = [column for part in found for column in part.table]
        return TablePass(table, InOrder(size), side_by_side(found), plain=size)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        rows = self.rows(opening)
        return ZippedPull([c.open(opening) for c in self.children]) if rows is None else RowPull(rows)


class ConcatenatedPull(ElementIterator):
    checkpointed = {"place": "place", "current": "current"}

    def __init__(self, nodes: Sequence[DatasetNode], opening: IteratorContext):
        self.nodes = nodes
        self.opening = opening
        self.place = 0
        self.current: Iterator[Element] | None = None

    def __next__(self) -> Element:
        while self.place < len(self.nodes):
            if self.current is None:
                self.current = self.nodes[self.place].open(self.opening)
            for element in self.current:
                return element
            self.current = None
            self.place += 1
        raise StopIteration

    def resumed(self, name: str, state: State) -> Any:
        opens = name == "current" and state is not None
        return resumed(self.nodes[self.place].open(self.opening) if opens else getattr(self, name), state)


class Concatenate(DatasetNode):
    """All elements of one, then all of the other."""

    kind = "Concatenate"

    def __init__(self, first: DatasetNode, second: DatasetNode):
        self.children = (first, second)
        self.structure = first.structure.relaxed(second.structure)

    def cardinality(self) -> int:
        return added([child.cardinality() for child in self.children])

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return ConcatenatedPull(self.children, opening)


class Cache(Reordering):
    """Remembers the elements of the first complete pass, in memory."""

    kind = "Cache"

    def rows(self, opening: IteratorContext) -> TablePass | None:
        rows = self.child.rows(opening)
        return rows if rows is not None and rows.plain is not None and not rows.functions else None

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        memory: Memory = opening.cached(self, lambda: Memory(self.child, opening))
        return CachedPull(memory)


class IgnoringErrors(ElementIterator):
    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], log: bool):
        self.source = source
        self.log = log

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.source)
            except StopIteration:
                raise
            except Exception as error:
                if self.log:
                    logs.warning("An element of a dataset is left out: %s: %s", type(error).__name__, error)


class IgnoreErrors(DatasetNode):
    """The elements that could be computed."""

    kind = "IgnoreErrors"

    def __init__(self, child: DatasetNode, log: bool = False):
        self.children = (child,)
        self.structure = child.structure
        self.log = log

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return IgnoringErrors(self.children[0].open(opening), self.log)


class UniquePull(ElementIterator):
    checkpointed = {"source": "source", "seen": "seen"}

    def __init__(self, source: Iterator[Element]):
        self.source = source
        self.seen: set[Any] = set()

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            value = element[0].item()
            if value not in self.seen:
                self.seen.add(value)
                return element


class Unique(DatasetNode):
    """The first of equal elements (single components that are scalars)."""

    kind = "Unique"

    def __init__(self, child: DatasetNode):
        self.children = (child,)
        self.structure = child.structure

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return UniquePull(self.children[0].open(opening))


class EnsuredPull(ElementIterator):
    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], shapes: Sequence[TensorShape], structure: Structure):
        self.source = source
        self.shapes = shapes
        self.structure = structure

    def __next__(self) -> Element:
        element = next(self.source)
        for name, shape, array in zip(self.structure.names(), self.shapes, element, strict=True):
            if not shape.is_compatible_with(array.shape):
                raise InvalidArgumentError(
                    None, None, f"assert_element_shape: expected {name} to be of shape {shape}, got {array.shape}."
                )
        return element


class Ensured(DatasetNode):
    """The same elements, made sure to be of given shapes."""

    kind = "Ensured"

    def __init__(self, child: DatasetNode, dims: Sequence[Dims]):
        self.children = (child,)
        self.shapes = [TensorShape(d).merge_with(c) for d, c in zip(dims, child.structure.dims, strict=True)]
        self.structure = child.structure.with_dims([s.raw for s in self.shapes])

    def cardinality(self) -> int:
        return self.children[0].cardinality()

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return EnsuredPull(self.children[0].open(opening), self.shapes, self.structure)


class CountedPull(ElementIterator):
    checkpointed = {"source": "source", "seen": "seen"}

    def __init__(self, source: Iterator[Element], count: int):
        self.source = source
        self.count = count
        self.seen = 0

    def __next__(self) -> Element:
        for element in self.source:
            self.seen += 1
            if self.seen > self.count >= 0:
                raise FailedPreconditionError(
                    None, None, f"Input dataset was expected to contain {self.count} elements but contained more."
                )
            return element
        if self.count != self.seen:
            wanted = "an infinite number of" if self.count == INFINITE else self.count
            raise FailedPreconditionError(
                None, None, f"Input dataset was expected to contain {wanted} elements but contained only {self.seen}."
            )
        raise StopIteration


class Counted(DatasetNode):
    """The same elements, made sure to be so many."""

    kind = "Counted"

    def __init__(self, child: DatasetNode, count: int):
        self.children = (child,)
        self.structure = child.structure
        self.count = count

    def cardinality(self) -> int:
        return self.count

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return CountedPull(self.children[0].open(opening), self.count)


class WithOptions(Reordering):
    """The same elements; keeps what ``with_options`` was given."""

    kind = "WithOptions"

    def __init__(self, child: DatasetNode, options: Options):
        super().__init__(child)
        self.options = options

    def reorder(self, opening: IteratorContext, order: Order) -> Order:
        return order

    def pull(self, opening: IteratorContext) -> Iterator[Element]:
        return self.child.open(opening)

    def rows(self, opening: IteratorContext) -> TablePass | None:
        return self.child.rows(opening)


def options_of(node: DatasetNode) -> Options:
    """The options that a pipeline was given, the last ones where they differ."""
    found = Options()
    for child in node.children:
        found = found.updated(options_of(child))
    return found.updated(node.options) if isinstance(node, WithOptions) else found
