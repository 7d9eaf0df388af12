"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.training.optimizers.adam import ADAM
from towerstrat.training.optimizers.v2.single_update_optimizer import SingleUpdateOptimizerV2


class AdamOptimizer(SingleUpdateOptimizerV2):
    """Adam (Kingma and Ba 2014); ``tf.train.AdamOptimizer`` has the equations.

    Gradients that are rows decay the moments of all rows, as dense ones do.

    Args:
      learning_rate, beta1, beta2, epsilon: numbers, tensors, or functions that each step calls.
      use_locking: changes nothing: the order of effects is fixed.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("beta1", beta1)
        self._set_hyper("beta2", beta2)
        self._set_hyper("epsilon", epsilon)

    def _get_beta_accumulators(self, state: Any = None) -> tuple[Any, Any]:
        state = self._get_per_graph_state() if state is None else state
        return state.get_non_slot("beta1_power"), state.get_non_slot("beta2_power")

    def _create_vars(self, var_list: Sequence[Any], state: Any) -> None:
        state.create_non_slot(initial_value=lambda: state.get_hyper("beta1"), name="beta1_power")
        state.create_non_slot(initial_value=lambda: state.get_hyper("beta2"), name="beta2_power")
        for v in var_list:
            state.zeros_slot(v, "m")
            state.zeros_slot(v, "v")

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        powers = [cast(power.value(), var.dtype.base_dtype) for power in self._get_beta_accumulators(state)]
        scalars = [*powers, *self._hypers(state, var, "learning_rate beta1 beta2 epsilon")]
        return ADAM.apply(self._with_slots(var, state, ["m", "v"]), scalars, grad, indices, use_nesterov=False)

    def _finish(self, state: Any) -> Any:  # type: ignore[override]
        powers = zip(self._get_beta_accumulators(state), ("beta1", "beta2"), strict=True)
        return group(*(power.assign(power * state.get_hyper(name)) for power, name in powers))
