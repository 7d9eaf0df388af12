"""The parts of a pipeline: nodes that describe, pulls that produce, and what they share while one iterator lives."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from towerstrat.data.rows import Rows
from towerstrat.data.structure import Structure
from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.state import Cell

Array: TypeAlias = "np.ndarray[Any, Any]"
Element: TypeAlias = "Sequence[Array]"
"""The components of one element, flattened. Nobody writes into them."""

_ORDINALS: weakref.WeakKeyDictionary[Graph, Iterator[int]] = weakref.WeakKeyDictionary()
_DEFAULT_GRAPH_SEED = 87654321


def ordinal(graph: Graph) -> int:
    """How many parts of pipelines the graph's program made before this one: the same in every run of the program."""
    return next(_ORDINALS.setdefault(graph, itertools.count()))


class Pull:
    """Produces elements one after the other.

    ``__next__`` raises StopIteration at the end. Any other exception belongs to one element: the next call goes on
    with what comes after it.
    """

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        raise NotImplementedError

    def next_into(self, out: Sequence[Array]) -> Element | None:
        """Writes the next element into ``out`` and returns None, or returns the element where its shapes differ."""
        return copied_into(out, next(self))

    def next_many(self, out: Sequence[Array]) -> int:
        """Writes next elements into the rows of ``out``, several at once. Returns how many; perhaps none."""
        return 0


def copied_into(out: Sequence[Array], element: Element) -> Element | None:
    """Writes an element into ``out`` and returns None, or returns it where its shapes differ."""
    if any(x.shape != buffer.shape for x, buffer in zip(element, out, strict=True)):
        return element
    for x, buffer in zip(element, out, strict=True):
        buffer[...] = x
    return None


class Opening:
    """One initialization of an iterator, shared by the pulls of its pipeline.

    Args:
      session: whose variables and resources functions see.
      values: the graph tensors that the datasets hold, evaluated.
      entropy: numbers that tell this initialization from others; they seed what the program left unseeded.

    Attributes:
      elements: of the window that a dataset was made from.
      live: whether functions see variables as they are when an element is made, not as they are now.
    """

    live = False

    def __init__(self, session: Any, values: Mapping[Tensor, Array], entropy: tuple[int, ...]):
        self.session = session
        self.values = values
        self.entropy = entropy
        self._kept: dict[Any, Any] = {}
        self._children = itertools.count()
        self.elements: Sequence[Element] = ()

    def value(self, argument: Any) -> Any:
        """A number given when the dataset was made: itself, or the value of its tensor."""
        return self.values[argument].item() if isinstance(argument, Tensor) else argument

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What a node keeps as long as this initialization lasts, however often it is opened."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def child(self, values: Mapping[Tensor, Array]) -> Opening:
        """For a dataset that a function made from one element."""
        child = type(self)(self.session, values, (*self.entropy, next(self._children)))
        child.elements = self.elements
        return child

    def source_of(self, seeds: Seeds, again: bool) -> tuple[int, ...]:
        """The numbers that a random stream begins with.

        Args:
          again: whether another pass over the same dataset is to have another stream.
        """
        pair = seeds.pair(self)
        return pair if pair is not None else (*self.entropy, seeds.ordinal)

    def generator(self, seeds: Seeds, again: bool = True) -> np.random.Generator:
        """A new random stream."""
        entropy = self.source_of(seeds, again)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([e & 0xFFFFFFFFFFFFFFFF for e in entropy])))


_PASSES: weakref.WeakKeyDictionary[Seeds, Iterator[int]] = weakref.WeakKeyDictionary()


class EagerOpening(Opening):
    """One pass of a Python loop, or of a function, over a dataset.

    Where a dataset is gone through again its random parts go on, seeded or not, unless they are to be the same again.
    """

    live = True

    def source_of(self, seeds: Seeds, again: bool) -> tuple[int, ...]:
        base = seeds.pair(self) or (seeds.ordinal,)
        return (*base, next(_PASSES.setdefault(seeds, itertools.count()))) if again else base


class Seeds:
    """The seeds of one random part of a pipeline. With neither a graph nor an own seed each initialization differs."""

    def __init__(self, graph: Graph, seed: Any):
        self.graph_seed = graph.seed
        self.seed = seed
        self.ordinal = ordinal(graph)

    def pair(self, opening: Opening) -> tuple[int, int] | None:
        own = None if self.seed is None else int(opening.value(self.seed))
        if own is None and self.graph_seed is None:
            return None
        if self.graph_seed is None:
            assert own is not None
            return (_DEFAULT_GRAPH_SEED, own)
        return (self.graph_seed, self.ordinal if own is None else own)


INFINITE = -1
UNKNOWN = -2
"""Numbers of elements that are no numbers."""


class Node:
    """One part of a pipeline: knows what its elements look like, and produces them when opened.

    Attributes:
      structure: of its elements.
      children: the nodes it takes elements from.
      tensors: the graph tensors whose values it needs itself when it is opened.
      cells: the variables whose values it needs itself.
    """

    structure: Structure
    children: tuple[Node, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    cells: tuple[Cell, ...] = ()

    def open(self, opening: Opening) -> Iterator[Element]:
        """A fresh pass over its elements."""
        raise NotImplementedError

    def rows(self, opening: Opening) -> Rows | None:
        """The same pass as a table and a stream of row numbers, where it is nothing else."""
        return None

    def cardinality(self) -> int:
        """How many elements there are, as far as it can be told without making them; or INFINITE, UNKNOWN."""
        return UNKNOWN

    def inputs(self) -> list[Tensor]:
        """The graph tensors that this and what is below it need, without repeats."""
        found = dict.fromkeys(t for child in self.children for t in child.inputs())
        found.update(dict.fromkeys(self.tensors))
        return list(found)

    def variables(self) -> list[Cell]:
        """The variables that functions in this and below it read."""
        return [*self.cells, *(c for child in self.children for c in child.variables())]


def tensors_among(*arguments: Any) -> tuple[Tensor, ...]:
    return tuple(a for a in arguments if isinstance(a, Tensor))


def smallest(numbers: Sequence[int]) -> int:
    """The number of elements of what ends with the first of several."""
    if UNKNOWN in numbers:
        return 0 if 0 in numbers else UNKNOWN
    return min((n for n in numbers if n != INFINITE), default=INFINITE)


def added(numbers: Sequence[int]) -> int:
    """The number of elements of several one after the other."""
    return INFINITE if INFINITE in numbers else UNKNOWN if UNKNOWN in numbers else sum(numbers)


def known(argument: Any) -> int | None:
    """A number given when a dataset was made, where it is no tensor."""
    return argument if isinstance(argument, int) else None
