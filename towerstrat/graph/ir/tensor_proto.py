"""Values of tensors outside of a run: those that the graph determines, and ``TensorProto`` messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir import constant_folding
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.node_def import tensor_proto
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.tensor_conversion import shaped_value
from towerstrat.graph.ir.types import DTypeLike, HostArray, as_dtype, bfloat16, complex64, float16, string
from towerstrat.platform import messages

_FIELDS = (
    "float_val", "double_val", "int_val", "int64_val", "bool_val", "uint32_val", "uint64_val", "scomplex_val",
    "dcomplex_val", "half_val",
)  # fmt: skip


def constant_value(tensor: object, partial: bool = False) -> HostArray | None:
    """The value of a tensor if constants and static shapes determine it, else None. Feeds are ignored.

    Args:
      tensor: of a graph, or eager, whose value is copied.
      partial: of an integer vector of which some entries are known: an array of objects, None for the others.
    """
    if isinstance(tensor, Tensor) and tensor._graph.executing_eagerly:
        return np.array(tensor)
    value = constant_folding.constant_value(tensor)
    if value is not None:
        return value.copy()
    entries = constant_folding.partial_value(tensor) if partial else None
    return None if entries is None else np.array(entries, object)


def make_tensor_proto(
    values: Any, dtype: DTypeLike | None = None, shape: ShapeLike = None, verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> messages.TensorProto:  # fmt: skip
    """Values as a ``TensorProto`` message, or the message itself; errors as of ``tf.constant``.

    Args:
      values: as of ``tf.constant``, or a ``TensorProto``, which is returned as it is.
      dtype: element type; by default as of ``tf.constant``.
      shape: of the message; by default that of the values.
      verify_shape: raise TypeError where ``shape`` is not exactly the values'.
      allow_broadcast: only a single value may be repeated.

    Raises:
      ValueError: ``verify_shape`` and ``allow_broadcast`` together. TypeError: several values, but not as many as the
        shape has.
    """
    if isinstance(values, messages.TensorProto):
        return values
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if allow_broadcast and shape is not None and np.size(values) not in (1, as_shape(shape).num_elements()):
        raise TypeError(f"Expected Tensor's shape: {as_shape(shape)}, got {np.shape(values)}.")
    return tensor_proto(shaped_value(values, None if dtype is None else as_dtype(dtype), shape, verify_shape))


def make_ndarray(tensor: messages.TensorProto) -> HostArray:
    """The array that a ``TensorProto`` message holds; a single value in it stands for all entries.

    Raises:
      TypeError: a message of a type that has no arrays.
    """
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    kind = as_dtype(tensor.dtype)
    if kind is string:
        array = np.empty(len(tensor.string_val), object)
        array[:] = list(tensor.string_val)
    elif tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, kind.np).copy().reshape(shape)
    else:
        field = next((name for name in _FIELDS if getattr(tensor, name)), None)
        if field is None and np.prod(shape):
            raise TypeError(f"Unsupported tensor type: {kind.name}, or no value for shape {shape}.")
        values = [] if field is None else list(getattr(tensor, field))
        if kind in (float16, bfloat16):
            array = np.array(values, np.uint16).view(kind.np)
        elif kind.is_complex:
            parts = np.array(values, np.float32 if kind is complex64 else np.float64)
            array = parts.view(kind.np)
        else:
            array = np.array(values, kind.np)
    return np.full(shape, array[0], array.dtype) if array.size == 1 else array.reshape(shape)
