"""Transformations by functions of elements."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.batching import stack
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.hoisted_parsing import HoistedParsing
from towerstrat.data.pipeline.nodes import (
    UNKNOWN,
    DatasetNode,
    ElementIterator,
    IteratorContext,
    NestedIterator,
    tensors_among,
)
from towerstrat.data.pipeline.sources import Listed, RowPull
from towerstrat.data.pipeline.table_rows import NumberedOrder, RowFunction, TablePass, UniformStream
from towerstrat.errors import InvalidArgumentError, OpError
from towerstrat.platform.plain import State

MANY_ROWS = 2048
"""From this size of a table on, or so many elements, a function is compiled for many of them at once."""
AUTO = 16
"""Elements that are taken at a time where the program leaves their number to us."""

Bound = Callable[[Sequence[Any]], list[Array]]


class FunctionNode(DatasetNode):
    """A node that applies a function to the elements of its child."""

    def __init__(self, child: DatasetNode, function: Function, structure: Structure):
        self.children = (child,)
        self.function = function
        self.structure = structure
        self.tensors = tuple(function.captures)
        self.cells = tuple(function.cells)

    @property
    def child(self) -> DatasetNode:
        return self.children[0]


class MapIterator(ElementIterator):
    """The function of each element.

    After ``min_elements_to_compile`` elements, so many that compiling pays, elements of one shape that are asked for
    together are made together; and as many at a time as ``num_parallel_calls`` says, where that is more than one. Where
    threads pay they make elements ahead, in order, each with the place of its draws: the elements do not depend on when
    they are made.
    """

    checkpointed = {"source": "source", "taken": "taken", "waiting": "inputs_taken", "made": "outputs_ready"}

    def __init__(
        self,
        source: Iterator[Element],
        function: Function | HoistedParsing,
        opening: IteratorContext,
        num_parallel_calls: int,
        min_elements_to_compile: int,
    ):
        self.source = source
        self.function = function
        self.opening = opening
        self.num_parallel_calls = num_parallel_calls
        self.min_elements_to_compile = min_elements_to_compile
        self.map_one = function.bind(opening)
        self.count_draws = function.draw_counter(opening)
        self.taken = 0
        self.vectorizes = True
        self.threads: _Threads | None = None
        if num_parallel_calls > 1 and isinstance(function, Function) and function.pays_in_threads():
            self.threads = _Threads(function, opening, num_parallel_calls)
        self.inputs_taken: deque[Element | Exception] = deque()
        """Elements that were taken from the source, and what it raised after them."""
        self.outputs_ready: deque[Element] = deque()
        """Results to come, whose draws are counted when they are handed out."""

    def __next__(self) -> Element:
        if self.num_parallel_calls > 1:
            self.prepare(self.num_parallel_calls)
        element = self.outputs_ready.popleft() if self.outputs_ready else self._of_threads()
        if element is not None:
            self.count_draws(1)
            return element
        self.taken += 1
        entry = self.inputs_taken.popleft() if self.inputs_taken else next(self.source)
        if isinstance(entry, Exception):
            raise entry
        return self.map_one(entry)

    def prepare(self, count: int) -> None:
        """Makes the next ``count`` elements together, where that can be done; they come out one by one."""
        columns = self._together(count) if self._may_join() else None
        if columns is not None:
            self.outputs_ready.extend([column[i, ...] for column in columns] for i in range(count))
        elif self.taken and not self.outputs_ready and self.threads is not None:  # the first one compiles, alone
            self._wait_for(self.threads.window)
            self.threads.begin(self.inputs_taken, self.count_draws(0))

    def _of_threads(self) -> Element | None:
        """The next element; None where no thread makes it, or one that raises does so again when it is made alone."""
        element = self.threads.next() if self.threads is not None else None
        if element is not None:
            self.inputs_taken.popleft()
        return element

    def next_batch_columns(self, count: int) -> Element | None:
        columns = self._together(count) if self._may_join() else None
        if columns is None and isinstance(self.source, MapIterator):
            self.source.prepare(count)
        if columns is not None:
            self.count_draws(count)
        return columns

    def _may_join(self) -> bool:
        """Whether the next elements may be made together: no earlier ones are left over."""
        pays = self.vectorizes and self.taken >= self.min_elements_to_compile
        return pays and not self.outputs_ready and not self.inputs_taken

    def _together(self, count: int) -> Element | None:
        """The function of the next ``count`` elements, stacked; None where they are not alike, or it has none."""
        columns = self.source.next_batch_columns(count) if isinstance(self.source, ElementIterator) else None
        if columns is None:
            columns = self._stacked(count)
        if columns is None:
            return None
        many = self.function.bind_rows(self.opening, [column[:1] for column in columns])
        made: Element | None = None
        if many is None:
            self.vectorizes = False
        else:
            # What a check found is raised again by the element that it is about, alone.
            with suppress(OpError):
                made = many(columns, np.arange(count) + self.count_draws(0))
        if made is None:
            self.inputs_taken.extend([column[i, ...] for column in columns] for i in range(count))
        return made

    def _wait_for(self, count: int) -> None:
        """Takes elements from the source until ``count`` wait, it ends or raises."""
        try:
            while len(self.inputs_taken) < count:
                self.inputs_taken.append(next(self.source))
        except StopIteration:
            pass
        except Exception as error:
            self.inputs_taken.append(error)

    def _stacked(self, count: int) -> Element | None:
        """The next ``count`` elements of the source, stacked; None where they are not alike: then they wait."""
        self._wait_for(count)
        if len(self.inputs_taken) < count or any(isinstance(entry, Exception) for entry in self.inputs_taken):
            return None
        columns = list(zip(*self.inputs_taken, strict=True))
        if any(a.shape != column[0].shape for column in columns for a in column):
            return None
        self.inputs_taken.clear()
        return [stack(column) for column in columns]


class _Threads:
    """Threads that make the first of the elements that wait.

    Attributes:
      window: how many elements are begun, or made and not yet handed out: while the consumer has the results of as many
        as are made at a time, no thread stands still.
    """

    def __init__(self, function: Function, opening: IteratorContext, num_parallel_calls: int):
        number = min(num_parallel_calls, os.cpu_count() or 1)
        self.call = function.bind_row(opening)
        self.threads = ThreadPoolExecutor(number, "map")
        self.window = num_parallel_calls + number
        self.begun: deque[Future[list[Array]]] = deque()

    def begin(self, waiting: deque[Element | Exception], place: int) -> None:
        """Begins those that are not, up to an exception. ``place``: draws before the first."""
        for i, element in enumerate(islice(waiting, len(self.begun), None), len(self.begun)):
            if isinstance(element, Exception):
                break
            self.begun.append(self.threads.submit(self.call, element, place + i))

    def next(self) -> Element | None:
        """The first element; None where none is begun, or it raises: then all are begun anew."""
        if not self.begun:
            return None
        if self.begun[0].exception() is None:
            return self.begun.popleft().result()
        while self.begun:
            self.begun.pop().cancel()
        return None


class Map(FunctionNode):
    """``function`` of each element; ``num_parallel_calls`` elements are taken at a time (-1: as many as pay)."""

    kind = "Map"

    def __init__(self, child: DatasetNode, function: Function, structure: Structure, num_parallel_calls: Any = 1):
        super().__init__(child, function, structure)
        self.num_parallel_calls = num_parallel_calls
        self.tensors = (*self.tensors, *tensors_among(num_parallel_calls))

    def cardinality(self) -> int:
        return self.child.cardinality()

    def rows(self, opening: IteratorContext) -> TablePass | None:
        rows = self.child.rows(opening)
        if rows is None or not rows.table or len(rows.table[0]) < MANY_ROWS:
            return None
        columns = self.child.structure
        if rows.functions and any(d is None or None in d for d in columns.dims):
            return None
        forms = [c[:1] for c in rows.table]
        if rows.functions:
            forms = [np.zeros((1, *d), t.np) for d, t in zip(columns.dims, columns.dtypes, strict=True)]  # type: ignore[misc]
        function = self.function
        many = function.bind_rows(opening, forms)
        if many is None:
            return None
        one = opening.cached((self, "one"), lambda: function.bind_row(opening))
        functions = (*rows.functions, RowFunction(one, many))
        if not function.draws:
            return TablePass(rows.table, rows.order, functions, rows.plain, rows.placed)
        count_draws, size = function.draw_counter(opening), len(rows.table[0])
        if isinstance(rows.order, NumberedOrder):
            order = NumberedOrder(rows.order.source, size, (*rows.order.draw_counters, count_draws))
        elif rows.placed:
            return None  # The places of an earlier map were reordered: this one needs others.
        else:
            order = NumberedOrder(rows.order, size, (count_draws,))
        return TablePass(rows.table, order, functions, placed=True)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        rows = None if self.function.draws else self.rows(opening)
        if rows is not None:
            return RowPull(rows)
        calls = opening.value(self.num_parallel_calls)
        if calls < 1 and calls != -1:
            raise InvalidArgumentError(
                None, None, f"Dataset.map: num_parallel_calls must be greater than zero, got {calls}."
            )
        source, calls = self.child.open(opening), AUTO if calls == -1 else calls
        if self.function.program.divided is None:
            return MapIterator(source, self.function, opening, calls, MANY_ROWS)
        first, rest = self.function.program.divided
        parsed = MapIterator(source, first, opening, calls if calls == 1 else max(calls, AUTO), 0)
        return parsed if rest is None else MapIterator(parsed, rest, opening, calls, MANY_ROWS)


class FilteredPull(ElementIterator):
    checkpointed: ClassVar[Mapping[str, str] | None] = {"source": "source"}

    def __init__(self, source: Iterator[Element], predicate: Bound):
        self.source = source
        self.predicate = predicate

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            if self.predicate(element)[0]:
                return element


class Filter(FunctionNode):
    """The elements for which the predicate is true."""

    kind = "Filter"

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return FilteredPull(self.child.open(opening), self.function.bind(opening))


class TakenWhilePull(FilteredPull):
    checkpointed = {"source": "source", "ended": "ended"}
    ended = False

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        element = next(self.source)
        if not self.predicate(element)[0]:
            self.ended = True
            raise StopIteration
        return element


class TakeWhile(FunctionNode):
    """The elements before the first for which the predicate is false."""

    kind = "TakeWhile"

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return TakenWhilePull(self.child.open(opening), self.function.bind(opening))


class InnerDataset:
    """Opens the dataset that a function makes from an element."""

    def __init__(self, function: Function, node: DatasetNode, opening: IteratorContext):
        self.bound = function.bind(opening)
        self.keys = function.dataset_inputs
        self.node = node
        self.opening = opening

    def __call__(self, element: Sequence[Any], window: Sequence[Element] | None = None) -> NestedIterator:
        values = dict(zip(self.keys, self.bound(element), strict=True))
        return NestedIterator(self.opening.child(self.node, values, window))

    def of_state(self, state: State) -> NestedIterator:
        """The opened dataset that has a state."""
        return NestedIterator.of_state(self.opening, self.node, state)


class InterleavedPull(ElementIterator):
    """Goes round ``cycle`` open datasets, ``block`` elements from each at a time."""

    checkpointed = {
        "source": "source",
        "slots": "slots",
        "place": "place",
        "taken": "taken",
        "open_count": "open_count",
        "ended": "ended",
    }

    def __init__(self, source: Iterator[Element], open_inner: InnerDataset, cycle: int, block: int):
        self.source = source
        self.open_inner = open_inner
        self.slots: list[NestedIterator | None] = [None] * cycle
        self.block = block
        self.place = 0
        self.taken = 0
        self.open_count = 0
        self.ended = False

    def _turn(self) -> None:
        self.place = (self.place + 1) % len(self.slots)
        self.taken = 0

    def __next__(self) -> Element:
        while not self.ended or self.open_count:
            inner = self.slots[self.place]
            if inner is not None:
                for element in inner:
                    self.taken += 1
                    if self.taken == self.block:
                        self._turn()
                    return element
                self.slots[self.place] = None
                self.open_count -= 1
                self._turn()
            elif not self.ended:
                for outer in self.source:
                    self.slots[self.place] = self.open_inner(outer)
                    self.open_count += 1
                    break
                else:
                    self.ended = True
            else:
                self._turn()
        raise StopIteration

    def resumed(self, name: str, state: State) -> Any:
        if name == "slots":
            return [None if s is None else self.open_inner.of_state(s) for s in state]
        return super().resumed(name, state)


class Interleave(FunctionNode):
    """The elements of the datasets that a function makes, several of them open at a time."""

    kind = "Interleave"

    def __init__(
        self, child: DatasetNode, function: Function, inner: DatasetNode, cycle: Any, block: Any, tensors: Sequence[Any]
    ):
        super().__init__(child, function, inner.structure)
        self.inner = inner
        self.cycle = cycle
        self.block = block
        self.tensors = (*self.tensors, *tensors)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        cycle, block = opening.value(self.cycle), opening.value(self.block)
        for name, value in (("cycle_length", cycle), ("block_length", block)):
            if value <= 0:
                raise InvalidArgumentError(None, None, f"interleave: {name} must be greater than 0, got {value}.")
        inner = InnerDataset(self.function, self.inner, opening)
        return InterleavedPull(self.child.open(opening), inner, cycle, block)


class ScannedPull(ElementIterator):
    checkpointed = {"source": "source", "carry": "carry"}

    def __init__(self, source: Iterator[Element], function: Bound, carry: Element):
        self.source = source
        self.function = function
        self.carry = list(carry)

    def __next__(self) -> Element:
        element = next(self.source)
        results = self.function([*self.carry, *element])
        size = len(self.carry)
        self.carry = results[:size]
        return results[size:]


class Scan(FunctionNode):
    """``function(state, element) -> (state, output)`` along the elements."""

    kind = "Scan"

    def __init__(self, child: DatasetNode, function: Function, structure: Structure, initial: Sequence[Any]):
        super().__init__(child, function, structure)
        self.initial = initial
        self.tensors = (*self.tensors, *initial)

    def cardinality(self) -> int:
        return self.child.cardinality()

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        state = [opening.values[t] for t in self.initial]
        return ScannedPull(self.child.open(opening), self.function.bind(opening), state)


class Elements(DatasetNode):
    """Elements that were collected; the dataset that a window's function receives."""

    kind = "Elements"

    def __init__(self, structure: Structure):
        self.structure = structure

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return Listed(opening.elements)


