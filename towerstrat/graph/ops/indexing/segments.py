"""Sums, means and extremes of rows by segment, and sums of several tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Derivative, Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape, as_shape, merge
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.array_kernels import check_integers
from towerstrat.graph.ops.array.arrays import ones_like, operand
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.numpy_kernels import segment_form, sorted_segments, unsorted_segments
from towerstrat.graph.ops.building.op_builder import add_op, reserve_name
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math.arithmetic import QUOTIENTS, maximum, sqrt, truediv

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]
Segment = Callable[[Any, Any, int], Any]


def _lowest(dtype: Any) -> Any:
    return np.asarray(jnp.finfo(dtype).min if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).min, dtype)


def _highest(dtype: Any) -> Any:
    return np.asarray(jnp.finfo(dtype).max if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).max, dtype)


def _scattered(start: Any, method: str, data: Any, ids: Any, count: int) -> Any:
    base = jnp.full((count, *data.shape[1:]), start, data.dtype)
    return getattr(base.at[ids], method)(data, mode="drop")


def _total(data: Any, ids: Any, count: int) -> Any:
    return _scattered(0, "add", data, ids, count)


def _sizes(data: Any, ids: Any, count: int) -> Any:
    found = _total(jnp.ones(ids.shape, data.dtype), ids, count)
    return jnp.reshape(found, (count,) + (1,) * (data.ndim - 1))


def _rows(values: Any, ids: Any) -> Any:
    return jnp.take(values, ids, axis=0, mode="fill", fill_value=0)


def _extreme(method: str, start: Callable[[Any], Any]) -> Segment:
    """The largest or smallest of each segment."""
    return lambda data, ids, count: _scattered(start(data.dtype), method, data, ids, count)


def _product(data: Any, ids: Any, count: int) -> Any:
    return _scattered(1, "multiply", data, ids, count)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _nonzero_product(data: Any, ids: Any, count: int) -> Any:
    """``_product`` of rows without zeros, with its derivative: JAX has none for products of repeated indices."""
    return _product(data, ids, count)


@_nonzero_product.defjvp
def _nonzero_product_tangent(ids: Any, count: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    result = _nonzero_product(primals[0], ids, count)
    return result, result * _total(tangents[0] / primals[0], ids, count)


def _extreme_gradient(data: Any, ids: Any, count: int, result: Any, cotangent: Any) -> Any:
    """Rows that equal their segment's output share its cotangent evenly."""
    chosen = (data == _rows(result, ids)).astype(data.dtype)
    ties = jnp.maximum(_total(chosen, ids, count), 1)
    return chosen * _rows(cotangent / ties, ids)


def _product_gradient(data: Any, ids: Any, count: int, result: Any, cotangent: Any) -> Any:
    """The product of the other rows; of a segment without zeros it is the output divided by the row."""
    zero = data == 0
    safe = jnp.where(zero, jnp.ones((), data.dtype), data)
    zeros = _rows(_total(zero.astype(data.dtype), ids, count), ids)
    others = jnp.where(zero, _rows(_nonzero_product(safe, ids, count), ids), _rows(result, ids) / safe)
    return jnp.where(zeros > 1, jnp.zeros((), data.dtype), others) * _rows(cotangent, ids)


def _average(data: Any, ids: Any, count: int) -> Any:
    """Of integers without its fraction."""
    total, sizes = _total(data, ids, count), jnp.maximum(_sizes(data, ids, count), 1)
    if jnp.issubdtype(data.dtype, jnp.integer):
        return lax.div(*jnp.broadcast_arrays(total, sizes))
    return total / sizes


def _root(data: Any, ids: Any, count: int) -> Any:
    return _total(data, ids, count) / jnp.sqrt(jnp.maximum(_sizes(data, ids, count), 1))


_SEGMENTS: dict[str, Segment] = {
    "Sum": _total,
    "Prod": _product,
    "Max": _extreme("max", _lowest),
    "Min": _extreme("min", _highest),
    "Mean": _average,
    "SqrtN": _root,
}

