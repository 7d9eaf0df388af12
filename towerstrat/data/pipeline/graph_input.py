"""A pipeline whose elements a graph computes: tensors that input functions return, not as a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from towerstrat.data.elements.structure import Structure, flatten
from towerstrat.data.elements.types import Element
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext
from towerstrat.errors import OutOfRangeError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.runtime.plans.runner import Run
from towerstrat.graph.runtime.sessions.stage_table import plan_of


class Computed(DatasetNode):
    """Elements are the values of tensors, in one run of the session after the other.

    It ends where computing them raises ``OutOfRangeError``, as taking from an iterator or a queue does.

    Args:
      value: a nest of tensors of a graph's root.
    """

    kind = "Computed"

    def __init__(self, value: Any):
        self.structure = Structure.of_tensors(value)
        self._tensors: Sequence[Tensor] = flatten(value)
        self._plan = plan_of(self.graph, self._tensors, ())

    @property
    def graph(self) -> Graph:
        """The graph that its tensors are in."""
        return self._tensors[0].graph

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return _Runs(self, opening)

    def run(self, opening: IteratorContext) -> Element:
        """One element. Raises OutOfRangeError."""

        def read(run: Run) -> Element:
            run.raise_late_errors()
            return [np.asarray(self._plan.value(t, run)) for t in self._tensors]

        return opening.session.execute_plan(self._plan.stages, {}, read)


class _Runs(ElementIterator):
    """It has no state of its own: what it takes from has one, in the session."""

    checkpointed: ClassVar[Mapping[str, str] | None] = {}

    def __init__(self, node: Computed, opening: IteratorContext):
        self._node = node
        self._opening = opening

    def __next__(self) -> Element:
        try:
            return self._node.run(self._opening)
        except OutOfRangeError:
            raise StopIteration from None