class WindowedPull(ElementIterator):
    """Collects elements by key; a full window becomes a dataset, whose elements come out."""

    checkpointed = {"source": "source", "groups": "groups", "current": "current", "ended": "ended"}

    def __init__(self, source: Iterator[Element], key: Bound, size: Bound | int, reduce: InnerDataset):
        self.source = source
        self.key = key
        self.size = size
        self.reduce = reduce
        self.groups: dict[int, tuple[int, list[Element]]] = {}
        self.current: NestedIterator | None = None
        self.ended = False

    def __next__(self) -> Element:
        while True:
            if self.current is not None:
                for element in self.current:
                    return element
                self.current = None
            if self.ended:
                if not self.groups:
                    raise StopIteration
                key = min(self.groups)
                self.current = self._reduced(key, self.groups.pop(key)[1])
            else:
                self._collect()

    def _reduced(self, key: int, group: list[Element]) -> NestedIterator:
        return self.reduce([np.asarray(key, np.int64)], group)

    def resumed(self, name: str, state: State) -> Any:
        opens = name == "current" and state is not None
        return self.reduce.of_state(state) if opens else super().resumed(name, state)

    def _collect(self) -> None:
        for element in self.source:
            key = int(self.key(element)[0])
            if key not in self.groups:
                size = self.size if isinstance(self.size, int) else int(self.size([np.int64(key)])[0])
                if size <= 0:
                    raise InvalidArgumentError(None, None, f"group_by_window: window size must be > 0, got {size}.")
                self.groups[key] = (size, [])
            size, group = self.groups[key]
            group.append(element)
            if len(group) == size:
                del self.groups[key]
                self.current = self._reduced(key, group)
            return
        self.ended = True


