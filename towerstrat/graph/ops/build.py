"""How the public functions of an operation family add operations to the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towerstrat.graph.convert import convert_to_tensor
from towerstrat.graph.core import Tensor, get_default_graph
from towerstrat.graph.types import DType


def add(type: str, inputs: Any, attrs: Mapping[str, Any] | None = None, name: str | None = None) -> list[Tensor]:
    """The outputs of a new operation on tensors."""
    return get_default_graph().add(type, inputs, attrs, name).outputs


def one(type: str, inputs: Any, attrs: Mapping[str, Any] | None = None, name: str | None = None) -> Tensor:
    """The only output of a new operation on tensors."""
    return get_default_graph().add(type, inputs, attrs, name).outputs[0]


def unary(type: str, x: Any, name: str | None = None, attrs: Mapping[str, Any] | None = None) -> Tensor:
    """A new operation on one value."""
    return get_default_graph().add(type, (convert_to_tensor(x),), attrs, name or type).outputs[0]


def pair(x: Any, y: Any, dtype: DType | None = None, what: str = "operands") -> tuple[Tensor, Tensor]:
    """Two values as tensors of one element type: a tensor decides, a Python number follows.

    Raises:
      TypeError: two tensors of different element types.
    """
    if isinstance(x, Tensor) or not isinstance(y, Tensor):
        x = convert_to_tensor(x, dtype)
        y = _follow(y, x)
    else:
        x = _follow(x, y)
    if x.dtype is not y.dtype:
        raise TypeError(
            f"Expected {what} of one element type, got {x.dtype.name} ({x.name}) and {y.dtype.name} ({y.name}). "
            "Nothing is converted silently: use tf.cast."
        )
    return x, y


def _follow(value: Any, leader: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "dtype") and not hasattr(value, "__array_interface__"):
        return convert_to_tensor(value)
    try:
        return convert_to_tensor(value, leader.dtype)
    except ValueError as error:
        raise TypeError(str(error)) from error


def binary(type: str, x: Any, y: Any, name: str | None = None, attrs: Mapping[str, Any] | None = None) -> Tensor:
    """A new operation on two values of one element type."""
    x, y = pair(x, y)
    return get_default_graph().add(type, (x, y), attrs, name or type).outputs[0]
