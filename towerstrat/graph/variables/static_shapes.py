"""Static shapes of variables: the initial value's, or a wider one that the program asks for."""

from __future__ import annotations

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.shapes import TensorShape, as_shape


def wider(dims: shapes.Dims, shape: ShapeLike, name: str) -> shapes.Dims:
    """A variable's static shape: ``shape`` if it is given, else its initial value's.

    Args:
      dims: the initial value's.
      shape: the one asked for, or None.
      name: the variable's, for the error.

    Raises:
      ValueError: the initial value does not fit ``shape``.
    """
    if shape is None:
        return dims
    if not as_shape(shape).is_compatible_with(dims):
        raise ValueError(f"The initial value of variable {name} has shape {TensorShape(dims)}, not {as_shape(shape)}.")
    return as_shape(shape).raw
