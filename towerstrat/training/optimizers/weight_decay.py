"""Decoupled weight decay (Loshchilov and Hutter 2017): weights shrink beside the gradient's step, not through it."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.training.optimizers.adam import AdamOptimizer
from towerstrat.training.optimizers.momentum import MomentumOptimizer
from towerstrat.training.optimizers.optimizer import Optimizer


class DecoupledWeightDecayExtension:
    """Put before an optimizer among a class's bases, subtracts ``weight_decay * var`` before each update.

    Args:
      weight_decay: a number, a tensor, or a function that makes one. It is not scaled by the learning rate.
      **kwargs: the optimizer's own arguments.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any):
        self._decay_var_list: Any = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: Any = None
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Any = None,
    ) -> Any:
        """As the optimizer's; only variables of ``decay_var_list`` decay if it is given."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else False
        pairs = self.compute_gradients(  # type: ignore[attr-defined]
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        return self.apply_gradients(pairs, global_step=global_step, name=name, decay_var_list=decay_var_list)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None, decay_var_list: Any = None
    ) -> Any:
        """As the optimizer's; only variables of ``decay_var_list`` decay if it is given."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else False
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)  # type: ignore[misc]

    def _prepare(self) -> None:
        value = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        self._weight_decay_tensor = convert_to_tensor(value, name="weight_decay")
        super()._prepare()  # type: ignore[misc]

    def _decay_for(self, var: Any) -> Tensor:
        """The decay in the variable's type; a Python number is not rounded to float32 first."""
        if isinstance(self._weight_decay, float | int):
            return convert_to_tensor(self._weight_decay, var.dtype, name="weight_decay")
        return cast(self._weight_decay_tensor, var.dtype)

    def _decays(self, var: Any) -> bool:
        return not self._decay_var_list or var in self._decay_var_list

    def _decay_weights_op(self, var: Any) -> Any:
        if not self._decays(var):
            return no_op()
        return var.assign_sub(self._decay_for(var) * var)

    def _decay_weights_sparse_op(self, var: Any, indices: Tensor) -> Any:
        if not self._decays(var):
            return no_op()
        return var.scatter("Sub", indices, self._decay_for(var) * var.sparse_read(indices))

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        with control_dependencies([self._decay_weights_op(var)]):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Tensor, var: Any) -> Any:
        with control_dependencies([self._decay_weights_op(var)]):
            return super()._resource_apply_dense(grad, var)  # type: ignore[misc]

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        with control_dependencies([self._decay_weights_sparse_op(var, grad.indices)]):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        with control_dependencies([self._decay_weights_sparse_op(var, indices)]):
            return super()._resource_apply_sparse(grad, var, indices)  # type: ignore[misc]


def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """A class like ``base_optimizer`` whose first argument is ``weight_decay``.

    >>> MyAdamW = extend_with_decoupled_weight_decay(AdamOptimizer)
    >>> optimizer = MyAdamW(weight_decay=1e-4, learning_rate=1e-3)
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any):
            self._decay_var_list = None
            self._weight_decay = weight_decay
            self._weight_decay_tensor = None
            base_optimizer.__init__(self, *args, **kwargs)  # type: ignore[misc]

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
