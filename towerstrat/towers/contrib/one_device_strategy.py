"""``OneDeviceStrategy``: one tower on one device."""

from __future__ import annotations

from typing import Any

from towerstrat.towers.contrib.chief import Chief
from towerstrat.towers.contrib.contrib_api import CONTRIB
from towerstrat.towers.contrib.distribution_strategy import DistributionStrategy
from towerstrat.towers.engine.single_tower_engine import SingleTowerEngine


class OneDeviceStrategy(Chief, DistributionStrategy):
    """Runs everything as one tower, for trying out code written for several.

    Args:
      device: the device's name.
      prefetch_on_device: where input waits is decided here; changes no value.
    """

    def __init__(self, device: str, prefetch_on_device: bool | None = None):
        self._stand_on(SingleTowerEngine(device, CONTRIB))

    def read_var(self, tower_local_var: Any) -> Any:
        return super().read_var(tower_local_var)
