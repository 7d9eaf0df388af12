"""The parts of an input pipeline: nodes describe it, iterators give elements, an ``IteratorContext`` is one pass."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.iterator_state import Resumable, at_one_moment, resumed, state_of
from towerstrat.data.pipeline.process_shards import LocalIndices
from towerstrat.data.pipeline.table_rows import TablePass
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform.plain import State

_ORDINALS: weakref.WeakKeyDictionary[Graph, Iterator[int]] = weakref.WeakKeyDictionary()
_DEFAULT_GRAPH_SEED = 87654321


def next_seed_ordinal(graph: Graph) -> int:
    """The next number of the graph's counter of pipeline parts. A program gets the same numbers in every run."""
    return next(_ORDINALS.setdefault(graph, itertools.count()))


class ElementIterator(Resumable):
    """An iterator over elements that can write them into buffers, and can say where it is.

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

    def next_batch_columns(self, count: int) -> Element | None:
        """The next ``count`` elements stacked, or None where they come one by one; then none is taken."""
        return None

    def ready(self) -> int:
        """How many of the next elements are made already, at least."""
        return 0

    def next_many(self, out: Sequence[Array]) -> int:
        """Writes next elements into the rows of ``out``, several at once; returns how many, 0 where it cannot."""
        return 0


def copied_into(out: Sequence[Array], element: Element) -> Element | None:
    """Writes an element into ``out`` and returns None, or returns it where its shapes differ."""
    if any(x.shape != buffer.shape for x, buffer in zip(element, out, strict=True)):
        return element
    for x, buffer in zip(element, out, strict=True):
        buffer[...] = x
    return None


def write_next(source: Iterator[Element], out: Sequence[Array]) -> Element | None:
    """``ElementIterator.next_into`` of any iterator."""
    return source.next_into(out) if isinstance(source, ElementIterator) else copied_into(out, next(source))


class IteratorContext(Resumable):
    """One pass over a pipeline, shared by its pulls: an initialization of an iterator.

    Its state is what its pulls share: random streams, counters. Each pull has the rest.

    Args:
      session: owns the variables and resources that functions of the pipeline use.
      node: the pipeline.
      values: of the graph tensors that the datasets hold.
      entropy: integers that differ between initializations; they seed random parts that have no seed.
      elements: the elements of the current window, for a dataset that is made from one.

    Attributes:
      live: whether functions read variables each time an element is made, and not once when the pass begins.
    """

    live = False

    def __init__(
        self, session: Runner, node: DatasetNode, values: Mapping[Tensor, Array], entropy: Sequence[int],
        elements: Sequence[Element] = (),
    ):  # fmt: skip
        self.session = session
        self.node = node
        self.values = values
        self.entropy = tuple(entropy)
        self.elements = elements
        self._cached: dict[Hashable, Any] = {}
        self._children = 0
        self._states: dict[Hashable, State] = {}
        """The states that cached values take when they are made."""

    def pull(self) -> Iterator[Element]:
        """A new iterator over the elements of the pipeline."""
        return self.node.open(self)

    def state(self) -> State:
        stateful = {key: value for key, value in self._cached.items() if isinstance(value, Resumable)}
        found = self._states | {key: value.state() for key, value in stateful.items()}
        numbers: dict[Hashable, int] = {part: i for i, part in enumerate(self.node.walk())}
        cached = {numbers[key]: state for key, state in found.items()}
        return {"entropy": list(self.entropy), "children": self._children, "cached": cached}

    def resume(self, state: State) -> None:
        """Goes to a state, before it is used."""
        self.entropy = tuple(state["entropy"])
        self._children = state["children"]
        parts = list(self.node.walk())
        self._states = {parts[number]: cached for number, cached in state["cached"].items()}

    def again(self, state: State) -> IteratorContext:
        """A new pass over the same pipeline that goes to a state of this one."""
        opening = type(self)(self.session, self.node, self.values, self.entropy, self.elements)
        opening.resume(state)
        return opening

    def value(self, argument: Any) -> Any:
        """An argument of a dataset: a number itself, or the value of a tensor."""
        return self.values[argument].item() if isinstance(argument, Tensor) else argument

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A value that is made once per pass, however often a node is opened within it (by ``repeat``)."""
        if key not in self._cached:
            value = self._cached[key] = make()
            if key in self._states:
                value.resume(self._states.pop(key))
        return self._cached[key]

    def child(
        self, node: DatasetNode, values: Mapping[Tensor, Array], elements: Sequence[Element] | None = None
    ) -> IteratorContext:
        """An opening for a dataset that a function made from one element, or from those of a window."""
        self._children += 1
        entropy = (*self.entropy, self._children - 1)
        return type(self)(self.session, node, values, entropy, self.elements if elements is None else elements)

    def source_of(self, seeds: Seeds, again: bool) -> tuple[int, ...]:
        """The entropy of a random stream.

        Args:
          again: whether each pass of an eager program over the same dataset gets another stream.
        """
        pair = seeds.pair(self)
        return pair if pair is not None else (*self.entropy, seeds.ordinal, *_of_process())

    def generator(self, seeds: Seeds, again: bool = True) -> np.random.Generator:
        """A new random stream: PCG64 seeded by ``source_of``."""
        entropy = self.source_of(seeds, again)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([e & 0xFFFFFFFFFFFFFFFF for e in entropy])))


