"""What the package asks about several machines: each task that trains is a process that runs the same program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from towerstrat.errors import UnsupportedError
from towerstrat.platform import logs
from towerstrat.towers.cluster.cluster_spec import ClusterSpec
from towerstrat.towers.cluster.task_processes import require_processes, training_tasks

_INSTEAD = (
    "Each task of a cluster runs the program: set TF_CONFIG for each and start it by `towerstrat run`, leave "
    "remote_cluster out, and give train_distribute a strategy over the devices of all of them."
)


class DistributeConfig(NamedTuple):
    """The strategies of an estimator, as ``RunConfig(experimental_distribute=...)`` takes them.

    Attributes:
      train_distribute: the strategy for training; eval_distribute: that for evaluation; None: without one.
      remote_cluster: must be None: a cluster that would train for this program, which would only be its client.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


def init_run_config(config: Any, tf_config: Mapping[str, Any]) -> None:
    """Completes a ``RunConfig`` with strategies.

    Args:
      config: changed in place. Strategies of ``experimental_distribute`` become its own.
      tf_config: what ``TF_CONFIG`` says, parsed.

    Raises:
      ValueError: a strategy is given twice.
      UnsupportedError: there is a remote cluster, or the tasks of the cluster that train are not the processes of this
        run.
    """
    experimental = config._experimental_distribute
    for name in ("train_distribute", "eval_distribute"):
        strategy = getattr(experimental, name, None)
        if strategy:
            if getattr(config, f"_{name}"):
                raise ValueError(f"Either `{name}` or`experimental_distribute.{name}` can be set.")
            setattr(config, f"_{name}", strategy)
    cluster = ClusterSpec(tf_config.get("cluster", {}))
    if config._train_distribute and getattr(experimental, "remote_cluster", None):
        raise UnsupportedError(f"A client that drives a remote cluster is not supported. {_INSTEAD}")
    config._distribute_coordinator_mode = None
    if config._train_distribute and "master" not in cluster.jobs and len(training_tasks(cluster)) > 1:
        _set_task(config, cluster, tf_config.get("task", {}))
    else:
        config._init_distributed_setting_from_environment_var(tf_config)
    config._maybe_overwrite_session_config_for_distributed_training()
    logs.info("Not using Distribute Coordinator.")


def _set_task(config: Any, cluster: ClusterSpec, task: Mapping[str, Any]) -> None:
    """Says in a ``RunConfig`` which task this process is, and tells its strategy."""
    job, number = task.get("type", "worker"), int(task.get("index", 0))
    tasks = training_tasks(cluster)
    config._service = None
    config._task_type, config._task_id = job, number
    config._evaluation_master = ""
    if job == "evaluator":
        config._cluster_spec, config._master, config._is_chief = ClusterSpec({}), "", False
        config._num_ps_replicas = config._num_worker_replicas = 0
        config._global_id_in_cluster = None
        return
    config._cluster_spec = cluster
    config._master = f"grpc://{cluster.task_address(job, number)}"
    config._is_chief = (job, number) == tasks[0]
    config._num_ps_replicas = cluster.num_tasks("ps") if "ps" in cluster.jobs else 0
    config._num_worker_replicas = len(tasks)
    parameter_servers = [("ps", index) for index in range(config._num_ps_replicas)]
    config._global_id_in_cluster = [*tasks, *parameter_servers].index((job, number))
    if job != "ps":
        require_processes("RunConfig(train_distribute=...)", cluster, job, number)
        config._train_distribute.configure(None, cluster, job, number)


def should_run_distribute_coordinator(config: Any) -> bool:
    """Whether a cluster is to be coordinated: never."""
    logs.info("Not using Distribute Coordinator.")
    return False


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(f"The package's coordinator is not supported. {_INSTEAD}")


estimator_train = estimator_evaluate = train_and_evaluate = _refuse
"""What would run parts of a cluster. Raise UnsupportedError."""
