"""What the package asks about many machines. A program runs on the devices of its own machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from towerstrat.errors import UnsupportedError
from towerstrat.platform import logs
from towerstrat.towers.cluster.spec import ClusterSpec

_ONE_MACHINE = (
    "A program runs on the devices of one machine: set no cluster in TF_CONFIG and no remote_cluster, "
    "and give train_distribute a strategy over these devices."
)


class DistributeConfig(NamedTuple):
    """The strategies of an estimator, as ``RunConfig(experimental_distribute=...)`` takes them.

    Attributes:
      train_distribute: the strategy for training; eval_distribute: that for evaluation; None: without one.
      remote_cluster: must be None: the cluster of other machines that would train.
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
      UnsupportedError: the strategy is for the machines of a cluster.
    """
    experimental = config._experimental_distribute
    for name in ("train_distribute", "eval_distribute"):
        strategy = getattr(experimental, name, None)
        if strategy:
            if getattr(config, f"_{name}"):
                raise ValueError(f"Either `{name}` or`experimental_distribute.{name}` can be set.")
            setattr(config, f"_{name}", strategy)
    cluster = ClusterSpec(tf_config.get("cluster", {}))
    trains = [task for job in cluster.jobs if job not in ("ps", "evaluator") for task in cluster.task_indices(job)]
    alone = len(trains) < 2 or "master" in cluster.jobs or not config._train_distribute
    if not alone or (config._train_distribute and getattr(experimental, "remote_cluster", None)):
        raise UnsupportedError(f"Training with a strategy on several machines is not supported. {_ONE_MACHINE}")
    config._distribute_coordinator_mode = None
    config._init_distributed_setting_from_environment_var(tf_config)
    config._maybe_overwrite_session_config_for_distributed_training()
    logs.info("Not using Distribute Coordinator.")


def should_run_distribute_coordinator(config: Any) -> bool:
    """Whether a cluster is to be coordinated: never."""
    logs.info("Not using Distribute Coordinator.")
    return False


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(f"Coordinating several machines is not supported. {_ONE_MACHINE}")


estimator_train = estimator_evaluate = train_and_evaluate = _refuse
"""What would run parts of a cluster. Raise UnsupportedError."""