class GroupByWindow(FunctionNode):
    """Windows of consecutive elements of one key, each reduced by a function to a dataset."""

    kind = "GroupByWindow"

    def __init__(self, child: DatasetNode, key: Function, reduce: Function, inner: DatasetNode, size: Function | int):
        super().__init__(child, reduce, inner.structure)
        self.key = key
        self.inner = inner
        self.size = size
        functions = (key, reduce, *((size,) if isinstance(size, Function) else ()))
        self.tensors = tuple(dict.fromkeys(t for f in functions for t in f.captures))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        reduce = InnerDataset(self.function, self.inner, opening)
        size = self.size.bind(opening) if isinstance(self.size, Function) else self.size
        return WindowedPull(self.child.open(opening), self.key.bind(opening), size, reduce)


class BucketedPull(ElementIterator):
    """Batches of elements of similar length; what is left at the end comes out by bucket."""

    checkpointed = {"source": "source", "groups": "groups"}

    def __init__(self, source: Iterator[Element], length: Bound, node: Buckets, opening: IteratorContext):
        self.source = source
        self.length = length
        self.node = node
        self.opening = opening
        self.groups: dict[int, list[Element]] = {}

    def __next__(self) -> Element:
        for element in self.source:
            bucket = int(np.searchsorted(self.node.boundaries, self.length(element)[0], side="right"))
            if bucket == self.node.forbidden:
                raise InvalidArgumentError(
                    None, None, "bucket_by_sequence_length(pad_to_bucket_boundary=True): an element is not below "
                    f"the last boundary, {self.node.boundaries[-1]}."
                )  # fmt: skip
            group = self.groups.setdefault(bucket, [])
            group.append(element)
            if len(group) == self.node.sizes[bucket] and (batch := self._batch(bucket)) is not None:
                return batch
        while self.groups:
            if (batch := self._batch(min(self.groups))) is not None:
                return batch
        raise StopIteration

    def _batch(self, bucket: int) -> Element | None:
        window = self.node.windows[bucket]
        return next(self.opening.child(window, self.opening.values, self.groups.pop(bucket)).pull(), None)


