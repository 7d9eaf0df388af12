"""Optimizers whose whole rule is one operation per variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.training.optimizers.optimizer import Optimizer


class SingleUpdateOptimizer(Optimizer):
    """An optimizer whose four hooks come down to one: ``_update(grad, var, indices)``."""

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        """Adds the update of ``var`` by a gradient of its shape or, with ``indices``, by rows that do not repeat."""
        raise NotImplementedError("must be implemented in descendants")

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._update(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._update(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._update(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._update(grad, handle, indices)

    def _hyperparameter(self, value: Any, name: str) -> Tensor:
        """A number, tensor, or function that makes one, as a tensor."""
        return convert_to_tensor(self._call_if_callable(value), name=name)

    def _with_slots(self, var: Any, slot_names: Sequence[str]) -> list[Any]:
        return [var, *(self.get_slot(var, name) for name in slot_names)]
