"""Step loops and iterators of the later surface, as 1.14 and 1.15 had them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.towers.distribute.distributed_dataset import DistributedDataset, InputIterator
from towerstrat.towers.distribute.replica_api import REPLICAS
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.engine import ReplicaView
from towerstrat.towers.engine.step_context import MultiStepContext
from towerstrat.towers.engine.step_tracing import run_steps_eagerly


def run_steps(
    strategy: ReplicaView, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_values: Any
) -> MultiStepContext:
    """``fn(context, element)`` run ``iterations`` times. In a graph it is a loop, otherwise it is run at once.

    Raises:
      TypeError: in a graph, not an iterator of the strategy. ValueError: shapes of elements that are not known.
    """
    with strategy.scope():
        if get_default_graph().executing_eagerly:
            return run_steps_eagerly(REPLICAS, fn, iterator.get_next, iterations, initial_values)
        if not isinstance(iterator, InputIterator):
            raise TypeError(
                f"Expected an iterator of strategy.make_dataset_iterator(dataset), or of a distributed dataset, got "
                f"{iterator!r}."
            )
        return tower_contexts.current_engine().run_steps(fn, iterator.iterator, iterations, initial_values)


class DatasetIterator:
    """An iterator of ``make_dataset_iterator`` where operations are executed eagerly: it is ready from the start.

    Args:
      dataset: a distributed one, or one of a single replica.
    """

    def __init__(self, dataset: DistributedDataset):
        self._dataset = dataset
        self._iterator = iter(dataset)

    def initialize(self) -> None:
        """Goes back to the first element."""
        self._iterator = iter(self._dataset)

    def get_next(self, name: str | None = None) -> Any:
        """The next element. Raises OutOfRangeError at the end."""
        return self._iterator.get_next()

    next = get_next

    def get_next_as_optional(self) -> Any:
        """The next element, which may not be there."""
        return self._iterator.get_next_as_optional()

    @property
    def element_spec(self) -> Any:
        return self._dataset.element_spec
