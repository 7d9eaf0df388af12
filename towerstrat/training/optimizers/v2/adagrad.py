"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.training.optimizers.adagrad import ADAGRAD, constant_start
from towerstrat.training.optimizers.v2.single_update_optimizer import SingleUpdateOptimizerV2


class AdagradOptimizer(SingleUpdateOptimizerV2):
    """Adagrad (Duchi et al. 2011): ``accumulator += gradient**2; var -= learning_rate * gradient / sqrt(accumulator)``.

    Args:
      learning_rate: a number, a tensor, or a function that each step calls.
      initial_accumulator_value: what the accumulators start from, a positive number.
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
        self._set_hyper("learning_rate", learning_rate)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_vars(self, var_list: Sequence[Any], state: Any) -> None:
        for v in var_list:
            start = constant_start(v, self._initial_accumulator_value)
            state.create_slot_with_initializer(v, start, v.get_shape(), v.dtype, "accumulator")

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        variables = self._with_slots(var, state, ["accumulator"])
        return ADAGRAD.apply(variables, self._hypers(state, var, "learning_rate"), grad, indices)
