"""AddSign: steps are longer where a gradient agrees in sign with the average of those before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.variables.rows import CellRows, RowSum, read_rows
from towerstrat.graph.variables.variables import Variable
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update

Hyperparameter: TypeAlias = "TensorLike | Callable[[], TensorLike]"


def _step(grad: jax.Array, moment: jax.Array, rate: jax.Array, alpha: jax.Array, sign_decay: jax.Array) -> jax.Array:
    return rate * (alpha + sign_decay * jnp.sign(grad) * jnp.sign(moment)) * grad


def _add_sign(cells: Sequence[CellRows], scalars: Sequence[jax.Array], grad: jax.Array) -> None:
    var, first = cells
    rate, alpha, sign_decay, beta = scalars
    moment = first.set(first.value * beta + grad * (1 - beta))
    var.subtract(_step(grad, moment, rate, alpha, sign_decay))


def _add_sign_rows(cells: Sequence[CellRows], scalars: Sequence[jax.Array], rows: RowSum) -> None:
    """The moments of all rows decay; only the given rows of the variable move."""
    var, first = cells
    rate, alpha, sign_decay, beta = scalars
    first.decay(beta, rows, lambda grad: grad * (1 - beta))
    moment = first.value if rows.indices is None else read_rows(first.value, rows.indices)
    var.table = rows.added_to(var.table, lambda grad: -_step(grad, moment, rate, alpha, sign_decay))


ADD_SIGN = define_update("AddSign", "var m", "lr alpha sign_decay beta", _add_sign, _add_sign_rows)


class AddSignOptimizer(Optimizer):
    """AddSign (Bello et al. 2017, https://arxiv.org/abs/1709.07417).

    With ``t`` the number of steps so far::

        m = beta * m + (1 - beta) * gradient
        var -= learning_rate * (alpha + sign_decay_fn(t) * sign(gradient) * sign(m)) * gradient

    Gradients that are rows decay ``m`` of all rows, as dense ones do; rows that a step does not use do not move.

    Args:
      learning_rate, alpha, beta: numbers, tensors, or functions that make one.
      sign_decay_fn: the global step that ``apply_gradients`` gets -> the factor of the signs; None: always 1.
      use_locking: changes nothing: the order of effects is fixed.
    """

    def __init__(
        self,
        learning_rate: Hyperparameter = 0.1,
        alpha: Hyperparameter = 1.0,
        beta: Hyperparameter = 0.9,
        sign_decay_fn: Callable[[Variable | None], TensorLike] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._alpha = alpha
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Tensor | IndexedSlices | None, Variable]],
        global_step: Variable | None = None, name: str | None = None,
    ) -> Operation | None:  # fmt: skip
        if self._sign_decay_fn is not None:
            self._sign_decay_t = self._hyperparameter(self._sign_decay_fn(global_step), "sign_decay")
        applied: Operation | None = super().apply_gradients(grads_and_vars, global_step=global_step, name=name)
        return applied

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "learning_rate")
        self._beta_t = self._hyperparameter(self._beta, "beta")
        self._alpha_t = self._hyperparameter(self._alpha, "alpha")
        if self._sign_decay_fn is None:
            self._sign_decay_t = self._hyperparameter(1.0, "sign_decay")

    def _update(self, grad: Tensor, var: Variable, indices: Tensor | None = None) -> Operation:
        scalars = [self._lr_t, self._alpha_t, self._sign_decay_t, self._beta_t]
        return ADD_SIGN.apply(self._with_slots(var, ["m"]), scalars, grad, indices)