_GRADIENTS: dict[str, Callable[..., Any]] = {
    "Prod": _product_gradient,
    "Max": _extreme_gradient,
    "Min": _extreme_gradient,
}
"""(rows, segments, number of segments, output, its cotangent) -> the rows' cotangents."""


# ---- unsorted ------------------------------------------------------------------------------------------------------


def _unsorted_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    data, ids, number = inputs
    check_integers(ids, "segment_ids")
    count = constant_value(number)
    if data.dims is None or ids.dims is None:
        return [Signature(data.dtype, None)]
    if not TensorShape(data.dims[: len(ids.dims)]).is_compatible_with(ids.dims):
        raise ValueError(f"Expected data that starts with the shape of segment_ids {ids.shape}, got {data.shape}.")
    return [Signature(data.dtype, (None if count is None else int(count), *data.dims[len(ids.dims) :]))]


def _flat(data: Any, ids: Any, count: int) -> tuple[Any, Any]:
    """Rows and their segments with one leading dimension; a negative segment becomes ``count``: it is dropped."""
    flat = jnp.reshape(ids, (-1,))
    flat = jnp.where(flat < 0, np.asarray(count, flat.dtype), flat)
    return jnp.reshape(data, (flat.shape[0], *data.shape[np.ndim(ids) :])), flat


def _unsorted(segment: Segment) -> Callable[..., Any]:
    return lambda data, ids, number: segment(*_flat(data, ids, int(number)), int(number))


def _unsorted_gradient(kind: str) -> Callable[..., Any] | None:
    if kind not in _GRADIENTS:
        return None

    def formula(inputs: Inputs, outputs: Inputs, cotangents: Inputs) -> list[Any]:
        data, ids, number = inputs
        rows, flat = _flat(data, ids, int(number))
        found = _GRADIENTS[kind](rows, flat, int(number), outputs[0], cotangents[0])
        return [jnp.reshape(found, data.shape), None, None]

    return formula


