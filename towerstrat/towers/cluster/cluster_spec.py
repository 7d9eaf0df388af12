"""Jobs and the addresses of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towerstrat.platform import messages


class ClusterSpec:
    """The tasks of a cluster, by job.

    Args:
      cluster: by job name, a list of addresses or a dictionary of them by task index; or another ClusterSpec, or a
        ``ClusterDef``.

    Raises:
      TypeError: anything else, or an address that is no string.
    """

    def __init__(self, cluster: Any):
        if isinstance(cluster, ClusterSpec):
            cluster = dict(sorted(cluster._jobs.items()))
        if not isinstance(cluster, Mapping):
            cluster = _jobs_of(cluster)
        self._jobs: dict[str, dict[int, str]] = {job: _tasks(job, tasks) for job, tasks in cluster.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, Any]:
        """By job, a list of addresses, or a dictionary by task index where indices are left out."""
        return {
            job: [tasks[i] for i in sorted(tasks)] if _is_dense(tasks) else dict(sorted(tasks.items()))
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> messages.ClusterDef:
        """The tasks as a message, with the jobs in the order of their names."""
        found = messages.ClusterDef()
        for job, tasks in sorted(self._jobs.items()):
            definition = found.job.add(name=job)
            definition.tasks.update(tasks)
        return found

    def num_tasks(self, job_name: str) -> int:
        """How many tasks the job has.

        Raises:
          ValueError: no such job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of the job's tasks, in order.

        Raises:
          ValueError: no such job.
        """
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of one task.

        Raises:
          ValueError: no such job, or no such task in it.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}: it has {sorted(tasks)}.")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses at their indices, None at an index that is left out.

        Raises:
          ValueError: no such job.
        """
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}. Its jobs are {self.jobs}.")
        return self._jobs[name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        """The same tasks; a dictionary is compared as ``{job: {index: address}}``."""
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))!r})"


def _jobs_of(cluster: Any) -> dict[str, dict[int, str]]:
    """The jobs of a message. Raises TypeError for anything else."""
    if not isinstance(cluster, messages.ClusterDef):
        raise TypeError(
            "`cluster` must be a dictionary from job names to lists of addresses, a tf.train.ClusterSpec or a "
            f"tf.train.ClusterDef; got {cluster!r}."
        )
    return {job.name: dict(job.tasks) for job in cluster.job}


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    """The addresses by index."""
    if not isinstance(job, str | bytes):
        raise TypeError(f"Job name {job!r} must be a string.")
    if isinstance(tasks, list | tuple):
        found = dict(enumerate(tasks))
    elif isinstance(tasks, Mapping):
        found = {int(index): address for index, address in tasks.items()}
    else:
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings; got {tasks!r}."
        )
    for address in found.values():
        if not isinstance(address, str | bytes):
            raise TypeError(f"Task address {address!r} of job {job!r} must be a string.")
    return found


def _is_dense(tasks: dict[int, str]) -> bool:
    return bool(tasks) and max(tasks) + 1 == len(tasks)
