"""Clusters of strategies: one task, whose devices are those of this machine."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.towers.cluster.spec import ClusterSpec


def require_one_task(strategy: str, cluster_spec: Any) -> ClusterSpec:
    """A cluster of one task.

    Args:
      strategy: the name of the class, for the message.
      cluster_spec: a ``ClusterSpec`` or what one is made of.

    Raises:
      UnsupportedError: it has several tasks.
    """
    spec = ClusterSpec(cluster_spec)
    jobs = [job for job in spec.jobs if job != "evaluator"]
    count = sum(spec.num_tasks(job) for job in jobs)
    if count > 1:
        raise UnsupportedError(
            f"{strategy} of a cluster of {count} tasks ({', '.join(jobs)}): towers are on the devices of one machine "
            "here. Run one task: a cluster of one worker, or no TF_CONFIG."
        )
    return spec


def task_devices(task_type: str, task_id: int, count: int) -> list[str]:
    """The names of a task's devices: so many GPUs, or its CPU for none."""
    task = f"/job:{task_type}/task:{task_id}"
    return [f"{task}/device:GPU:{i}" for i in range(count)] if count else [f"{task}/device:CPU:0"]
