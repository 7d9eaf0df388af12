"""Element types of tensors: TensorFlow's names over numpy's types.

There is one ``DType`` per type, so they may be compared with ``is``; it equals the numpy types and names that map to
it. ``resource`` (a variable's handle), ``string`` (object arrays of bytes) and ``variant`` have no device arrays.

Source: ``tensorflow/python/framework/dtypes.py``.
"""

from __future__ import annotations

import contextlib
from typing import Any

import jax
import ml_dtypes
import numpy as np

HostArray = np.ndarray[Any, Any]
"""A numpy array of any shape and type."""
Array = HostArray | jax.Array
"""The value of a tensor: on the host, or a JAX array (a tracer while a program is traced)."""


class DType:
    """An element type. There is one object per type; it equals the numpy types and names that ``as_dtype`` maps to it.

    Args:
      name: the original's name, such as ``"float32"``.
      numpy_type: the numpy scalar type of the elements.
      enum: the number in the original's ``types.proto``.

    >>> as_dtype("float32") == np.float32
    True
    """

    __slots__ = ("_hash", "_np", "as_datatype_enum", "as_numpy_dtype", "is_differentiable", "name")

    def __init__(self, name: str, numpy_type: type[np.generic], enum: int):
        self.name = name
        self.as_numpy_dtype = numpy_type
        self.as_datatype_enum = enum
        self._np: np.dtype[Any] = np.dtype(numpy_type)
        self._hash = hash((DType, name))
        self.is_differentiable: bool = self.is_floating or self.is_complex
        """True of floating and complex types."""

    @property
    def np(self) -> np.dtype[Any]:
        """The numpy dtype object."""
        return self._np

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part; a type that is not complex itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def is_floating(self) -> bool:
        return self.name in ("float16", "bfloat16", "float32", "float64")

    @property
    def is_complex(self) -> bool:
        return self.name in ("complex64", "complex128")

    @property
    def is_integer(self) -> bool:
        return self._np.kind in "iu" and not self.is_floating

    @property
    def is_unsigned(self) -> bool:
        return self._np.kind == "u" and not self.is_floating

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def is_quantized(self) -> bool:
        """False: there are no quantized types."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """False of the types of handles."""
        return self.name not in ("resource", "variant")

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        if self.is_bool:
            return False
        return (ml_dtypes.finfo if self.is_floating else np.iinfo)(self._np).min

    @property
    def max(self) -> Any:
        """The largest finite value."""
        if self.is_bool:
            return True
        return (ml_dtypes.finfo if self.is_floating else np.iinfo)(self._np).max

    @property
    def limits(self) -> tuple[Any, Any]:
        return (0, self.max) if self.is_unsigned else (self.min, self.max)

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return 1 if self.name in ("string", "resource") else self._np.itemsize

    def is_compatible_with(self, other: DTypeLike) -> bool:
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self  # type: ignore[arg-type]
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._hash

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


float32 = DType("float32", np.float32, 1)
float64 = DType("float64", np.float64, 2)
int32 = DType("int32", np.int32, 3)
uint8 = DType("uint8", np.uint8, 4)
int16 = DType("int16", np.int16, 5)
int8 = DType("int8", np.int8, 6)
string = DType("string", np.object_, 7)
complex64 = DType("complex64", np.complex64, 8)
int64 = DType("int64", np.int64, 9)
bool_ = DType("bool", np.bool_, 10)
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, 14)
uint16 = DType("uint16", np.uint16, 17)
complex128 = DType("complex128", np.complex128, 18)
float16 = DType("float16", np.float16, 19)
resource = DType("resource", np.object_, 20)
variant = DType("variant", np.object_, 21)
uint32 = DType("uint32", np.uint32, 22)
uint64 = DType("uint64", np.uint64, 23)

ALL = (float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool_, bfloat16, uint16, complex128,
       float16, resource, variant, uint32, uint64)  # fmt: skip
_BY_NAME = {t.name: t for t in ALL} | {"half": float16, "float": float32, "double": float64, "str": string}
_BY_ENUM = {t.as_datatype_enum: t for t in ALL}
_BY_NUMPY = {t.np: t for t in ALL if t.np != np.dtype(object)}
_CACHE: dict[Any, DType] = {t: t for t in ALL}

DTypeLike = DType | np.dtype[Any] | type | str | int
"""Anything that ``as_dtype`` accepts: an element type, a numpy or Python type, a name or a number."""


def host_array(value: object, dtype: np.dtype[Any]) -> HostArray:
    """A result of a numpy form as an array of this type; a single object, such as ``bytes``, as a scalar of objects."""
    if isinstance(value, np.ndarray) and value.dtype == dtype:
        return value
    if dtype.hasobject and not isinstance(value, np.ndarray):
        array = np.empty((), object)
        array[()] = value
        return array
    return np.asarray(value, dtype)


def as_dtype(type_value: DTypeLike) -> DType:
    """The DType for a DType, a numpy type, a name, a number of ``types.proto`` or a Python type.

    Raises:
      TypeError: ``type_value`` is none of these.
    """
    if isinstance(type_value, DType):
        return type_value
    try:
        dtype = _CACHE.get(type_value)
    except TypeError:
        dtype = None
    if dtype is not None:
        return dtype
    dtype = _convert(type_value)
    with contextlib.suppress(TypeError):
        _CACHE[type_value] = dtype
    return dtype


def _convert(value: Any) -> DType:
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, int) and not isinstance(value, bool) and value in _BY_ENUM:
        return _BY_ENUM[value]
    if value is float:
        return float32
    if value is int:
        return int32
    if value is not None:
        try:
            numpy_type = np.dtype(value)
        except TypeError:
            numpy_type = None
        if numpy_type is not None:
            if numpy_type in _BY_NUMPY:
                return _BY_NUMPY[numpy_type]
            if numpy_type.kind in "SUO":
                return string
    raise TypeError(f"Expected an element type such as tf.float32 or np.int64, got {value!r}.")
