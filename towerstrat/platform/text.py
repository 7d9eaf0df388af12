"""``tf.compat``: strings and bytes, and the Python types of numbers."""

from __future__ import annotations

import datetime
import numbers
import os
from typing import Any

import numpy as np

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)

_BUILT = datetime.date(2018, 10, 1)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Raises TypeError unless given bytes or a string."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected bytes or a string, got {bytes_or_text!r}.")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Raises TypeError unless given bytes or a string."""
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    raise TypeError(f"Expected bytes or a string, got {bytes_or_text!r}.")


as_str = as_text


def as_str_any(value: Any) -> str:
    """``str(value)``, bytes decoded."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as a string; anything else as it is."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether programs written before that day need no longer be served: never for days after release 1.12."""
    return datetime.date(year, month, day) < _BUILT
