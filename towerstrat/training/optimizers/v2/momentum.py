"""Momentum, with Nesterov's variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.training.optimizers.momentum import MOMENTUM
from towerstrat.training.optimizers.v2.single_update_optimizer import SingleUpdateOptimizerV2


class MomentumOptimizer(SingleUpdateOptimizerV2):
    """``accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation``.

    Rows of an embedding that a step does not use keep their accumulation as it is.

    Args:
      learning_rate, momentum: numbers, tensors, or functions that each step calls.
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
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("momentum", momentum)
        self._use_nesterov = use_nesterov

    def _create_vars(self, var_list: Sequence[Any], state: Any) -> None:
        for v in var_list:
            state.zeros_slot(v, "momentum")

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        scalars = self._hypers(state, var, "learning_rate momentum")
        variables = self._with_slots(var, state, ["momentum"])
        return MOMENTUM.apply(variables, scalars, grad, indices, use_nesterov=bool(self._use_nesterov))
