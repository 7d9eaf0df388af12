"""LARS: momentum whose rate follows each variable's size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.training.optimizers.momentum import MOMENTUM
from towerstrat.training.optimizers.optimizer import Optimizer


def _ratio(var: Any, grad: Any, *, eeta: float, weight_decay: float, epsilon: float) -> Any:
    size, slope = jnp.sqrt(jnp.sum(var * var)), jnp.sqrt(jnp.sum(grad * grad))
    one = jnp.ones_like(size)
    ratio = eeta * size / (slope + weight_decay * size + epsilon)
    return jnp.where((size > 0) & (slope > 0), ratio, one)


define_op(
    "TrustRatio",
    lambda inputs, attrs: [Signature(inputs[0].dtype, ())],
    _ratio,
    differentiable=False,
)


class LARSOptimizer(Optimizer):
    """Layer-wise adaptive rates (You et al. 2017): momentum with ``learning_rate`` times, for each variable,
    ``eeta * |var| / (|gradient| + weight_decay * |var| + epsilon)``.

    ``weight_decay`` enters the ratio only; add the penalty itself to the loss. Gradients that are rows are taken with
    the plain learning rate.

    Args:
      learning_rate: a number, a tensor, or a function that makes one.
      momentum, weight_decay: at least zero.
      skip_list: parts of names; variables whose name has one of them use the plain learning rate.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ):
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(False, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _plain_rate(self, dtype: Any) -> Any:
        rate = self._call_if_callable(self._learning_rate)
        return convert_to_tensor(rate, dtype) if isinstance(rate, float | int) else convert_to_tensor(rate)

    def compute_lr(self, grad: Tensor, var: Any) -> Tensor:
        """The learning rate for a variable and its gradient."""
        rate = self._plain_rate(grad.dtype)
        if self._skip_list is not None and any(part in var.name for part in self._skip_list):
            return rate
        attributes = {"eeta": self._eeta, "weight_decay": self._weight_decay, "epsilon": self._epsilon}
        inputs = [convert_to_tensor(var), grad]
        return rate * get_default_graph().add("TrustRatio", inputs, attributes, "trust_ratio").outputs[0]

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        rate = self.compute_lr(grad, var) if indices is None else self._plain_rate(grad.dtype)
        scalars = [rate, convert_to_tensor(self._momentum, grad.dtype)]
        variables = self._with_slots(var, ["momentum"])
        return MOMENTUM.apply(variables, scalars, grad, indices, use_nesterov=bool(self._use_nesterov))
