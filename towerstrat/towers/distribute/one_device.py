"""``OneDeviceStrategy`` of 2.x and of 1.14 and 1.15: a single replica, to try out code written for several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.towers.contrib import one_device
from towerstrat.towers.distribute.extended import StrategyExtendedV1
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1


class _OneTower(one_device.OneDeviceStrategy):
    """The tower under a strategy; its variables know who made them."""

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = super()._create_variable(next_creator, **kwargs)
        variable._strategy = self
        return variable


class OneDeviceStrategy(Strategy):
    """A single replica on one device.

    Args:
      device: its name, such as ``"/cpu:0"``.
    """

    def __init__(self, device: str):
        self._towers = _OneTower(device)
        super().__init__(StrategyExtendedV1(self))


class OneDeviceStrategyV1(StrategyV1):
    """``OneDeviceStrategy`` of 1.14 and 1.15.

    Args:
      device: its name, such as ``"/cpu:0"``.
    """

    def __init__(self, device: str):
        self._towers = _OneTower(device)
        super().__init__(StrategyExtendedV1(self))
