"""``CollectiveAllReduceStrategy`` of 1.12: ``MirroredStrategy`` on the devices of all workers."""

from __future__ import annotations

from typing import Any

from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.cluster.local_devices import local_names
from towerstrat.towers.cluster.task_processes import require_processes, training_tasks
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.contrib.mirrored_strategy import MirroredStrategy
from towerstrat.towers.engine.collective_all_reduce import CollectiveAllReduce
from towerstrat.towers.engine.mirrored_engine import MirroredEngine


class CollectiveAllReduceStrategy(MirroredStrategy):
    """A tower on each device of each worker; values are reduced by ``CollectiveAllReduce``, in graphs.

    Args:
      num_gpus_per_worker: so many towers of a worker on accelerators; 0: one on its CPU.
    """

    def __init__(self, num_gpus_per_worker: int = 0):
        self._num_gpus_per_worker = num_gpus_per_worker
        self._cluster_spec: Any = None
        ops = CollectiveAllReduce(PROCESSES.count, num_gpus_per_worker)
        super().__init__(local_names(num_gpus_per_worker), cross_tower_ops=ops)

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Adapts to a cluster, whose devices' names the towers' devices get.

        Raises:
          ValueError: a cluster without its task, or a task that is no worker. UnsupportedError: its tasks are not the
            processes of this run.
        """
        if self._cluster_spec or not cluster_spec:
            return
        if task_type is None or task_id is None:
            raise ValueError("When `cluster_spec` is given, you must also specify `task_type` and `task_id`")
        if task_type not in ("chief", "worker"):
            raise ValueError(f'Unrecognized task_type: {task_type!r}, valid task types are: "chief", "worker".')
        self._cluster_spec = spec = require_processes(type(self).__name__, cluster_spec, task_type, task_id)
        engine = MirroredEngine.named(local_names(self._num_gpus_per_worker, training_tasks(spec)), CONTRIB)
        engine.cross_tower_ops = self._cross_tower_ops
        self._stand_on(engine)

    @property
    def between_graph(self) -> bool:
        return True
