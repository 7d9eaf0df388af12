"""``ParameterServerStrategy`` of 1.12: towers that share variables kept once."""

from __future__ import annotations

from typing import Any

from towerstrat.towers.cluster.local_devices import local_names
from towerstrat.towers.cluster.task_processes import require_processes
from towerstrat.towers.contrib.chief import Chief
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.contrib.distribution_strategy import DistributionStrategy
from towerstrat.towers.engine.central_engine import CentralStorageEngine


class ParameterServerStrategy(Chief, DistributionStrategy):
    """Towers on the workers' devices, with variables kept once for each worker.

    Updates of the towers are synchronous, of all workers too, which a run says.

    Args:
      num_gpus_per_worker: so many towers on accelerators; 0: one on the CPU.
    """

    engine: CentralStorageEngine

    def __init__(self, num_gpus_per_worker: int = 0):
        self._num_gpus_per_worker = num_gpus_per_worker
        self._stand_on(CentralStorageEngine.beside(local_names(num_gpus_per_worker), None, CONTRIB))

    def read_var(self, var: Any) -> Any:
        return super().read_var(var)

    def value_container(self, val: Any) -> Any:
        return super().value_container(val)

    def _batch_reduce(self, aggregation: Any, value_destination_pairs: Any) -> list[Any]:
        return self.engine.batch_reduce(aggregation, value_destination_pairs)

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Adapts to a cluster; without one nothing has to be adapted.

        Raises:
          ValueError: a cluster without its task, or without parameter servers. UnsupportedError: its tasks are not the
            processes of this run.
        """
        if not cluster_spec:
            return
        if task_type is None or task_id is None:
            raise ValueError("When `cluster_spec` is given, must also specify `task_type` and `task_id`.")
        spec = require_processes("ParameterServerStrategy", cluster_spec, task_type, task_id)
        if "ps" not in spec.jobs:
            raise ValueError("The cluster spec needs to have `ps` jobs.")

    @property
    def between_graph(self) -> bool:
        return True
