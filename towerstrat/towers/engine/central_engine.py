"""The engine of towers whose variables are kept once, on a parameter device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.device_names import canonical, parse
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.towers.cluster.local_devices import devices_named, of_each_process
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.distributed_values import DistributedValues, Mirrored, map_parts, value_container
from towerstrat.towers.engine.mirrored_engine import MirroredEngine
from towerstrat.towers.engine.strategy_api import StrategyApi


class CentralStorageEngine(MirroredEngine):
    """``MirroredEngine`` that share variables without copies.

    What several towers assign to a variable is aggregated first; updates are synchronous.

    Args:
      axis, surface, devices: as of ``MirroredEngine``.
      parameter_device: the name of the device that variables are on.
    """

    def __init__(self, axis: Axis, surface: StrategyApi, devices: Sequence[str], parameter_device: str):
        super().__init__(axis, surface, devices)
        self._parameter_device = parameter_device

    @classmethod
    def beside(cls, names: Sequence[str], parameter_device: str | None, surface: StrategyApi) -> CentralStorageEngine:
        """Towers on devices that a program names, and variables on another; None: a lone GPU, or else the CPU.

        Raises:
          ValueError: as of ``MirroredEngine.named``.
        """
        if not names:
            raise ValueError("Must specify at least one device: the list of devices is empty.")
        if parameter_device is None:
            alone = PROCESSES.count == 1 and len(names) == 1 and parse(names[0]).get("device", "").startswith("GPU")
            parameter_device = names[0] if alone else "/device:CPU:0"
        names = of_each_process(names)
        # The original's workers did not wait for one another.
        level = logs.WARN if PROCESSES.count > 1 else logs.INFO
        said = "Towers on %s share variables on %s, each kept once; updates are synchronous."
        logs.log_first_n(level, said, 1, list(names), parameter_device)
        return cls(Axis(surface.word, devices_named(names)), surface, names, parameter_device)

    # ---- variables -------------------------------------------------------------------------------------------

    def create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        where = kwargs.pop("colocate_with", None)
        graph = get_default_graph()
        device = self._parameter_device if where is None else getattr(where, "device", where)
        outer = graph.variable_scopes.maker
        if self.mapped:
            graph.variable_scopes.maker = self.surface.central_variable_maker(self, self.axis, canonical(device))
        try:
            with graph.device(None), graph.device(device):
                made = next_creator(**kwargs)
        finally:
            graph.variable_scopes.maker = outer
        if not self.mapped:
            made._engine = self
        return made

    @property
    def parameter_devices(self) -> list[str]:
        return [self._parameter_device]

    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any:
        return min(var_list, key=lambda v: v.name)

    # ---- updating --------------------------------------------------------------------------------------------

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any) -> Any:
        var = value_container(var)
        if not isinstance(var, Variable):
            raise ValueError(f"Expected a variable to update, got {var!r}.")
        args, kwargs = nest.map_structure(_single, (args, kwargs))
        return self.update_non_slot(var, lambda *a, **k: fn(var, *a, **k), *args, grouped=grouped, **kwargs)

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any
    ) -> Any:
        device = getattr(colocate_with, "device", None) or self._parameter_device
        graph = get_default_graph()
        with graph.under(None), graph.device(device), tower_contexts.UpdateContext(device):
            result = fn(*args, **kwargs)
        return result if grouped else map_parts(self.tower_view.unwrap, result)

    def __repr__(self) -> str:
        return f"<CentralTowers: {self.axis.size}>"


def _single(value: Any) -> Any:
    """A value for the one copy of a variable.

    Raises:
      ValueError: a value of several devices.
    """
    if not isinstance(value, DistributedValues) or isinstance(value, Variable):
        return value
    if isinstance(value, Mirrored) and len(value.devices) == 1:
        return value.primary
    kind = "a Mirrored object with multiple components" if isinstance(value, Mirrored) else "a PerDevice object"
    raise ValueError(
        f"You cannot update variable with {kind} {value!r}: variables have one copy here. Reduce it to the variable "
        "first: reduce(aggregation, value, destinations=variable)."
    )
