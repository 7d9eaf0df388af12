"""What ``tf.contrib.framework`` says about tensors: expected shapes and types, superfluous dimensions, sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.default_graph import control_dependencies, graph_of
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, is_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import branches
from towerstrat.graph.ops.control.assertions import assert_scalar
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.models import shape_matching
from towerstrat.training.base.global_step import assert_global_step, get_global_step


def get_graph_from_inputs(op_input_list: Sequence[Any], graph: Graph | None = None) -> Graph:
    """The graph of the inputs, or ``graph``. Raises ValueError where they are of several."""
    if not isinstance(op_input_list, list | tuple):
        raise TypeError("The op_input_list must be a list or tuple.")
    found = graph_of(op_input_list) if graph is None else graph
    for value in op_input_list:
        if isinstance(value, Tensor) and value.graph is not found:
            raise ValueError(f"{value} is not from the passed-in graph.")
    return found


def get_name_scope() -> str:
    """The name scope of the default graph, such as ``outer/inner``."""
    return get_default_graph().get_name_scope()


def get_placeholders(graph: Graph) -> list[Tensor]:
    """The placeholders of a graph. Raises TypeError where it is none."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def assert_or_get_global_step(graph: Graph | None = None, global_step_tensor: Any = None) -> Any:
    """``global_step_tensor``, checked to be one, or that of the graph."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """The tensor. Raises ValueError unless it is an integer scalar."""
    with get_default_graph().name_scope(name or "assert_scalar_int"):
        tensor = convert_to_tensor(tensor)
        if not tensor.dtype.is_integer:
            raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
        return assert_scalar(tensor)


def remove_squeezable_dimensions(predictions: Any, labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Predictions and labels, the one with one dimension more, of size 1 and the last, without it."""
    labels, predictions = shape_matching.remove_squeezable_dimensions(labels, predictions, name=name)
    return predictions, labels


def reduce_sum_n(tensors: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The sum of all entries of all tensors. Raises ValueError where there are none."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with get_default_graph().name_scope(name or "reduce_sum_n") as scope:
        sums = [reductions.reduce_sum(t, name=f"{t.op.name}/sum") for t in tensors]
        return sums[0] if len(sums) == 1 else segments.add_n(sums, name=scope)


def with_same_shape(expected_tensor: Tensor, tensor: Tensor) -> Tensor:
    """``with_shape`` of the shape of another tensor."""
    shape = expected_tensor.shape
    return with_shape(shape.as_list() if shape.is_fully_defined() else arrays.shape(expected_tensor), tensor)


def with_shape(expected_shape: Any, tensor: Tensor) -> Tensor:
    """The tensor, checked to have a shape: now where both shapes are known, else when it runs.

    Args:
      expected_shape: integers, or an int32 vector. A tensor ``[1]`` is made a scalar where that is expected.

    Raises:
      ValueError: it has another shape, or ``expected_shape`` is none.
    """
    if isinstance(tensor, SparseTensor):
        raise ValueError("SparseTensor not supported.")
    if not is_tensor(expected_shape):
        return _with_known_shape(_sizes(expected_shape, tensor), tensor)
    if expected_shape.dtype is not int32:
        raise ValueError(
            f"Invalid dtype {expected_shape.dtype} for shape {expected_shape} expected of tensor {tensor.name}."
        )
    return _checked(expected_shape, tensor)


def _sizes(shape: Any, tensor: Tensor) -> list[int]:
    sizes = np.asarray(shape.as_list() if isinstance(shape, TensorShape) else shape)
    if sizes.ndim > 1:
        raise ValueError(f"Invalid rank {sizes.ndim} for shape {shape} expected of tensor {tensor.name}.")
    if sizes.size and sizes.dtype.kind not in "iu":
        raise ValueError(f"Invalid dtype {sizes.dtype} for shape {shape} expected of tensor {tensor.name}.")
    return [int(n) for n in sizes]


def _with_known_shape(sizes: list[int], tensor: Tensor) -> Tensor:
    if not tensor.shape.is_fully_defined():
        if not sizes:
            return arrays.reshape(tensor, [])
        return arrays.ensure_shape(tensor, [None if n < 0 else n for n in sizes])
    if tensor.shape.is_compatible_with(sizes):
        return tensor
    if not sizes and tensor.shape.is_compatible_with([1]):
        return arrays.reshape(tensor, [])
    raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {sizes}, got {tensor.shape}.")


def _checked(wanted: Tensor, tensor: Tensor) -> Tensor:
    """The tensor, with an assertion about its shape in front."""
    found = arrays.shape(tensor)
    same = branches.cond(
        arithmetic.equal(arrays.size(wanted), arrays.rank(tensor)),
        lambda: reductions.reduce_all(
            arithmetic.logical_or(arithmetic.equal(wanted, -1), arithmetic.equal(wanted, found))
        ),
        lambda: convert_to_tensor(False),
    )
    data = [f"Wrong shape for {tensor.name} [expected] [actual].", wanted, found]
    with control_dependencies([Assert(same, data)]):
        return arrays.identity(tensor)
