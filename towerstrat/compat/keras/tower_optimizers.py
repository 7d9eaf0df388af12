"""Optimizers of models in the towers of estimators."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.compat.keras.program_release import LAST_OF_TOWERS, RELEASE
from towerstrat.towers.distribute.current_strategy import has_strategy
from towerstrat.towers.engine.tower_contexts import current_engine, note_loss_reduction
from towerstrat.towers.engine.tower_threads import LockstepEngine


def divide_once(module: ModuleType) -> None:
    """Let an optimizer of ``tf.train`` take a model's loss as it is: it would divide it by the towers again.

    Args:
      module: ``optimizer_v1``.
    """
    kind = vars(module)["TFOptimizer"]
    update = kind.get_updates

    @wraps(update)
    def get_updates(self: Any, loss: Any, params: Any) -> Any:
        if has_strategy():
            note_loss_reduction("weighted_sum")
        return update(self, loss, params)

    kind.get_updates = get_updates


def refuse_towers(module: ModuleType) -> None:
    """Let optimizers of the package refuse towers of ``MirroredStrategy`` in programs of up to 1.12, as it did.

    Args:
      module: ``optimizer_v2``.
    """
    kind = vars(module)["OptimizerV2"]
    update = kind.get_updates

    @wraps(update)
    def get_updates(self: Any, loss: Any, params: Any) -> Any:
        earlier = RELEASE.of_graphs <= LAST_OF_TOWERS
        if earlier and has_strategy() and isinstance(current_engine(), LockstepEngine):
            raise ValueError(
                "Only TensorFlow native optimizers are supported with DistributionStrategy. Got "
                f"tf.keras.optimizers.{type(self).__name__}: compile the model with one of tf.train, or run the "
                "program with --api 1.15, where those of Keras train in towers."
            )
        return update(self, loss, params)

    kind.get_updates = get_updates
