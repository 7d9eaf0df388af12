"""Adagrad, its proximal form, and its dual averaging form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.array.arrays import fill, shape
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.scopes.initializers import constant_initializer
from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.gradient_descent import shrink
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _adagrad(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, accumulated = cells
    accumulated.add(grad * grad)
    var.subtract(grad * scalars[0] / jnp.sqrt(accumulated.value))


def _proximal_adagrad(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, accumulated = cells
    rate, l1, l2 = scalars
    accumulated.add(grad * grad)
    rate = rate / jnp.sqrt(accumulated.value)
    var.set(shrink(var.value - grad * rate, rate, l1, l2))


def _adagrad_da(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, total, squared = cells
    rate, l1, l2, step = scalars
    total.add(grad)
    squared.add(grad * grad)
    summed = total.value
    soft = jnp.sign(summed) * jnp.maximum(jnp.abs(summed) - l1 * step, 0)
    var.set(-rate * jnp.where(l1 > 0, soft, summed) / (l2 * step * rate + jnp.sqrt(squared.value)))


ADAGRAD = define_update("Adagrad", "var accum", "lr", _adagrad)
PROXIMAL_ADAGRAD = define_update("ProximalAdagrad", "var accum", "lr l1 l2", _proximal_adagrad)
ADAGRAD_DA = define_update(
    "AdagradDA",
    "var gradient_accumulator gradient_squared_accumulator",
    "lr l1 l2 global_step",
    _adagrad_da,
)


def constant_start(var: Any, value: float) -> Any:
    """An initializer for a slot of a variable: ``value`` everywhere."""
    if var.get_shape().is_fully_defined():
        return constant_initializer(value, dtype=var.dtype)
    return lambda: cast(fill(shape(var.initialized_value()), value), var.dtype)


def constant_slot(optimizer: Optimizer, var: Any, value: float, slot_name: str, op_name: str) -> Any:
    """The slot of an optimizer, made with ``value`` everywhere if it is not there yet."""
    start = constant_start(var, value)
    return optimizer._get_or_make_slot_with_initializer(var, start, var.get_shape(), var.dtype, slot_name, op_name)


class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi et al. 2011): ``accumulator += gradient**2; var -= learning_rate * gradient / sqrt(accumulator)``.

    Args:
      learning_rate: a number, a tensor, or a function that makes one.
      initial_accumulator_value: what the accumulators start from; positive.
      use_locking: changes nothing: the order of effects is fixed.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            constant_slot(self, v, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        return ADAGRAD.apply(self._with_slots(var, ["accumulator"]), [self._learning_rate_tensor], grad, indices)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad, after each step drawn to zero by an L1 and an L2 penalty.

    Args:
      learning_rate: a number or tensor.
      initial_accumulator_value: what the accumulators start from; positive.
      l1_regularization_strength, l2_regularization_strength: at least zero.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._learning_rate_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            constant_slot(self, v, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._l1_regularization_strength_tensor = self._hyperparameter(
            self._l1_regularization_strength, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = self._hyperparameter(
            self._l2_regularization_strength, "l2_regularization_strength"
        )

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        scalars = [
            self._learning_rate_tensor,
            self._l1_regularization_strength_tensor,
            self._l2_regularization_strength_tensor,
        ]
        return PROXIMAL_ADAGRAD.apply(self._with_slots(var, ["accumulator"]), scalars, grad, indices)


class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging (Duchi et al. 2011), for sparse linear models: unseen features catch up when seen.

    Args:
      learning_rate: a number, a tensor, or a function that makes one.
      global_step: the step counter; an update uses its value plus one.
      initial_gradient_squared_accumulator_value: what the squares start from; positive.
      l1_regularization_strength, l2_regularization_strength: at least zero.

    The variable is a function of the accumulated gradients alone: its initial value does not count.
    """

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ):
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self._learning_rate_tensor: Any = None
        self._global_step_on_worker: Any = None
        self._penalties: list[Tensor] = []

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            constant_slot(self, v, 0.0, "gradient_accumulator", self._name)
            constant_slot(
                self, v, self._initial_gradient_squared_accumulator_value, "gradient_squared_accumulator", self._name
            )

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._global_step_on_worker = self._hyperparameter(self._global_step, "global_step") + 1
        self._penalties = [
            self._hyperparameter(self._l1_regularization_strength, "l1_regularization_strength"),
            self._hyperparameter(self._l2_regularization_strength, "l2_regularization_strength"),
        ]

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        variables = self._with_slots(var, ["gradient_accumulator", "gradient_squared_accumulator"])
        scalars = [self._learning_rate_tensor, *self._penalties, self._global_step_on_worker]
        return ADAGRAD_DA.apply(variables, scalars, grad, indices)
