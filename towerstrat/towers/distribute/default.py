"""The strategy that is current where none was entered."""

from __future__ import annotations

from towerstrat.towers import contexts
from towerstrat.towers.distribute.extended import StrategyExtendedV1
from towerstrat.towers.distribute.strategy import Strategy


class DefaultStrategy(Strategy):
    """A single replica; everything passes through."""

    def __init__(self) -> None:
        self._towers = contexts.default_strategy()
        super().__init__(StrategyExtendedV1(self))


DEFAULT = DefaultStrategy()
