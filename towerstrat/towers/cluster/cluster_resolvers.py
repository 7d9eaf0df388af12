"""Cluster resolvers: objects that say which tasks there are, and which of them this program is.

A program runs on one machine here: resolvers answer questions about a cluster, strategies take a TPUClusterResolver.
"""

from __future__ import annotations

import abc
import json
import os
from collections import Counter
from typing import Any

from towerstrat.platform import config
from towerstrat.towers.cluster.cluster_spec import ClusterSpec


def master_url(address: str, rpc_layer: str | None) -> str:
    """``address``, with the protocol before it if there is one."""
    return f"{rpc_layer}://{address}" if rpc_layer else address


class ClusterResolver(abc.ABC):
    """What every resolver answers."""

    _task_type: Any = None
    _task_id: Any = None

    @abc.abstractmethod
    def cluster_spec(self) -> Any:
        """The tasks of the cluster, as a ClusterSpec."""

    @abc.abstractmethod
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task; '' for the local machine."""

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many accelerators a task has, by type.

        Args:
          task_type, task_id: a task of the cluster; its machine is taken to be like this one.
          config_proto: nothing is connected to; it changes nothing.

        Raises:
          ValueError: no such task.
        """
        self.master(task_type, task_id)
        return dict(Counter(d.device_type for d in config.list_logical_devices() if d.device_type != "CPU"))

    @property
    def environment(self) -> Any:
        """'' outside of Google."""
        return ""

    @property
    def task_type(self) -> Any:
        """The name of the job that this program is a task of, or None."""
        return self._task_type

    @task_type.setter
    def task_type(self, task_type: Any) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> Any:
        """The index of this program's task in its job, or None."""
        return self._task_id

    @task_id.setter
    def task_id(self, task_id: Any) -> None:
        self._task_id = task_id


class SimpleClusterResolver(ClusterResolver):
    """Answers what it was given.

    Args:
      cluster_spec: a ClusterSpec.
      master: the answer of ``master()``, unless that names a task.
      task_type, task_id: which task this program is.
      environment: the answer of ``environment``.
      num_accelerators: the answer of ``num_accelerators()``, ``{}`` if None.
      rpc_layer: the protocol that goes before addresses.

    Raises:
      TypeError: ``cluster_spec`` is no ClusterSpec, or ``master`` no string.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ):
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a `tf.train.ClusterSpec`, got {cluster_spec!r}.")
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, got {master!r}.")
        self._cluster_spec = cluster_spec
        self._master = master
        self._task_type = task_type
        self._task_id = task_id
        self._environment = environment
        self._num_accelerators = num_accelerators or {}
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The master given, or the address of the task named.

        Raises:
          ValueError: no such task.
        """
        if task_type is not None and task_id is not None:
            address = self._cluster_spec.task_address(task_type, task_id)
        else:
            address = self._master
        return master_url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """What was given, whichever the task."""
        return self._num_accelerators

    @property
    def environment(self) -> str:
        return self._environment


class UnionClusterResolver(ClusterResolver):
    """The tasks of several resolvers; what else is asked, the first of them answers.

    Args:
      *args: the resolvers.
      **kwargs: ``rpc_layer``, ``task_type`` and ``task_id``, to answer instead of the first resolver.

    Raises:
      TypeError: one of them is no ClusterResolver.
      ValueError: there are none, or another keyword.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self._rpc_layer = kwargs.pop("rpc_layer", None)
        self._task_type = kwargs.pop("task_type", None)
        self._task_id = kwargs.pop("task_id", None)
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}; expected rpc_layer, task_type or task_id.")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"All arguments must be a sub-class of `ClusterResolver`, got {resolver!r}.")
        self._first, *_ = self._resolvers = args

    def cluster_spec(self) -> ClusterSpec:
        """All tasks. Lists of one job are joined; where one is a dictionary, indices stay as they are.

        Raises:
          KeyError: an index of a job twice.
        """
        jobs: dict[str, list[Any]] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                jobs.setdefault(job, []).append(tasks)
        return ClusterSpec({job: _union(job, parts) for job, parts in jobs.items()})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The first resolver's master, or the address of the task named.

        Raises:
          ValueError: no such task.
        """
        if task_type is not None and task_id is not None:
            return master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self._rpc_layer)
        return self._first.master(rpc_layer=rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        return self._first.num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> Any:
        return self._first.environment

    @property
    def task_type(self) -> Any:
        return self._task_type or self._first.task_type

    @task_type.setter
    def task_type(self, task_type: Any) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> Any:
        return self._first.task_id if self._task_id is None else self._task_id

    @task_id.setter
    def task_id(self, task_id: Any) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> Any:
        return self._rpc_layer or getattr(self._first, "rpc_layer", None)

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: Any) -> None:
        self._rpc_layer = rpc_layer


