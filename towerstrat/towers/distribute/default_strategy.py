"""The strategy that is current where none was entered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from towerstrat.towers.distribute.input_distribution import InputContext, InputOptions
from towerstrat.towers.distribute.reduce_op import ReduceOp
from towerstrat.towers.distribute.replica_context import require_cross_replica
from towerstrat.towers.distribute.strategy import Strategy
from towerstrat.towers.distribute.strategy_extended import StrategyExtendedV1
from towerstrat.towers.engine import tower_contexts


class DefaultExtended(StrategyExtendedV1):
    """``extended`` of the default strategy: everything passes through."""

    def _run(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        require_cross_replica(self._engine)
        return self._engine.call_for_each_tower(fn, *args, **kwargs)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        raise RuntimeError("worker_devices() method unsupported by default tf.distribute.Strategy.")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        raise RuntimeError("parameter_devices() method unsupported by default tf.distribute.Strategy.")

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """A context manager that changes nothing: variables are where they are."""
        return nullcontext()

    def _combine(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        return value


class DefaultStrategy(Strategy):
    """A single replica; everything passes through. Its scope changes nothing."""

    def __init__(self) -> None:
        self._engine = tower_contexts.default_engine()
        super().__init__(DefaultExtended(self))

    def _require_scope(self) -> None:
        if tower_contexts.has_distribution_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")

    def _entered(self) -> AbstractContextManager[Any]:
        self._require_scope()
        return nullcontext()

    def experimental_distribute_dataset(self, dataset: Any, options: InputOptions | None = None) -> Any:
        """The dataset itself.

        Args:
          options: how batches would be divided; there is nothing to divide.
        """
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[Any], Any], options: InputOptions | None = None
    ) -> Any:
        """The dataset that ``dataset_fn(input_context)`` returns.

        Args:
          options: how it would be replicated; there is one replica.
        """
        return dataset_fn(InputContext())
