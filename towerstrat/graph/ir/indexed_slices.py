"""``IndexedSlices``: a sparse gradient, some rows of a larger tensor that is zero elsewhere.

``tf.gradients`` returns one for a variable that is only read by row lookups (``tf.gather``): values ``[n, ...]`` and
indices ``[n]``, rows may repeat and then add up. Optimizers apply it to these rows only; converted to a tensor it is
the dense gradient, of shape ``dense_shape``.

    table: [1000, 8], ids: [4]          IndexedSlices(values: [4, 8], indices: ids, dense_shape: [1000, 8])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from towerstrat.graph.ir.composite_values import Argument, Convertible, Fetchable
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, DType, HostArray


class IndexedSlicesValue(NamedTuple):
    """The value of an ``IndexedSlices``, fetched or fed: ``values``, ``indices`` and ``dense_shape`` (or None)."""

    values: HostArray
    indices: HostArray
    dense_shape: HostArray | None = None


class IndexedSlices(Argument, Convertible, Fetchable):
    """Rows of a larger tensor that is zero elsewhere: ``values[i]`` is added to row ``indices[i]``.

    Attributes:
      values: ``[n, ...]``, any dtype.
      indices: ``[n]``, int32 or int64; rows may repeat.
      dense_shape: the larger tensor's shape, a vector of integers, or None.
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
        """The larger tensor. Raises ValueError without ``dense_shape``, or where ``dtype`` is another."""
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

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __repr__(self) -> str:
        shape = f", dense_shape={self.dense_shape!s}" if self.dense_shape is not None else ""
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{shape})"


def _dense_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    values, _, shape = inputs
    known = shape.op.attrs["value"] if shape.op.type == "Const" else None
    dims = None if known is None else tuple(int(d) for d in known)
    return [Signature(values.dtype, dims)]


def _scatter(values: Array, indices: Array, shape: HostArray) -> Array:
    return jnp.zeros(tuple(int(d) for d in shape), values.dtype).at[indices].add(values, mode="drop")


define_op("DenseOfIndexedSlices", _dense_rule, _scatter, static=(2,))
