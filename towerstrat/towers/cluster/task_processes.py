"""Tasks of a cluster as processes of this run: each task that trains is one of them."""

from __future__ import annotations

import json
import os
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.towers.cluster.cluster_spec import ClusterSpec

AIDES = ("ps", "evaluator")
"""Jobs whose tasks do not train: what they do for others is not needed here, or done by files."""
_FIRST = ("chief", "master")

Task = tuple[str, int]
"""(job, index)."""


def training_tasks(spec: ClusterSpec) -> list[Task]:
    """The tasks that train, in the order of the processes: the chief, then workers (and others) by index."""
    jobs = [job for job in spec.jobs if job not in AIDES]
    jobs.sort(key=lambda job: (job not in _FIRST, job))
    return [(job, index) for job in jobs for index in spec.task_indices(job)]


def tasks_of_environment() -> list[Task]:
    """What the processes of this run are called: the tasks of TF_CONFIG that train, or else workers."""
    try:
        cluster = ClusterSpec(json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {}))
    except json.JSONDecodeError as error:
        raise ValueError(f"Expected JSON in TF_CONFIG, got {os.environ['TF_CONFIG']!r}: {error}") from None
    tasks = training_tasks(cluster)
    return tasks if len(tasks) == PROCESSES.count else [("worker", index) for index in range(PROCESSES.count)]


def own_task(spec: ClusterSpec) -> Task | None:
    """The task that this process is; None of an empty cluster."""
    tasks = training_tasks(spec)
    return tasks[PROCESSES.index] if PROCESSES.index < len(tasks) else None


def require_processes(what: str, cluster_spec: Any, task_type: str | None = None, task_id: int | None = None) -> Any:
    """A cluster whose tasks that train are the processes of this run.

    Args:
      what: the class that has the cluster, for the message.
      cluster_spec: a ``ClusterSpec`` or what one is made of; an empty one is fine.
      task_type, task_id: which task this process is, where it says so.

    Raises:
      UnsupportedError: there are more or fewer processes, or this one is another task.
    """
    spec = ClusterSpec(cluster_spec)
    tasks = training_tasks(spec)
    if not tasks:
        return spec
    names = ", ".join(f"{job} {index}" for job, index in tasks)
    trains = "trains" if len(tasks) == 1 else "train"
    if len(tasks) != PROCESSES.count:
        raise UnsupportedError(
            f"{what} of a cluster of {_count(len(tasks), 'task')} that {trains} ({names}), in a run of "
            f"{_count(PROCESSES.count, 'process')}. {_instead(len(tasks))}"
        )
    if task_type in AIDES or task_type is None or task_id is None:
        return spec
    if PROCESSES.count > 1 and (task_type, task_id) in tasks and (task_type, task_id) != own_task(spec):
        raise UnsupportedError(
            f"{what} of /job:{task_type}/task:{task_id} in process {PROCESSES.index} of {PROCESSES.count}: the "
            f"processes are, "
            f"in order, {names}. Start process {tasks.index((task_type, task_id))} "
            f"(`towerstrat run --host {tasks.index((task_type, task_id))} ...`) as this task."
        )
    return spec


def _instead(count: int) -> str:
    if count == 1:
        return "Name all workers in the cluster, or start one process."
    return (
        f"Start one for each: `towerstrat launch -n {count} SCRIPT` on one machine, `towerstrat run --hosts {count} "
        "--host I --coordinator HOST:PORT SCRIPT` on each of several, or set TF_CONFIG and `towerstrat run SCRIPT` for "
        "each task. Or name one worker in the cluster, which trains alone on its devices."
    )


def _count(number: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
