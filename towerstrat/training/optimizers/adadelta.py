"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _adadelta(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, accumulated, updates = cells
    rate, rho, epsilon = scalars
    squares = accumulated.set(accumulated.value * rho + grad * grad * (1 - rho))
    steps = updates.value
    step = jnp.sqrt(steps + epsilon) / jnp.sqrt(squares + epsilon) * grad
    updates.set(steps * rho + step * step * (1 - rho))
    var.subtract(step * rate)


ADADELTA = define_update("Adadelta", "var accum accum_update", "lr rho epsilon", _adadelta)


class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler 2012): steps as large as recent steps were, over the size of recent gradients.

    Args:
      learning_rate: 1.0 is the paper's rule.
      rho: how much of the running means is kept at each step.
      epsilon: added below both roots.
      use_locking: changes nothing: the order of effects is fixed.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._rho_t: Any = None
        self._epsilon_t: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "lr")
        self._rho_t = self._hyperparameter(self._rho, "rho")
        self._epsilon_t = self._hyperparameter(self._epsilon, "epsilon")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        variables = self._with_slots(var, ["accum", "accum_update"])
        return ADADELTA.apply(variables, [self._lr_t, self._rho_t, self._epsilon_t], grad, indices)