class Buckets(FunctionNode):
    """Batches of elements of similar length.

    Args:
      length: element -> its length.
      boundaries: the lengths at which the next bucket begins.
      sizes: of the batches, by bucket.
      windows: by bucket, what makes the one batch of the elements that were collected (``Elements`` at its source).
      forbidden: the bucket whose elements are an error, or None.
    """

    kind = "Buckets"

    def __init__(
        self, child: DatasetNode, length: Function, boundaries: Sequence[int], sizes: Sequence[int],
        windows: Sequence[DatasetNode],
        forbidden: int | None,
    ):  # fmt: skip
        structure = windows[0].structure
        for window in windows[1:]:
            structure = structure.relaxed(window.structure)
        super().__init__(child, length, structure)
        self.boundaries = boundaries
        self.sizes = sizes
        self.windows = windows
        self.forbidden = forbidden
        self.tensors = (*self.tensors, *(t for window in windows for t in window.inputs()))

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return BucketedPull(self.child.open(opening), self.function.bind(opening), self, opening)


class ChosenPull(ElementIterator):
    """Each time from the part that ``choose`` names; ended parts are left out, or end the whole.

    Args:
      choices: what ``choose`` takes its choices from.
    """

    checkpointed = {"parts": "parts", "choices": "choices", "alive": "alive"}

    def __init__(
        self, parts: Sequence[Iterator[Element]], choose: Callable[[list[bool]], int], choices: object, stop: bool
    ):
        self.parts = list(parts)
        self.choose = choose
        self.choices = choices
        self.stop = stop
        self.alive = [True] * len(self.parts)

    def __next__(self) -> Element:
        while any(self.alive):
            place = self.choose(self.alive)
            if not self.alive[place]:
                continue
            for element in self.parts[place]:
                return element
            self.alive[place] = False
            if self.stop:
                self.alive = [False] * len(self.parts)
        raise StopIteration


