"""``MirroredStrategy`` of 2.x and of 1.13 to 1.15."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.towers.cluster.local_devices import local_names
from towerstrat.towers.distribute.cross_device_ops import of_towers
from towerstrat.towers.distribute.one_by_one_extended import OneByOneExtended
from towerstrat.towers.distribute.replica_api import REPLICAS
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1
from towerstrat.towers.engine.mirrored_engine import MirroredEngine


class MirroredStrategy(Strategy):
    """Synchronous training with a replica on each of several devices of one machine.

    Args:
      devices: the devices' names; default all that there are.
      cross_device_ops: how values of the replicas are combined.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None):
        self._engine = MirroredEngine.named(list(devices) if devices else local_names(), REPLICAS)
        super().__init__(MirroredExtended(self, cross_device_ops))


class MirroredStrategyV1(StrategyV1):
    """``MirroredStrategy`` of 1.13 to 1.15.

    Args:
      devices: the devices' names; default all that there are.
      cross_device_ops: how values of the replicas are combined.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None):
        self._engine = MirroredEngine.named(list(devices) if devices else local_names(), REPLICAS)
        super().__init__(MirroredExtended(self, cross_device_ops))


class MirroredExtended(OneByOneExtended):
    """``extended`` of a MirroredStrategy."""

    _engine: MirroredEngine

    def __init__(self, container_strategy: Any, cross_device_ops: Any = None):
        super().__init__(container_strategy)
        self._cross_device_ops = cross_device_ops
        self._engine.cross_tower_ops = of_towers(cross_device_ops)
