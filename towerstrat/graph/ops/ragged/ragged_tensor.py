"""``RaggedTensor``: rows of different lengths, as flat values and row partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.composite_values import Convertible, Fetchable, Partitioned
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.dispatch import dispatching
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape, size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.type_specs import HasTypeSpec, TensorSpec, TypeSpec
from towerstrat.graph.ir.types import DType, HostArray, as_dtype, float32, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.ragged import broadcasting, ragged_reductions, row_partitions, slices
from towerstrat.graph.ops.ragged.value import RaggedTensorValue
from towerstrat.graph.ops.sparse.ordering import required

Values = Any
"""A Tensor or a RaggedTensor."""


def as_values(x: Any) -> Values:
    """A RaggedTensor, or anything else as a tensor."""
    return x if isinstance(x, RaggedTensor) else convert_to_tensor(x)


def _operator(name: str) -> Callable[..., Any]:
    """Python's operator ``name`` of flat values; other operands are ragged with the same partitions, or broadcast."""

    def apply(self: RaggedTensor, *operands: Any) -> Any:
        return self._broadcast(op_registry.operator(name), self, *operands)

    return apply


class RaggedTensor(Partitioned, Convertible, Fetchable, HasTypeSpec):
    """Rows of different lengths. Row i is ``values[row_splits[i]:row_splits[i + 1]]``.

    Made by the class methods ``from_...``, ``tf.ragged.constant`` and others, not by its constructor.

    Args:
      values: ``[n, ...]``, a tensor, or a RaggedTensor for several ragged dimensions.
      row_splits: int32 or int64 ``[rows + 1]``, increasing from 0 to n.
    """

    def __init__(self, values: Values, row_splits: Tensor):
        self._values = values
        self._row_splits = row_splits

    # ---- from partitions -------------------------------------------------------------------------------------------

    @classmethod
    @dispatching
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> Self:
        """Of values and the ends of rows ``[rows + 1]``.

        Args:
          validate: a run raises InvalidArgumentError for splits that do not begin at 0, fall or do not end at the
            number of values.

        Raises:
          ValueError: static splits that are no vector, or empty.
        """
        found = as_values(values)
        splits = row_partitions.integers(row_splits, _splits_dtype(found))
        splits.shape.assert_has_rank(1)
        if splits.dims == (0,):
            raise ValueError("row_splits may not be empty")
        if isinstance(found, RaggedTensor):
            found = found.with_row_splits_dtype(splits.dtype)
        if not validate:
            return cls(found, splits)
        last = arrays.shape(_first(found), out_type=splits.dtype)[0]
        ok = reductions.reduce_all(arithmetic.greater_equal(splits[1:], splits[:-1]))
        ok = arithmetic.logical_and(
            ok, arithmetic.logical_and(arithmetic.equal(splits[0], 0), arithmetic.equal(splits[-1], last))
        )
        with required(ok, "Arguments to from_row_splits do not form a valid RaggedTensor: splits", splits):
            return cls(found, arrays.identity(splits))

    @classmethod
    @dispatching
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> Self:
        """Of values and the lengths of rows ``[rows]``. Checks as ``from_row_splits``."""
        lengths = row_partitions.integers(row_lengths, _splits_dtype(values))
        return cls.from_row_splits(values, row_partitions.splits_of(lengths), validate=validate)

    @classmethod
    @dispatching
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True) -> Self:
        """Of values and where rows begin ``[rows]``. Checks as ``from_row_splits``."""
        found = as_values(values)
        starts = row_partitions.integers(row_starts, _splits_dtype(found))
        end = arrays.shape(_first(found), out_type=starts.dtype)[:1]
        return cls.from_row_splits(found, arrays.concat([starts, end], 0), validate=validate)

    @classmethod
    @dispatching
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True) -> Self:
        """Of values and where rows end ``[rows]``. Checks as ``from_row_splits``."""
        limits = row_partitions.integers(row_limits, _splits_dtype(values))
        return cls.from_row_splits(values, arrays.concat([arrays.zeros([1], limits.dtype), limits], 0), None, validate)

    @classmethod
    @dispatching
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Self:
        """Of values and the row of each, increasing.

        Args:
          value_rowids: integers ``[n]``.
          nrows: the number of rows; None: one more than the last row of a value.
          validate: whether a run checks what comes out, as ``from_row_splits``.
        """
        ids = row_partitions.integers(value_rowids, _splits_dtype(values))
        if nrows is None:
            zero = constant(np.zeros((), ids.dtype.np), ids.dtype)
            count = arithmetic.maximum(reductions.reduce_max(arrays.concat([ids, [-1]], 0)) + 1, zero)
        else:
            count = arithmetic.cast(convert_to_tensor(nrows), ids.dtype)
        lengths = segments.unsorted_segment_sum(arrays.ones_like(ids), ids, count)
        ok = reductions.reduce_all(arithmetic.greater_equal(ids[1:], ids[:-1]))
        if not validate:
            return cls.from_row_lengths(values, lengths, validate=False)
        with required(ok, "Arguments to from_value_rowids do not form a valid RaggedTensor: rowids", ids):
            return cls.from_row_lengths(values, arrays.identity(lengths))

    @classmethod
    @dispatching
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True, name: str | None = None
    ) -> Self:
        """Of values and one length for all rows.

        Args:
          nrows: the number of rows, needed where the length is 0.
        """
        found = as_values(values)
        length = row_partitions.integers(uniform_row_length, _splits_dtype(found))
        total = arrays.shape(_first(found), out_type=length.dtype)[0]
        one = constant(np.ones((), length.dtype.np), length.dtype)
        count = (
            arithmetic.floordiv(total, arithmetic.maximum(length, one))
            if nrows is None
            else arithmetic.cast(nrows, length.dtype)
        )
        return cls.from_row_splits(found, arrays.range(count + 1) * length, validate=validate)

    @classmethod
    @dispatching
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Sequence[Any], name: str | None = None, validate: bool = True
    ) -> Any:
        """Of flat values and the splits of each ragged dimension, the outermost first."""
        return _nested(cls.from_row_splits, flat_values, nested_row_splits, validate)

    @classmethod
    @dispatching
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Sequence[Any], name: str | None = None, validate: bool = True
    ) -> Any:
        """Of flat values and the row lengths of each ragged dimension, the outermost first."""
        return _nested(cls.from_row_lengths, flat_values, nested_row_lengths, validate)

    @classmethod
    @dispatching
    def from_nested_value_rowids(
        cls, flat_values: Any, nested_value_rowids: Sequence[Any], nested_nrows: Sequence[Any] | None = None,
        name: str | None = None, validate: bool = True,
    ) -> Any:  # fmt: skip
        """Of flat values and the rows of values in each ragged dimension, the outermost first."""
        counts = [None] * len(nested_value_rowids) if nested_nrows is None else nested_nrows
        if len(counts) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        found = flat_values
        for ids, count in zip(reversed(nested_value_rowids), reversed(counts), strict=True):
            found = cls.from_value_rowids(found, ids, count, validate=validate)
        return found

    # ---- from other forms ------------------------------------------------------------------------------------------

    @classmethod
    @dispatching
    def from_tensor(
        cls, tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1, name: str | None = None,
        row_splits_dtype: Any = int64,
    ) -> Any:  # fmt: skip
        """A tensor ``[rows, columns, ...]``, without its padding.

        Args:
          lengths: how many columns of each row count. padding: columns at the end that equal it do not count.
            One of the two at most.
          ragged_rank: how many dimensions become ragged; ``lengths`` and ``padding`` are for 1 alone.

        Raises:
          ValueError: both are given, or a ``ragged_rank`` that the tensor has not.
        """
        x = convert_to_tensor(tensor)
        dtype = as_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if x.dims is None or not 1 <= ragged_rank < len(x.dims):
            raise ValueError(f"ragged_rank must be in [1, rank of the tensor), got {ragged_rank} for shape {x.shape}.")
        if ragged_rank > 1:
            if lengths is not None or padding is not None:
                raise ValueError(f"lengths and padding are for ragged_rank=1, got {ragged_rank}. Give none of them.")
            sizes = arrays.shape(x, out_type=dtype)
            flat = arrays.reshape(x, arrays.concat([[-1], arrays.shape(x)[2:]], 0))
            inner = cls.from_tensor(flat, ragged_rank=ragged_rank - 1, row_splits_dtype=dtype)
            return cls.from_row_splits(inner, arrays.range(sizes[0] + 1) * sizes[1], validate=False)
        sizes = arrays.shape(x, out_type=dtype)
        columns = arrays.range(sizes[1])
        if padding is not None:
            differs = arithmetic.not_equal(x, convert_to_tensor(padding, x.dtype))
            differs = reductions.reduce_any(differs, list(range(2, len(x.dims)))) if len(x.dims) > 2 else differs
            lengths = reductions.reduce_max(arithmetic.cast(differs, dtype) * (columns + 1), 1)
        flat = arrays.reshape(x, arrays.concat([[-1], arrays.shape(x)[2:]], 0))
        if lengths is None:
            return cls.from_row_splits(flat, arrays.range(sizes[0] + 1) * sizes[1], validate=False)
        zero = constant(np.zeros((), dtype.np), dtype)
        count = arithmetic.maximum(arithmetic.minimum(arithmetic.cast(lengths, dtype), sizes[1]), zero)
        kept = arrays.reshape(arithmetic.less(columns, arrays.expand_dims(count, 1)), [-1])
        chosen = rows_at(flat, arrays.reshape(arrays.where(kept), [-1]))
        return cls.from_row_splits(chosen, row_partitions.splits_of(count), validate=False)

    @classmethod
    @dispatching
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64) -> Any:
        """A sparse matrix whose rows have their entries at the left.

        Raises:
          TypeError: no SparseTensor. ValueError: no matrix. A run raises InvalidArgumentError for other rows.
        """
        if not isinstance(st_input, SparseTensor):
            raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
        if st_input.dense_shape.dims != (2,):
            raise ValueError("rank(st_input) must be 2")
        rows, columns = st_input.indices[:, 0], st_input.indices[:, 1]
        made = cls.from_value_rowids(st_input.values, rows, st_input.dense_shape[0], validate=False)
        left = reductions.reduce_all(arithmetic.equal(columns, arithmetic.cast(made.columns(), int64)))
        with required(left, "SparseTensor is not right-ragged: indices", st_input.indices):
            splits = arithmetic.cast(arrays.identity(made.row_splits), as_dtype(row_splits_dtype))
            return cls(made.values, splits)

    # ---- parts -----------------------------------------------------------------------------------------------------

    @property
    def values(self) -> Values:
        """The rows one after the other, ``[n, ...]``: a tensor, or a RaggedTensor."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        found: Tensor = self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values
        return found

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape; ragged dimensions are None."""
        count = size_at(self._row_splits.shape, 0)
        first = TensorShape([None if count is None else count - 1, None])
        return first.concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def uniform_row_length(self) -> None:
        """None: no dimension of a RaggedTensor here is known to be uniform."""
        return

    def consumers(self) -> list[Any]:
        return [op for tensor in self._tensors() for op in tensor.consumers()]

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows, of the splits' type by default."""
        count = arrays.shape(self._row_splits, out_type=self._row_splits.dtype)[0] - 1
        return count if out_type is None else arithmetic.cast(count, out_type)

    def row_starts(self, name: str | None = None) -> Tensor:
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of rows ``[rows]``, or (``axis`` above 1) those of inner rows, ragged."""
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if not isinstance(self._values, RaggedTensor):
            raise ValueError(f"axis={axis} is no ragged dimension: ragged_rank is {self.ragged_rank}.")
        return self.with_values(self._values.row_lengths(axis - 1))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row lengths of all ragged dimensions, the outermost first."""
        return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row of each value ``[n]``."""
        return row_partitions.rowids_of(self._row_splits, _first(self._values))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The rows of values in all ragged dimensions, the outermost first."""
        inner = self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()
        return (self.value_rowids(), *inner)

    def columns(self) -> Tensor:
        """The place of each value in its row ``[n]``."""
        ids = self.value_rowids()
        return arrays.range(arrays.shape(ids, out_type=ids.dtype)[0]) - rows_at(self._row_splits, ids)

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """The smallest shape of a tensor that holds all rows, or its size along ``axis``."""
        dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        sizes = [self.nrows(), *(row_partitions.largest(lengths) for lengths in self.nested_row_lengths())]
        inner = arrays.shape(self.flat_values, out_type=dtype)[1:]
        shape = arrays.concat([arrays.stack([arithmetic.cast(s, dtype) for s in sizes]), inner], 0)
        return (
            shape
            if axis is None
            else rows_at(shape, arrays.reshape(axis, [-1]))[0]
            if isinstance(axis, int)
            else rows_at(shape, axis)
        )

    # ---- the same partition, and others ----------------------------------------------------------------------------

    def with_values(self, new_values: Any) -> Self:
        """The same outer partition of other values, as many."""
        found = as_values(new_values)
        found.shape[:1].assert_is_compatible_with(self._values.shape[:1])
        if isinstance(found, RaggedTensor):
            found = found.with_row_splits_dtype(self._row_splits.dtype)
        return type(self)(found, self._row_splits)

    def with_flat_values(self, new_values: Any) -> Self:
        """The same partitions of other flat values, as many."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> Self:
        """The same rows with splits of int32 or int64."""
        to = as_dtype(dtype)
        if to not in (int32, int64):
            raise ValueError(f"dtype must be int32 or int64, got {to.name}.")
        inner = self._values.with_row_splits_dtype(to) if isinstance(self._values, RaggedTensor) else self._values
        return type(self)(inner, arithmetic.cast(self._row_splits, to))

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The dimensions from ``outer_axis`` to ``inner_axis`` as one."""
        rank = self.shape.ndims or 0
        outer, inner = (a + rank if a < 0 else a for a in (outer_axis, inner_axis))
        if not 0 <= outer <= inner < rank:
            raise ValueError(f"Expected outer_axis <= inner_axis below {rank}, got {outer_axis} and {inner_axis}.")
        if outer == inner:
            return self
        if outer > 0:
            if isinstance(self._values, RaggedTensor):
                merged = self._values.merge_dims(outer - 1, inner - 1)
                if outer > 1:
                    return self.with_values(merged)
            if outer == 1:
                return self._without_inner(inner - outer)
            raise ValueError(f"merge_dims of dimensions {outer} to {inner}, which are not ragged, is not supported.")
        merged = self._values
        for _ in range(inner - 1):
            merged = merged.values if isinstance(merged, RaggedTensor) else row_partitions.joined(merged)
        return merged

    def _without_inner(self, count: int) -> Self:
        """The outermost partition over values whose first ``count + 1`` dimensions are one."""
        values, splits = self._values, self._row_splits
        for _ in range(count):
            if isinstance(values, RaggedTensor):
                splits, values = rows_at(values.row_splits, splits), values.values
            else:
                width = arrays.shape(values, out_type=splits.dtype)[1]
                splits, values = splits * width, row_partitions.joined(values)
        return type(self)(values, splits)

    # ---- to other forms --------------------------------------------------------------------------------------------

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: ShapeLike = None) -> Tensor:
        """The rows filled up to one length.

        Args:
          default_value: what they are filled with, of the shape of an inner value; None: 0 or the empty string.
          shape: static sizes that the result is filled up or cut to; None for what the rows ask for.
        """
        wanted = TensorShape(shape)
        sizes = [None] * self.ragged_rank if wanted.raw is None else list(wanted.raw)
        dtype = self.dtype
        flat_shape = self.flat_values.shape[1:]
        if default_value is None:
            default_value = np.full((), b"" if dtype.np == np.dtype(object) else 0, dtype.np)
        default = convert_to_tensor(default_value, dtype)
        made = self._padded(arrays.broadcast_to(default, arrays.shape(self.flat_values)[1:]), sizes[1:])
        if wanted.raw is not None and sizes[0] is not None:
            made = row_partitions.cut_or_filled(made, sizes[0], default)
        known = self.shape.raw
        static = wanted if wanted.raw is not None else TensorShape([known[0] if known else None])
        if static.ndims == made.shape.ndims:
            made.set_shape(static)
        else:
            made.set_shape(TensorShape([static[0], *[None] * self.ragged_rank]).concatenate(flat_shape))
        return made

    def _padded(self, default: Tensor, sizes: Sequence[Any]) -> Tensor:
        values = self._values
        if isinstance(values, RaggedTensor):
            values = values._padded(default, sizes[1:])
        width = row_partitions.largest(self.row_lengths()) if not sizes or sizes[0] is None else sizes[0]
        inner = arrays.broadcast_to(default, arrays.shape(values)[1:])
        return row_partitions.padded(values, self._row_splits, width, inner)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The values at their places; flat values must be a vector."""
        self.flat_values.shape.assert_has_rank(1)
        ids, columns = (arithmetic.cast(t, int64) for t in (self.value_rowids(), self.columns()))
        shape = self.bounding_shape(out_type=int64)
        if not isinstance(self._values, RaggedTensor):
            return SparseTensor(arrays.stack([ids, columns], 1), self._values, shape)
        inner = self._values.to_sparse()
        outer = inner.indices[:, 0]
        first = arrays.stack([rows_at(ids, outer), rows_at(columns, outer)], 1)
        return SparseTensor(arrays.concat([first, inner.indices[:, 1:]], 1), inner.values, shape)

    def value(self) -> RaggedTensorValue:
        """The parts as numpy arrays. Raises AttributeError where the values are not known yet, in a graph."""
        values = self._values.value() if isinstance(self._values, RaggedTensor) else self._values.numpy()
        return RaggedTensorValue(values, self._row_splits.numpy())

    def to_list(self) -> list[Any]:
        """The rows as nested lists. Raises ValueError where the values are not known yet, in a graph."""
        if not hasattr(self.flat_values, "numpy"):
            known = [constant_value(t) for t in self._tensors()]
            if any(v is None for v in known):
                raise ValueError("RaggedTensor.to_list() is only supported in eager mode; in graphs run the tensor.")
            return RaggedTensorValue.nested(known).to_list()
        return self.value().to_list()

    def numpy(self) -> HostArray:
        """The rows as numpy arrays, in an array of objects unless all lengths are one."""
        return self.value().numpy()

    def eval(self, feed_dict: Any = None, session: Any = None) -> RaggedTensorValue:
        """The value, in ``session`` or the default session. Raises ValueError as a tensor's."""
        return RaggedTensorValue.nested([t.eval(feed_dict, session) for t in self._tensors()])

    # ---- as a part of graphs ---------------------------------------------------------------------------------------

    def _tensors(self) -> list[Tensor]:
        return [self.flat_values, *self.nested_row_splits]

    def _like(self, tensors: Sequence[Tensor]) -> Any:
        found: Any = tensors[0]
        for splits in reversed(tensors[1:]):
            found = type(self)(found, splits)
        return found

    def _argument_key(self) -> int:
        return self.ragged_rank

    def _fetch_parts(self) -> tuple[Sequence[Any], Callable[[list[Any]], RaggedTensorValue]]:
        return self._tensors(), RaggedTensorValue.nested

    @property
    def _type_spec(self) -> TypeSpec:
        return RaggedTensorSpec.from_value(self)

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Any:
        raise TypeError(
            f"{self!r} has rows of different lengths. Make it a tensor by to_tensor(), which fills them up."
        )

    def _map_flat(self, function: Callable[[Tensor], Tensor]) -> Self:
        return self.with_flat_values(function(self.flat_values))

    def over_flat(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``op`` of the flat values of ragged tensors with the same partitions, see ``tf.ragged.map_flat_values``."""
        given = [a for a in (*args, *kwargs.values()) if isinstance(a, RaggedTensor)]
        same = constant(True)
        for other in given:
            if other.ragged_rank != self.ragged_rank:
                raise ValueError(f"Inputs must have the same ragged_rank, got {self.ragged_rank}, {other.ragged_rank}.")
            for mine, theirs in zip(self.nested_row_splits, other.nested_row_splits, strict=True):
                if mine is not theirs:
                    mine.shape.assert_is_compatible_with(theirs.shape)
                    alike = reductions.reduce_all(arithmetic.equal(mine, arithmetic.cast(theirs, mine.dtype)))
                    same = arithmetic.logical_and(same, alike)

        def flat(a: Any) -> Any:
            return a.flat_values if isinstance(a, RaggedTensor) else a

        with required(same, "Inputs must have identical ragged splits"):
            return self.with_flat_values(op(*map(flat, args), **{k: flat(v) for k, v in kwargs.items()}))

    def _broadcast(self, op: Callable[..., Any], *args: Any) -> Any:
        return self.over_flat(op, *(a if isinstance(a, RaggedTensor) else broadcasting.aligned(self, a) for a in args))

    __add__ = _operator("__add__")
    __radd__ = _operator("__radd__")
    __sub__ = _operator("__sub__")
    __rsub__ = _operator("__rsub__")
    __mul__ = _operator("__mul__")
    __rmul__ = _operator("__rmul__")
    __truediv__ = _operator("__truediv__")
    __rtruediv__ = _operator("__rtruediv__")
    __floordiv__ = _operator("__floordiv__")
    __rfloordiv__ = _operator("__rfloordiv__")
    __mod__ = _operator("__mod__")
    __rmod__ = _operator("__rmod__")
    __pow__ = _operator("__pow__")
    __rpow__ = _operator("__rpow__")
    __and__ = _operator("__and__")
    __rand__ = _operator("__rand__")
    __ror__ = _operator("__ror__")
    __rxor__ = _operator("__rxor__")
    __or__ = _operator("__or__")
    __xor__ = _operator("__xor__")
    __lt__ = _operator("__lt__")
    __le__ = _operator("__le__")
    __gt__ = _operator("__gt__")
    __ge__ = _operator("__ge__")
    __neg__ = _operator("__neg__")
    __abs__ = _operator("__abs__")
    __invert__ = _operator("__invert__")

    def _reduced(self, type: str, axis: Any, keepdims: bool, name: str | None) -> Any:
        return ragged_reductions.reduced(self, type, axis, keepdims, name)

    def _concatenated(self, values: Sequence[Any], axis: Any) -> Self:
        joined: Self = ragged_reductions.concatenated(values, axis)
        return joined

    def _gathered(self, indices: Any, axis: Any) -> Any:
        if axis not in (0, None):
            raise ValueError(f"tf.gather of a RaggedTensor is along dimension 0, got axis={axis!r}.")
        return slices.gathered(self, indices)

    def __getitem__(self, key: Any) -> Any:
        return slices.item(self, key)

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __len__(self) -> int:
        count = size_at(self.shape, 0)
        if count is None:
            raise TypeError("The number of rows of a RaggedTensor in a graph is not known; use nrows().")
        return count

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        if hasattr(self.flat_values, "numpy"):
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"


def _first(values: Values) -> Tensor:
    """A tensor as long as the values are."""
    return values.row_splits[:-1] if isinstance(values, RaggedTensor) else values


def _splits_dtype(values: Any) -> DType | None:
    return values.row_splits.dtype if isinstance(values, RaggedTensor) else None


def _nested(make: Callable[..., Any], flat_values: Any, partitions: Sequence[Any], validate: bool) -> Any:
    if isinstance(partitions, Tensor):
        raise TypeError(f"Expected a list of partitions, got the tensor {partitions!r}.")
    found = flat_values
    for partition in reversed(partitions):
        found = make(found, partition, validate=validate)
    return found


class RaggedTensorSpec(TypeSpec):
    """The static type of a RaggedTensor.

    Args:
      shape: static shape; None in ragged dimensions.
      dtype: element type of the flat values.
      ragged_rank: the number of ragged dimensions; None: all but the first of the shape.
      row_splits_dtype: int32 or int64.
      flat_values_spec: None; specifications of flat values that are no tensors are not supported.

    Raises:
      ValueError: ``ragged_rank`` is not below the rank.
      TypeError: ``flat_values_spec`` is given.
    """

    def __init__(
        self, shape: ShapeLike = None, dtype: Any = float32, ragged_rank: int | None = None,
        row_splits_dtype: Any = int64, flat_values_spec: Any = None,
    ):  # fmt: skip
        if flat_values_spec is not None:
            raise TypeError(f"flat_values_spec is not supported: flat values are tensors; got {flat_values_spec!r}.")
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with known rank.")
            ragged_rank = rank - 1
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._ragged_rank = ragged_rank

    @classmethod
    @dispatching
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """The specification of a RaggedTensor."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def ragged_rank(self) -> int:
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        return self._row_splits_dtype

    @property
    def value_type(self) -> Any:
        return RaggedTensor if self._ragged_rank else Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rank = self._ragged_rank
        inner = TensorShape([None]).concatenate(self._shape[rank + 1 :]) if rank else self._shape
        count = size_at(self._shape, 0)
        splits = [TensorSpec([None if i or count is None else count + 1], self._row_splits_dtype) for i in range(rank)]
        return (TensorSpec(inner, self._dtype), *splits)

    def _to_components(self, value: Any) -> tuple[Tensor, ...]:
        return tuple(value._tensors()) if isinstance(value, RaggedTensor) else (convert_to_tensor(value),)

    def _from_components(self, components: Sequence[Tensor]) -> Any:
        return RaggedTensor.from_nested_row_splits(components[0], components[1:], validate=False)
