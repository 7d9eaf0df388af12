"""Element types of saved arrays: numbers of TensorFlow's ``DataType`` enum (``types.proto``) <-> numpy dtypes.

The index of a checkpoint, a V1 file and an encoded state (``state_codec``) all store the number. Resources and variants
have a name, so that ``towerstrat checkpoint list`` can show them, and no numpy dtype: nothing reads their values.

Several numbers may have one numpy dtype: quantized types are stored as the integers that they consist of, so that
``code_of`` cannot give them back; who copies an array passes its code on instead (``Saved.code``).

    >>> name_of(11), type_of(11), code_of(type_of(11)), name_of(6)
    ('qint8', dtype('int8'), 6, 'int8')
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

STRING = 7
_NAMES = (
    *("float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool"),
    *("qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128", "float16"),
    *("resource", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn"),
)
_STORED = {"qint8": "int8", "quint8": "uint8", "qint32": "int32", "qint16": "int16", "quint16": "uint16"}
_OTHER: dict[str, type] = {
    "string": object,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
}
_TYPES = {
    code: np.dtype(_OTHER.get(name) or _STORED.get(name, name))
    for code, name in enumerate(_NAMES, 1)
    if name not in ("resource", "variant")
}
_CODES = {dtype: code for code, dtype in reversed(_TYPES.items())}


def name_of(code: int) -> str:
    """TensorFlow's name of a dtype; ``type N`` for a number that it does not have."""
    return _NAMES[code - 1] if 0 < code <= len(_NAMES) else f"type {code}"


def type_of(code: int) -> np.dtype[Any]:
    """The numpy dtype of the elements; object for strings, which are bytes.

    Raises:
      ValueError: resources, variants, and numbers that no dtype has.
    """
    if code not in _TYPES:
        raise ValueError(f"values of {name_of(code)} cannot be read")
    return _TYPES[code]


def code_of(dtype: np.dtype[Any]) -> int:
    """The number of a numpy dtype; bytes, ``str`` and objects are strings (7).

    Raises:
      ValueError: TensorFlow has no such dtype.
    """
    if dtype.kind in "SUO":
        return STRING
    if dtype not in _CODES:
        raise ValueError(f"the format has no elements of {dtype}")
    return _CODES[dtype]
