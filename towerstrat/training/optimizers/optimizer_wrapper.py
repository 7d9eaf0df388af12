"""Optimizers around others: checkpoints hold the one inside."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.variables.trackable import Position, TrackableReference
from towerstrat.training.optimizers.optimizer import Optimizer


class OptimizerWrapper(Optimizer):
    """An optimizer whose variables and slots are those of another one.

    Args:
      opt: the one inside. name: its own.
    """

    def __init__(self, opt: Any, name: str):
        super().__init__(False, name)
        self._opt = opt

    def variables(self) -> list[Any]:
        return list(self._opt.variables())

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        return self._opt._checkpoint_dependencies

    @property
    def _deferred_dependencies(self) -> dict[str, list[Position]]:
        self._opt._maybe_initialize_trackable()
        return self._opt._deferred_dependencies

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        return self._opt._lookup_dependency(name)

    def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> Any:
        return self._opt._create_or_restore_slot_variable(slot_variable_position, slot_name, variable)
