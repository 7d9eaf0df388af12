"""Questions about tensors, shapes and the process that 2.x has names for."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir import constant_folding, shapes, tensor_conversion, tensor_proto
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.variables.variables import Variable, VariableV2
from towerstrat.platform import text
from towerstrat.platform.messages import TensorProto


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as far as it is known before the program runs, a numpy array; else None.

    Args:
      partial: of a vector whose entries are known in part, an array with None for the others.
    """
    tensor = tensor_conversion.convert_to_tensor(tensor)
    found = constant_folding.constant_value(tensor)
    if found is not None or not partial:
        return found
    entries = constant_folding.partial_value(tensor)
    return None if entries is None else np.array(entries, object)


def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> TensorProto:
    """Values as a ``TensorProto`` message, or the message itself.

    Args:
      shape: by default that of the values. verify_shape: whether it has to be theirs.
      allow_broadcast: whether fewer values than the shape has entries are repeated.

    Raises:
      TypeError: another shape than the values have. ValueError: too few values.
    """
    if shape is not None and not allow_broadcast and np.size(values) < np.prod(shape, dtype=np.int64):
        raise ValueError(
            f"Expected {np.prod(shape, dtype=np.int64)} values for shape {shape}, got {np.size(values)}: "
            "give as many, or allow_broadcast=True."
        )
    return tensor_proto.make_tensor_proto(values, dtype, shape, verify_shape)


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of a graph, without a value of its own."""
    return isinstance(tensor, Tensor) and not tensor._graph.executing_eagerly


class _Dense(type(VariableV2)):  # type: ignore[misc]
    """The class of ``DenseTensor``: variables may derive from it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not DenseTensor:
            return bool(super().__instancecheck__(instance))
        return tensor_conversion.is_dense_tensor_like(instance) or isinstance(instance, Variable)


class DenseTensor(metaclass=_Dense):
    """What ``isinstance`` takes for a tensor with values in all places: tensors and variables."""


def get_current_name_scope() -> str:
    """The name of the scope that operations are made in, without the slash at its end; '' outside of any."""
    return get_default_graph().scope_name


def inside_function() -> bool:
    """Whether a function is being traced."""
    return get_default_graph().building_function


def dimension_value(dimension: Any) -> int | None:
    """The size as an integer, None where it is not known: of a Dimension or an integer."""
    return dimension.value if isinstance(dimension, shapes.Dimension) else dimension


def dimension_at_index(shape: shapes.TensorShape, index: int) -> shapes.Dimension:
    """One size of a shape as a Dimension; unknown where the rank is."""
    dims = shape.raw
    return shapes.Dimension(None if dims is None else dims[index])


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """A value as a string; bytes are decoded."""
    return text.as_str(value, encoding) if isinstance(value, bytes) else str(value)


def is_built_with_gpu_support() -> bool:
    """Whether GPUs can be used: this is up to the installed JAX, see ``tf.config.list_physical_devices``."""
    return True
