"""Sparse tensors: as dense ones, and fed."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.convert import convert_to_tensor, placeholder
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.registry import Attrs, Signature, define
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.static import constant_value_as_dims
from towerstrat.graph.ir.types import DTypeLike, HostArray, int64
from towerstrat.graph.ops.build import one


def _dense_rule(inputs: Any, attrs: Attrs) -> list[Signature]:
    _, shape, values, _ = inputs
    return [Signature(values.dtype, constant_value_as_dims(shape))]


def _dense(
    indices: HostArray, shape: HostArray, values: HostArray, default: HostArray, *, validate_indices: bool
) -> HostArray:
    """Raises ValueError for indices outside of the shape, or (validated) out of order or repeated."""
    for place, index in enumerate(indices):
        if (index < 0).any() or (index >= shape).any():
            raise ValueError(
                f"indices[{place}] = {index.tolist()} is out of bounds: need 0 <= index < {shape.tolist()}"
            )
        if validate_indices and place and tuple(index) <= tuple(indices[place - 1]):
            what = "repeated" if tuple(index) == tuple(indices[place - 1]) else "out of order"
            raise ValueError(f"indices[{place}] = {index.tolist()} is {what}")
    result = np.empty(tuple(shape), values.dtype)
    result[...] = default[()]
    result[tuple(indices.T)] = values
    return result


define("SparseToDense", _dense_rule, numpy=_dense, differentiable=False)


def sparse_tensor_to_dense(
    sp_input: SparseTensor, default_value: Any = 0, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """A sparse tensor as a dense one, made on the host.

    Args:
      sp_input: ``SparseTensor``.
      default_value: a scalar for all entries that it has not; where it has strings, the 0 of the default stands for
        the empty string.
      validate_indices: whether indices that repeat or are out of order are an error.

    Raises:
      TypeError: ``sp_input`` is no SparseTensor.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, got {sp_input!r}.")
    if sp_input.dtype.np == np.dtype(object) and default_value == 0:
        default_value = ""
    default = convert_to_tensor(default_value, sp_input.dtype)
    inputs = [sp_input.indices, sp_input.dense_shape, sp_input.values, default]
    return one("SparseToDense", inputs, {"validate_indices": validate_indices}, name or "SparseToDense")


def sparse_placeholder(dtype: DTypeLike, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor that must be fed: by a SparseTensorValue, or a tuple of indices, values and dense shape.

    Args:
      dtype: element type of the values.
      shape: the dense shape, a tensor or a list. It has to be fed too where it is None or has an unknown size; a list
        gives the rank then.

    Raises:
      RuntimeError: under eager execution.
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError("`sparse_placeholder` is not compatible with eager execution.")
    named = {part: f"{name}/{part}" if name else None for part in ("shape", "values", "indices")}
    if isinstance(shape, Tensor):
        rank, dense = size_at(shape.shape, 0), shape
    elif shape is None or None in shape:
        rank = None if shape is None else len(shape)
        dense = placeholder(int64, [rank], named["shape"])
    else:
        rank, dense = len(shape), convert_to_tensor(shape, int64, name=named["shape"])
    values = placeholder(dtype, [None], named["values"])
    return SparseTensor(placeholder(int64, [None, rank], named["indices"]), values, dense)