def _union(job: str, parts: list[Any]) -> Any:
    """The tasks of one job from several resolvers."""
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    merged: dict[int, str] = {}
    for part in parts:
        tasks = dict(enumerate(part)) if isinstance(part, list) else part
        twice = sorted(merged.keys() & tasks.keys())
        if twice:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: tasks {twice} of job {job!r}.")
        merged.update(tasks)
    return merged


class TFConfigClusterResolver(ClusterResolver):
    """Reads the environment variable TF_CONFIG, each time that it is asked.

    ``{"cluster": {"worker": ["host:port", ...], ...}, "task": {"type": "worker", "index": 0}}`` as JSON; both parts may
    be left out, ``"rpc_layer"`` and ``"session_master"`` may be added.

    Args:
      task_type, task_id, rpc_layer: to answer instead of what TF_CONFIG says.
      environment: the answer of ``environment``.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ):
        self._task_type = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer
        self._environment = environment

    @property
    def task_type(self) -> str | None:
        """The job of this task.

        Raises:
          ValueError: TF_CONFIG is malformed.
        """
        given = _task().get("type") if self._task_type is None else self._task_type
        return None if given is None else str(given)

    @task_type.setter
    def task_type(self, task_type: Any) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The index of this task in its job.

        Raises:
          ValueError: TF_CONFIG is malformed.
        """
        given = _task().get("index") if self._task_id is None else self._task_id
        if given is None:
            return None
        try:
            return int(given)
        except (TypeError, ValueError):
            raise ValueError(f"The index of the task must be an integer, got {given!r} (TF_CONFIG: task).") from None

    @task_id.setter
    def task_id(self, task_id: Any) -> None:
        self._task_id = task_id

    @property
    def environment(self) -> str | None:
        return self._environment

    @property
    def rpc_layer(self) -> Any:
        """The protocol that goes before addresses."""
        return _tf_config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: Any) -> None:
        self._rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The tasks in TF_CONFIG, none if it names no cluster.

        Raises:
          TypeError: the cluster is no object of lists of addresses.
          ValueError: TF_CONFIG is malformed.
        """
        try:
            return ClusterSpec(_tf_config().get("cluster", {}))
        except TypeError as error:
            raise TypeError(f"{error} (TF_CONFIG: cluster)") from None

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The ``session_master`` of TF_CONFIG; '' where the cluster has at most one task; else a task's address.

        Args:
          task_type, task_id, rpc_layer: of the task meant, this one by default.

        Raises:
          ValueError: TF_CONFIG says no task, or one that is not in the cluster.
        """
        session_master = _tf_config().get("session_master")
        if session_master is not None:
            return session_master
        spec = self.cluster_spec()
        if not spec.jobs or (len(spec.jobs) == 1 and len(spec.job_tasks(spec.jobs[0])) == 1):
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            raise ValueError(
                f"TF_CONFIG has the jobs {spec.jobs} and does not say which task this is: it needs "
                '"task": {"type": ..., "index": ...}, or give task_type and task_id.'
            )
        return master_url(spec.task_address(task_type, task_id), self.rpc_layer if rpc_layer is None else rpc_layer)


def _tf_config() -> dict[str, Any]:
    """TF_CONFIG, ``{}`` where it is not set."""
    text = os.environ.get("TF_CONFIG", "{}")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"The environment variable TF_CONFIG is no JSON: {error}; it is {text!r}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"The environment variable TF_CONFIG must be a JSON object, got {text!r}.")
    return found


def _task() -> dict[str, Any]:
    """What TF_CONFIG says of this task."""
    found = _tf_config().get("task", {})
    if not isinstance(found, dict):
        raise ValueError(f'"task" of TF_CONFIG must be {{"type": ..., "index": ...}}, got {found!r}.')
    return found
