"""How the public functions of an operation family add operations to the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.types import DType


def add(type: str, inputs: Any, attrs: Mapping[str, Any] | None = None, name: str | None = None) -> list[Tensor]:
    """The outputs of a new operation on tensors."""
    return get_default_graph().add(type, inputs, attrs, name).outputs


def one(type: str, inputs: Any, attrs: Mapping[str, Any] | None = None, name: str | None = None) -> Tensor:
    """The only output of a new operation on tensors."""
    return get_default_graph().add(type, inputs, attrs, name).outputs[0]


def reserve(graph: Graph, name: str) -> str:
    """The full name, with a slash, that an operation called ``name`` gets; what is made for it is named below that."""
    return name if name[-1] == "/" else graph.unique_name(name) + "/"


def unary(type: str, x: Any, name: str | None = None, attrs: Mapping[str, Any] | None = None) -> Tensor:
    """A new operation on one value."""
    graph = get_default_graph()
    name = name or type
    if not isinstance(x, Tensor):
        name = reserve(graph, name)
        x = convert_to_tensor(x, name=f"{name}x/")
    return graph.add(type, (x,), attrs, name).outputs[0]


def pair(
    x: Any, y: Any, dtype: DType | None = None, what: str = "operands", scope: str | None = None
) -> tuple[Tensor, Tensor]:
    """Two values as tensors of one element type: a tensor decides, a Python number follows.

    Args:
      dtype: the element type of two Python values.
      scope: the name, with a slash at its end, below which constants are named x and y.

    Raises:
      TypeError: two tensors of different element types.
    """
    x_name, y_name = (f"{scope}x/", f"{scope}y/") if scope else (None, None)
    if isinstance(x, Tensor) or _leads(x) or not (isinstance(y, Tensor) or _leads(y)):
        x = convert_to_tensor(x, dtype, name=x_name)
        y = _follow(y, x, y_name)
    else:
        y = convert_to_tensor(y, dtype, name=y_name)
        x = _follow(x, y, x_name)
    if x.dtype is not y.dtype:
        raise TypeError(
            f"Expected {what} of one element type, got {x.dtype.name} ({_called(x)}) and {y.dtype.name} "
            f"({_called(y)}). Nothing is converted silently: use tf.cast."
        )
    return x, y


def _called(tensor: Tensor) -> str:
    return f"shape {tensor.shape}" if tensor.graph.executing_eagerly else tensor.name


def _leads(value: Any) -> bool:
    """Whether the value has an element type of its own: a variable, rows of a gradient, ..."""
    return hasattr(value, "dtype") and not hasattr(value, "__array_interface__")


def _follow(value: Any, leader: Tensor, name: str | None) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if _leads(value):
        return convert_to_tensor(value, name=name)
    try:
        return convert_to_tensor(value, leader.dtype, name=name)
    except ValueError as error:
        raise TypeError(str(error)) from error


def binary(type: str, x: Any, y: Any, name: str | None = None, attrs: Mapping[str, Any] | None = None) -> Tensor:
    """A new operation on two values of one element type."""
    graph = get_default_graph()
    name = name or type
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        x, y = pair(x, y)
    else:
        name = reserve(graph, name)
        x, y = pair(x, y, scope=name)
    return graph.add(type, (x, y), attrs, name).outputs[0]
