"""Adam and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.default_graph import colocate_with, control_dependencies
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.rows import CellRows, RowSum
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.update_ops import define_update


def _corrected(rate: Any, beta1_power: Any, beta2_power: Any) -> Any:
    return rate * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)


def _adam(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any, *, use_nesterov: bool) -> None:
    var, first, second = cells
    beta1_power, beta2_power, rate, beta1, beta2, epsilon = scalars
    rate = _corrected(rate, beta1_power, beta2_power)
    m, v = first.value, second.value
    m = first.set(m + (grad - m) * (1 - beta1))
    v = second.set(v + (grad * grad - v) * (1 - beta2))
    direction = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    var.subtract(rate * direction / (jnp.sqrt(v) + epsilon))


def _adam_rows(cells: Sequence[CellRows], scalars: Sequence[Any], rows: RowSum, *, use_nesterov: bool) -> None:
    """The moments of all rows decay, so all rows move."""
    var, first, second = cells
    beta1_power, beta2_power, rate, beta1, beta2, epsilon = scalars
    rate = _corrected(rate, beta1_power, beta2_power)
    first.decay(beta1, rows, lambda grad: grad * (1 - beta1))
    second.decay(beta2, rows, lambda grad: (grad * grad) * (1 - beta2))
    m, v = first.value, second.value
    direction = rows.added_to(beta1 * m, lambda grad: grad * (1 - beta1)) if use_nesterov else m
    var.subtract(rate * direction / (jnp.sqrt(v) + epsilon))


def _ada_max(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, first, second = cells
    beta1_power, rate, beta1, beta2, epsilon = scalars
    m = first.value
    m = first.set(m + (grad - m) * (1 - beta1))
    v = second.set(jnp.maximum(beta2 * second.value, jnp.abs(grad)))
    var.subtract(rate / (1 - beta1_power) * (m / (v + epsilon)))


_SCALARS = "beta1_power beta2_power lr beta1 beta2 epsilon"
ADAM = define_update("Adam", "var m v", _SCALARS, _adam, _adam_rows)
LAZY_ADAM = define_update("LazyAdam", "var m v", _SCALARS, _adam)
ADA_MAX = define_update("AdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon", _ada_max)


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba 2014).

    With ``t`` the number of steps so far::

        rate = learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        var -= rate * m / (sqrt(v) + epsilon)

    ``epsilon`` is the paper's "epsilon hat", added to the uncorrected root: elsewhere it is often added to the
    corrected one. Gradients that are rows decay the moments of all rows, as dense ones do; ``LazyAdamOptimizer`` leaves
    unused rows alone.

    Args:
      learning_rate, beta1, beta2, epsilon: numbers, tensors, or functions that make one.
      use_locking: changes nothing: the order of effects is fixed.
    """

    _use_nesterov = False
    _rule = ADAM

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
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        graph = get_default_graph()
        return (
            self._get_non_slot_variable("beta1_power", graph=graph),
            self._get_non_slot_variable("beta2_power", graph=graph),
        )

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
        self._create_non_slot_variable(initial_value=self._beta2, name="beta2_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyperparameter(self._lr, "learning_rate")
        self._beta1_t = self._hyperparameter(self._beta1, "beta1")
        self._beta2_t = self._hyperparameter(self._beta2, "beta2")
        self._epsilon_t = self._hyperparameter(self._epsilon, "epsilon")

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        powers = [power.value() for power in self._get_beta_accumulators()]
        scalars = [*powers, self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t]
        variables = self._with_slots(var, ["m", "v"])
        return self._rule.apply(variables, scalars, grad, indices, use_nesterov=self._use_nesterov)

    def _apply_sparse_shared(
        self, grad: Tensor, var: Any, indices: Tensor, scatter_add: Callable[..., Any] | None = None
    ) -> Any:
        """The update by rows that do not repeat. ``scatter_add`` is not called: one operation does it all."""
        return self._update(grad, var, indices)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._apply_sparse_shared(grad.values, var, grad.indices, self._resource_scatter_add)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._apply_sparse_shared(grad, handle, indices, self._resource_scatter_add)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with colocate_with(beta1_power):
                updates = [
                    beta1_power.assign(beta1_power * self._beta1_t, use_locking=self._use_locking),
                    beta2_power.assign(beta2_power * self._beta2_t, use_locking=self._use_locking),
                ]
        return group(*update_ops, *updates, name=name_scope)


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov momentum: steps along ``(1 - beta1) * gradient + beta1 * m`` (Dozat 2016).

    The original's rule for rows fails; here rows give what the same gradient gives as a dense one.
    """

    _use_nesterov = True


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that, of gradients that are rows, updates only those rows of the variable and its moments."""

    _rule = LAZY_ADAM


class AdaMaxOptimizer(AdamOptimizer):
    """AdaMax (Kingma and Ba 2014, section 7): ``v`` is a running maximum of gradients' sizes."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", graph=get_default_graph())

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        power = self._get_beta_accumulators().value()
        scalars = [power, self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t]
        return ADA_MAX.apply(self._with_slots(var, ["m", "v"]), scalars, grad, indices)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with control_dependencies(update_ops):
            beta1_power = self._get_beta_accumulators()
            with colocate_with(beta1_power):
                update = beta1_power.assign(beta1_power * self._beta1_t, use_locking=self._use_locking)
        return group(*update_ops, update, name=name_scope)
