"""Variables of 1.12's strategies where operations are executed eagerly."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.towers.contrib import strategy_variables


class MirroredVariable(strategy_variables.MirroredVariable, EagerVariable):
    """A mirrored variable of the eager context."""

    def _assigned(self, result: Any) -> Any:
        """The variable's value, another tensor for each tower."""
        return result if result is None else identity(result)


class TowerLocalVariable(strategy_variables.TowerLocalVariable, EagerVariable):
    """A variable of the eager context of which every tower has its own."""
