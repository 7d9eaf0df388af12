"""FTRL-Proximal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.adagrad import constant_slot
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _follow(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any, shrunk: Any) -> None:
    """Squares grow by ``grad``, the linear part by ``shrunk``. A power of -0.5 is computed as a root."""
    var, squares, linear = cells
    rate, l1, l2, power = scalars
    is_root = power == jnp.asarray(-0.5, power.dtype)
    old = squares.value
    grown = old + grad * grad
    before, after = (jnp.where(is_root, jnp.sqrt(s), jnp.power(s, -power)) for s in (old, grown))
    total = linear.value + shrunk - (after - before) / rate * var.value
    pulled = (l1 * jnp.sign(total) - total) / (after / rate + 2 * l2)
    var.set(jnp.where(jnp.abs(total) > l1, pulled, jnp.zeros_like(total)))
    squares.set(grown)
    linear.set(total)


def _ftrl(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    _follow(cells, scalars, grad, grad)


def _ftrl_shrinking(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    rate, l1, l2, shrinkage, power = scalars
    _follow(cells, [rate, l1, l2, power], grad, grad + 2 * shrinkage * cells[0].value)


FTRL = define_update("Ftrl", "var accum linear", "lr l1 l2 lr_power", _ftrl)
FTRL_V2 = define_update("FtrlV2", "var accum linear", "lr l1 l2 l2_shrinkage lr_power", _ftrl_shrinking)


class FtrlOptimizer(Optimizer):
    """FTRL-Proximal (McMahan et al. 2013), with L1, stabilizing L2 and shrinkage L2 penalties.

    Args:
      learning_rate: a number, a tensor, or a function that makes one.
      learning_rate_power: at most zero; -0.5 is the paper's.
      initial_accumulator_value: what the squares start from; at least zero.
      l1_regularization_strength, l2_regularization_strength: at least zero.
      use_locking: changes nothing: the order of effects is fixed.
      accum_name: end of the name of the variables for squares; default ``name``.
      linear_name: end of the name of the linear ones; default ``name``, made unique.
      l2_shrinkage_regularization_strength: an L2 penalty on the weights in the gradient; with rows, on those rows.

    Raises:
      ValueError: an argument is out of its range.
    """

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ):
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value:f} needs to be positive or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._learning_rate_tensor: Any = None
        self._learning_rate_power_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None
        self._l2_shrinkage_regularization_strength_tensor: Any = None
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            constant_slot(self, v, self._initial_accumulator_value, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")
        self._l1_regularization_strength_tensor = self._hyperparameter(
            self._l1_regularization_strength, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = self._hyperparameter(
            self._l2_regularization_strength, "l2_regularization_strength"
        )
        self._l2_shrinkage_regularization_strength_tensor = self._hyperparameter(
            self._l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength"
        )
        self._learning_rate_power_tensor = self._hyperparameter(self._learning_rate_power, "learning_rate_power")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        variables = self._with_slots(var, ["accum", "linear"])
        rate, power = self._learning_rate_tensor, self._learning_rate_power_tensor
        penalties = [self._l1_regularization_strength_tensor, self._l2_regularization_strength_tensor]
        if self._l2_shrinkage_regularization_strength <= 0.0:
            return FTRL.apply(variables, [rate, *penalties, power], grad, indices)
        shrinkage = self._l2_shrinkage_regularization_strength_tensor
        return FTRL_V2.apply(variables, [rate, *penalties, shrinkage, power], grad, indices)
