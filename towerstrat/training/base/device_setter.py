"""``tf.train.replica_device_setter``: which tasks of a cluster variables are put on. Devices are recorded only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from towerstrat.graph.ir import device_names
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.platform import logs
from towerstrat.towers.cluster.cluster_spec import ClusterSpec

STANDARD_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
                   "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
                   "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp")  # fmt: skip
"""Types of operations that hold state."""


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """A function for ``tf.device``: variables are put on the tasks of one job, all else on another.

    A device is recorded and changes no value: everything runs on the devices of this machine.

    Args:
      ps_tasks: the number of tasks for variables; 0 gives None.
      ps_device, worker_device: the names of the jobs.
      merge_devices: whether a device that was chosen before keeps its parts; else it is kept as it is.
      cluster: a ``ClusterSpec``, or what makes one, that tells ``ps_tasks``.
      ps_ops: the types of operations that count as variables; default those that hold state. "VariableV2" means all
        variables, as "VarHandleOp" does.
      ps_strategy: operation -> task; default one task after the other.

    Raises:
      TypeError: ``ps_strategy`` is no function.
    """
    if cluster is not None:
        tasks = ClusterSpec(cluster).as_dict().get(device_names.parse(ps_device)["job"])
        ps_tasks = len(tasks) if tasks else 0
    if ps_tasks == 0:
        return None
    if not merge_devices:
        logs.warning("DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter")
    numbers = count()
    choose = ps_strategy or (lambda op: next(numbers) % ps_tasks)
    if not callable(choose):
        raise TypeError("ps_strategy must be callable")
    stateful = set(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    if "VariableV2" in stateful:
        stateful.add("VarHandleOp")

    def chosen(op: Operation) -> str:
        if not merge_devices and op.device:
            return op.device
        before = device_names.parse(op.device)
        if not ps_device or op.type not in stateful:
            return device_names.merge_device(worker_device or "", op.device)
        own = device_names.parse(ps_device)
        if "job" in own and before.get("job", own["job"]) == own["job"]:
            own["task"] = str(choose(op))
        return device_names.unparse(own | before)

    return chosen
