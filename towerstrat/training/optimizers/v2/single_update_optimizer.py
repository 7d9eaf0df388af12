"""Optimizers of version 2 whose whole rule is one operation per variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.training.optimizers.v2.optimizer_v2 import OptimizerV2


class SingleUpdateOptimizerV2(OptimizerV2):
    """An optimizer whose four hooks come down to one: ``_update_by(grad, var, state, indices)``."""

    def _update_by(self, grad: Tensor, var: Any, state: Any, indices: Tensor | None = None) -> Operation:
        """Adds the update of ``var`` by a gradient of its shape or, with ``indices``, by rows that do not repeat."""
        raise NotImplementedError("must be implemented in descendants")

    def _apply_dense(self, grad: Tensor, var: Any, state: Any) -> Any:  # type: ignore[override]
        return self._update_by(grad, var, state)

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: Any) -> Any:  # type: ignore[override]
        return self._update_by(grad, handle, state)

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: Any) -> Any:  # type: ignore[override]
        return self._update_by(grad.values, var, state, grad.indices)

    def _resource_apply_sparse(  # type: ignore[override]
        self, grad: Tensor, handle: Any, indices: Tensor, state: Any
    ) -> Any:
        return self._update_by(grad, handle, state, indices)

    def _hypers(self, state: Any, var: Any, names: str) -> list[Tensor]:
        """Hyperparameters in a variable's element type; their names are separated by spaces."""
        return [state.get_hyper(name, var.dtype.base_dtype) for name in names.split()]

    def _with_slots(  # type: ignore[override]
        self, var: Any, state: Any, slot_names: Sequence[str]
    ) -> list[Any]:
        return [var, *(state.get_slot(var, name) for name in slot_names)]
