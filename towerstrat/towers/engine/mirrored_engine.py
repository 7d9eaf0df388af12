"""The engine of towers whose function is called for each of them, in graphs too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.device_names import canonical
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.cluster.local_devices import devices_named, of_each_process
from towerstrat.towers.engine.distributed_values import MapOutput, PerDevice, select_device_mirrored
from towerstrat.towers.engine.one_by_one_engine import OneByOneEngine
from towerstrat.towers.engine.strategy_api import StrategyApi


class MirroredEngine(OneByOneEngine):
    """Towers at the positions of a mesh axis; their function is called for each, one after the other.

    What all of them do alike is one program that runs at every position. Where they differ, each position runs what its
    own tower made.

    Args:
      axis: its positions are the towers.
      surface: the surface that the strategy belongs to.
      devices: the towers' devices, as the program calls them.
    """

    def __init__(self, axis: Axis, surface: StrategyApi, devices: Sequence[str]):
        super().__init__(axis, surface)
        self._devices = [canonical(device) for device in devices]

    @classmethod
    def named(cls, names: Sequence[str], surface: StrategyApi) -> MirroredEngine:
        """Towers on devices that a program names: of each process, where the names do not say of which.

        Raises:
          ValueError: no device, one of them twice, or one that is not here; or no device of some process.
        """
        if not names:
            raise ValueError("Must specify at least one device: the list of devices is empty.")
        if len(set(names)) < len(names):
            raise ValueError(f"No duplicates allowed in `devices` argument: {list(names)}.")
        names = of_each_process(names)
        return cls(Axis(surface.word, devices_named(names)), surface, names)

    own_gradients = True
    uneven_input = True
    reads_together = True

    # ---- running ---------------------------------------------------------------------------------------------

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self.mapped:
            return super().call_for_each_tower(fn, *args, **kwargs)
        return self.call_one_by_one(fn, args, kwargs)

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> PerDevice:
        made: dict[str, list[Any]] = {}
        for i, m in enumerate(map_over):
            device = self._devices[i % len(self._devices)]
            given, named = select_device_mirrored(device, (args, kwargs))
            with get_default_graph().device(device):
                made.setdefault(device, []).append(fn(m, *given, **named))
        return PerDevice({device: MapOutput(results) for device, results in made.items()})

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def worker_device_index(self) -> Any:
        return PerDevice(dict(zip(self._devices, range(self.axis.size), strict=True)))

    @property
    def worker_devices(self) -> list[str]:
        return [self.surface.shown(device) for device in self._devices]

    @property
    def parameter_devices(self) -> list[str]:
        return self.worker_devices

    def non_slot_devices(self, var_list: Sequence[Variable]) -> list[str]:
        return self.worker_devices

    def __repr__(self) -> str:
        return f"<MirroredTowers: {self.axis.size}>"
