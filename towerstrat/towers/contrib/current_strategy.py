"""The current strategy and context, as 1.8 to 1.12 ask for them."""

from __future__ import annotations

from towerstrat.towers.contrib.distribution_strategy import DistributionStrategy, strategy_of
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.tower_contexts import TowerContext


def get_distribution_strategy() -> DistributionStrategy:
    """The current strategy; outside of any scope a default one of a single tower."""
    return strategy_of(tower_contexts.current_engine())


def get_cross_tower_context() -> DistributionStrategy | None:
    """The current strategy in its cross-tower context; None in tower context or outside of any strategy."""
    return get_distribution_strategy() if tower_contexts.in_cross_tower_context() else None


def get_tower_context() -> TowerContext | None:
    """The current tower context; None in cross-tower context. Outside of any strategy, the default one."""
    get_distribution_strategy()  # makes the view that the context passes to functions, if there is none
    return tower_contexts.get_tower_context()
