"""Mixin with the scatter methods of variables, as TensorFlow names them: by IndexedSlices, and by coordinates."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices


class ScatterMethods:
    """Updates by IndexedSlices, and of slices by their coordinates."""

    @abstractmethod
    def scatter(self, kind: str, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Updates rows by the method that ``kind`` names; returns the new value."""

    def scatter_update(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Update", sparse_delta, name)

    def scatter_add(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Add", sparse_delta, name)

    def scatter_sub(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Sub", sparse_delta, name)

    def _scatter_slices(self, kind: str, slices: Any, name: str | None) -> Tensor:
        """``scatter`` with IndexedSlices. Raises ValueError where ``slices`` is none."""
        if not isinstance(slices, IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {slices!r}.")
        return self.scatter(kind, slices.indices, slices.values, name)

    def scatter_mul(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Mul", sparse_delta, name)

    def scatter_div(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Div", sparse_delta, name)

    def scatter_max(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Max", sparse_delta, name)

    def scatter_min(self, sparse_delta: TensorLike, use_locking: bool = False, name: str | None = None) -> Tensor:
        return self._scatter_slices("Min", sparse_delta, name)

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        return self.scatter("NdUpdate", indices, updates, name)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        return self.scatter("NdAdd", indices, updates, name)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        return self.scatter("NdSub", indices, updates, name)
