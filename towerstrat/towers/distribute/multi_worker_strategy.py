"""``MultiWorkerMirroredStrategy``: replicas on the devices of all processes of the run."""

from __future__ import annotations

from typing import Any

from towerstrat.towers.cluster.cluster_resolvers import ClusterResolver, TFConfigClusterResolver
from towerstrat.towers.cluster.local_devices import local_names
from towerstrat.towers.cluster.task_processes import require_processes, training_tasks
from towerstrat.towers.distribute.communication_options import CommunicationImplementation, CommunicationOptions
from towerstrat.towers.distribute.mirrored_strategy import MirroredExtended
from towerstrat.towers.distribute.replica_api import REPLICAS
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1
from towerstrat.towers.engine.mirrored_engine import MirroredEngine


class CollectiveAllReduceExtended(MirroredExtended):
    """``extended`` of a MultiWorkerMirroredStrategy.

    Args:
      container_strategy: the strategy.
      cluster_resolver: as there.
      communication_options: as there.

    Raises:
      ValueError: options of another type.
    """

    def __init__(self, container_strategy: Any, cluster_resolver: Any, communication_options: CommunicationOptions):
        if not isinstance(communication_options, CommunicationOptions):
            raise ValueError(
                "communication_options must be an instance of tf.distribute.experimental.CommunicationOptions, got "
                f"{communication_options!r}."
            )
        super().__init__(container_strategy)
        self._cluster_resolver = cluster_resolver
        self._communication_options = communication_options

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a graph of its own: yes, and all build the same."""
        return True


def _over_workers(strategy: Any, cluster_resolver: Any) -> Any:
    """Gives a strategy its engine, and returns its resolver.

    Raises:
      ValueError: no ``ClusterResolver``. UnsupportedError: one of other tasks than the processes of this run.
    """
    resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
    if not isinstance(resolver, ClusterResolver):
        raise ValueError(
            f"cluster_resolver must be an instance of tf.distribute.cluster_resolver.ClusterResolver, got {resolver!r}."
        )
    name = "MultiWorkerMirroredStrategy"
    spec = require_processes(name, resolver.cluster_spec(), resolver.task_type, resolver.task_id)
    strategy._engine = MirroredEngine.named(local_names(tasks=training_tasks(spec) or None), REPLICAS)
    return resolver


class MultiWorkerMirroredStrategy(Strategy):
    """Synchronous training with a replica on each device of each worker.

    Args:
      cluster_resolver: says the cluster, whose tasks are the processes of this run; None: TF_CONFIG does.
      communication_options: a ``CommunicationOptions``; the compiler's collectives reduce.

    Raises:
      UnsupportedError: the processes of this run are not the cluster's tasks. ValueError: arguments of other types.
    """

    _in_workers = True

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None):
        self._cluster_resolver = resolver = _over_workers(self, cluster_resolver)
        options = CommunicationOptions() if communication_options is None else communication_options
        super().__init__(CollectiveAllReduceExtended(self, resolver, options))

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that was given, or that of TF_CONFIG."""
        return self._cluster_resolver


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """``MultiWorkerMirroredStrategy``, as 2.0 to 2.3 spelt it.

    Args:
      communication: a ``CommunicationImplementation``.
      cluster_resolver: as there.
    """

    def __init__(self, communication: Any = CommunicationImplementation.AUTO, cluster_resolver: Any = None):
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))


class MultiWorkerMirroredStrategyV1(StrategyV1):
    """``MultiWorkerMirroredStrategy`` of 1.14 and 1.15.

    Args:
      communication: a ``CommunicationImplementation``.
      cluster_resolver: says the cluster, whose tasks are the processes of this run; None: TF_CONFIG does.
    """

    _in_workers = True

    def __init__(self, communication: Any = CommunicationImplementation.AUTO, cluster_resolver: Any = None):
        self._cluster_resolver = resolver = _over_workers(self, cluster_resolver)
        options = CommunicationOptions(implementation=communication)
        super().__init__(CollectiveAllReduceExtended(self, resolver, options))

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that was given, or that of TF_CONFIG."""
        return self._cluster_resolver
