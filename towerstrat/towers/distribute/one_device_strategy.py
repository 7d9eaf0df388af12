"""``OneDeviceStrategy`` of 2.x and of 1.14 and 1.15: a single replica, to try out code written for several."""

from __future__ import annotations

from towerstrat.towers.distribute.replica_api import REPLICAS
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1
from towerstrat.towers.distribute.strategy_extended import StrategyExtendedV1
from towerstrat.towers.engine.single_tower_engine import SingleTowerEngine


class OneDeviceStrategy(Strategy):
    """A single replica on one device.

    Args:
      device: its name, such as ``"/cpu:0"``.
    """

    def __init__(self, device: str):
        self._engine = SingleTowerEngine(device, REPLICAS)
        super().__init__(StrategyExtendedV1(self))


class OneDeviceStrategyV1(StrategyV1):
    """``OneDeviceStrategy`` of 1.14 and 1.15.

    Args:
      device: its name, such as ``"/cpu:0"``.
    """

    def __init__(self, device: str):
        self._engine = SingleTowerEngine(device, REPLICAS)
        super().__init__(StrategyExtendedV1(self))
