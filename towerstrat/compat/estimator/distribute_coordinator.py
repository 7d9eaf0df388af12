"""What the original's distribute coordinator does in each task of a cluster: each task is a process that runs it.

Source: ``tensorflow/python/distribute/distribute_coordinator.py`` of 1.12.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs, messages
from towerstrat.platform.threads import ThreadState
from towerstrat.towers.cluster.cluster_spec import ClusterSpec
from towerstrat.towers.cluster.server import Server
from towerstrat.towers.cluster.task_processes import AIDES, require_processes, training_tasks
from towerstrat.training.sessions.session_creators import ChiefSessionCreator, SessionCreator, WorkerSessionCreator


class CoordinatorMode:
    """Who runs the coordinator: one client, or every task. Here every task is a process that runs the same program."""

    STANDALONE_CLIENT = "standalone_client"
    INDEPENDENT_WORKER = "independent_worker"


class WorkerContext:
    """What a function that the coordinator calls may ask of its task.

    Args:
      strategy: the strategy; None: none.
      cluster_spec: the cluster, with the task; None: this process is alone.
      task_type, task_id: the task.

    Attributes:
      strategy, cluster_spec, task_type, task_id: as given.
      is_chief: whether the task is the first of those that train.
      num_workers: how many tasks train.
      master_target: what its sessions connect to: "" where a strategy spans the processes, or for one alone.
    """

    def __init__(self, strategy: Any, cluster_spec: ClusterSpec | None, task_type: str | None, task_id: int | None):
        self.strategy = strategy
        self.cluster_spec = cluster_spec
        self.task_type = task_type
        self.task_id = task_id
        tasks = training_tasks(cluster_spec) if cluster_spec else []
        self.num_workers = len(tasks)
        self.is_chief = not tasks or (task_type, task_id) in (tasks[0], ("evaluator", 0))
        apart = task_type not in AIDES and len(tasks) > 1 and not PROCESSES.united
        self.master_target = ""
        if apart and cluster_spec and task_type is not None and task_id is not None:
            self.master_target = f"grpc://{cluster_spec.task_address(task_type, task_id)}"

    @property
    def distributed_mode(self) -> bool:
        """Whether the task is one of a cluster, and trains."""
        return bool(self.cluster_spec) and self.task_type != "evaluator"

    @property
    def has_barrier(self) -> bool:
        """Whether ``wait_for_other_workers`` waits."""
        return PROCESSES.count > 1

    def wait_for_other_workers(self) -> None:
        """Waits until all processes are here."""
        if PROCESSES.count > 1:
            COLLECTIVES.barrier()

    @property
    def experimental_should_init(self) -> bool:
        """Whether the task initializes variables."""
        return self._does("should_init")

    @property
    def should_checkpoint(self) -> bool:
        """Whether the task saves."""
        return self._does("should_checkpoint")

    @property
    def should_save_summary(self) -> bool:
        """Whether the task writes summaries."""
        return self._does("should_save_summary")

    def _does(self, what: str) -> bool:
        return self.is_chief if self.strategy is None else bool(getattr(self.strategy, what))

    def session_creator(
        self, scaffold: Any = None, config: messages.ConfigProto | None = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None, max_wait_secs: float = 7200,
    ) -> SessionCreator:  # fmt: skip
        """The creator of the task's sessions. Arguments as of ``ChiefSessionCreator`` and ``WorkerSessionCreator``."""
        if self.is_chief or PROCESSES.in_lockstep:
            return ChiefSessionCreator(
                scaffold, self.master_target, config, checkpoint_dir, checkpoint_filename_with_path
            )
        return WorkerSessionCreator(scaffold, self.master_target, config, max_wait_secs)


class _Current(ThreadState):
    """The context of the function that runs."""

    context: WorkerContext | None = None


_CURRENT = _Current()


def get_current_worker_context() -> WorkerContext | None:
    """The context of the function that the coordinator has called; None outside of one."""
    return _CURRENT.context


