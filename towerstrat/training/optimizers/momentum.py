"""Momentum, with Nesterov's variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _momentum(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any, *, use_nesterov: bool) -> None:
    var, accumulated = cells
    rate, momentum = scalars
    new = accumulated.set(accumulated.value * momentum + grad)
    var.subtract(grad * rate + new * momentum * rate if use_nesterov else new * rate)


MOMENTUM = define_update("Momentum", "var accum", "lr momentum", _momentum)


class MomentumOptimizer(Optimizer):
    """``accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation``.

    Rows of an embedding that a step does not use keep their accumulation as it is.

    Args:
      learning_rate, momentum: numbers, tensors, or functions that make one.
      use_locking: changes nothing: the order of effects is fixed.
      use_nesterov: steps along ``gradient + momentum * accumulation`` instead (Sutskever et al. 2013).
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._learning_rate_tensor: Any = None
        self._momentum_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._hyperparameter(self._momentum, "momentum")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        scalars = [self._learning_rate_tensor, self._momentum_tensor]
        return MOMENTUM.apply(
            self._with_slots(var, ["momentum"]), scalars, grad, indices, use_nesterov=bool(self._use_nesterov)
        )
