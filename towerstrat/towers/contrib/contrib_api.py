"""The ``StrategyApi`` of ``tf.contrib.distribute``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.contrib import eager_variables
from towerstrat.towers.contrib.step_context import MultiStepContext
from towerstrat.towers.contrib.strategy_variables import MirroredVariable, TowerLocalVariable, central_variable_maker
from towerstrat.towers.engine.distributed_values import PerDevice, per_device
from towerstrat.towers.engine.engine import Engine


class ContribApi:
    """The ``StrategyApi`` of 1.8 to 1.12."""

    word = "tower"
    kind = "a distribution"
    divides_losses = True
    loop_method = "run_steps_on_dataset"
    fixed_shapes = False
    whole_elements = False
    differing = PerDevice
    hands_controls_on = False
    hands_tapes_on = True

    def shown(self, device: str) -> str:
        return device if get_default_graph().executing_eagerly else device.removeprefix("/job:localhost")

    def per_tower(self, local: Any, devices: Sequence[str], axis: Axis) -> PerDevice:
        return per_device(local, devices, axis)

    def variable_maker(self, engine: Engine, devices: Sequence[str], axis: Axis, local: bool) -> Callable[..., Any]:
        def make(**kwargs: Any) -> Any:
            aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
            eager = get_default_graph().variable_class is EagerVariable
            if local:
                kwargs["trainable"] = False
                kind = eager_variables.TowerLocalVariable if eager else TowerLocalVariable
                return kind(engine, devices, aggregation, axis, **kwargs)
            return (eager_variables.MirroredVariable if eager else MirroredVariable)(
                engine, devices, aggregation, **kwargs
            )

        return make

    def central_variable_maker(self, engine: Engine, axis: Axis, device: str) -> Callable[..., Any]:
        return central_variable_maker(engine)

    def written(
        self, engine: Engine, axis: Axis, variable: Variable, type: str, inputs: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        return inputs

    def step_context(self) -> MultiStepContext:
        return MultiStepContext()

    def step_arguments(self, element: Any) -> tuple[Any, ...]:
        """The components of a tuple, named or not, are arguments of their own."""
        return element if isinstance(element, tuple) else (element,)


CONTRIB = ContribApi()