class ChooseFrom(DatasetNode):
    """Elements of several datasets, in the order that a dataset of their numbers tells."""

    kind = "ChooseFrom"

    def __init__(self, parts: Sequence[DatasetNode], choices: DatasetNode, stop: bool):
        self.stop = stop
        self.children = (*parts, choices)
        self.structure = parts[0].structure
        for part in parts[1:]:
            self.structure = self.structure.relaxed(part.structure)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        *parts, choices = [child.open(opening) for child in self.children]

        def choose(alive: list[bool]) -> int:
            place = int(next(choices)[0])
            if not 0 <= place < len(alive):
                raise InvalidArgumentError(
                    None, None, f"choose_from_datasets: expected a number from 0 to {len(alive) - 1}, got {place}."
                )
            return place

        return ChosenPull(parts, choose, choices, self.stop)


class SampleFrom(DatasetNode):
    """Elements of several datasets, each drawn at random."""

    kind = "SampleFrom"

    def __init__(self, parts: Sequence[DatasetNode], weights: Sequence[float], seeds: Any, stop: bool, again: bool):
        self.stop = stop
        self.again = again
        self.children = tuple(parts)
        self.structure = parts[0].structure
        for part in parts[1:]:
            self.structure = self.structure.relaxed(part.structure)
        self.weights = np.asarray(weights, np.float64)
        self.seeds = seeds

    def cardinality(self) -> int:
        return self.children[0].cardinality() if len(self.children) == 1 else UNKNOWN

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        draws: UniformStream = opening.cached(self, lambda: UniformStream(opening.generator(self.seeds, self.again)))

        def choose(alive: list[bool]) -> int:
            bounds = np.cumsum(self.weights * alive)
            if bounds[-1] <= 0:
                bounds = np.cumsum(np.asarray(alive, np.float64))
            return int(np.searchsorted(bounds, draws.one() * bounds[-1], side="right"))

        return ChosenPull([child.open(opening) for child in self.children], choose, draws, self.stop)
