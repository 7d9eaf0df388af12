"""``SparseTensor``: the entries of a larger tensor that are not its default value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from towerstrat.graph.ir.composite import Argument, Fetchable
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.stacks import SessionLike
from towerstrat.graph.ir.static import constant_value_as_dims
from towerstrat.graph.ir.types import DType, HostArray, int64


class SparseTensorValue(NamedTuple):
    """A fetched ``SparseTensor``: numpy ``indices``, ``values`` and ``dense_shape``."""

    indices: HostArray
    values: HostArray
    dense_shape: HostArray


class SparseTensor(Argument, Fetchable):
    """Entries of a larger tensor: ``values[i]`` stands at ``indices[i]``.

    Args:
      indices: int64 ``[n, rank]``.
      values: ``[n]``, any element type.
      dense_shape: int64 ``[rank]``, the larger tensor's shape.

    Raises:
      ValueError: other ranks.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any):
        self._indices = convert_to_tensor(indices, int64, name="indices")
        self._values = convert_to_tensor(values, name="values")
        self._dense_shape = convert_to_tensor(dense_shape, int64, name="dense_shape")
        for tensor, rank in zip(self._tensors(), (2, 1, 1), strict=True):
            tensor.shape.with_rank(rank)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Of a ``SparseTensorValue`` or a ``SparseTensor``. Raises TypeError for anything else."""
        if not isinstance(sparse_tensor_value, SparseTensor | SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return cls(sparse_tensor_value.indices, sparse_tensor_value.values, sparse_tensor_value.dense_shape)

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        return self._dense_shape

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def graph(self) -> Graph:
        return self.values.graph

    @property
    def shape(self) -> TensorShape:
        """The larger tensor's static shape."""
        return TensorShape(constant_value_as_dims(self.dense_shape))

    def get_shape(self) -> TensorShape:
        return self.shape

    def consumers(self) -> list[Operation]:
        return self.values.consumers()

    def eval(
        self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None
    ) -> SparseTensorValue:  # fmt: skip
        """The value, in ``session`` or the default session. Raises ValueError as a tensor's."""
        return SparseTensorValue(*(t.eval(feed_dict, session) for t in self._tensors()))

    def _tensors(self) -> list[Tensor]:
        return [self.indices, self.values, self.dense_shape]

    def _like(self, tensors: Any) -> SparseTensor:
        return SparseTensor(*tensors)

    def _argument_key(self) -> None:
        return None

    def _fetch_parts(self) -> tuple[list[Tensor], Callable[[list[Any]], SparseTensorValue]]:
        return self._tensors(), lambda parts: SparseTensorValue(*parts)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"
