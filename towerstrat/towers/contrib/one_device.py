"""``OneDeviceStrategy``: one tower on one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.towers.contrib.strategy import SingleTowerStrategy
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine.inputs import PerDeviceDataset
from towerstrat.towers.engine.step_loop import run_steps
from towerstrat.towers.engine.values import MapOutput


class OneDeviceStrategy(SingleTowerStrategy):
    """Runs everything as one tower, for trying out code written for several.

    Args:
      device: the device's name.
      prefetch_on_device: where input waits is decided here; changes no value.
    """

    def __init__(self, device: str, prefetch_on_device: bool | None = None):
        super().__init__()
        self._device = device
        self._default_device = device

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        where = kwargs.pop("colocate_with", None)
        if isinstance(where, list) and len(where) == 1:
            (where,) = where
        graph = get_default_graph()
        if where is None or isinstance(where, str):
            with graph.device(where or self._device):
                return next_creator(**kwargs)
        with graph.colocate_with(where):
            return next_creator(**kwargs)

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> PerDeviceDataset:
        return PerDeviceDataset(self._call_dataset_fn(dataset_fn), self.worker_devices, None)

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        return tensor

    def _run_steps_on_dataset(self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any = None) -> Any:
        return run_steps(None, self.worker_devices, fn, iterator, iterations, initial_loop_values)

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("run_concurrently", None)
        with get_default_graph().device(self._device), contexts.TowerContext(self, tower_id=0):
            return fn(*args, **kwargs)

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> MapOutput:
        contexts.require_cross_tower_context(self)
        with get_default_graph().device(self._device):
            return MapOutput([fn(m, *args, **kwargs) for m in map_over])

    def _reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        if not isinstance(value, MapOutput):
            return value
        values = value.get()
        if not values:
            raise ValueError("Cannot reduce the output of map() over nothing.")
        if aggregation == VariableAggregation.ONLY_FIRST_TOWER:
            return values[0]
        total = sum(values[1:], values[0])
        return total / len(values) if aggregation == VariableAggregation.MEAN else total

    def _on_device(self, device: Any) -> Any:
        return get_default_graph().device(self._device)

    @property
    def worker_devices(self) -> list[str]:
        return [self._device]

    @property
    def parameter_devices(self) -> list[str]:
        return [self._device]

    def non_slot_devices(self, var_list: Any) -> Any:
        return [self._device]

    def _worker_device_index(self) -> Any:
        return 0

    @property
    def between_graph(self) -> bool:
        return False

    @property
    def should_init(self) -> bool:
        return True

    @property
    def should_checkpoint(self) -> bool:
        return True

    @property
    def should_save_summary(self) -> bool:
        return True
