"""RMSProp, plain and centered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.array.arrays import ones_like
from towerstrat.graph.scopes.initializers import ones_initializer
from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _rms_prop(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, squares, step = cells
    rate, decay, momentum, epsilon = scalars
    square = _moved(squares, grad * grad, decay)
    new = step.set(step.value * momentum + grad * rate / jnp.sqrt(square + epsilon))
    var.subtract(new)


def _centered(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, mean, squares, step = cells
    rate, decay, momentum, epsilon = scalars
    square, centre = _moved(squares, grad * grad, decay), _moved(mean, grad, decay)
    new = step.set(step.value * momentum + grad * rate / jnp.sqrt(square - centre * centre + epsilon))
    var.subtract(new)


def _moved(average: CellRows, value: Any, decay: Any) -> Any:
    """Moves a running average towards a value; the new average."""
    old = average.value
    return average.set(old + (value - old) * (1 - decay))


RMS_PROP = define_update("RMSProp", "var ms mom", "lr rho momentum epsilon", _rms_prop)
CENTERED_RMS_PROP = define_update("CenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon", _centered)


class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman and Hinton 2012).

    ::

        rms = decay * rms + (1 - decay) * gradient**2
        step = momentum * step + learning_rate * gradient / sqrt(rms + epsilon)
        var -= step

    ``rms`` starts from one, and ``epsilon`` stands below the root: other libraries differ in both. Rows of an embedding
    that a step does not use keep what was accumulated for them.

    Args:
      learning_rate, decay, momentum, epsilon: numbers, tensors, or functions that make one.
      use_locking: changes nothing: the order of effects is fixed.
      centered: divide by the running standard deviation of the gradient, not by its root mean square.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._learning_rate_tensor: Any = None
        self._decay_tensor: Any = None
        self._momentum_tensor: Any = None
        self._epsilon_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            known = v.get_shape().is_fully_defined()
            ones: Any = ones_initializer(dtype=v.dtype) if known else lambda v=v: ones_like(v.initialized_value())
            self._get_or_make_slot_with_initializer(v, ones, v.get_shape(), v.dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._decay_tensor = self._hyperparameter(self._decay, "decay")
        self._momentum_tensor = self._hyperparameter(self._momentum, "momentum")
        self._epsilon_tensor = self._hyperparameter(self._epsilon, "epsilon")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        scalars = [self._learning_rate_tensor, self._decay_tensor, self._momentum_tensor, self._epsilon_tensor]
        if self._centered:
            return CENTERED_RMS_PROP.apply(self._with_slots(var, ["mg", "rms", "momentum"]), scalars, grad, indices)
        return RMS_PROP.apply(self._with_slots(var, ["rms", "momentum"]), scalars, grad, indices)
