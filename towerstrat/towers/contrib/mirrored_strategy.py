"""``MirroredStrategy``: a tower on each of some devices, with a function called for each tower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.towers.cluster.local_devices import local_names
from towerstrat.towers.cluster.task_processes import require_processes, training_tasks
from towerstrat.towers.contrib.chief import Chief
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.contrib.distribution_strategy import DistributionStrategy
from towerstrat.towers.contrib.strategy_variables import TowerLocalVariable
from towerstrat.towers.engine.destinations import validate_destinations
from towerstrat.towers.engine.distributed_values import DistributedValues
from towerstrat.towers.engine.mirrored_engine import MirroredEngine


class MirroredStrategy(Chief, DistributionStrategy):
    """Synchronous training with a tower on each device: variables are mirrored, functions are called for each tower.

    Where several processes run the program its devices are those of all of them: each process builds the same graph.

    Args:
      devices: the devices' names; default all that there are.
      num_gpus, num_gpus_per_worker: so many accelerators, instead of ``devices``.
      cross_tower_ops: how values of the towers are combined.
      prefetch_on_device: where input waits is decided here; changes no value.
      auto_shard_dataset: each of several processes reads every n-th file of a dataset, or takes every n-th element
        where it reads none; False: all have the same dataset, whose elements go to all towers in turn.

    Raises:
      ValueError: more than one of the first three, or devices that are not here.
    """

    def __init__(
        self, devices: Sequence[str] | None = None, num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None, cross_tower_ops: Any = None, prefetch_on_device: bool | None = None,
        auto_shard_dataset: bool = False,
    ):  # fmt: skip
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        count = num_gpus_per_worker if num_gpus is None else num_gpus
        if devices is not None and count is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus`.")
        self._cross_tower_ops = cross_tower_ops
        self._auto_shard_dataset = auto_shard_dataset
        self._num_gpus = count
        self._are_named = devices is not None
        engine = MirroredEngine.named(local_names(count) if devices is None else devices, CONTRIB)
        engine.cross_tower_ops = cross_tower_ops
        self._stand_on(engine)

    engine: MirroredEngine

    def read_var(self, tower_local_var: Any) -> Any:
        local = isinstance(tower_local_var, TowerLocalVariable)
        return tower_local_var.read_value() if local else super().read_var(tower_local_var)

    def value_container(self, val: Any) -> Any:
        return super().value_container(val)

    def _batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        return self.engine.batch_reduce(aggregation, value_destination_pairs)

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Adapts a session's configuration, and the names of the devices to a cluster.

        Raises:
          ValueError: a cluster, and devices were given. UnsupportedError: its tasks are not the processes.
        """
        super().configure(session_config)
        if not cluster_spec:
            return
        spec = require_processes(type(self).__name__, cluster_spec)
        if self._are_named:
            raise ValueError("`num_gpus` is required if `cluster_spec` is given.")
        engine = MirroredEngine.named(local_names(self._num_gpus, training_tasks(spec)), CONTRIB)
        engine.cross_tower_ops = self._cross_tower_ops
        self._stand_on(engine)

    @property
    def _devices(self) -> list[str]:
        return self.engine.worker_devices


def reduce_non_distributed_value(
    distribution: DistributionStrategy, aggregation: VariableAggregation, value: Any, destinations: Any
) -> Any:
    """The reduction of a value that all towers share, for strategies of a program's own.

    Raises:
      ValueError: a distributed value, or the sum over several towers.
    """
    if isinstance(value, DistributedValues):
        raise ValueError("Expected a value that all towers share: reduce takes a `DistributedValues`.")
    if isinstance(value, int | float) and value == 0:
        return 0
    if aggregation in (VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_TOWER):
        return value
    validate_destinations(destinations)
    if not distribution.is_single_tower:
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given aggregation {aggregation}."
        )
    return value
