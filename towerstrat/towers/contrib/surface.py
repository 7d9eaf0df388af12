"""The ``Surface`` of ``tf.contrib.distribute``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.contrib.step_context import MultiStepContext
from towerstrat.towers.contrib.variables import central_variable_maker, variable_maker
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.values import PerDevice, per_device


class ContribSurface:
    """The ``Surface`` of 1.8 to 1.12."""

    word = "tower"
    kind = "a distribution"
    divides_losses = True
    loop_method = "run_steps_on_dataset"
    fixed_shapes = False
    whole_elements = False
    differing = PerDevice
    hands_controls_on = False

    def shown(self, device: str) -> str:
        return device.removeprefix("/job:localhost")

    def per_tower(self, local: Any, devices: Sequence[str], axis: Axis) -> PerDevice:
        return per_device(local, devices, axis)

    def variable_maker(self, engine: Engine, devices: Sequence[str], axis: Axis, local: bool) -> Callable[..., Any]:
        return variable_maker(engine, devices, axis, local)

    def central_variable_maker(self, engine: Engine, axis: Axis, device: str) -> Callable[..., Any]:
        return central_variable_maker(engine)

    def written(
        self, engine: Engine, axis: Axis, variable: Variable, type: str, inputs: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        return inputs

    def step_context(self) -> MultiStepContext:
        return MultiStepContext()

    def step_arguments(self, element: Any) -> tuple[Any, ...]:
        """The components of a tuple are arguments of their own."""
        return element if isinstance(element, tuple) and not hasattr(element, "_fields") else (element,)


CONTRIB = ContribSurface()
