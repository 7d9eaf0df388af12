"""``tf.train.Server``: what the sessions of one process connect to, and share variables by.

Source: ``tensorflow/python/training/server_lib.py``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from towerstrat.errors import InvalidArgumentError, NotFoundError, UnknownError
from towerstrat.graph.runtime.plans.server_state import SERVERS, ServerState
from towerstrat.graph.runtime.sessions.session_config import check_config
from towerstrat.hosts import shared_seeds
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs, messages
from towerstrat.towers.cluster.cluster_spec import ClusterSpec
from towerstrat.towers.cluster.task_processes import AIDES, require_processes, training_tasks


class Server:
    """A server in this process: its sessions share variables (by name) and queues with a shared name.

    Nothing listens on a port. Each task that trains is a process of the run, the chief or master (or else worker 0) the
    first of them, then the workers in order. What they have together are the gradients that optimizers apply: the
    means over all of them. Each keeps all variables on its own devices; they begin with the first process's values.

    Args:
      server_or_cluster_def: a ``ServerDef``, a ``ClusterDef``, or what makes a ``ClusterSpec``.
      job_name, task_index: which task this is; default the only one.
      protocol: "grpc".
      config: the default ``ConfigProto`` of its sessions. Here it is checked, and changes nothing.
      start: whether sessions can connect at once.

    Raises:
      TypeError: the cluster is described by something else.
      ValueError: the task is not said, and there are several; or no such job.
      OpError: no such task, a malformed address, another protocol, an address that a server of this process has.
      UnsupportedError: not as many processes run as tasks of the cluster train, or this one is another of them.
    """

    def __init__(
        self, server_or_cluster_def: Any, job_name: str | None = None, task_index: int | None = None,
        protocol: str | None = None, config: messages.ConfigProto | None = None, start: bool = True,
    ):  # fmt: skip
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        address = _address(self._server_def)
        self._meets = _check_processes(self._server_def)
        port = address.rpartition(":")[2]
        if port == "0":
            address = f"localhost:{SERVERS.free_port()}"
        self._target = f"grpc://localhost:{address.rpartition(':')[2]}"
        self._addresses = {self._target, f"grpc://{address}"}
        self._started = False
        if start:
            self.start()

    def start(self) -> None:
        """Lets sessions connect.

        Raises:
          UnknownError: another server of this process has the address.
        """
        if self._started:
            return
        if not SERVERS.add(ServerState(self._target, self._meets), sorted(self._addresses)):
            raise UnknownError(
                None, None,
                f"Could not start gRPC server: {self._target} is the target of another server of this process. Use "
                "that one, or another port; port 0 is any that is free.",
            )  # fmt: skip
        self._started = True

    def join(self) -> NoReturn:
        """Ends the program (or this thread), with status 0: no other process needs this one."""
        job, task = self._server_def.job_name, self._server_def.task_index
        logs.warning(
            "/job:%s/task:%d ends: variables are kept by the processes that train, and nothing waits for this server.",
            job, task,
        )  # fmt: skip
        raise SystemExit(0)

    @property
    def server_def(self) -> messages.ServerDef:
        return self._server_def

    @property
    def target(self) -> str:
        """What ``tf.Session`` takes to connect: "grpc://localhost:PORT"."""
        return self._target

    @staticmethod
    def create_local_server(config: messages.ConfigProto | None = None, start: bool = True) -> Server:
        """A server that is alone: the job "local" with one task. Arguments as of ``Server``."""
        return Server({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(given: Any, job: str | None, index: int | None, protocol: str | None, config: Any) -> Any:
    """The ``ServerDef`` of what was given."""
    if config is not None:
        check_config(config)
    made = messages.ServerDef()
    if isinstance(given, messages.ServerDef):
        made.MergeFrom(given)
        for field, value in (("job_name", job), ("task_index", index), ("protocol", protocol)):
            if value is not None:
                setattr(made, field, value)
    else:
        made.MergeFrom(_of_cluster(given, job, index, protocol))
    if config is not None:
        made.default_session_config.MergeFrom(config)
    return made


def _of_cluster(given: Any, job: str | None, index: int | None, protocol: str | None) -> Any:
    try:
        spec = ClusterSpec(given)
    except TypeError as error:
        raise TypeError(
            f"Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or `tf.train.ClusterSpec`. {error}"
        ) from None
    if job is None:
        if len(spec.jobs) != 1:
            raise ValueError(f"Must specify an explicit `job_name`. The cluster has the jobs {spec.jobs}.")
        job = spec.jobs[0]
    if index is None:
        indices = spec.task_indices(job)
        if len(indices) != 1:
            raise ValueError(f"Must specify an explicit `task_index`. Job {job!r} has the tasks {indices}.")
        index = indices[0]
    return messages.ServerDef(
        cluster=spec.as_cluster_def(), job_name=job, task_index=index, protocol="grpc" if protocol is None else protocol
    )


def _address(definition: Any) -> str:
    """The address of the task, "HOST:PORT"."""
    if definition.protocol != "grpc":
        raise NotFoundError(
            None,
            None,
            f"No server factory registered for the given ServerDef: its protocol is not 'grpc': {definition}",
        )
    job, index = definition.job_name, definition.task_index
    tasks = next((dict(each.tasks) for each in definition.cluster.job if each.name == job), None)
    if tasks is None:
        raise InvalidArgumentError(None, None, f'Job "{job}" was not defined in cluster')
    if index not in tasks:
        raise InvalidArgumentError(None, None, f'Task {index} was not defined in job "{job}"')
    address: str = tasks[index]
    if not address.rpartition(":")[0] or not address.rpartition(":")[2].isdigit():
        raise InvalidArgumentError(None, None, f'Could not parse port for local server from "{address}".')
    return address


def _check_processes(definition: Any) -> bool:
    """Whether the task is one of several that train, each a process of this run.

    Raises:
      UnsupportedError: the processes are not those tasks.
    """
    if definition.job_name in AIDES:
        return False
    spec = ClusterSpec(definition.cluster)
    if not (PROCESSES.count > 1 and training_tasks(spec) == [("local", 0)]):
        require_processes("tf.train.Server", spec, definition.job_name, definition.task_index)
    if PROCESSES.count == 1 or len(training_tasks(spec)) == 1:
        return False
    shared_seeds.part()  # Processes that a strategy spans stay together.
    return True
