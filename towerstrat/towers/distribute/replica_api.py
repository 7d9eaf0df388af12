"""The ``StrategyApi`` of ``tf.distribute``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.distribute.central_variables import central_variable_maker
from towerstrat.towers.distribute.per_replica_values import PerReplica, per_replica
from towerstrat.towers.distribute.replica_variables import variable_maker, written_in_turn
from towerstrat.towers.distribute.step_context import MultiStepContext
from towerstrat.towers.engine.engine import Engine


class ReplicaApi:
    """The ``StrategyApi`` of 1.13 to 2.x."""

    word = "replica"
    kind = "tf.distribute"
    divides_losses = False
    loop_method = "experimental_run_steps_on_iterator"
    fixed_shapes = True
    whole_elements = True
    differing = PerReplica
    hands_controls_on = True
    hands_tapes_on = False

    def shown(self, device: str) -> str:
        return device

    def per_tower(self, local: Any, devices: Sequence[str], axis: Axis) -> PerReplica:
        return per_replica(local, devices, axis)

    def variable_maker(self, engine: Engine, devices: Sequence[str], axis: Axis, local: bool) -> Callable[..., Any]:
        return variable_maker(engine, devices, axis, local)

    def central_variable_maker(self, engine: Engine, axis: Axis, device: str) -> Callable[..., Any]:
        return central_variable_maker(engine, axis, device)

    def written(
        self, engine: Engine, axis: Axis, variable: Variable, type: str, inputs: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        return written_in_turn(engine, axis, variable, type, inputs)

    def step_context(self) -> MultiStepContext:
        return MultiStepContext()

    def step_arguments(self, element: Any) -> tuple[Any, ...]:
        """An element is one argument."""
        return (element,)


REPLICAS = ReplicaApi()
