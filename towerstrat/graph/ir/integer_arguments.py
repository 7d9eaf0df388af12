"""Conversion of axes and counts that programs give, in all the forms that TensorFlow accepts, to Python integers.

These are needed while the graph is built, so a tensor must be a constant, or follow from static shapes:

>>> integers([0, np.int64(-1)]), integer(np.array(2)), integers(None)
((0, -1), 2, None)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.types import HostArray

Axes = tuple[int, ...] | None
"""Several axes; None: all."""


def integer(value: Any, name: str = "axis", listed: bool = False) -> int:
    """One integer.

    Args:
      value: a Python or numpy number, a Dimension, an array or tensor without dimensions.
      name: of the argument, for messages.
      listed: a list, array or tensor of a single integer is taken too.

    Raises:
      TypeError: something else, or a number that is no integer.
      ValueError: a tensor whose value is not known while the graph is built.
    """
    if listed:
        while isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]
        value = value.reshape(()) if isinstance(value, np.ndarray) and value.size == 1 else value
    if isinstance(value, Tensor):
        value = _known_value(value, name)
        value = value.reshape(()) if listed and value.size == 1 else value
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, np.bool_ | np.floating) and value == int(value):
        value = int(value)
    if isinstance(value, np.ndarray) or not hasattr(value, "__index__"):
        raise TypeError(f"Expected an integer for {name}, got {value!r}.")
    return int(value.__index__())


def integers(value: Any, name: str = "axis") -> Axes:
    """Several integers, given as one or as a list, a shape, an array or a tensor of them; None for None.

    Raises:
      TypeError: something else, or entries that are no integers.
      ValueError: a tensor whose value is not known while the graph is built.
    """
    if value is None:
        return None
    if isinstance(value, Tensor):
        value = _known_value(value, name)
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            raise TypeError(f"Expected integers for {name}, got {value!r}.")
        value = list(value) if value.ndim else value[()]
    if isinstance(value, list | tuple | range | TensorShape):
        return tuple(integer(v, name) for v in value)
    return (integer(value, name),)


def _known_value(tensor: Tensor, name: str) -> HostArray:
    if not tensor.dtype.is_integer:
        raise TypeError(f"Expected integers for {name}, got {tensor!r}.")
    constant = constant_value(tensor)
    if constant is None:
        raise ValueError(f"Expected {name} known while the graph is built, got {tensor!r}: pass integers.")
    return constant


def optional_integer(value: Any, default: int, name: str = "axis") -> int:
    """``integer``, or ``default`` for None."""
    return default if value is None else integer(value, name)