def _of_process() -> tuple[int, ...]:
    return (PROCESSES.stream,) if PROCESSES.stream else ()


class _Passes:
    """The numbers of streams of random numbers that the random parts of eager pipelines have begun.

    Attributes:
      expected: those of a run that this one goes on with, by name, for parts that begin their first one here.
    """

    def __init__(self) -> None:
        self.expected: dict[str, int] = {}
        self._begun: weakref.WeakKeyDictionary[Seeds, int] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def begin(self, seeds: Seeds) -> int:
        """The number of a new stream."""
        with self._lock:
            number = self._begun.get(seeds, self.expected.get(seeds.name, 0))
            self._begun[seeds] = number + 1
            return number

    def by_name(self) -> dict[str, int]:
        """The number of each part, also of those that are not there yet."""
        with self._lock:
            return self.expected | {seeds.name: number for seeds, number in self._begun.items()}

    def expect(self, numbers: Mapping[str, int]) -> None:
        """Goes to the numbers of another run."""
        with self._lock:
            self.expected = dict(numbers)
            for seeds in list(self._begun):
                self._begun[seeds] = self.expected.get(seeds.name, self._begun[seeds])


PASSES = _Passes()


class EagerOpening(IteratorContext):
    """A pass of eager code, or of a function, over a dataset.

    Each further pass over the same dataset draws other random numbers, seeded or not, unless ``again`` is False.
    """

    live = True

    def source_of(self, seeds: Seeds, again: bool) -> tuple[int, ...]:
        base = seeds.pair(self) or (seeds.ordinal, *_of_process())
        return (*base, PASSES.begin(seeds)) if again else base


class Seeds:
    """The seeds of one random part of a pipeline. Without a graph seed and its own, each initialization differs."""

    def __init__(self, graph: Graph, seed: Any):
        self.graph_seed = graph.seed
        self.seed = seed
        self.ordinal = next_seed_ordinal(graph)
        self.name = f"{graph.state_scope}{self.ordinal}"

    def pair(self, opening: IteratorContext) -> tuple[int, int] | None:
        """(graph seed, own seed), or None where neither is set."""
        own = None if self.seed is None else int(opening.value(self.seed))
        if own is None and self.graph_seed is None:
            return None
        if self.graph_seed is None:
            assert own is not None
            return (_DEFAULT_GRAPH_SEED, own)
        return (self.graph_seed, self.ordinal if own is None else own)


INFINITE = -1
UNKNOWN = -2
"""Cardinalities that are no numbers of elements, as ``tf.data.INFINITE_CARDINALITY`` and its kin."""


class Part:
    """A node of a pipeline, or a function of one.

    What it was given are its attributes, in the order in which they are set: saved states have a checksum of these.

    Attributes:
      kind: the name of the class in saved states, which stays when the class gets another one.
    """

    kind: ClassVar[str]

    def walk(self) -> Iterator[Part]:
        """This and all that it consists of, in the same order in every run of a program."""
        yield self
        for value in vars(self).values():
            for inner in value if isinstance(value, list | tuple) else (value,):
                if isinstance(inner, Part):
                    yield from inner.walk()


