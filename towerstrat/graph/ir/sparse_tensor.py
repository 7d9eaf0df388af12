"""``SparseTensor``: the entries of a larger tensor that are not its default value, by coordinates (COO).

    [[0, 5], [7, 0]]        indices int64 [[0, 1], [1, 0]]      values [5, 7]      dense_shape int64 [2, 2]

It is a composite value: functions, loops and ``Session.run`` see its three tensors; a fetched one is a
``SparseTensorValue`` of numpy arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.composite_values import Argument, Fetchable
from towerstrat.graph.ir.constant_folding import constant_value_as_dims
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.type_specs import HasTypeSpec, TensorSpec, TypeSpec
from towerstrat.graph.ir.types import DType, DTypeLike, HostArray, as_dtype, float32, int64


class SparseTensorValue(NamedTuple):
    """A fetched ``SparseTensor``: numpy ``indices``, ``values`` and ``dense_shape``."""

    indices: HostArray
    values: HostArray
    dense_shape: HostArray


class SparseTensor(Argument, Fetchable, HasTypeSpec):
    """Entries of a larger tensor: ``values[i]`` stands at ``indices[i]``.

    Args:
      indices: int64 ``[n, rank]``.
      values: ``[n]``, any element type.
      dense_shape: int64 ``[rank]``, the larger tensor's shape.

    Raises:
      ValueError: other ranks.
    """

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike):
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

    def with_values(self, new_values: TensorLike) -> SparseTensor:
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

    def __mul__(self, dense: TensorLike) -> SparseTensor:
        """The entries times those of a tensor that broadcasts to the shape."""
        product: SparseTensor = op_registry.operator("SparseTensor.__mul__")(self, dense)
        return product

    __rmul__ = __mul__

    def __truediv__(self, dense: TensorLike) -> SparseTensor:
        """The entries divided by those of a tensor that broadcasts to the shape."""
        quotient: SparseTensor = op_registry.operator("SparseTensor.__truediv__")(self, dense)
        return quotient

    __div__ = __truediv__

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

    @property
    def _type_spec(self) -> TypeSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:  # fmt: skip
    """A SparseTensor as it is, a SparseTensorValue as a SparseTensor, and anything else as a tensor.

    Raises:
      RuntimeError: a sparse value of another ``dtype``.
    """
    if not isinstance(value, SparseTensor | SparseTensorValue):
        return convert_to_tensor(value, dtype, name=name)
    sparse = SparseTensor.from_value(value)
    if dtype is not None and as_dtype(dtype) is not sparse.dtype:
        raise RuntimeError(f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {sparse.dtype.name}")
    return sparse


class SparseTensorSpec(TypeSpec):
    """The static type of a SparseTensor.

    Args:
      shape: the larger tensor's static shape.
      dtype: element type of the values.
    """

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = float32):
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """The specification of a SparseTensor or SparseTensorValue."""
        sparse = SparseTensor.from_value(value)
        return cls(sparse.shape, sparse.dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def value_type(self) -> type[SparseTensor]:
        return SparseTensor

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype)

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rank = self._shape.ndims
        return (TensorSpec([None, rank], int64), TensorSpec([None], self._dtype), TensorSpec([rank], int64))

    def _to_components(self, value: Any) -> tuple[Tensor, ...]:
        return tuple(SparseTensor.from_value(value)._tensors())

    def _from_components(self, components: Sequence[Tensor]) -> SparseTensor:
        return SparseTensor(*components)
