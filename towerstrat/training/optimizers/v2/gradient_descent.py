"""Plain gradient descent."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.training.optimizers.gradient_descent import DESCENT
from towerstrat.training.optimizers.v2.single_update_optimizer import SingleUpdateOptimizerV2


class GradientDescentOptimizer(SingleUpdateOptimizerV2):
    """``var -= learning_rate * gradient``.

    Args:
      learning_rate: a number, a tensor, or a function that each step calls.
      use_locking: changes nothing: the order of effects is fixed.
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        return DESCENT.apply([var], self._hypers(state, var, "learning_rate"), grad, indices)

    def _apply_sparse_duplicate_indices(  # type: ignore[override]
        self, grad: IndexedSlices, var: Any, state: Any
    ) -> Any:
        return self._update_by(grad.values, var, state, grad.indices)

    def _resource_apply_sparse_duplicate_indices(  # type: ignore[override]
        self, grad: Tensor, handle: Any, indices: Tensor, state: Any
    ) -> Any:
        return self._update_by(grad, handle, state, indices)
