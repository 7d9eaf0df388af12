"""``TPUStrategy``: one tower per device, traced once and run on all of them."""

from __future__ import annotations

import operator
from typing import Any

import jax

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.towers.cluster.tpu_system import TPUClusterResolver
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.contrib.one_device_strategy import OneDeviceStrategy
from towerstrat.towers.engine.tpu_engine import TPUEngine

_INITIALIZE = "TPU_STRATEGY_INITIALIZE"


# By its type a OneDeviceStrategy, as in the original, for programs that ask isinstance; its engine has many towers.
class TPUStrategy(OneDeviceStrategy):
    """Trains on every device of the machine, one tower on each, as the original did on TPU cores.

    The function given to ``call_for_each_tower`` is traced once; the trace runs on all towers.

    Args:
      tpu_cluster_resolver: which machine; None is the local one.
      steps_per_run: steps between returns to the host where a training loop of the library drives the strategy; its
        default is 100. ``run_steps_on_dataset`` is told its own number.
      num_cores: how many towers; default one per device.
      device_assignment: how many towers there are, and on which devices, instead of ``num_cores``.

    Raises:
      ValueError: more towers than devices, fewer than one, or both ``num_cores`` and ``device_assignment``.
    """

    def __init__(
        self, tpu_cluster_resolver: Any = None, steps_per_run: int | None = None, num_cores: int | None = None,
        device_assignment: Any = None,
    ):  # fmt: skip
        if tpu_cluster_resolver is None:
            tpu_cluster_resolver = TPUClusterResolver("")
        if not hasattr(tpu_cluster_resolver, "devices"):
            raise TypeError(
                f"Expected a TPUClusterResolver, got {tpu_cluster_resolver!r}. Use TPUClusterResolver(tpu='')."
            )
        self._resolver = tpu_cluster_resolver
        self.steps_per_run = _positive("steps_per_run", 100 if steps_per_run is None else steps_per_run)
        devices = tpu_cluster_resolver.devices()
        if device_assignment is not None:
            if num_cores is not None:
                raise ValueError("Give num_cores or device_assignment, not both: each says how many towers there are.")
            self._stand_on(TPUEngine.on(device_assignment.devices(devices), CONTRIB))
            return
        count = len(devices) if num_cores is None else _positive("num_cores", num_cores)
        if count > len(devices):
            raise ValueError(
                f"num_cores={count}, but there {'is' if len(devices) == 1 else 'are'} {len(devices)} "
                f"{devices[0].platform} device(s). Run the program with `towerstrat run --towers {count}` for virtual "
                "CPU devices, or ask for fewer."
            )
        self._stand_on(TPUEngine.on(devices[:count], CONTRIB))

    def read_var(self, var: Any) -> Any:
        return super().read_var(var)

    # ---- what it is ------------------------------------------------------------------------------------------

    def initialize(self) -> list[Operation] | None:
        """Operations that the original set a TPU up with; here they do nothing, and can be run. None eagerly."""
        graph = get_default_graph()
        if graph.executing_eagerly:
            return None
        if not graph.get_collection(_INITIALIZE):
            graph.add_to_collection(_INITIALIZE, no_op("ConfigureDistributedTPU"))
        return graph.get_collection(_INITIALIZE)

    def finalize(self) -> list[Operation] | None:
        return None if get_default_graph().executing_eagerly else [no_op("ShutdownDistributedTPU")]

    @property
    def num_hosts(self) -> int:
        return jax.process_count()

    @property
    def num_towers_per_host(self) -> int:
        return self.num_towers // jax.process_count()

    def get_host_cpu_device(self, host_id: int) -> str:
        """The name of a host's processor."""
        if self.num_hosts == 1:
            return "/replica:0/task:0/device:CPU:0"
        return f"/job:{self._resolver.get_job_name() or 'tpu_worker'}/task:{host_id}/device:CPU:0"


def _positive(name: str, value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}.")
    return number
