"""``MovingAverageOptimizer``: keeps averages of what another optimizer trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ops.control.branches import group
from towerstrat.training.optimizers.exponential_averages import ExponentialMovingAverage
from towerstrat.training.optimizers.optimizer_wrapper import OptimizerWrapper


class MovingAverageOptimizer(OptimizerWrapper):
    """An optimizer whose updates are followed by an update of the variables' moving averages.

    Args:
      opt: the optimizer that updates variables.
      average_decay, num_updates: as of ``ExponentialMovingAverage``.
      sequential_update: average after the update; False leaves the order to the order of creation, which is the same.
    """

    def __init__(self, opt: Any, average_decay: Any = 0.9999, num_updates: Any = None, sequential_update: bool = True):
        super().__init__(opt, "MovingAverage")
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's updates, then those of the averages."""
        pairs = list(grads_and_vars)
        train_op = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [v for g, v in pairs if g is not None]
        if self._sequential_update:
            with control_dependencies([train_op]):
                averaged = self._ema.apply(variables)
        else:
            averaged = self._ema.apply(variables)
        return group(train_op, averaged, name="train_with_avg")

    def get_slot(self, var: Any, name: str) -> Any:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._opt.get_slot_names()

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Any:
        raise UnsupportedError(
            "MovingAverageOptimizer.swapping_saver is not supported; save with tf.train.Saver, restore averages with "
            "ExponentialMovingAverage.variables_to_restore()."
        )
