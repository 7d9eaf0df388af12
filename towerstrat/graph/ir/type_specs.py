"""Type specifications: the Python type, dtypes and static shapes of values.

``tf.function`` signatures, dataset elements and loop variables are described by them. A specification also flattens a
value into its tensors and rebuilds one (``_to_components``, ``_from_components``), and knows the most exact type that
covers several:

>>> TensorSpec([2, 3]).most_specific_common_supertype([TensorSpec([5, 3])])
TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)

Source: ``tensorflow/python/framework/type_spec.py`` and ``tensor_spec.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.constant_folding import constant_value_as_dims
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.shapes import Dims, TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, float32, int64


class TypeSpec(ABC):
    """The static type of a value. Specifications are equal where class and parameters are.

    Derived classes define ``value_type``, the parameters (``_serialize``: shapes, dtypes and plain values), and how
    values are flattened into tensors and rebuilt from them.
    """

    @property
    @abstractmethod
    def value_type(self) -> type[Any]:
        """The Python type of the values."""

    @abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """The arguments that construct an equal specification."""

    @property
    @abstractmethod
    def _component_specs(self) -> Any:
        """A nest of the specifications of a value's tensors."""

    @abstractmethod
    def _to_components(self, value: Any) -> Any:
        """The tensors of a value, as a nest in the form of ``_component_specs``."""

    @abstractmethod
    def _from_components(self, components: Any) -> Any:
        """The value that consists of a nest of tensors; the inverse of ``_to_components``."""

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """True where some value could be of both types; a value counts as its own specification."""
        spec = spec_or_value if isinstance(spec_or_value, TypeSpec) else type_spec_from_value(spec_or_value)
        return type(self) is type(spec) and _all(_compatible, self._serialize(), spec._serialize())

    def is_subtype_of(self, other: TypeSpec) -> bool:
        """True where every value of this type is one of ``other``."""
        return type(self) is type(other) and _all(_is_covered, self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others: Sequence[TypeSpec | None]) -> Self | None:
        """The most exact specification that covers this one and ``others``; None where there is none."""
        common: tuple[Any, ...] = self._serialize()
        for other in others:
            if type(other) is not type(self):
                return None
            merged = [_common(a, b) for a, b in zip(common, other._serialize(), strict=True)]
            if any(m is NotImplemented for m in merged):
                return None
            common = tuple(merged)
        return type(self)(*common)

    def most_specific_compatible_type(self, other: TypeSpec) -> Self:
        """The most exact specification that covers this one and ``other``.

        Raises:
          ValueError: no specification covers both.
        """
        common = self.most_specific_common_supertype([other])
        if common is None:
            raise ValueError(f"No TypeSpec is compatible with both {self!r} and {other!r}.")
        return common

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((type(self), self._serialize()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_describe, self._serialize()))})"


def _all(relation: Callable[[Any, Any], bool], ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return len(ours) == len(theirs) and all(map(relation, ours, theirs))


def _compatible(a: Any, b: Any) -> bool:
    if isinstance(a, TensorShape | TypeSpec):
        return a.is_compatible_with(b)
    return bool(a == b)


def _covers(general: Dims, exact: Dims) -> bool:
    return shapes.relax(general, exact) == general


def _is_covered(a: Any, b: Any) -> bool:
    if isinstance(a, TypeSpec):
        return a.is_subtype_of(b)
    if isinstance(a, TensorShape) and isinstance(b, TensorShape):
        return _covers(b.raw, a.raw)
    return bool(a == b)


def _common(a: Any, b: Any) -> Any:
    if isinstance(a, TypeSpec):
        supertype = a.most_specific_common_supertype([b])
        return NotImplemented if supertype is None else supertype
    if isinstance(a, TensorShape) and isinstance(b, TensorShape):
        return a.most_specific_compatible_shape(b)
    return a if a == b else NotImplemented


def _describe(value: Any) -> str:
    if isinstance(value, TensorShape):
        return f"TensorShape({None if value.raw is None else value.as_list()})"
    return repr(value)


def _sizes(dims: Dims) -> str:
    return "<unknown>" if dims is None else str(dims)


class TensorSpec(TypeSpec):
    """The dtype and static shape of a tensor.

    Args:
      shape: anything that ``TensorShape`` accepts.
      dtype: element type.
      name: the argument's name, in the signature of a function.

    >>> TensorSpec([None, 3])
    TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None):
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> Self:
        """A copy of ``spec``, with another name if ``name`` is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> Self:
        """The specification of a tensor, named ``name`` or, in a graph, as its operation.

        Raises:
          ValueError: ``tensor`` is no tensor.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        return cls(tensor.shape, tensor.dtype, name or (None if hasattr(tensor, "numpy") else tensor.op.name))

    def _with_tensor_ranks_only(self) -> TensorSpec:
        """The spec of tensors of the same rank."""
        dims = self._shape.raw
        return TensorSpec(TensorShape(None if dims is None else (None,) * len(dims)), self._dtype, self._name)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def value_type(self) -> type[Tensor]:
        return Tensor

    def is_compatible_with(self, spec_or_tensor: object) -> bool:
        """True for a tensor or specification of the same dtype and a compatible shape; names do not count."""
        return (
            isinstance(spec_or_tensor, TensorSpec | Tensor)
            and self._dtype is spec_or_tensor.dtype
            and self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def is_subtype_of(self, other: TypeSpec) -> bool:
        """True where ``other`` has the same dtype and covers the shape; a name must be equal where this has one."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype is other._dtype
            and (not self._name or self._name == other._name)
            and _covers(other._shape.raw, self._shape.raw)
        )

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._dtype, self._name)

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value, self._dtype)
        if not self.is_compatible_with(tensor):
            raise ValueError(f"Expected a value of {self!r}, got {tensor!r}.")
        return tensor

    def _from_components(self, components: Tensor) -> Tensor:
        return components

    def __repr__(self) -> str:
        return f"TensorSpec(shape={_sizes(self._shape.raw)}, dtype={self._dtype!r}, name={self._name!r})"


