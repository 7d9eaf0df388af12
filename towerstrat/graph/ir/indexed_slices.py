"""Gradients of row lookups: values for some rows of a larger tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.ir.composite import Argument, Convertible, Fetchable
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.registry import Signature, define
from towerstrat.graph.ir.types import DType


class IndexedSlicesValue:
    """A fetched ``IndexedSlices``: numpy ``values``, ``indices`` and ``dense_shape`` (or None)."""

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    def __iter__(self) -> Iterator[Any]:
        return iter((self.values, self.indices, self.dense_shape))


class IndexedSlices(Argument, Convertible, Fetchable):
    """``values[i]`` belongs to row ``indices[i]`` of a tensor of shape ``dense_shape``; rows may repeat and add up.

    Attributes:
      values: ``[n, ...]``.
      indices: ``[n]``, int32 or int64.
      dense_shape: 1-D integers, or None.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def graph(self) -> Graph:
        return self.values.graph

    def _tensors(self) -> list[Tensor]:
        return [self.values, self.indices, *([] if self.dense_shape is None else [self.dense_shape])]

    def _like(self, tensors: Sequence[Tensor]) -> IndexedSlices:
        return IndexedSlices(*tensors)

    def _argument_key(self) -> bool:
        return self.dense_shape is None

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        """The whole tensor, with zeros in all other rows."""
        if dtype is not None and dtype is not self.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with {self.dtype.name}."
            )
        if self.dense_shape is None:
            raise ValueError("IndexedSlices without dense_shape cannot be made a tensor.")
        inputs = [self.values, self.indices, convert_to_tensor(self.dense_shape)]
        return get_default_graph().add("DenseOfIndexedSlices", inputs, {}, name or "dense").outputs[0]

    def _fetch_parts(self) -> tuple[list[Tensor], Callable[[list[Any]], IndexedSlicesValue]]:
        return self._tensors(), lambda parts: IndexedSlicesValue(*parts)

    def __repr__(self) -> str:
        shape = f", dense_shape={self.dense_shape!s}" if self.dense_shape is not None else ""
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{shape})"


def _dense_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    values, _, shape = inputs
    known = shape.op.attrs["value"] if shape.op.type == "Const" else None
    dims = None if known is None else tuple(int(d) for d in known)
    return [Signature(values.dtype, dims)]


def _scatter(values: Any, indices: Any, shape: Any) -> Any:
    return jnp.zeros(tuple(int(d) for d in shape), values.dtype).at[indices].add(values, mode="drop")


define("DenseOfIndexedSlices", _dense_rule, _scatter, static=(2,))
