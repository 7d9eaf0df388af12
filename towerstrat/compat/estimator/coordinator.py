"""What the package asks about several machines: each task that trains is a process that runs the same program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from towerstrat.errors import UnsupportedError
from towerstrat.platform import logs
from towerstrat.towers.cluster.processes import AIDES, require_processes, training_tasks
from towerstrat.towers.cluster.spec import ClusterSpec

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
    config._init_distributed_setting_from_environment_var(tf_config)
    if config._train_distribute and config.task_type not in AIDES and len(training_tasks(cluster)) > 1:
        task = (config.task_type, config.task_id)
        require_processes("RunConfig(train_distribute=...)", cluster, *task)
        config._train_distribute.configure(None, cluster, *task)
    config._maybe_overwrite_session_config_for_distributed_training()
    logs.info("Not using Distribute Coordinator.")


def should_run_distribute_coordinator(config: Any) -> bool:
    """Whether a cluster is to be coordinated: never."""
    logs.info("Not using Distribute Coordinator.")
    return False


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(f"The package's coordinator is not supported. {_INSTEAD}")


estimator_train = estimator_evaluate = train_and_evaluate = _refuse
"""What would run parts of a cluster. Raise UnsupportedError."""
