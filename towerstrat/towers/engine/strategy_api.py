"""The points in which ``tf.contrib.distribute`` and ``tf.distribute`` differ on one engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.engine.distributed_values import PerDevice
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.step_context import MultiStepContext


class StrategyApi(Protocol):
    """The words, classes and rules of one surface; an engine gets that of its strategy.

    Attributes:
      word: what messages call a tower.
      kind: what messages call a strategy.
      divides_losses: whether optimizers divide a mean loss by the number of towers.
      loop_method: the method that runs steps, as messages call it.
      fixed_shapes: whether step loops take elements of known shapes only, on one tower too.
      hands_controls_on: whether what towers make when they meet runs after their control dependencies.
      hands_tapes_on: whether the towers' tapes record what is executed when they meet.
      whole_elements: whether an element of a step loop has a part for every tower, rather than being one tower's.
    """

    word: str
    kind: str
    divides_losses: bool
    loop_method: str
    fixed_shapes: bool
    whole_elements: bool
    hands_controls_on: bool
    hands_tapes_on: bool

    @property
    def differing(self) -> type[PerDevice]:
        """The class of values that may differ between towers."""

    def shown(self, device: str) -> str:
        """A device's full name as programs see it."""

    def per_tower(self, local: Any, devices: Sequence[str], axis: Axis) -> PerDevice:
        """A value that towers have, as one per-device value."""

    def variable_maker(self, engine: Engine, devices: Sequence[str], axis: Axis, local: bool) -> Callable[..., Any]:
        """A function that makes a variable with a copy on each tower; ``local``: each copy has its own value."""

    def central_variable_maker(self, engine: Engine, axis: Axis, device: str) -> Callable[..., Any]:
        """A function that makes a variable that several towers share, on one device."""

    def written(
        self, engine: Engine, axis: Axis, variable: Variable, type: str, inputs: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        """The inputs of an operation that writes a variable in the context of one of several towers."""

    def step_context(self) -> MultiStepContext:
        """The context that a step function is given."""

    def step_arguments(self, element: Any) -> tuple[Any, ...]:
        """An element as the arguments of a step function, after its context."""
