"""The engine of ``TPUStrategy``: one trace for all towers; eagerly the function is called for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.towers.engine.distributed_values import PerDevice
from towerstrat.towers.engine.one_by_one_engine import OneByOneEngine


class TPUEngine(OneByOneEngine):
    """Towers at the positions of a mesh axis: their function is traced once, or executed for one after the other."""

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._executes():
            return self.call_one_by_one(fn, args, kwargs)
        return super().call_for_each_tower(fn, *args, **kwargs)

    @property
    def worker_device_index(self) -> Any:
        if self._executes():
            return PerDevice(dict(zip(self._devices, range(self.axis.size), strict=True)))
        return super().worker_device_index
