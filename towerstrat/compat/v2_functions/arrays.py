"""Shapes, constants and indexing with the arguments of 2.x."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir import default_graph as scopes
from towerstrat.graph.ir import tensor_conversion
from towerstrat.graph.ir.given_arguments import refuse
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.types import float32, int32
from towerstrat.graph.ops.array import arrays, padding
from towerstrat.graph.ops.control import branches
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.linalg import decompositions

_LAYOUT = "There is no DTensor; use jax.sharding on the values."


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor of fixed values; a single value fills ``shape``.

    Raises:
      TypeError: several values, and another number of them than ``shape`` has.
    """
    if shape is not None:
        wanted = as_shape(shape).num_elements()
        count = np.size(value)
        if count not in (1, wanted):
            raise TypeError(f"Expected {wanted} values for shape {as_shape(shape)} (or a single one), got {count}.")
    return tensor_conversion.constant(value, dtype, shape, name)


def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """``value`` as a tensor.

    Args:
      dtype: the element type that is required.
      dtype_hint: the element type to use if the value allows it.
    """
    return tensor_conversion.convert_to_tensor(value, dtype, name, dtype_hint)


def zeros(shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of zeros (False, empty strings)."""
    refuse("tf.zeros", _LAYOUT, layout=(layout, None))
    return arrays.zeros(shape, dtype, name)


def ones(shape: Any, dtype: Any = float32, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of ones (True)."""
    refuse("tf.ones", _LAYOUT, layout=(layout, None))
    return arrays.ones(shape, dtype, name)


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of one value."""
    refuse("tf.fill", _LAYOUT, layout=(layout, None))
    return arrays.fill(dims, value, name)


def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """Zeros of the shape, and unless ``dtype`` is given of the element type, of a tensor."""
    refuse("tf.zeros_like", _LAYOUT, layout=(layout, None))
    return arrays.zeros_like(input, dtype, name)


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """Ones of the shape, and unless ``dtype`` is given of the element type, of a tensor."""
    refuse("tf.ones_like", _LAYOUT, layout=(layout, None))
    return arrays.ones_like(input, dtype, name)


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """``num`` evenly spaced floats from ``start`` to ``stop``, both included."""
    refuse("tf.linspace", "Transpose the result.", axis=(axis, 0))
    return arrays.linspace(start, stop, num, name)


def shape(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The sizes of a tensor as a vector of ``out_type`` (int32)."""
    return arrays.shape(input, name, out_type or int32)


def size(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of elements, a scalar of ``out_type`` (int32)."""
    return arrays.size(input, name, out_type or int32)


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """A dimension of size 1 more, in front of dimension ``axis``."""
    return arrays.expand_dims(input, axis, name)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Dimensions of size 1 dropped: the given ones, or all."""
    return arrays.squeeze(input, axis, name)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """Dimension i of the result is dimension ``perm[i]``; all in reverse order by default."""
    return arrays.transpose(a, perm, name, conjugate)


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """``paddings[i] = (before, after)`` elements more along dimension i."""
    return padding.pad(tensor, paddings, mode, name, constant_values)


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: str | None = None
) -> Tensor:
    """The first ``seq_lengths[b]`` elements of each batch entry in reverse order."""
    return padding.reverse_sequence(input, seq_lengths, seq_axis, batch_axis, name)


def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Blocks of space become batch entries, after zero padding."""
    return padding.space_to_batch_nd(input, block_shape, paddings, name)


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Batch entries become blocks of space, cropped afterwards."""
    return padding.batch_to_space_nd(input, block_shape, crops, name)


def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Blocks of ``block_size`` x ``block_size`` pixels become channels of one pixel."""
    return padding.space_to_depth(input, block_size, name, data_format)


def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Channels of a pixel become a block of ``block_size`` x ``block_size`` pixels."""
    return padding.depth_to_space(input, block_size, name, data_format)


def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask") -> Tensor:
    """The elements (or slices) where the mask is true; their number depends on values, see ``tf.where``."""
    return gather_scatter.boolean_mask(tensor, mask, name, axis)


def tuple(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """``tensors``, each available only when all of them (and ``control_inputs``) have been computed."""
    return branches.tuple(tensors, name, control_inputs)


def device(device_name: Any) -> Any:
    """Records where operations made inside were meant to run; this changes no value."""
    return scopes.device(device_name)


class name_scope(scopes.name_scope):
    """Prefixes the names of operations made inside. ``with`` gives the scope's name, with a slash at its end.

    Raises:
      ValueError: the name is no string.
    """

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise ValueError(f"Expected a string as name of a scope, got {name!r}.")
        super().__init__(name)


def diag(
    diagonal: Any, name: str = "diag", k: Any = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:  # fmt: skip
    """Matrices with given main diagonals. ``align`` matters to bands of several diagonals only."""
    return decompositions.matrix_diag(diagonal, name, k, num_rows, num_cols, padding_value)


def diag_part(
    input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """The main diagonals of matrices. ``padding_value`` and ``align`` matter to bands of several diagonals only."""
    return decompositions.matrix_diag_part(input, name, k, padding_value)


def set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with their main diagonals replaced. ``align`` matters to bands of several diagonals only."""
    return decompositions.matrix_set_diag(input, diagonal, name, k)
