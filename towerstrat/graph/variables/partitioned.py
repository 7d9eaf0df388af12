"""Partitioned variables, split along one dimension, and the partitioners that decide the number of parts.

``get_variable("w", [10, 4], partitioner=fixed_size_partitioner(3))`` makes the variables ``w/part_0`` to ``w/part_2``
of 4, 3 and 3 rows, and returns a ``PartitionedVariable``, which converts to their concatenation. Each part knows its
slice of the whole (``SaveSliceInfo``): savers write one tensor ``w``, and initializers get a ``PartitionInfo`` with the
whole shape.

Source: ``tensorflow/python/ops/partitioned_variables.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, string
from towerstrat.graph.variables.variables import Variable

Partitioner = Callable[..., Sequence[int]]
"""``(shape=..., dtype=...)`` -> the number of parts of each dimension."""


class PartitionInfo:
    """The part of a partitioned variable that an initializer makes.

    Attributes:
      full_shape: the whole variable's shape.
      var_offset: the index of the part's first entry in each dimension.

    Raises:
      ValueError: the two differ in length.
    """

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]):
        if len(full_shape) != len(var_offset):
            raise ValueError(
                f"full_shape and var_offset must have one entry per dimension, got {list(full_shape)} and "
                f"{list(var_offset)}."
            )
        self.full_shape = list(full_shape)
        self.var_offset = list(var_offset)

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The dimension in which a part of ``shape`` is smaller than the whole, or None if there is none.

        Raises:
          ValueError: there are several, the rank is another, or the part does not lie inside the whole.
        """
        if len(shape) != len(self.full_shape):
            raise ValueError(f"Expected a shape of rank {len(self.full_shape)}, got {list(shape)}.")
        dims: list[int] = []
        for i, (offset, size, full_size) in enumerate(zip(self.var_offset, shape, self.full_shape, strict=True)):
            if offset + size > full_size:
                raise ValueError(f"A part of shape {list(shape)} at {self.var_offset} exceeds {self.full_shape}.")
            if size != full_size:
                dims.append(i)
        if len(dims) > 1:
            raise ValueError(f"Cannot slice along more than one dimension: {dims}.")
        return dims[0] if dims else None

    def single_offset(self, shape: Sequence[int]) -> int:
        """The offset of a part of ``shape`` in its sliced dimension; 0 where it is the whole."""
        dim = self.single_slice_dim(shape)
        return 0 if dim is None else self.var_offset[dim]


class SaveSliceInfo(NamedTuple):
    """The name that a variable is saved under, and its part of the saved tensor."""

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]

    @property
    def spec(self) -> str:
        """The part in the form that savers use: the whole shape, then ``offset,size`` per dimension."""
        full_shape = " ".join(str(d) for d in self.full_shape)
        parts = ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True))
        return f"{full_shape} {parts}"


class PartitionedVariable(Convertible):
    """A sequence of variables that are the parts of one along a dimension; it converts to their concatenation.

    Args:
      name, shape, dtype: the whole variable's.
      variable_list: the parts, in order.
      partitions: the number of parts in each dimension.
    """

    def __init__(
        self, name: str, shape: ShapeLike, dtype: DType, variable_list: Sequence[Variable], partitions: Sequence[int]
    ):
        self._name = name
        self._shape = as_shape(shape)
        self._dtype = dtype
        self._variables = list(variable_list)
        self._partitions = list(partitions)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    @property
    def trainable(self) -> bool:
        return any(v.trainable for v in self._variables)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables) if len(self._partition_axes()) <= 1 else 1

    def _get_variable_list(self) -> list[Variable]:
        return self._variables

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        return [i for i, p in enumerate(self._partitions) if p > 1] or [0]

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        if dtype is not None and dtype is not self.dtype:
            raise ValueError(f"Cannot convert the {self.dtype.name} variable {self.name} to {dtype.name}; use tf.cast.")
        return self.as_tensor()

    def as_tensor(self) -> Tensor:
        """The parts as one tensor."""
        graph = get_default_graph()
        if len(self._variables) == 1:
            joined = convert_to_tensor(self._variables[0])
        else:
            with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                parts = [convert_to_tensor(v) for v in self._variables]
                joined = graph.add("ConcatV2", parts, {"axis": self._partition_axes()[0]}, "concat").outputs[0]
        with graph.name_scope(None):
            return graph.add("Identity", [joined], None, self._name).outputs[0]

    def assign(self, value: TensorLike, use_locking: bool = False) -> Any:
        raise NotImplementedError(
            f"assign() is not defined on the partitioned variable {self._name}; assign its parts."
        )

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.name} "
            f"parts={len(self._variables)}>"
        )


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that splits ``axis`` into ``num_shards`` parts, or one per row where there are fewer."""

    def partitioner(shape: TensorShape, **unused: Any) -> list[int]:
        parts = [1] * len(shape)
        parts[axis] = min(num_shards, int(shape[axis]))
        return parts

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """A partitioner that splits ``axis`` into parts of at most ``max_shard_bytes``, and into ``max_shards`` at most.

    Raises:
      ValueError: a limit below 1; from the partitioner, a shape that is not fully defined.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        if not isinstance(shape, TensorShape) or not shape.is_fully_defined():
            raise ValueError(f"shape must be a fully defined TensorShape, got {shape!r}.")
        if not isinstance(dtype, DType):
            raise ValueError(f"dtype is not a DType: {dtype!r}.")
        rows = int(shape[axis])
        size = bytes_per_string_element if dtype is string else dtype.size
        row_bytes = (shape.num_elements() or 0) / rows * size
        rows_per_part = max(1, math.floor(max_shard_bytes / row_bytes))
        count = math.ceil(rows / rows_per_part)
        parts = [1] * len(shape)
        parts[axis] = min(max_shards, count) if max_shards else count
        return parts

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """A partitioner that splits ``axis`` into parts of ``min_slice_size`` bytes, ``max_partitions`` at most."""

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}.")
        size = bytes_per_string_element if dtype is string else dtype.size
        count = math.ceil((shape.num_elements() or 0) * size / min_slice_size)
        parts = [1] * len(shape)
        parts[axis] = max(1, min(int(shape[axis]), max_partitions, count))
        return parts

    return partitioner


def slices(full_shape: Sequence[int], partitions: Sequence[int]) -> tuple[int, list[int]]:
    """The sliced dimension and the parts' sizes along it; of an uneven division the first parts are one larger.

    Raises:
      ValueError: several sliced dimensions, or more parts than rows.
    """
    sliced = [i for i, parts in enumerate(partitions) if parts != 1]
    for dim in sliced:
        if partitions[dim] <= 0 or full_shape[dim] < partitions[dim]:
            raise ValueError(
                f"Cannot create {partitions[dim]} slices for size {full_shape[dim]}. shape: {list(full_shape)}, "
                f"slicing: {list(partitions)}."
            )
    if len(sliced) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {list(full_shape)}, slicing: {list(partitions)}."
        )
    dim = sliced[0] if sliced else 0
    count = partitions[dim]
    base, remainder = divmod(full_shape[dim], count)
    return dim, [base + (i < remainder) for i in range(count)]
