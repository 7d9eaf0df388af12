"""Hooks that stop training early, under strategies.

The package takes each strategy for one of several workers, which stop by a sum over them and take no seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

_OF_WORKERS = ("CollectiveAllReduceStrategy", "MultiWorkerMirroredStrategy")


def tell_strategies(module: ModuleType) -> None:
    """Lets the hooks of a cluster be made for strategies of a cluster alone."""
    of_cluster = vars(module)["make_early_stopping_hook"]

    def make_early_stopping_hook(
        estimator: Any, should_stop_fn: Callable[[], bool], run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> Any:  # fmt: skip
        """A hook that stops training where a function says so.

        Args:
          estimator: the estimator that trains.
          should_stop_fn: asked for a bool.
          run_every_secs, run_every_steps: how often it is asked: one of the two, the other None.

        Raises:
          TypeError: no estimator, or no function. ValueError: both; or seconds, where several workers train.
        """
        config = getattr(estimator, "config", None)
        kind = type(getattr(config, "train_distribute", None)).__name__
        both = run_every_secs is not None and run_every_steps is not None
        if both or config is None or (config.cluster_spec and kind.startswith(_OF_WORKERS)):
            return of_cluster(estimator, should_stop_fn, run_every_secs, run_every_steps)
        if config.is_chief:
            return vars(module)["_StopOnPredicateHook"](should_stop_fn, run_every_secs, run_every_steps)
        return vars(module)["_CheckForStoppingHook"]()

    make_early_stopping_hook.__module__ = module.__name__
    vars(module)["make_early_stopping_hook"] = make_early_stopping_hook