def _check_unsorted(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    """Ids are below the number of segments; rows of negative ones are left out."""
    ids, number = values[1:]
    if not input_checks.on_host(number):
        return None
    count = int(number)
    return input_checks.first_of(
        (ids >= 0) & input_checks.outside(ids, count),
        ids,
        message=lambda where, i: f"segment_ids{where} = {int(i)} is out of range [0, {count})",
    )


def _mean_formula(kind: str, data: Tensor, ids: Tensor, number: Tensor) -> Tensor:
    """The sum by the number of rows, or by its root: the original has no type of its own."""
    total = add_op("UnsortedSegmentSum", [data, ids, number])
    count = maximum(add_op("UnsortedSegmentSum", [ones_like(data), ids, number]), ones_like(total))
    return total / (count if kind == "Mean" else sqrt(count))


def _unsorted_function(kind: str, derivative: Derivative = "linear") -> Callable[..., Tensor]:
    type = f"UnsortedSegment{kind}"
    define_op(
        type, _unsorted_rule, _unsorted(_SEGMENTS[kind]), static=(2,),
        numpy=segment_form(kind, unsorted_segments(kind)), gradient=_unsorted_gradient(kind),
        check=InputCheck(_check_unsorted, (1, 2)), derivative=derivative,
        nodes=expansion(partial(_mean_formula, kind)) if kind in ("Mean", "SqrtN") else None,
    )  # fmt: skip

    def function(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        scope = reserve_name(get_default_graph(), name or type)
        parts = (operand(data, scope, "data"), operand(segment_ids, scope, "segment_ids"),
                 operand(num_segments, scope, "num_segments"))  # fmt: skip
        if kind == "Mean" and parts[0].dtype in QUOTIENTS:
            return _quotient(*parts, scope)
        return add_op(type, parts, None, f"{scope}truediv/" if kind in ("Mean", "SqrtN") else scope)

    return function


def _quotient(data: Tensor, ids: Tensor, count: Tensor, scope: str) -> Tensor:
    """The mean of integers, with its fraction: their sum and their number, in their own type, are divided."""
    with get_default_graph().name_scope(scope):
        sizes = maximum(unsorted_segment_sum(ones_like(data), ids, count), 1)
        return truediv(unsorted_segment_sum(data, ids, count), sizes, f"{scope}truediv/")


unsorted_segment_sum = _unsorted_function("Sum")
unsorted_segment_prod = _unsorted_function("Prod", "general")
unsorted_segment_max = _unsorted_function("Max")
unsorted_segment_min = _unsorted_function("Min")
unsorted_segment_mean = _unsorted_function("Mean")
unsorted_segment_sqrt_n = _unsorted_function("SqrtN")


# ---- sorted --------------------------------------------------------------------------------------------------------


def _sorted_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    data, ids = inputs
    check_integers(ids, "segment_ids")
    known = constant_value(ids)
    count = None if known is None else int(known.max(initial=-1)) + 1
    return [Signature(data.dtype, None if data.dims is None else (count, *data.dims[1:]))]


def _sorted(segment: Segment) -> Callable[..., Any]:
    def kernel(data: Any, ids: Any) -> Any:
        known = np.asarray(ids)
        if np.any(np.diff(known) < 0):
            raise ValueError("segment ids are not increasing")
        count = int(known.max(initial=-1)) + 1
        result = segment(jnp.asarray(data), known, count)
        return result if segment in (_total, _product, _average, _root) else _without_gaps(result, known, count)

    return kernel


def _sorted_gradient(kind: str) -> Callable[..., Any] | None:
    if kind not in _GRADIENTS:
        return None

    def formula(inputs: Inputs, outputs: Inputs, cotangents: Inputs) -> list[Any]:
        data, ids = inputs
        return [_GRADIENTS[kind](data, np.asarray(ids), outputs[0].shape[0], outputs[0], cotangents[0]), None]

    return formula


def _without_gaps(result: Any, ids: Any, count: int) -> Any:
    there = np.isin(np.arange(count), ids).reshape((count,) + (1,) * (result.ndim - 1))
    return jnp.where(there, result, jnp.zeros((), result.dtype))


def _check_sorted(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    ids = values[1]
    if not ids.size:
        return None
    numpy: Any = np if input_checks.on_host(ids) else jnp

    def message(first: Any, last: Any) -> str:
        if first < 0:
            count = int(last) + 1
            return f"Segment id {int(first)} out of range [0, {count}), possibly because 'segment_ids' is not sorted."
        return "segment ids are not increasing"

    return CheckResult(numpy.any(ids[1:] < ids[:-1]) | (ids[0] < 0), (ids[0], ids[-1]), message)


def _sorted_function(kind: str, derivative: Derivative = "linear") -> Callable[..., Tensor]:
    type = f"Segment{kind}"
    define_op(
        type, _sorted_rule, _sorted(_SEGMENTS[kind]), dynamic=True, numpy=segment_form(kind, sorted_segments(kind)),
        gradient=_sorted_gradient(kind), check=InputCheck(_check_sorted, (1,)), derivative=derivative,
    )  # fmt: skip

    def function(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        scope = reserve_name(get_default_graph(), name or type)
        return add_op(type, (operand(data, scope, "data"), operand(segment_ids, scope, "segment_ids")), None, scope)

    return function


segment_sum = _sorted_function("Sum")
segment_prod = _sorted_function("Prod", "general")
segment_max = _sorted_function("Max")
segment_min = _sorted_function("Min")
segment_mean = _sorted_function("Mean")
_sqrt_n = _sorted_function("SqrtN", "general")


def _sparse(kind: str) -> Callable[..., Tensor]:
    in_order, in_any = {
        "Sum": (segment_sum, unsorted_segment_sum),
        "Mean": (segment_mean, unsorted_segment_mean),
        "SqrtN": (_sqrt_n, unsorted_segment_sqrt_n),
    }[kind]

    def function(
        data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
    ) -> Tensor:
        with get_default_graph().name_scope(name or f"SparseSegment{kind}") as scope:
            rows = rows_at(data, indices)
            if num_segments is None:
                return in_order(rows, segment_ids, scope)
            return in_any(rows, segment_ids, num_segments, scope)

    return function


sparse_segment_sum = _sparse("Sum")
sparse_segment_mean = _sparse("Mean")
sparse_segment_sqrt_n = _sparse("SqrtN")

for _name, _words in (("sum", "The sum"), ("prod", "The product"), ("max", "The maximum"), ("min", "The minimum"),
                      ("mean", "The mean"), ("sqrt_n", "The sum over the root of the number")):  # fmt: skip
    for _prefix, _more in (
        ("unsorted_segment", "rows with the same id, for ids 0 to ``num_segments``; rows of other ids are left out."),
        ("segment", "rows with the same id; ids rise. The number of results depends on values, see ``tf.where``."),
        ("sparse_segment", "the rows ``data[indices[i]]`` with the same id."),
    ):
        _function = globals().get(f"{_prefix}_{_name}")
        if _function is not None:
            _function.__name__ = _function.__qualname__ = f"{_prefix}_{_name}"
            _function.__doc__ = f"{_words} of {_more}"


# ---- sums of several tensors ---------------------------------------------------------------------------------------


def _add_n_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims: Dims = None
    for tensor in inputs:
        if tensor.dtype is not inputs[0].dtype:
            raise TypeError(f"Expected tensors of one element type, got {[t.dtype.name for t in inputs]}.")
        if not TensorShape(dims).is_compatible_with(tensor.dims):
            raise ValueError(f"Expected tensors of one shape, got {[str(t.shape) for t in inputs]}.")
        dims = merge(dims, tensor.dims)
    return [Signature(inputs[0].dtype, dims)]


def _add_n(*values: Any) -> Any:
    result = values[0]
    for value in values[1:]:
        if value.shape != result.shape:
            raise ValueError(f"Expected tensors of one shape, got {[v.shape for v in values]}.")
        result = result + value
    return result


define_op("AddN", _add_n_rule, _add_n, numpy=_add_n, derivative="linear", additive=True, passes_rows=True)
define_op("AccumulateNV2", _add_n_rule, _add_n, numpy=_add_n, derivative="linear")


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors (or IndexedSlices, made dense) of one shape and type.

    Raises:
      ValueError: no input, or shapes that differ.
    """
    if not inputs or not isinstance(inputs, list | tuple):
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape")
    if len(inputs) == 1:
        only = inputs[0].values if isinstance(inputs[0], IndexedSlices) else convert_to_tensor(inputs[0])
        return add_op("Identity", (only,), None, name) if name else only
    scope = reserve_name(get_default_graph(), name or "AddN")
    leader = next((x.dtype for x in inputs if isinstance(x, Tensor)), None)
    tensors = [x if isinstance(x, Tensor) else convert_to_tensor(x, leader) for x in inputs]
    return add_op("AddN", tensors, None, scope)


def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and type, which may be given.

    Raises:
      ValueError: no input, or shapes or types that differ. TypeError: ``tensor_dtype`` is another one.
    """
    wrong = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, list | tuple):
        raise ValueError(wrong)
    tensors = [convert_to_tensor(x) for x in inputs]
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise ValueError(wrong)
    if tensor_dtype is not None and tensors[0].dtype != tensor_dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {tensors[0].dtype}")
    if shape is not None:
        for tensor in tensors:
            as_shape(shape).assert_is_compatible_with(tensor.dims)
    if len(tensors) == 1:
        return add_op("Identity", tensors, None, name) if name else tensors[0]
    return add_op("AccumulateNV2", tensors, None, name)
