"""The elements of a pass that are kept for the passes after it.

They are not part of a state, since they may be all there is: a state says where their pass began, and it is done again.
"""

from __future__ import annotations

from itertools import islice

from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.iterator_state import TAKEN_AGAIN, Resumable, Stateless, resumed, state_of
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext
from towerstrat.platform.plain import State


class Memory(Resumable):
    """The elements of the first complete pass over a node; None before its end.

    Attributes:
      passes: how many were begun to find them. Several at a time share random streams, so that none can be done again.
    """

    def __init__(self, node: DatasetNode, opening: IteratorContext):
        self.node = node
        self.opening = opening
        self.elements: list[Element] | None = None
        self.passes = 0
        self._beginning: State = {}

    def complete(self, elements: list[Element], beginning: State) -> None:
        """Keeps the elements of a pass, unless those of another are there."""
        if self.elements is None:
            self.elements, self._beginning = elements, beginning

    def check(self, beginning: State) -> None:
        """Raises Stateless where a pass cannot be done again."""
        if not beginning or self.passes > 1:
            raise Stateless("a pass over what is cached")

    def taken(self, beginning: State, count: int) -> list[Element]:
        """The first elements of a pass that began there; the state of the opening stays as it is."""
        opening = self.opening.again(beginning["opening"])
        return list(islice(resumed(self.node.open(opening), beginning["source"]), count))

    def state(self) -> State:
        if self.elements is None:
            return None
        self.check(self._beginning)
        return {"beginning": self._beginning, TAKEN_AGAIN: len(self.elements)}

    def resume(self, state: State) -> None:
        if state is not None:
            self.complete(self.taken(state["beginning"], state[TAKEN_AGAIN]), state["beginning"])


class CachedPull(ElementIterator):
    """The elements that memory has; those of a pass that puts them there, where it has none yet."""

    def __init__(self, memory: Memory):
        self.memory = memory
        self.known = memory.elements
        self.position = 0
        if self.known is None:
            self._begin()

    def _begin(self) -> None:
        self.memory.passes += 1
        self.source = self.memory.node.open(self.memory.opening)
        self.seen: list[Element] = []
        try:
            self.beginning = {"opening": self.memory.opening.state(), "source": state_of(self.source)}
        except Stateless:
            self.beginning = {}

    def __next__(self) -> Element:
        if self.known is not None:
            if self.position == len(self.known):
                raise StopIteration
            self.position += 1
            return self.known[self.position - 1]
        for element in self.source:
            self.seen.append(element)
            return element
        self.memory.complete(self.seen, self.beginning)
        raise StopIteration

    def state(self) -> State:
        if self.known is not None:
            return {"position": self.position}
        self.memory.check(self.beginning)
        return {"beginning": self.beginning, TAKEN_AGAIN: len(self.seen), "source": state_of(self.source)}

    def resume(self, state: State) -> None:
        if "position" in state:
            self.position = state["position"]
            return
        if self.known is not None:
            self.known = None
            self._begin()
        self.beginning = state["beginning"]
        self.seen = self.memory.taken(self.beginning, state[TAKEN_AGAIN])
        self.source = resumed(self.source, state["source"])
