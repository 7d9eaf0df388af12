"""Methods that numpy's arrays and scalars had before 2.0 and 2.3, and ``numpy.fromstring`` of bytes."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

Say = Callable[[str, str], None]


def complete(module: ModuleType, say: Say) -> None:
    """Gives ``numpy`` back what records of images were written and read with.

    Args:
      say: is given what a program used, and what it is now.
    """

    def tostring(self: Any, order: Any = "C") -> bytes:
        say("ndarray.tostring()", "it is tobytes() here")
        return self.tobytes(order)

    def ptp(self: Any, *args: Any, **how: Any) -> Any:
        say("ndarray.ptp()", "it is numpy.ptp(array) here")
        return np.ptp(self, *args, **how)

    def newbyteorder(self: Any, new_order: str = "S") -> Any:
        say("ndarray.newbyteorder()", "it is array.view(array.dtype.newbyteorder()) here")
        return self.view(self.dtype.newbyteorder(new_order))

    def itemset(self: Any, *args: Any) -> None:
        say("ndarray.itemset()", "it is array[index] = value here")
        *index, value = args
        if not index and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        where = index[0] if index else 0
        self[where if isinstance(where, tuple) else np.unravel_index(where, self.shape)] = value

    binary = not hasattr(np.ndarray, "tostring")  # 2.3 took both away
    for kind in (np.ndarray, np.generic):
        for method in (tostring, ptp, newbyteorder, itemset):
            if not hasattr(kind, method.__name__):
                _add(kind, method)

    read = module.fromstring

    @wraps(read)
    def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **like: Any) -> Any:
        if sep:
            return read(string, dtype, count, sep=sep, **like)
        say("numpy.fromstring() of bytes", "it is a copy of numpy.frombuffer() here")
        return np.frombuffer(string.encode() if isinstance(string, str) else string, dtype, count, **like).copy()

    if binary:
        vars(module)["fromstring"] = fromstring


def _add(kind: type, method: Callable[..., Any]) -> None:
    """Gives a class of an extension a method: such classes refuse ``setattr``, and forget what they have looked up."""
    (names,) = gc.get_referents(vars(kind))
    names[method.__name__] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
