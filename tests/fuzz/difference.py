"""What a random program is found to do otherwise, and how far apart two results are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

EPSILON = {
    "float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52,
    "complex128": 2.0**-52,
}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Two ways of computing one thing that do not agree.

    Attributes:
      what: one line: the ways and their results.
      program: a Python program that shows it.
    """

    what: str
    program: str


@dataclass(frozen=True)
class Tolerance:
    """How far apart floating-point results may be; integers and booleans never are.

    Attributes:
      each: units in the last place of each element.
      largest: units in the last place of the largest finite magnitude, for sums in another order.
    """

    each: float = 0.0
    largest: float = 0.0


def apart(found: Any, wanted: Any, tolerance: Tolerance, size: float = 0.0) -> str:
    """How two results differ, or "": in type, shape or elements.

    Args:
      size: a magnitude that counts where it is larger than those of the results, such as that of the terms of a sum.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{described(found)} is not {described(wanted)}"
    if found.dtype.name not in EPSILON:
        return "" if np.array_equal(found, wanted) else f"{found.tolist()} is not {wanted.tolist()}"
    a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (found, wanted))
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        each = np.maximum(np.abs(a), np.abs(b))
        largest = max(np.max(each[finite], initial=0.0), size)
        limit = EPSILON[found.dtype.name] * (tolerance.each * each + tolerance.largest * largest)
        same |= finite & (np.abs(a - b) <= limit)
    return "" if same.all() else f"{found.tolist()} is not {wanted.tolist()}"


def described(array: np.ndarray[Any, Any]) -> str:
    return f"{array.dtype}{list(array.shape)} {array.tolist()}"


def written(array: np.ndarray[Any, Any]) -> str:
    """An expression for an array, over ``np``, ``ml_dtypes``, ``nan`` and ``inf``."""
    if array.dtype == ml_dtypes.bfloat16:
        return f"{written(array.astype(np.float32))}.astype(ml_dtypes.bfloat16)"
    if array.size == 0:
        return f"np.zeros({array.shape}, np.{array.dtype})"
    return f"np.array({array.tolist()}, np.{array.dtype})"


def first(differences: Sequence[str]) -> str:
    """The first of several messages, or ""; says how many others there are."""
    if not differences:
        return ""
    return differences[0] + (f" (and {len(differences) - 1} more)" if len(differences) > 1 else "")
