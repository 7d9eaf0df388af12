"""``CentralStorageStrategy`` and 1.x's ``ParameterServerStrategy``: replicas that share variables kept once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.towers.cluster.cluster_resolvers import TFConfigClusterResolver
from towerstrat.towers.cluster.local_devices import local_names
from towerstrat.towers.cluster.task_processes import require_processes, training_tasks
from towerstrat.towers.distribute.replica_api import REPLICAS
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1
from towerstrat.towers.distribute.strategy_extended import StrategyExtendedV1
from towerstrat.towers.engine.central_engine import CentralStorageEngine


class ParameterServerExtended(StrategyExtendedV1):
    """``extended`` of strategies whose variables are kept once."""

    def _use_merge_call(self) -> bool:
        """Whether libraries have to merge replicas before they update variables: yes where they share these."""
        return self._mapped

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a graph of its own: yes, and all build the same."""
        return True


class CentralStorageStrategy(Strategy):
    """A replica on each of several devices of one machine, with all variables on one device.

    Args:
      compute_devices: the replicas' devices; default all that there are.
      parameter_device: the variables' device; default a lone GPU, or else the CPU.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None):
        names = local_names() if compute_devices is None else list(compute_devices)
        self._engine = CentralStorageEngine.beside(names, parameter_device, REPLICAS)
        super().__init__(ParameterServerExtended(self))


class CentralStorageStrategyV1(StrategyV1):
    """``CentralStorageStrategy`` of 1.14 and 1.15.

    Args:
      compute_devices, parameter_device: as there.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None):
        names = local_names() if compute_devices is None else list(compute_devices)
        self._engine = CentralStorageEngine.beside(names, parameter_device, REPLICAS)
        super().__init__(ParameterServerExtended(self))


class ParameterServerStrategyV1(StrategyV1):
    """``ParameterServerStrategy`` of 1.13 to 1.15: variables are kept once for each worker, updates are synchronous.

    Args:
      cluster_resolver: says the cluster, whose tasks that train are the processes of this run; None: TF_CONFIG does.

    Raises:
      UnsupportedError: the processes of this run are not the cluster's tasks.
    """

    def __init__(self, cluster_resolver: Any = None):
        self._cluster_resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        resolver = self._cluster_resolver
        cluster = resolver.cluster_spec()
        spec = require_processes("ParameterServerStrategy", cluster, resolver.task_type, resolver.task_id)
        self._engine = CentralStorageEngine.beside(local_names(tasks=training_tasks(spec) or None), None, REPLICAS)
        super().__init__(ParameterServerExtended(self))

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that was given, or that of TF_CONFIG."""
        return self._cluster_resolver
