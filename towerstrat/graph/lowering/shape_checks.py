"""Apply shape rules again to the shapes of a run, where a static shape was unknown while the graph was built.

``MatMul`` of ``[?, ?]`` and ``[?, ?]`` is accepted by the graph. In a run with ``[2, 3]`` and ``[4, 5]`` the rule's
ValueError becomes an InvalidArgumentError, with the inputs' dtypes and shapes. ``Lowering`` calls it before each
kernel, so that the message is that of the operation and not one of JAX; where all shapes were known, nothing is done.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     a, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
...     product = tf.matmul(a, b)
>>> import numpy as np
>>> check_shapes(product.op, [np.ones((2, 3)), np.ones((3, 5))])
>>> check_shapes(product.op, [np.ones((2, 3)), np.ones((4, 5))])            # doctest: +ELLIPSIS
Traceback (most recent call last):
towerstrat.errors.InvalidArgumentError: Dimensions must be equal, but are 3 and 4. ... [inputs: float32[2, 3], ...
"""

from __future__ import annotations

from collections.abc import Sequence

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import StaticShapeError
from towerstrat.graph.ir.types import Array


def check_shapes(op: Operation, args: Sequence[Array]) -> None:
    """Apply an operation's shape rule again where the static shape of an input was not fully known.

    Args:
      op: about to be evaluated.
      args: one value per input.

    Raises:
      InvalidArgumentError: the inputs do not fit each other or the operation.
    """
    if not any(t.dims is None or None in t.dims for t in op._inputs):
        return
    inputs = [_with_shape_of(tensor, value) for tensor, value in zip(op._inputs, args, strict=True)]
    try:
        op.definition.rule(inputs, op.attrs)
    except StaticShapeError:
        return
    except (TypeError, ValueError) as error:
        described = ", ".join(f"{t.dtype.name}{'[?]' if t.dims is None else list(t.dims)}" for t in inputs)
        raise InvalidArgumentError(None, op, f"{error} [inputs: {described}]") from error


def _with_shape_of(tensor: Tensor, value: Array) -> Tensor:
    """The tensor with the shape of its value; a value that is no array leaves it as it is."""
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple):
        return tensor
    return Tensor(tensor.op, tensor.value_index, tensor.dtype, shape)
