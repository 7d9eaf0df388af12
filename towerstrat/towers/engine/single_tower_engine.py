"""The engine of a single tower on one named device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from towerstrat.graph.ir import default_graph
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.towers.engine.distributed_values import MapOutput
from towerstrat.towers.engine.step_context import MultiStepContext
from towerstrat.towers.engine.step_tracing import run_steps_eagerly, trace_step_loop
from towerstrat.towers.engine.strategy_api import StrategyApi
from towerstrat.towers.engine.strategy_scope import colocated
from towerstrat.towers.engine.tower_contexts import SingleTower

_ALONE = (
    "OneDeviceStrategy(%r) in a run of %d processes: each of them trains on a device of its own, and none hears of the "
    "others. MirroredStrategy is for the devices of all."
)


class SingleTowerEngine(SingleTower):
    """Runs everything as one tower on one device.

    Args:
      device: the device's name.
      surface: the surface that its strategy belongs to.
    """

    def __init__(self, device: str, surface: StrategyApi):
        super().__init__()
        if PROCESSES.count > 1:
            logs.log_first_n(logs.WARN, _ALONE, 1, device, PROCESSES.count)
        self.default_device = device
        self._device = device
        self.surface = surface
        self.word = surface.word

    @property
    def divides_losses(self) -> bool:
        return self.surface.divides_losses or self.trains_estimator

    def _placed(self) -> AbstractContextManager[Any]:
        return default_graph.device(self._device)

    # ---- variables -------------------------------------------------------------------------------------------

    def create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = self._created(next_creator, **kwargs)
        variable._engine = self
        return variable

    def _created(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        where = kwargs.pop("colocate_with", None)
        if isinstance(where, list) and len(where) == 1:
            (where,) = where
        if where is None or isinstance(where, str):
            with default_graph.device(where or self._device):
                return next_creator(**kwargs)
        with default_graph.colocate_with(where):
            return next_creator(**kwargs)

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]:
        return colocated(self, colocate_with_variable)

    # ---- running ---------------------------------------------------------------------------------------------

    def run_steps(
        self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> MultiStepContext:
        if get_default_graph().executing_eagerly:
            return run_steps_eagerly(self.surface, fn, iterator.get_next, iterations, initial_loop_values)
        return trace_step_loop(self.surface, None, self.worker_devices, fn, iterator, iterations, initial_loop_values)

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> MapOutput:
        with self._placed():
            return MapOutput([fn(m, *args, **kwargs) for m in map_over])

    # ---- combining -------------------------------------------------------------------------------------------

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        return tensor

    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        return value.reduced(aggregation) if isinstance(value, MapOutput) else value

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def worker_devices(self) -> list[str]:
        return [self._device]

    @property
    def parameter_devices(self) -> list[str]:
        return [self._device]

    def non_slot_devices(self, var_list: Sequence[Variable]) -> list[str]:
        return [self._device]

    @property
    def worker_device_index(self) -> Any:
        return 0
