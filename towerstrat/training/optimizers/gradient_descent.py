"""Plain gradient descent and its proximal form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _descend(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    cells[0].subtract(grad * scalars[0])


def shrink(value: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """The point that is nearest to ``value`` under an L1 and an L2 penalty, for a step of ``rate``."""
    soft = jnp.sign(value) * jnp.maximum(jnp.abs(value) - rate * l1, 0)
    return jnp.where(l1 > 0, soft, value) / (1 + rate * l2)


def _descend_proximal(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    rate, l1, l2 = scalars
    cells[0].set(shrink(cells[0].value - grad * rate, rate, l1, l2))


DESCENT = define_update("GradientDescent", "var", "alpha", _descend, adds=True)
PROXIMAL_DESCENT = define_update("ProximalGradientDescent", "var", "alpha l1 l2", _descend_proximal)


class GradientDescentOptimizer(Optimizer):
    """``var -= learning_rate * gradient``.

    Args:
      learning_rate: a number, a tensor, or a function that makes one.
      use_locking: changes nothing: the order of effects is fixed.
      name: prefix of the operations' names.
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyperparameter(self._learning_rate, "learning_rate")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        rate = self._learning_rate_tensor
        if indices is not None and isinstance(self._learning_rate, float | int):
            # For rows the original multiplies by the Python number itself, not rounded to float32.
            rate = convert_to_tensor(self._learning_rate, grad.dtype, name="learning_rate")
        return DESCENT.apply([var], [rate], grad, indices)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        delta = IndexedSlices(grad.values * cast(self._learning_rate_tensor, var.dtype), grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._update(grad, handle, indices)


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent, after each step drawn to zero by an L1 and an L2 penalty (Duchi and Singer 2009, FOBOS).

    Args:
      learning_rate: a number or tensor.
      l1_regularization_strength, l2_regularization_strength: at least zero.
    """

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._learning_rate_tensor: Any = None
        self._l1_regularization_strength_tensor: Any = None
        self._l2_regularization_strength_tensor: Any = None

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
        return PROXIMAL_DESCENT.apply([var], scalars, grad, indices)