def run_distribute_coordinator(
    worker_fn: Callable[[Any], Any], strategy: Any, eval_fn: Callable[[Any], Any] | None = None,
    eval_strategy: Any = None, mode: str = CoordinatorMode.STANDALONE_CLIENT, cluster_spec: Any = None,
    task_type: str | None = None, task_id: int | None = None, session_config: messages.ConfigProto | None = None,
    rpc_layer: str = "grpc",
) -> None:  # fmt: skip
    """Calls ``worker_fn(strategy)`` in each task that trains, and ``eval_fn(eval_strategy)`` in an evaluator.

    Each task that trains is a process of the run, whatever the mode; ``ps`` tasks end. Without a cluster both functions
    are called, one after the other.

    Args:
      worker_fn, eval_fn: an evaluator without ``eval_fn`` calls ``worker_fn``.
      strategy, eval_strategy: configured for the cluster.
      mode: one of ``CoordinatorMode``'s.
      cluster_spec, task_type, task_id: default as ``TF_CONFIG`` says; no task: that of this process.
      session_config: configured by the strategies.
      rpc_layer: changes nothing.

    Raises:
      ValueError: another mode, or called inside of such a function.
      UnsupportedError: the tasks that train are not the processes of this run.
    """
    if mode not in (CoordinatorMode.STANDALONE_CLIENT, CoordinatorMode.INDEPENDENT_WORKER):
        raise ValueError(f"Unexpected coordinator mode: {mode!r}")
    said = json.loads(os.environ.get("TF_CONFIG", "{}"))
    if not cluster_spec:
        cluster_spec = said.get("cluster", {})
        task_type = said.get("task", {}).get("type", task_type)
        task_id = said.get("task", {}).get("index", task_id)
    spec = ClusterSpec(cluster_spec) if cluster_spec else None
    if spec is None:
        logs.info("Running local Distribute Coordinator.")
        _call(worker_fn, WorkerContext(strategy, None, None, None), session_config)
        if eval_fn:
            _call(eval_fn, WorkerContext(eval_strategy, None, None, None), session_config)
        return
    if task_type not in AIDES:
        require_processes("run_distribute_coordinator", spec, task_type, task_id)
        task_type, task_id = training_tasks(spec)[PROCESSES.index]
    task_id = int(task_id or 0)
    if task_type == "evaluator":
        _call(eval_fn or worker_fn, WorkerContext(eval_strategy, spec, task_type, task_id), session_config)
        return
    if strategy is not None:
        strategy.configure(session_config, spec, task_type, task_id)
    server = Server(spec, task_type, task_id)
    if task_type == "ps":
        server.join()
    _call(worker_fn, WorkerContext(strategy, spec, task_type, task_id))


def _call(
    function: Callable[[Any], Any], context: WorkerContext, configured: messages.ConfigProto | None = None
) -> None:
    if context.strategy is not None and configured is not None:
        context.strategy.configure(configured)
    with _entered(context):
        function(context.strategy)


@contextmanager
def _entered(context: WorkerContext) -> Iterator[None]:
    if _CURRENT.context is not None:
        raise ValueError("You cannot run distribute coordinator in a `worker_fn`.")
    _CURRENT.context = context
    try:
        yield
    finally:
        _CURRENT.context = None


def run_standard_tensorflow_server(session_config: messages.ConfigProto | None = None) -> Server:
    """The server of this task, as ``TF_CONFIG`` says it; it has started.

    Args:
      session_config: the default ``ConfigProto`` of its sessions.

    Raises:
      ValueError: TF_CONFIG lacks the cluster or the task, or no task of the cluster trains.
      UnsupportedError: the tasks that train are not the processes of this run.
    """
    said = json.loads(os.environ.get("TF_CONFIG", "{}"))
    for part in ("cluster", "task"):
        if part not in said:
            raise ValueError(f'"{part}" is not found in TF_CONFIG.')
    if "type" not in said["task"]:
        raise ValueError('"task_type" is not found in the `task` part of TF_CONFIG.')
    spec = ClusterSpec(said["cluster"])
    if not {"chief", "worker"} & set(spec.jobs):
        raise ValueError("You must have `chief` or `worker` jobs in the `cluster_spec`.")
    return Server(spec, said["task"]["type"], int(said["task"].get("index", 0)), config=session_config)
