"""Where optimizers of programs without a strategy meet those of the other processes: each has a graph of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ops.collectives.worker_mean import mean_over_workers
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.engine.tower_contexts import has_distribution_strategy


class _Replicas:
    """Whether gradients are those of replicas that the program has made wait for each other itself."""

    def __init__(self) -> None:
        self.synchronized = False


_REPLICAS = _Replicas()


@contextmanager
def synchronized() -> Iterator[None]:
    """Inside, the original too would apply the mean of all workers' gradients."""
    before, _REPLICAS.synchronized = _REPLICAS.synchronized, True
    try:
        yield
    finally:
        _REPLICAS.synchronized = before


def over_workers(pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """The gradients that an optimizer applies: in sessions of a cluster of several processes, the means over these.

    A strategy's are combined by itself, and so are those of shards; eagerly and in functions there is no cluster that
    a session connects to.

    Args:
      pairs: (gradient, variable).
    """
    graph = get_default_graph()
    alone = PROCESSES.count == 1 or PROCESSES.united or graph.executing_eagerly or isinstance(graph, FunctionGraph)
    inside = graph.axis is not None or (PROCESSES.in_lockstep and graph.block is not graph.root)
    if alone or inside or has_distribution_strategy():
        return [g for g, _ in pairs]
    return mean_over_workers(pairs, not _REPLICAS.synchronized)
