r"""``tf.compat``: conversion between strings and bytes, and tuples of Python and numpy types for ``isinstance``.

    >>> as_bytes("é"), as_text(b"abc"), as_str_any(3)
    (b'\xc3\xa9', 'abc', '3')

The encoding is UTF-8 unless another one is named.
"""

from __future__ import annotations

import datetime
import numbers
import os
from typing import Any, TypeAlias

import numpy as np

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)

PathLike: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
"""What ``os.fsdecode`` takes: a path as text, bytes or a path object."""

_BUILT = datetime.date(2018, 10, 1)


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Encode a string; bytes stay as they are. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected bytes or a string, got {bytes_or_text!r}.")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Decode bytes; a string stays as it is. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    raise TypeError(f"Expected bytes or a string, got {bytes_or_text!r}.")


as_str = as_text


def as_str_any(value: object) -> str:
    """``str(value)``, or bytes decoded as UTF-8."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Convert a path object with ``os.fspath``; anything else stays as it is."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether the day is before the release of 1.12: code that it guards may be used then."""
    return datetime.date(year, month, day) < _BUILT
