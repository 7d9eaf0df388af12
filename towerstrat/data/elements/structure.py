"""What the elements of a dataset look like: nests of tuples, named tuples and dicts over typed components.

A list is not a structure here but a value: it becomes one tensor. A sparse tensor is three components, a ragged one its
flat values and its splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest as core_nest
from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims, TensorShape, as_shape
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorSpec, SparseTensorValue
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ir.types import DType, as_dtype, int32, int64, string
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorSpec
from towerstrat.graph.ops.ragged.value import RaggedTensorValue


def is_nest(value: Any) -> bool:
    """Whether the value is a structure of components rather than one."""
    return isinstance(value, tuple | Mapping)


class SparseParts(NamedTuple):
    """What a sparse tensor is inside of pipelines: a structure of three components."""

    indices: Any
    values: Any
    dense_shape: Any


class RaggedParts(tuple[Any, ...]):
    """What a ragged tensor is inside of pipelines: flat values, and the splits of ragged dimensions, outermost first.

    A row of a ragged tensor may have no splits left: a tensor whose size differs from row to row.
    """

    splits_dtype = int64


class NarrowRaggedParts(RaggedParts):
    """Likewise, with int32 splits."""

    splits_dtype = int32


def ragged_parts(dtype: DType) -> type[RaggedParts]:
    """The class of ragged parts with splits of this type."""
    return NarrowRaggedParts if dtype is int32 else RaggedParts


def is_unit(template: Any) -> bool:
    """Whether this part of a structure is one value: a component, or all components of a sparse or ragged tensor."""
    return isinstance(template, SparseParts | RaggedParts) or not is_nest(template)


def in_parts(value: Any) -> Any:
    """A structure with its sparse and ragged tensors as ``SparseParts`` and ``RaggedParts``."""
    if isinstance(value, SparseTensor):
        return SparseParts(value.indices, value.values, value.dense_shape)
    if isinstance(value, SparseTensorValue):
        return SparseParts(np.asarray(value.indices, np.int64), value.values, np.asarray(value.dense_shape, np.int64))
    if isinstance(value, RaggedTensor | RaggedTensorValue):
        splits = value.nested_row_splits
        return ragged_parts(as_dtype(splits[0].dtype))((value.flat_values, *splits))
    if not is_nest(value):
        return value
    return core_nest.rebuild(value, [in_parts(child) for child in core_nest.children(value)])


def over_units(sparse: Callable[[SparseParts], Any], ragged: Callable[[RaggedParts], Any], value: Any) -> Any:
    """A structure with ``sparse`` of each ``SparseParts``, and ``ragged`` of each ``RaggedParts``, in their places."""
    if isinstance(value, SparseParts):
        return sparse(value)
    if isinstance(value, RaggedParts):
        return ragged(value)
    if not is_nest(value):
        return value
    return core_nest.rebuild(value, [over_units(sparse, ragged, child) for child in core_nest.children(value)])


def _ragged(parts: RaggedParts) -> Any:
    """The value of ragged parts: a tensor where no splits are left."""
    return RaggedTensor.from_nested_row_splits(parts[0], parts[1:], validate=False) if len(parts) > 1 else parts[0]


def _units(template: Any, first: int) -> Iterator[tuple[Any, slice]]:
    """The templates of units, and which components are theirs."""
    if is_unit(template):
        yield template, slice(first, first + len(flatten(template)))
        return
    for child in core_nest.children(template):
        yield from _units(child, first)
        first += len(flatten(child))


def flatten(value: Any) -> list[Any]:
    """The leaves from left to right, dict entries in the order of their sorted keys."""
    if not is_nest(value):
        return [value]
    return [leaf for child in core_nest.children(value) for leaf in flatten(child)]


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure over ``function`` of each leaf."""
    if not is_nest(value):
        return function(value)
    return core_nest.rebuild(value, [map_leaves(function, child) for child in core_nest.children(value)])


def pack(template: Any, leaves: Sequence[Any]) -> Any:
    """``leaves`` in the form of ``template``."""
    found = iter(leaves)
    return map_leaves(lambda _: next(found), template)


