"""What numpy had of its own and did not only call by another name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

NINF = -np.inf
PZERO, NZERO = 0.0, -0.0

sctypes: dict[str, list[Any]] = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}
"""Scalar types by kind."""


class _Cast(dict[Any, Callable[[Any], Any]]):
    """``np.cast[type](values)``."""

    def __missing__(self, key: Any) -> Callable[[Any], Any]:
        return lambda values: np.asarray(values).astype(key)


class _Sizes(dict[Any, int]):
    """``np.nbytes[type]``."""

    def __missing__(self, key: Any) -> int:
        return int(np.dtype(key).itemsize)


cast, nbytes = _Cast(), _Sizes()


def alen(a: Any) -> int:
    """The length of the first dimension, 1 of a scalar."""
    return len(np.atleast_1d(a))


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """An array of a floating type: ``dtype``, or float64 where that is none."""
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asscalar(a: Any) -> Any:
    """The one element of an array as a Python number."""
    return np.asarray(a).item()


def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    """Writes a message."""
    print(mesg, end="\n" if linefeed else "", file=device or sys.stdout, flush=True)


def fastCopyAndTranspose(a: Any) -> Any:
    """A transposed copy."""
    return np.asarray(a).T.copy()


def find_common_type(array_types: Any, scalar_types: Any) -> Any:
    """The type of an operation on arrays and scalars: of scalars only their kind counts, where it is no higher."""
    arrays, scalars = ([np.dtype(t) for t in types] for types in (array_types, scalar_types))
    if not arrays or not scalars:
        return np.result_type(*arrays, *scalars) if arrays or scalars else None
    array, scalar = np.result_type(*arrays), np.result_type(*scalars)
    higher = "buifc".find(scalar.kind) > "buifc".find(array.kind)
    return np.promote_types(array, scalar) if higher else array


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements of ``ar1``, flattened, are in ``ar2``."""
    return np.isin(np.ravel(ar1), ar2, assume_unique, invert)


def issctype(rep: Any) -> bool:
    """Whether a type or dtype is one of array elements, but not of Python objects."""
    return isinstance(rep, type | np.dtype) and obj2sctype(rep) not in (None, np.object_)


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """``issubclass``, False where the first is no class."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Whether the scalar type of the first is one of the second's."""
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def maximum_sctype(t: Any) -> Any:
    """The widest scalar type of the same kind."""
    kinds = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
    kind = kinds.get(np.dtype(t).kind)
    return sctypes[kind][-1] if kind else np.dtype(t).type


def msort(a: Any) -> Any:
    """A copy sorted along the first axis."""
    return np.sort(a, axis=0)


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """The scalar type of a type, an array or what stands for one; ``default`` of others."""
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    if isinstance(rep, np.ndarray):
        return rep.dtype.type
    try:
        return np.dtype(rep).type
    except TypeError:
        return default


def recfromtxt(fname: Any, **kwargs: Any) -> Any:
    """``np.genfromtxt`` as a record array, of types that are found."""
    return np.genfromtxt(fname, **{"dtype": None, **kwargs}).view(np.recarray)


def recfromcsv(fname: Any, **kwargs: Any) -> Any:
    """``recfromtxt`` of fields between commas, which the first line names in lower case."""
    return recfromtxt(fname, **{"case_sensitive": "lower", "names": True, "delimiter": ",", **kwargs})


def sctype2char(sctype: Any) -> str:
    """The character of a scalar type."""
    return np.dtype(obj2sctype(sctype)).char
