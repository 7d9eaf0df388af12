"""Helpers of the public functions: convert arguments to tensors and add operations to the current graph.

A Python number takes the other operand's dtype; two tensors of different dtypes raise, as in the original. Constants
that arise are named below the operation: ``x + 1.`` adds ``add/y`` and ``add``. So the operation's name is reserved
before its operands are converted (``reserve_name``), or they would take it.

    convert_pair(x, 1)              x: float32      -> (x, Const float32)
    convert_pair(2, 3, int32)       both Python     -> (Const int32, Const int32)
    convert_pair(x, y)              y: float64      -> TypeError: use tf.cast
"""

from __future__ import annotations

from collections.abc import Sequence

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType


def add(type: str, inputs: Sequence[Tensor], attrs: Attrs | None = None, name: str | None = None) -> list[Tensor]:
    """Add an operation on tensors; return its outputs."""
    return get_default_graph().add(type, inputs, attrs, name).outputs


def add_op(type: str, inputs: Sequence[Tensor], attrs: Attrs | None = None, name: str | None = None) -> Tensor:
    """Add an operation on tensors; return its first output."""
    return get_default_graph().add(type, inputs, attrs, name).outputs[0]


def reserve_name(graph: Graph, name: str) -> str:
    """Reserve the unique full name of an operation, with a slash at its end, so that constants are named below it."""
    return name if name[-1] == "/" else graph.unique_name(name) + "/"


def add_unary(type: str, x: TensorLike, name: str | None = None, attrs: Attrs | None = None) -> Tensor:
    """Add an operation on one value, which is converted to a tensor."""
    graph = get_default_graph()
    name = name or type
    if not isinstance(x, Tensor):
        name = reserve_name(graph, name)
        x = convert_to_tensor(x, name=f"{name}x/")
    return graph.add(type, (x,), attrs, name).outputs[0]


def convert_pair(
    x: TensorLike, y: TensorLike, dtype: DType | None = None, noun: str = "operands", scope: str | None = None
) -> tuple[Tensor, Tensor]:
    """Convert two values to tensors of one element type: a Python number takes that of the other value.

    Args:
      x: a tensor or a value; a value takes the element type of ``y`` where that has one of its own.
      y: likewise; a value takes the element type of ``x``.
      dtype: the element type where both are Python values.
      noun: the operands, for the message.
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
            f"Expected {noun} of one element type, got {x.dtype.name} ({_called(x)}) and {y.dtype.name} "
            f"({_called(y)}). Nothing is converted silently: use tf.cast."
        )
    return x, y


def _called(tensor: Tensor) -> str:
    """A tensor's name in an error message."""
    return f"shape {tensor.shape}" if tensor._graph.executing_eagerly else tensor.name


def _leads(value: object) -> bool:
    """Whether the value has an element type and is no numpy value: a variable, IndexedSlices, ..."""
    return hasattr(value, "dtype") and not hasattr(value, "__array_interface__")


def _follow(value: TensorLike, leader: Tensor, name: str | None) -> Tensor:
    """The value as a tensor; one without an element type of its own gets the leader's."""
    if isinstance(value, Tensor):
        return value
    if _leads(value):
        return convert_to_tensor(value, name=name)
    try:
        return convert_to_tensor(value, leader.dtype, name=name)
    except ValueError as error:
        raise TypeError(str(error)) from error


def add_binary(type: str, x: TensorLike, y: TensorLike, name: str | None = None, attrs: Attrs | None = None) -> Tensor:
    """Add an operation on two values, converted to tensors of one element type.

    Raises TypeError as ``convert_pair``.
    """
    graph = get_default_graph()
    name = name or type
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        x, y = convert_pair(x, y)
    else:
        name = reserve_name(graph, name)
        x, y = convert_pair(x, y, scope=name)
    return graph.add(type, (x, y), attrs, name).outputs[0]