def flatten_like(template: Any, value: Any, what: str) -> list[Any]:
    """The parts of ``value`` that stand where ``template`` has leaves.

    Raises:
      TypeError: ``value`` is no structure where the template is one.
      ValueError: other keys or another number of parts.
    """
    if not is_nest(template):
        return [value]
    if is_unit(template) and len(template) == 1 and not isinstance(value, RaggedParts):
        return [value]
    if isinstance(template, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(template):
            raise ValueError(f"Expected {what} with the keys {sorted(template)}, got {value!r}.")
    elif isinstance(value, Mapping) or not isinstance(value, tuple | list):
        raise TypeError(f"Expected {what} to be a tuple of {len(template)} parts, got {value!r}.")
    elif len(value) != len(template):
        raise ValueError(f"Expected {what} to have {len(template)} parts, got {len(value)}: {value!r}.")
    parts = zip(core_nest.children(template), core_nest.children(value), strict=True)
    return [leaf for inner, part in parts for leaf in flatten_like(inner, part, what)]


class Nested(NamedTuple):
    """What a component that is a dataset stands for.

    Attributes:
      structure: of its elements.
      dataset: the class of datasets.
    """

    structure: Structure
    dataset: Any


class Structure:
    """The static description of a dataset's elements.

    Args:
      template: a nest whose leaves stand for the components.
      dtypes, dims: type and partially known shape of each component, flattened.
      nested: for each component that is a dataset what it stands for, else None; nothing where none is.
    """

    __slots__ = ("_key", "composite", "dims", "dtypes", "nested", "template", "units")

    def __init__(
        self, template: Any, dtypes: Sequence[DType], dims: Sequence[Dims], nested: Sequence[Nested | None] = ()
    ):
        self.template = template
        self.dtypes = tuple(dtypes)
        self.dims = tuple(dims)
        self.nested = tuple(nested)
        self.units = tuple(_units(template, 0))
        """The template of each value, sparse and ragged tensors whole, and which components are its own."""
        self.composite = any(form is not None and is_nest(form) for form, _ in self.units)
        """Whether there are sparse or ragged tensors."""
        self._key: Any = None

    @classmethod
    def of_tensors(cls, value: Any) -> Structure:
        """The structure of a nest of tensors."""
        tensors = flatten(value)
        return cls(value, [t.dtype for t in tensors], [t.dims for t in tensors])

    @classmethod
    def of_types(cls, types: Any, output_shapes: Any = None, output_classes: Any = None) -> Structure:
        """The structure that nests of types, shapes and classes describe.

        Args:
          output_shapes: None: unknown ones.
          output_classes: ``Tensor`` or ``SparseTensor``; None: dense ones.

        Raises:
          UnsupportedError: another class.
        """
        dtypes = [as_dtype(t) for t in flatten(types)]
        shapes: list[Dims] = [None] * len(dtypes)
        if output_shapes is not None:
            shapes = [as_shape(s).raw for s in flatten_like(types, output_shapes, "output_shapes")]
        classes = [Tensor] if output_classes is None else flatten_like(types, output_classes, "output_classes")
        if all(c is Tensor for c in classes):
            return cls(types, dtypes, shapes)
        return cls.joined(pack(types, [cls._of_class(*part) for part in zip(classes, dtypes, shapes, strict=True)]))

    @classmethod
    def _of_class(cls, kind: Any, dtype: DType, dims: Dims) -> Structure:
        if kind is Tensor:
            return cls(None, [dtype], [dims])
        if kind is not SparseTensor:
            raise UnsupportedError(f"output_classes: expected tf.Tensor or tf.SparseTensor, got {kind!r}.")
        rank = None if dims is None else len(dims)
        return cls(SparseParts(None, None, None), [int64, dtype, int64], [(None, rank), (None,), (rank,)])

    @classmethod
    def of_specs(cls, specs: Any) -> Structure:
        """The structure that a nest of specifications of dense, sparse and ragged tensors describes."""
        return cls.joined(map_leaves(cls._of_spec, specs))

    @classmethod
    def _of_spec(cls, spec: Any) -> Structure:
        if not isinstance(spec, RaggedTensorSpec):
            return cls._of_class(spec.value_type, spec.dtype, spec.shape.raw)
        parts = spec._component_specs
        template = ragged_parts(spec.row_splits_dtype)([None] * len(parts))
        return cls(template, [part.dtype for part in parts], [part.shape.raw for part in parts])

    @classmethod
    def joined(cls, parts: Any) -> Structure:
        """The structure of a nest of structures."""
        inner = flatten(parts)
        template = map_leaves(lambda s: s.template, parts)
        nested = [n for s in inner for n in s.nested or [None] * len(s)] if any(s.nested for s in inner) else ()
        return cls(template, [t for s in inner for t in s.dtypes], [d for s in inner for d in s.dims], nested)

    def with_dims(self, dims: Sequence[Dims]) -> Structure:
        return Structure(self.template, self.dtypes, dims, self.nested)

    def split(self) -> list[Structure]:
        """The structure of each unit alone."""
        return [Structure(form, self.dtypes[own], self.dims[own], self.nested[own]) for form, own in self.units]

    def over_units(self, function: Callable[[Structure], Structure]) -> Structure:
        """The structure with ``function`` of each unit in its place."""
        parts = iter(self.split())

        def built(template: Any) -> Any:
            if is_unit(template):
                return function(next(parts))
            return core_nest.rebuild(template, [built(child) for child in core_nest.children(template)])

        return Structure.joined(built(self.template))

    def __len__(self) -> int:
        return len(self.dtypes)

    def pack(self, leaves: Sequence[Any]) -> Any:
        return pack(self.template, leaves)

    def values(self, tensors: Sequence[Tensor]) -> Any:
        """An element of these components: tensors, dense, sparse and ragged, and datasets."""
        kinds = zip(tensors, self.nested or [None] * len(tensors), strict=True)
        leaves = [t if n is None else n.dataset.from_handle(t, n.structure) for t, n in kinds]
        return over_units(lambda parts: SparseTensor(*parts), _ragged, self.pack(leaves))

    @property
    def types(self) -> Any:
        return over_units(lambda parts: parts.values, lambda parts: parts[0], self.pack(self.dtypes))

    @property
    def shapes(self) -> Any:
        return over_units(_sparse_shape, _ragged_shape, self.pack([TensorShape(d) for d in self.dims]))

    @property
    def classes(self) -> Any:
        classes = [Tensor if n is None else n.dataset for n in self.nested or [None] * len(self)]
        return over_units(lambda parts: SparseTensor, lambda parts: RaggedTensor, self.pack(classes))

    @property
    def specs(self) -> Any:
        specs: list[Any] = [TensorSpec(d, t) for d, t in zip(self.dims, self.dtypes, strict=True)]
        for i, nested in enumerate(self.nested):
            if nested is not None:
                specs[i] = nested.dataset.spec_of(nested.structure)
        return over_units(
            lambda parts: SparseTensorSpec(_rank_known(parts.dense_shape.shape), parts.values.dtype),
            _ragged_spec,
            self.pack(specs),
        )

    @property
    def key(self) -> Any:
        """What equals that of structures alike."""
        if self._key is None:
            nested = tuple([n and n.structure.key for n in self.nested])
            self._key = (_form(self.template), self.dtypes, self.dims, nested)
        return self._key

    def blank(self) -> list[np.ndarray[Any, Any]]:
        """Components of an element that is none: zeros, of size 0 where a size is not known."""
        shapes = [tuple(d or 0 for d in dims or ()) for dims in self.dims]
        return [np.full(s, b"" if t is string else 0, t.np) for s, t in zip(shapes, self.dtypes, strict=True)]

    def relaxed(self, other: Structure) -> Structure:
        """The most exact description of elements of both. The structures and types must agree."""
        return self.with_dims([shapes.relax(a, b) for a, b in zip(self.dims, other.dims, strict=True)])

    def check_types(self, other: Structure, what: str) -> None:
        """Raises TypeError unless ``other`` has the same structure and types."""
        if not same_nest(self.template, other.template) or self.dtypes != other.dtypes:
            raise TypeError(f"Expected {what} with types {self.types}, got {other.types}.")

    def check_accepts(self, other: Structure, what: str) -> None:
        """Raises TypeError unless every element of ``other`` is one of this structure as far as is known."""
        self.check_types(other, what)
        if not all(TensorShape(a).is_compatible_with(b) for a, b in zip(self.dims, other.dims, strict=True)):
            raise TypeError(f"Expected {what} with shapes {self.shapes}, got {other.shapes}.")

    def names(self) -> Iterator[str]:
        """How to name each component in a message: its path in the structure."""
        return _paths(self.template, "")


def _sparse_shape(parts: SparseParts) -> TensorShape:
    return _rank_known(parts.dense_shape)


def _ragged_shape(parts: Sequence[TensorShape]) -> TensorShape:
    """The static shape of a ragged tensor of those of its parts."""
    flat, *splits = parts
    if not splits:
        return flat
    first = splits[0].raw
    count = None if first is None or first[0] is None else first[0] - 1
    return TensorShape([count, *[None] * len(splits)]).concatenate(flat[1:])


def _ragged_spec(parts: RaggedParts) -> RaggedTensorSpec:
    shape = _ragged_shape([part.shape for part in parts])
    return RaggedTensorSpec(shape, parts[0].dtype, len(parts) - 1, parts.splits_dtype)


def _rank_known(vector: TensorShape) -> TensorShape:
    """The static shape of which a vector of so many entries is the value."""
    rank = vector.raw[0] if vector.raw else None
    return TensorShape(None if rank is None else [None] * rank)


def _paths(template: Any, prefix: str) -> Iterator[str]:
    if isinstance(template, RaggedParts):
        parts = ["flat_values", *(f"row_splits[{i}]" for i in range(len(template) - 1))]
        yield from (f"{prefix}.{part}" for part in parts)
        return
    if isinstance(template, Mapping):
        for key, child in zip(sorted(template), core_nest.children(template), strict=True):
            yield from _paths(child, f"{prefix}[{key!r}]")
    elif is_nest(template):
        names = getattr(template, "_fields", range(len(template)))
        for name, child in zip(names, template, strict=True):
            yield from _paths(child, f"{prefix}.{name}" if isinstance(name, str) else f"{prefix}[{name}]")
    else:
        yield prefix or "the element"


def same_nest(a: Any, b: Any) -> bool:
    if is_nest(a) != is_nest(b) or isinstance(a, RaggedParts) != isinstance(b, RaggedParts):
        return False
    if not is_nest(a):
        return True
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        if not (isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) == set(b)):
            return False
    elif len(a) != len(b):
        return False
    return all(same_nest(x, y) for x, y in zip(core_nest.children(a), core_nest.children(b), strict=True))


def _form(template: Any) -> Any:
    """A nest without its leaves."""
    if not is_nest(template):
        return None
    keys = tuple(sorted(template)) if isinstance(template, Mapping) else ()
    return (type(template), keys, tuple([_form(child) for child in core_nest.children(template)]))
