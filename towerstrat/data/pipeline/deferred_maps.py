"""Pipelines without those maps that can wait until it is known which elements are wanted.

A node that only passes elements on, in another order, several times or not at all, does the same to elements that are
not mapped yet. What a map gives depends on its element alone, and on how many draws came before: that goes along.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.batching import stack
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.hoisted_parsing import HoistedParsing
from towerstrat.data.pipeline.mapping import AUTO, FunctionNode, Interleave, Map
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext, Part, tensors_among
from towerstrat.data.pipeline.ordering import Repeat, Shard, Shuffle, Skip, Take, WithOptions, Zip
from towerstrat.data.pipeline.prefetch import Prefetch
from towerstrat.data.pipeline.table_rows import NumberedOrder, RowFunction, TablePass
from towerstrat.errors import OpError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import int64

Column: TypeAlias = "Array | Sequence[Array]"
"""A component of some elements: stacked ``[n, ...]``, or a list of arrays that nobody has stacked yet."""
Columns: TypeAlias = "Sequence[Column]"

_PASSING = (Prefetch, WithOptions, Take, Skip, Shard, Repeat, Shuffle)
"""Nodes of one child that look into no element, and keep none from one pass to the next."""


class DeferredFunction(Part):
    """What was left out of a pipeline, as a function of the elements that it has without that.

    This one leaves elements as they are.

    Attributes:
      width: the number of components that it takes.
      functions: of the maps that were left out.
      tensors: the graph tensors whose values they need.
    """

    kind = "Recipe"
    functions: Sequence[Function] = ()
    tensors: Sequence[Tensor] = ()

    def __init__(self, width: int):
        self.width = width

    def bind(self, opening: IteratorContext) -> Callable[[Columns, bool], Columns]:
        """(components of some elements, whether a function is compiled for many of them at once) -> the results."""
        return lambda columns, many: columns


def without_maps(node: DatasetNode) -> tuple[DatasetNode, DeferredFunction]:
    """A pipeline without those of its maps that can wait, and these.

    The elements have further components behind their own: places of draws, int64 scalars. Where a part comes in several
    places it may share a random stream there, whose numbers go to whoever takes an element first: then nothing waits.
    """
    parts = list(_descendants(node))
    return _taken_apart(node) if len(set(parts)) == len(parts) else (node, DeferredFunction(len(node.structure.dtypes)))


def _descendants(node: DatasetNode) -> Iterator[DatasetNode]:
    yield node
    for child in node.children:
        yield from _descendants(child)


def _taken_apart(node: DatasetNode) -> tuple[DatasetNode, DeferredFunction]:
    if type(node) is Map and node.function.of_one_element():
        child, recipe = _taken_apart(node.child)
        if node.function.draws:
            child = WithPlaces(child, node.function)
        return child, recipe.followed_by(node) if isinstance(recipe, Chain) else Chain(recipe, node)
    if type(node) in _PASSING:
        child, recipe = _taken_apart(node.children[0])
        return (_over(node, child), recipe) if recipe.functions else (node, recipe)
    if type(node) is Zip:
        found = [_taken_apart(child) for child in node.children]
        if any(recipe.functions for _, recipe in found):
            return Zip(tuple(child for child, _ in found)), SideBySide([recipe for _, recipe in found])
    if type(node) is Interleave:
        inner, recipe = without_maps(node.inner)
        # Each inner dataset has values and random streams of its own, which elements do not take along.
        if recipe.functions and not recipe.tensors and not any(f.draws for f in recipe.functions):
            made = copy(node)
            made.inner, made.structure = inner, inner.structure
            return made, recipe
    return node, DeferredFunction(len(node.structure.dtypes))


def _over(node: DatasetNode, child: DatasetNode) -> DatasetNode:
    """The same transformation of another pipeline."""
    made = copy(node)
    made.children, made.structure = (child,), child.structure
    return made


class WithPlaces(FunctionNode):
    """The elements with the number of draws that a function has made before each, as a last component."""

    kind = "WithPlaces"

    def __init__(self, child: DatasetNode, function: Function):
        before = child.structure
        structure = Structure((None,) * (len(before.dtypes) + 1), [*before.dtypes, int64], [*before.dims, ()])
        super().__init__(child, function, structure)
        self.tensors, self.cells = (), ()

    def cardinality(self) -> int:
        return self.child.cardinality()

    def rows(self, opening: IteratorContext) -> TablePass | None:
        rows = self.child.rows(opening)
        if rows is None or rows.placed or not len(rows.table[0]):
            return None
        order = NumberedOrder(rows.order, len(rows.table[0]), (self.function.draw_counter(opening),))
        added = RowFunction(
            lambda element, place: [*element, np.array(place, np.int64)],
            lambda columns, places: [*columns, np.asarray(places, np.int64)],
        )
        return TablePass(rows.table, order, (*rows.functions, added), placed=True)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _PlacesPull(self.child.open(opening), self.function.draw_counter(opening))


class _PlacesPull(ElementIterator):
    checkpointed = {"source": "source"}

    def __init__(self, source: Iterator[Element], count_draws: Callable[[int], int]):
        self.source = source
        self.count_draws = count_draws

    def __next__(self) -> Element:
        element = next(self.source)
        return [*element, np.array(self.count_draws(1), np.int64)]

    def next_batch_columns(self, count: int) -> Element | None:
        columns = self.source.next_batch_columns(count) if isinstance(self.source, ElementIterator) else None
        return None if columns is None else [*columns, np.arange(count) + self.count_draws(count)]


class SideBySide(DeferredFunction):
    """Recipes for the parts of elements that were put side by side."""

    kind = "SideBySide"

    def __init__(self, parts: Sequence[DeferredFunction]):
        super().__init__(sum(part.width for part in parts))
        self.parts = parts
        self.functions = [function for part in parts for function in part.functions]
        self.tensors = [t for part in parts for t in part.tensors]

    def bind(self, opening: IteratorContext) -> Callable[[Columns, bool], Columns]:
        calls = [part.bind(opening) for part in self.parts]
        places = list(pairwise(accumulate((part.width for part in self.parts), initial=0)))

        def call(columns: Columns, many: bool) -> Columns:
            return [c for part, (i, j) in zip(calls, places, strict=True) for c in part(columns[i:j], many)]

        return call


class Chain(DeferredFunction):
    """Maps one after the other.

    Args:
      before: what is applied before them.
      first: the first map.
    """

    kind = "Chain"

    def __init__(self, before: DeferredFunction, first: Map):
        super().__init__(before.width)
        self.before = before
        self.maps: list[Function] = []
        self.num_parallel_calls: list[Any] = []
        self._add(first)

    def followed_by(self, map: Map) -> Chain:
        """This chain and another map."""
        made = copy(self)
        made.maps, made.num_parallel_calls = [*self.maps], [*self.num_parallel_calls]
        made._add(map)
        return made

    def _add(self, map: Map) -> None:
        self.maps.append(map.function)
        self.num_parallel_calls.append(map.num_parallel_calls)
        self.width += bool(map.function.draws)
        self.functions = [*self.before.functions, *self.maps]
        captured = [t for function in self.maps for t in function.captures]
        self.tensors = [*self.before.tensors, *captured, *tensors_among(*self.num_parallel_calls)]

    def bind(self, opening: IteratorContext) -> Callable[[Columns, bool], Columns]:
        return _BoundChain(self, opening)


class _Stage(NamedTuple):
    """A part of a map.

    Attributes:
      function: what it is evaluated by for many elements.
      one: (element, place of its draws) -> result.
      place: which component of places it has; None: it draws nothing.
      threads: whether it is worth threads.
    """

    function: Function | HoistedParsing
    one: Callable[[Sequence[Array], int], Sequence[Array]]
    place: int | None
    threads: bool


class _BoundChain:
    """A chain of maps in a pass over a pipeline.

    What is parsed is parsed for all elements at once, and so is, where it pays, what is compiled; the rest is done
    element by element, in threads where that pays.
    """

    def __init__(self, chain: Chain, opening: IteratorContext):
        self.opening = opening
        self.before = chain.before.bind(opening)
        self.width = chain.before.width
        self.stages: list[_Stage] = []
        self.wholes: list[_Stage] = []
        """The maps, in one stage each."""
        places = 0
        for function in chain.maps:
            place = places if function.draws else None
            places += bool(function.draws)
            whole = _Stage(function, function.bind_row(opening), place, function.pays_in_threads())
            self.wholes.append(whole)
            self.stages += [whole] if function.program.divided is None else _divided(function, opening, whole)
        wanted = max(AUTO if n == -1 else int(n) for n in map(opening.value, chain.num_parallel_calls))
        pays = wanted > 1 and any(stage.threads for stage in self.stages)
        self.threads = ThreadPoolExecutor(min(wanted, os.cpu_count() or 1), "rows") if pays else None

    def __call__(self, columns: Columns, many: bool) -> Columns:
        given, places = self.before(columns[: self.width], many), columns[self.width :]
        try:
            return self._evaluated(given, places, many)
        except OpError:
            # It is raised again by the element that it is about, alone.
            return self._one_by_one(given, places, self.wholes, None)

    def _evaluated(self, columns: Columns, places: Columns, many: bool) -> Columns:
        waiting: list[_Stage] = []
        for stage in self.stages:
            if many or isinstance(stage.function, HoistedParsing):
                columns, waiting = self._one_by_one(columns, places, waiting, self.threads), []
                made = self._together(columns, places, stage)
                if made is not None:
                    columns = made
                    continue
            waiting.append(stage)
        return self._one_by_one(columns, places, waiting, self.threads)

    def _together(self, columns: Columns, places: Columns, stage: _Stage) -> Columns | None:
        """A stage of all elements at once; None where they are not alike, or it has no such form."""
        alike = [stacked(column) for column in columns]
        given = [column for column in alike if column is not None]
        if len(given) < len(alike):
            return None
        call = stage.function.bind_rows(self.opening, [column[:1] for column in given])
        count = len(given[0])
        where = np.zeros(count, np.int64) if stage.place is None else np.asarray(places[stage.place])
        return None if call is None else list(call(given, where.reshape(count)))

    def _one_by_one(
        self, columns: Columns, places: Columns, stages: Sequence[_Stage], threads: ThreadPoolExecutor | None
    ) -> Columns:
        """Stages of each element by itself."""
        if not stages:
            return columns

        def row(number: int) -> Sequence[Array]:
            def after(element: Sequence[Array], stage: _Stage) -> Sequence[Array]:
                return stage.one(element, 0 if stage.place is None else int(places[stage.place][number]))

            return reduce(after, stages, element_of(columns, number))

        pays = threads is not None and any(stage.threads for stage in stages)
        made = list((threads.map if pays and threads else map)(row, range(len(columns[0]))))
        return [list(column) for column in zip(*made, strict=True)]


def _divided(function: Function, opening: IteratorContext, whole: _Stage) -> list[_Stage]:
    """The stages of a function that parses: what does so, and the rest."""
    assert function.program.divided is not None
    first, rest = function.program.divided
    alone = first.bind(opening)
    stages = [_Stage(first, lambda element, place: alone(element), None, False)]
    if rest is not None:
        stages.append(_Stage(rest, rest.bind_row(opening), whole.place, rest.pays_in_threads()))
    return stages


def stacked(column: Column) -> Array | None:
    """A component of some elements as one array; None where they have different shapes."""
    if isinstance(column, np.ndarray):
        return column
    return stack(column) if all(each.shape == column[0].shape for each in column) else None


def element_of(columns: Columns, number: int) -> Element:
    """One of the elements."""
    return [c[number, ...] if isinstance(c, np.ndarray) else c[number] for c in columns]