class DatasetNode(Part):
    """One transformation or source of a pipeline.

    Attributes:
      structure: of its elements.
      children: the nodes it takes elements from.
      tensors: the graph tensors whose values this node, not a child, needs when it is opened.
      cells: the variables that this node's functions read.
      share: where elements have a part for each position of an axis, those that this process makes.
      apart: whether processes have data of their own here, which may end at different times.
      fills: whether a process whose data has ended gives batches of nothing until that of all processes has.
      alone: whether a process may fail to make its parts of an element of which others make theirs.
      sure: whether its elements come without fail, as those that only move arrays in memory do.
      partial: whether places in it are of the rows of ``share``, so that no other share goes on from them.
      meaning: the pipeline that it is another form of, where places by number of elements are the same in both.
    """

    structure: Structure
    share: LocalIndices | None = None
    apart: bool = False
    fills: bool = False
    alone: bool = False
    sure: bool = False
    partial: bool = False
    meaning: DatasetNode | None = None
    children: tuple[DatasetNode, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    cells: tuple[StateVariable, ...] = ()

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        """A new iterator over its elements."""
        raise NotImplementedError

    def rows(self, opening: IteratorContext) -> TablePass | None:
        """The same pass as a table and a stream of row numbers, or None where the elements are no rows of arrays."""
        return None

    def cardinality(self) -> int:
        """The number of elements, without making them; INFINITE or UNKNOWN."""
        return UNKNOWN

    def alike(self) -> int:
        """How many of the first elements have arrays of the same known shapes; INFINITE or UNKNOWN."""
        return self.cardinality() if all(d is not None and None not in d for d in self.structure.dims) else UNKNOWN

    def inputs(self) -> list[Tensor]:
        """The graph tensors that this node and its descendants need, each once."""
        found = dict.fromkeys(t for child in self.children for t in child.inputs())
        found.update(dict.fromkeys(self.tensors))
        return list(found)

    def variables(self) -> list[StateVariable]:
        """The variables that functions of this node and its descendants read."""
        return [*self.cells, *(c for child in self.children for c in child.variables())]


class NestedIterator(ElementIterator):
    """The elements of a dataset that a function made: of an opening of its own."""

    def __init__(self, opening: IteratorContext):
        self.opening = opening
        self.source = opening.pull()

    def __next__(self) -> Element:
        return next(self.source)

    def state(self) -> State:
        opening = self.opening
        with at_one_moment():
            parts = {"source": state_of(self.source), "opening": opening.state()}
        return parts | {
            "values": [state_of(opening.values[t]) for t in opening.node.inputs()],
            "elements": state_of(opening.elements),
        }

    @classmethod
    def of_state(cls, outer: IteratorContext, node: DatasetNode, state: State) -> NestedIterator:
        """The pull over ``node``, made in ``outer``, that has a state."""
        values = dict(zip(node.inputs(), state["values"], strict=True))
        opening = type(outer)(outer.session, node, values, (), state["elements"])
        opening.resume(state["opening"])
        pull = cls(opening)
        resumed(pull.source, state["source"])
        return pull


def tensors_among(*arguments: Any) -> tuple[Tensor, ...]:
    """The arguments that are tensors."""
    return tuple(a for a in arguments if isinstance(a, Tensor))


def smallest(numbers: Sequence[int]) -> int:
    """The cardinality of a dataset that ends with the shortest of several."""
    if UNKNOWN in numbers:
        return 0 if 0 in numbers else UNKNOWN
    return min((n for n in numbers if n != INFINITE), default=INFINITE)


def added(numbers: Sequence[int]) -> int:
    """The cardinality of several datasets one after the other."""
    return INFINITE if INFINITE in numbers else UNKNOWN if UNKNOWN in numbers else sum(numbers)


def known(argument: Any) -> int | None:
    """An argument of a dataset where it is a Python integer, else None."""
    return argument if isinstance(argument, int) else None
