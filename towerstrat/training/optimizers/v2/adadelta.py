"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.training.optimizers.adadelta import ADADELTA
from towerstrat.training.optimizers.v2.single_update_optimizer import SingleUpdateOptimizerV2


class AdadeltaOptimizer(SingleUpdateOptimizerV2):
    """Adadelta (Zeiler 2012): steps as large as recent steps were, over the size of recent gradients.

    Args:
      learning_rate: 1.0 is the paper's rule. rho: how much of the running means is kept at each step. epsilon: added
        below both roots. Each is a number, a tensor, or a function that each step calls.
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
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("rho", rho)
        self._set_hyper("epsilon", epsilon)

    def _create_vars(self, var_list: Sequence[Any], state: Any) -> None:
        for v in var_list:
            state.zeros_slot(v, "accum")
            state.zeros_slot(v, "accum_update")

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        variables = self._with_slots(var, state, ["accum", "accum_update"])
        return ADADELTA.apply(variables, self._hypers(state, var, "learning_rate rho epsilon"), grad, indices)
