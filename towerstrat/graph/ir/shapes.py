"""Static shapes, of which sizes or the rank may be unknown.

Inside the library a shape is ``Dims``, a tuple or None; programs see ``TensorShape``, whose entries are ``Dimension``s
(1.x) or integers and None (2.x). ``merge`` combines two shapes of one tensor, ``broadcast`` those of operands:

>>> merge((None, 3), (2, None)), broadcast((None, 3), (2, 1)), broadcast((None, 3), (1,))
((2, 3), (2, 3), (None, 3))

Source: ``tensorflow/python/framework/tensor_shape.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import NotImplementedType
from typing import Any, SupportsIndex, TypeAlias, TypeVar, overload

from towerstrat.graph.ir.argument_types import ShapeLike, ShapeProto, SizeLike

Dims: TypeAlias = "tuple[int | None, ...] | None"
"""A static shape inside the library: None for an unknown rank, a None entry for an unknown size."""


R = TypeVar("R")


class StaticShapeError(ValueError):
    """Static shapes that a shape rule refuses, and that a run of the original computes where it meets them first."""


_plain_sizes = False


def enable_v2_tensorshape() -> None:
    """Makes the entries of a TensorShape integers and None, as in 2.x, for the whole process."""
    global _plain_sizes
    _plain_sizes = True


def disable_v2_tensorshape() -> None:
    """Makes the entries of a TensorShape Dimensions, as in 1.x, for the whole process."""
    global _plain_sizes
    _plain_sizes = False


def _entry(size: int | None) -> Any:
    """A size as an entry of a TensorShape."""
    return size if _plain_sizes else Dimension(size)


def _size(value: Any) -> int | None:
    return value.value if isinstance(value, Dimension) else value


class Dimension:
    """One size of a shape; ``value`` is None where it is unknown. Arithmetic with an unknown size is unknown.

    Raises:
      TypeError: ``value`` is no integer, None or Dimension.
      ValueError: it is negative.
    """

    __slots__ = ("_value",)

    def __init__(self, value: SizeLike):
        value = _size(value)
        if value is not None:
            try:
                number = value.__index__()
            except AttributeError:
                raise TypeError(f"Expected an integer or None as a dimension, got {value!r}.") from None
            if number < 0:
                raise ValueError(f"Dimension {number} must be >= 0.")
            value = number
        self._value = value

    @property
    def value(self) -> int | None:
        return self._value

    def is_compatible_with(self, other: SizeLike) -> bool:
        other = _size(other)
        return self._value is None or other is None or self._value == other

    def assert_is_compatible_with(self, other: SizeLike) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible.")

    def merge_with(self, other: SizeLike) -> Dimension:
        self.assert_is_compatible_with(other)
        return Dimension(_size(other) if self._value is None else self._value)

    def _with(self, other: object, function: Callable[[int, int], R]) -> R | NotImplementedType | None:
        """``function`` of both sizes; None where one is unknown, NotImplemented where ``other`` is no size."""
        result: R | NotImplementedType | None
        try:
            size = _size(other)
            number = None if size is None else size.__index__()
        except AttributeError:
            result = NotImplemented
        else:
            result = None if self._value is None or number is None else function(self._value, number)
        return result

    def _arith(self, other: SizeLike, function: Callable[[int, int], int]) -> Dimension:
        result = self._with(other, function)
        return NotImplemented if result is NotImplemented else Dimension(result)

    def __add__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: a - b)

    def __rsub__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: b - a)

    def __mul__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: b // a)

    __div__ = __floordiv__
    __truediv__ = __floordiv__

    def __mod__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: a % b)

    def __rmod__(self, other: SizeLike) -> Dimension:
        return self._arith(other, lambda a, b: b % a)

    def __eq__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Any:
        return self._with(other, lambda a, b: a != b)

    def __lt__(self, other: SizeLike) -> bool | None:
        return self._with(other, lambda a, b: a < b)

    def __le__(self, other: SizeLike) -> bool | None:
        return self._with(other, lambda a, b: a <= b)

    def __gt__(self, other: SizeLike) -> bool | None:
        return self._with(other, lambda a, b: a > b)

    def __ge__(self, other: SizeLike) -> bool | None:
        return self._with(other, lambda a, b: a >= b)

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> Any:
        return self._value

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("This dimension is not known while the graph is built; use tf.shape(x)[i] for its value.")
        return self._value

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


class TensorShape:
    """A static shape.

    Args:
      dims: None (unknown rank), an integer (a vector of that length), a sequence of integers, Nones and Dimensions, or
        a ``TensorShapeProto``.

    Raises:
      TypeError: ``dims`` is none of these.
      ValueError: a negative size.

    >>> TensorShape([None, 3]).merge_with([2, None]).as_list()
    [2, 3]
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike):
        if dims is None:
            self._dims: Dims = None
        elif isinstance(dims, tuple | list):
            self._dims = tuple([d if type(d) is int and d >= 0 else Dimension(d).value for d in dims])
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, int | Dimension) or (isinstance(dims, SupportsIndex) and getattr(dims, "ndim", 0) == 0):
            self._dims = (Dimension(dims).value,)
        elif isinstance(dims, ShapeProto):
            self._dims = None if dims.unknown_rank else tuple(d.size if d.size >= 0 else None for d in dims.dim)
        else:
            try:
                entries = tuple(dims)  # type: ignore[arg-type]  # an array has __index__ too
            except TypeError:
                raise TypeError(f"Expected a shape (None, an integer or a sequence of sizes), got {dims!r}.") from None
            self._dims = tuple(Dimension(d).value for d in entries)

    @property
    def raw(self) -> Dims:
        """The shape as ``Dims``."""
        return self._dims

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def ndims(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        if self._dims is None:
            raise ValueError("as_list() is not defined on a shape of unknown rank.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        if not self.is_fully_defined():
            return None
        size = 1
        for d in self._dims or ():
            size *= d or 0
        return size

    def is_fully_defined(self) -> bool:
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Expected a fully defined shape, got {self}.")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        other = as_shape(other)
        if self._dims is None or other._dims is None or self._dims == other._dims:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible.")

    def assert_same_rank(self, other: ShapeLike) -> None:
        other = as_shape(other)
        if self.ndims is not None and other.ndims is not None and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank.")

    def assert_has_rank(self, rank: int) -> None:
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}.")

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """The most exact shape that covers both: sizes that differ become unknown, and so does a rank that differs."""
        return TensorShape(relax(self.raw, as_shape(other).raw))

    def merge_with(self, other: ShapeLike) -> TensorShape:
        other = as_shape(other)
        self.assert_is_compatible_with(other)
        return TensorShape(merge(self._dims, other._dims))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        other = as_shape(other)
        return TensorShape(None if self._dims is None or other._dims is None else self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}.")
        return self if self._dims is not None else TensorShape([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}.")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}.")
        return self

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("A shape of unknown rank has no length.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("A shape of unknown rank cannot be iterated over.")
        return iter([_entry(d) for d in self._dims])

    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...

    def __getitem__(self, key: slice | SupportsIndex) -> Any:
        if isinstance(key, slice):
            if self._dims is not None:
                return TensorShape(self._dims[key])
            start, stop = key.start or 0, key.stop
            if key.step in (None, 1) and stop is not None and 0 <= start <= stop:
                return TensorShape([None] * (stop - start))
            return TensorShape(None)
        return _entry(None if self._dims is None else self._dims[key])

    def __eq__(self, other: Any) -> bool:
        try:
            return self._dims == as_shape(other)._dims
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        unknown = "None" if _plain_sizes else "?"
        inner = ", ".join(unknown if d is None else str(d) for d in self._dims)
        return f"({inner},)" if len(self._dims) == 1 else f"({inner})"

    def __repr__(self) -> str:
        shown: Any = list(self._dims or ()) if _plain_sizes else self.dims
        return "TensorShape(None)" if self._dims is None else f"TensorShape({shown!r})"


def as_shape(value: ShapeLike) -> TensorShape:
    return value if isinstance(value, TensorShape) else TensorShape(value)


def size_at(shape: ShapeLike, axis: int) -> int | None:
    """One size of a shape; None where it or the rank is unknown. Raises IndexError where there is no such axis."""
    dims = as_shape(shape).raw
    return None if dims is None else dims[axis]


def unknown_shape(ndims: int | None = None) -> TensorShape:
    return TensorShape(None if ndims is None else [None] * ndims)


def scalar() -> TensorShape:
    return TensorShape([])


def vector(length: SizeLike) -> TensorShape:
    return TensorShape([length])


def matrix(rows: SizeLike, cols: SizeLike) -> TensorShape:
    return TensorShape([rows, cols])


def merge(a: Dims, b: Dims) -> Dims:
    """The most exact shape that two compatible shapes of one tensor imply. Raises ValueError where ranks differ."""
    if a is None or b is None:
        return b if a is None else a
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def relax(a: Dims, b: Dims) -> Dims:
    """The most exact shape that covers both."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def known(dims: Dims) -> bool:
    return dims is not None and None not in dims


def broadcast(a: Dims, b: Dims) -> Dims:
    """The shape that two shapes broadcast to, by numpy's rules.

    An unknown size beside a known one other than 1 becomes the known one: anything else would fail when it runs.

    Raises:
      ValueError: two known sizes differ and neither is 1.
    """
    if a == b and a is not None and None not in a:
        return a
    if a is None or b is None:
        return None
    size = max(len(a), len(b))
    left = (1,) * (size - len(a)) + a
    right = (1,) * (size - len(b)) + b
    result: list[int | None] = []
    for x, y in zip(left, right, strict=True):
        if x == y:
            result.append(x)
        elif x == 1:
            result.append(y)
        elif y == 1:
            result.append(x)
        elif x is None:
            result.append(y)
        elif y is None:
            result.append(x)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {TensorShape(a)} and {TensorShape(b)}.")
    return tuple(result)
