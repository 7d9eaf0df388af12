"""RMSProp, plain and centered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.array.arrays import ones, ones_like
from towerstrat.training.optimizers.rmsprop import CENTERED_RMS_PROP, RMS_PROP
from towerstrat.training.optimizers.v2.single_update_optimizer import SingleUpdateOptimizerV2


class RMSPropOptimizer(SingleUpdateOptimizerV2):
    """RMSProp (Tieleman and Hinton 2012).

    ::

        rms = decay * rms + (1 - decay) * gradient**2
        step = momentum * step + learning_rate * gradient / sqrt(rms)
        var -= step

    ``rms`` starts from ``epsilon``, which nothing else uses: in ``tf.train.RMSPropOptimizer`` it starts from one, and
    ``epsilon`` stands below the root. Rows of an embedding that a step does not use keep what was accumulated for them.

    Args:
      learning_rate, decay, momentum, epsilon: numbers, tensors, or functions that each step calls.
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
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", decay)
        self._set_hyper("momentum", momentum)
        self._set_hyper("epsilon", epsilon)
        self._centered = centered

    def _create_vars(self, var_list: Sequence[Any], state: Any) -> None:
        for v in var_list:
            if state.get_slot(v, "rms") is None:
                shape, dtype = v.get_shape(), v.dtype.base_dtype
                like = ones(shape, dtype) if shape.is_fully_defined() else ones_like(v.initialized_value())
                state.create_slot_with_initializer(v, state.get_hyper("epsilon", dtype) * like, shape, dtype, "rms")
            if self._centered:
                state.zeros_slot(v, "mg")
            state.zeros_slot(v, "momentum")

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        scalars = [*self._hypers(state, var, "learning_rate decay momentum"), constant(0, var.dtype.base_dtype)]
        if self._centered:
            variables = self._with_slots(var, state, ["mg", "rms", "momentum"])
            return CENTERED_RMS_PROP.apply(variables, scalars, grad, indices)
        return RMS_PROP.apply(self._with_slots(var, state, ["rms", "momentum"]), scalars, grad, indices)
