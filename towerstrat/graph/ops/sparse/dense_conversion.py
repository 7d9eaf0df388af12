"""Sparse tensors: as dense ones, and fed."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value_as_dims
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, placeholder
from towerstrat.graph.ir.types import DTypeLike, HostArray, int64, string
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op


def _dense_rule(inputs: Any, attrs: Attrs) -> list[Signature]:
    _, shape, values, default = inputs
    if default.dtype is not values.dtype:
        raise TypeError(f"Expected a default_value of {values.dtype.name}, got {default.dtype.name}. Use tf.cast.")
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


def _dense_kernel(indices: Any, shape: Any, values: Any, default: Any, *, validate_indices: bool) -> Any:
    full = jnp.broadcast_to(default, tuple(int(n) for n in shape))
    return full.at[tuple(jnp.moveaxis(indices, -1, 0))].set(values, mode="drop")


def _dense_gradient(inputs: Any, outputs: Any, cotangents: Any, *, validate_indices: bool) -> list[Any]:
    """Of the values what stands in their places, of the default the sum of what stands elsewhere."""
    (cotangent,), (indices, _, values, _) = cotangents, inputs
    found = cotangent.at[tuple(jnp.moveaxis(indices, -1, 0))].get(mode="fill", fill_value=0)
    total = jnp.sum(found, dtype=found.dtype)
    return [None, None, found if values.ndim else total, jnp.sum(cotangent, dtype=cotangent.dtype) - total]


def _check_places(op: Operation, values: Any) -> CheckResult | None:
    """Indices are in the shape and, where that is asked for, in order and each only once."""
    indices, shape = values[0], values[1]
    if not input_checks.on_host(shape):
        return None
    numpy: Any = np if input_checks.on_host(indices) else jnp
    wrong = numpy.any((indices < 0) | (indices >= np.asarray(shape, indices.dtype)), 1).astype(np.int32)
    if op.attrs["validate_indices"]:
        # The first coordinate that differs from that of the index before decides.
        steps = numpy.sign(indices[1:] - indices[:-1]).astype(np.int32)
        weights = 3 ** np.arange(steps.shape[1], dtype=np.int32)[::-1]
        moved = numpy.sum(steps * weights, 1, dtype=np.int32)
        later = numpy.where(moved > 0, np.int32(0), numpy.where(moved < 0, np.int32(2), np.int32(3)))
        wrong = numpy.where(wrong == 0, numpy.concatenate([np.zeros(min(1, len(indices)), np.int32), later]), wrong)
    limits = ", ".join(str(int(n)) for n in shape)
    problems = ("", f"is out of bounds: need 0 <= index < [{limits}]", "is out of order", "is repeated")

    def said(where: str, problem: Any, *index: Any) -> str:
        return f"indices{where} = [{', '.join(str(int(i)) for i in index)}] {problems[int(problem)]}"

    return input_checks.first_of(wrong > 0, wrong, *(indices[:, i] for i in range(indices.shape[1])), message=said)


define_op(
    "SparseToDense", _dense_rule, _dense_kernel, numpy=_dense, static=(1,), gradient=_dense_gradient,
    check=InputCheck(_check_places, (0, 1)),
)  # fmt: skip


def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0, validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A tensor of ``default_value`` but for some entries, with gradients by the values and by the default.

    Args:
      sparse_indices: integers ``[n, rank]``; ``[n]`` or one number where ``output_shape`` has one entry.
      output_shape: integers ``[rank]``.
      sparse_values: ``[n]``, or a scalar for all.
      default_value: a scalar of their element type.
      validate_indices: whether indices that repeat or are out of order are an error.

    Raises:
      ValueError: indices of more dimensions. A run raises InvalidArgumentError for what is wrong with their values.
    """
    indices = convert_to_tensor(sparse_indices, name="sparse_indices")
    if indices.shape.ndims is None or indices.shape.ndims > 2:
        raise ValueError(f"Expected sparse_indices of 0 to 2 dimensions, got shape {indices.shape}.")
    if indices.shape.ndims < 2:
        indices = arrays.reshape(indices, [-1, 1])
    values = convert_to_tensor(sparse_values, name="sparse_values")
    parts = [
        indices,
        arrays.shape_tensor(output_shape, "output_shape"),
        values,
        convert_to_tensor(default_value, values.dtype, name="default_value"),
    ]
    return add_op("SparseToDense", parts, {"validate_indices": validate_indices}, name or "SparseToDense")


def sparse_tensor_to_dense(
    sp_input: SparseTensor, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """A sparse tensor as a dense one. It has the gradients of ``sparse_to_dense``.

    Args:
      sp_input: ``SparseTensor``.
      default_value: a scalar for all entries that it has not, by default 0 or the empty string.
      validate_indices: whether indices that repeat or are out of order are an error.

    Raises:
      TypeError: ``sp_input`` is no SparseTensor.
    """
    if not isinstance(sp_input, SparseTensor | SparseTensorValue):
        raise TypeError(f"Input must be a SparseTensor, got {sp_input!r}.")
    sp_input = SparseTensor.from_value(sp_input)
    empty = "" if sp_input.dtype is string else 0
    default = convert_to_tensor(empty if default_value is None else default_value, sp_input.dtype)
    inputs = [sp_input.indices, sp_input.dense_shape, sp_input.values, default]
    return add_op("SparseToDense", inputs, {"validate_indices": validate_indices}, name or "SparseToDense")


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