class IndexedSlicesSpec(TypeSpec):
    """The static type of an ``IndexedSlices``.

    Args:
      shape: static shape of the larger tensor.
      dtype: element type of ``values``.
      indices_dtype: element type of ``indices``.
      dense_shape_dtype: element type of ``dense_shape``; None where there is none.
      indices_shape: ``[n]`` or ``[None]`` (default).
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: ShapeLike = None,
    ):
        self._shape = as_shape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape([None] if indices_shape is None else indices_shape).with_rank(1)

    @property
    def value_type(self) -> type[IndexedSlices]:
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape)

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rows = self._indices_shape.concatenate(self._shape[1:])
        specs = [TensorSpec(rows, self._values_dtype), TensorSpec(self._indices_shape, self._indices_dtype)]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.ndims], self._dense_shape_dtype))
        return tuple(specs)

    def _to_components(self, value: IndexedSlices) -> tuple[Tensor, ...]:
        return tuple(t for t in (value.values, value.indices, value.dense_shape) if t is not None)

    def _from_components(self, components: Sequence[Tensor]) -> IndexedSlices:
        return IndexedSlices(*components)


class NoneTensorSpec(TypeSpec):
    """The specification of None."""

    @property
    def value_type(self) -> type[Any]:
        return type(None)

    def _serialize(self) -> tuple[Any, ...]:
        return ()

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return []

    def _to_components(self, value: Any) -> list[Any]:
        return []

    def _from_components(self, components: Any) -> None:
        return None

    def is_compatible_with(self, spec_or_value: object) -> bool:
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)


class HasTypeSpec:
    """Base class of composite values with a specification of their own."""

    __slots__ = ()

    @property
    def _type_spec(self) -> TypeSpec:
        """The value's specification."""
        raise NotImplementedError


def composite_spec(value: object) -> TypeSpec | None:
    """The specification of a composite value; None for any other."""
    if isinstance(value, IndexedSlices):
        return _of_slices(value)
    return value._type_spec if isinstance(value, HasTypeSpec) else None


def type_spec_from_value(value: Any) -> TypeSpec:
    """The specification of a tensor, None, a composite value, or a value that converts to a tensor.

    Raises:
      TypeError: it is none of these.
    """
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    if value is None:
        return NoneTensorSpec()
    spec = composite_spec(value)
    if spec is not None:
        return spec
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}.") from None
    return TensorSpec(tensor.shape, tensor.dtype)


def _of_slices(value: IndexedSlices) -> IndexedSlicesSpec:
    dense = value.dense_shape
    rows = value.values.shape[1:]
    return IndexedSlicesSpec(
        TensorShape([None]).concatenate(rows) if dense is None else constant_value_as_dims(dense),
        value.dtype,
        value.indices.dtype,
        None if dense is None else dense.dtype,
        value.indices.shape,
    )
