"""Losses on logits: cross entropies and their relatives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.node_writer import NodeWriter, name_of
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.arrays import concat, ones_like, reshape, stop_gradient, transpose, where, zeros_like
from towerstrat.graph.ops.array.arrays import shape as shape_of
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.op_builder import add_op, convert_pair
from towerstrat.graph.ops.math.arithmetic import (
    cast,
    exp,
    greater_equal,
    less_equal,
    log,
    log1p,
    logical_and,
)  # fmt: skip
from towerstrat.graph.ops.nn.activations import check_axis


def _needed(labels: Any, logits: Any, sentinel: Any, function: str) -> None:
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=...).")
    if labels is None or logits is None:
        raise ValueError(f"Both labels and logits must be provided to `{function}`.")


def _wide(x: Any) -> Any:
    """16-bit floats as float32."""
    return x.astype(jnp.float32) if np.dtype(x.dtype).itemsize == 2 else x


# ---- softmax -----------------------------------------------------------------------------------------------------


@jax.custom_jvp
def _cross_entropy(labels: Any, logits: Any) -> Any:
    return -jnp.sum(labels * jax.nn.log_softmax(logits, axis=-1), axis=-1)


@_cross_entropy.defjvp
def _cross_entropy_tangent(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The original's: softmax - labels, also where labels do not sum to 1."""
    labels, logits = primals
    d_labels, d_logits = tangents
    by_logits = jnp.sum((jax.nn.softmax(logits, axis=-1) - labels) * d_logits, axis=-1)
    by_labels = jnp.sum(jax.nn.log_softmax(logits, axis=-1) * d_labels, axis=-1)
    return _cross_entropy(labels, logits), by_logits - by_labels


def _softmax_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    labels, logits = inputs
    if not logits.dtype.is_floating:
        raise TypeError(f"Expected floating logits, got {logits.dtype.name}.")
    dims = shapes.broadcast(labels.dims, logits.dims)
    if dims is None:
        return [Signature(logits.dtype, None)]
    if not dims:
        raise ValueError("Expected logits of rank 1 or more, got a scalar.")
    axis = check_axis(attrs["axis"], len(dims))
    return [Signature(logits.dtype, dims[:axis] + dims[axis + 1 :])]


def _softmax_kernel(labels: Any, logits: Any, *, axis: int) -> Any:
    kind = logits.dtype
    wide = _wide(logits)
    labels, wide = alike(labels.astype(wide.dtype), wide)
    labels, wide = jnp.broadcast_arrays(labels, wide)
    loss = _cross_entropy(jnp.moveaxis(labels, axis, -1), jnp.moveaxis(wide, axis, -1))
    return loss.astype(kind)


def _np_softmax_kernel(labels: Any, logits: Any, *, axis: int) -> Any:
    labels = labels.astype(logits.dtype)
    if not (labels.size and logits.size):
        return np.zeros(np.delete(np.broadcast_shapes(labels.shape, logits.shape), axis), logits.dtype)
    labels, logits = np.broadcast_arrays(labels, logits)
    return -np.sum(labels * numpy_kernels.log_softmax(logits, axis=axis), axis=axis, dtype=logits.dtype)


def _flat(x: Tensor) -> Tensor:
    """Rows of classes: a matrix."""
    return reshape(x, concat([[-1], shape_of(x)[-1:]], 0))


def _softmax_formula(labels: Tensor, logits: Tensor, axis: int) -> Tensor:
    labels = cast(labels, logits.dtype)
    if labels.dims != logits.dims:
        labels, logits = labels + zeros_like(logits), logits + zeros_like(labels)
    if axis != -1 and logits.dims is not None and axis != len(logits.dims) - 1:
        order = [i for i in range(len(logits.dims)) if i != axis] + [axis]
        labels, logits = transpose(labels, order), transpose(logits, order)
    inner = add_op("SoftmaxCrossEntropyWithLogits", [_flat(labels), _flat(logits)], {"axis": -1})
    return reshape(inner, shape_of(logits)[:-1])


_write_flat = expansion(_softmax_formula)


def _softmax_nodes(writer: NodeWriter, op: Operation) -> None:
    """The original takes matrices of one shape, logits first, and has the gradient as a second output."""
    labels, logits = op.inputs
    if labels.dims != logits.dims or logits.dims is None or len(logits.dims) != 2 or op.attrs["axis"] not in (-1, 1):
        _write_flat(writer, op)
    else:
        writer.node("", op.type, [name_of(logits), name_of(labels)], T=logits.dtype)


define_op(
    "SoftmaxCrossEntropyWithLogits", _softmax_rule, _softmax_kernel, numpy=numpy_kernels.form(_np_softmax_kernel),
    nodes=_softmax_nodes,
)  # fmt: skip


def _softmax_loss(labels: Any, logits: Any, axis: int | None, name: str, stop: bool) -> Tensor:
    with get_default_graph().name_scope(name):
        labels, logits = convert_to_tensor(labels, name="labels"), convert_to_tensor(logits, name="logits")
        if stop:
            labels = stop_gradient(labels, name="labels_stop_gradient")
        attrs = {"axis": -1 if axis is None else int(axis)}
        return add_op("SoftmaxCrossEntropyWithLogits", [labels, logits], attrs, "Reshape_2")


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """``-sum(labels * log_softmax(logits))`` along ``axis``, for each example. Gradients reach labels as well.

    Args:
      labels: probabilities, of the logits' shape (or one that broadcasts).
      logits: unscaled log probabilities.
      axis: the dimension of the classes, the last by default; ``dim`` is an old name.

    Raises:
      ValueError: shapes that do not fit.
    """
    return _softmax_loss(
        labels, logits, one_of(axis, dim, "axis", "dim"), name or "softmax_cross_entropy_with_logits", False
    )  # fmt: skip


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, dim: int | None = -1, name: str | None = None,
    axis: int | None = None,
) -> Tensor:  # fmt: skip
    """As ``softmax_cross_entropy_with_logits_v2``, but labels are constants for gradients."""
    _needed(labels, logits, _sentinel, "softmax_cross_entropy_with_logits")
    axis = one_of(axis, None if dim == -1 else dim, "axis", "dim")
    return _softmax_loss(labels, logits, axis, name or "softmax_cross_entropy_with_logits_sg", True)


def _sparse_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    labels, logits = inputs
    if not logits.dtype.is_floating:
        raise TypeError(f"Expected floating logits, got {logits.dtype.name}.")
    if labels.dims is not None and logits.dims is not None:
        if not logits.dims:
            raise ValueError("Logits cannot be scalars: expected shape [..., classes].")
        if len(labels.dims) != len(logits.dims) - 1:
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {len(labels.dims)}) should equal rank of logits minus 1 "
                f"(received {len(logits.dims)})."
            )
        if not TensorShape(labels.dims).is_compatible_with(logits.dims[:-1]):
            raise ValueError(
                f"Shape mismatch: The shape of labels (received {TensorShape(labels.dims)}) should equal the shape of "
                f"logits except for the last dimension (received {TensorShape(logits.dims)})."
            )
    if not labels.dtype.is_integer:
        raise TypeError(f"Expected labels of type int32 or int64, got {labels.dtype.name}.")
    outer = None if logits.dims is None else logits.dims[:-1]
    return [Signature(logits.dtype, shapes.merge(labels.dims, outer))]


def _sparse_kernel(labels: Any, logits: Any) -> Any:
    wide = _wide(logits)
    labels = jnp.asarray(labels)[..., None]
    chosen = labels == lax.broadcasted_iota(labels.dtype, (1,) * (wide.ndim - 1) + wide.shape[-1:], wide.ndim - 1)
    shifted = wide - lax.stop_gradient(jnp.max(wide, axis=-1, keepdims=True))
    picked = jnp.sum(jnp.where(chosen, shifted, np.zeros((), wide.dtype)), axis=-1)
    loss = jnp.log(jnp.sum(jnp.exp(shifted), axis=-1)) - picked
    inside = (labels[..., 0] >= 0) & (labels[..., 0] < wide.shape[-1])
    return jnp.where(inside, loss, np.asarray(np.nan, wide.dtype)).astype(logits.dtype)


def _np_sparse_kernel(labels: Any, logits: Any) -> Any:
    if not logits.size:
        return np.zeros(labels.shape, logits.dtype)
    inside = (labels >= 0) & (labels < logits.shape[-1])
    chosen = np.where(inside, labels, 0)[..., None]
    loss = -np.take_along_axis(numpy_kernels.log_softmax(logits, axis=-1), chosen, -1)[..., 0]
    return np.where(inside, loss, np.asarray(np.nan, logits.dtype))


def _check_labels(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    labels, logits = values
    classes = logits.shape[-1]
    return input_checks.first_of(
        input_checks.outside(labels, classes),
        labels,
        message=lambda where, label: (
            f"Received a label value of {int(label)} which is outside the valid range of [0, {classes}): labels{where}"
        ),
    )


def _sparse_formula(labels: Tensor, logits: Tensor) -> Tensor:
    rows = [reshape(labels, [-1]), _flat(logits)]
    return reshape(add_op("SparseSoftmaxCrossEntropyWithLogits", rows), shape_of(labels))


_write_flat_sparse = expansion(_sparse_formula)


def _sparse_nodes(writer: NodeWriter, op: Operation) -> None:
    """The original takes a matrix, and has the gradient as a second output."""
    dims = op.inputs[1].dims
    (writer.write_same if dims is not None and len(dims) == 2 else partial(_write_flat_sparse, writer))(op)


define_op(
    "SparseSoftmaxCrossEntropyWithLogits", _sparse_rule, _sparse_kernel, numpy=numpy_kernels.form(_np_sparse_kernel),
    nodes=_sparse_nodes,
    check=InputCheck(_check_labels),
)  # fmt: skip


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """``-log_softmax(logits)[label]`` for each example.

    Args:
      labels: integers in ``[0, classes)``, of the logits' shape without its last dimension. Others give NaN.
      logits: unscaled log probabilities, classes last.

    Raises:
      ValueError: positional arguments, shapes that do not fit.
    """
    _needed(labels, logits, _sentinel, "sparse_softmax_cross_entropy_with_logits")
    scope = name or "SparseSoftmaxCrossEntropyWithLogits"
    with get_default_graph().name_scope(scope):
        tensors = [convert_to_tensor(labels), convert_to_tensor(logits)]
        flat = tensors[0].dims is not None and len(tensors[0].dims) == 1
        inner = "SparseSoftmaxCrossEntropyWithLogits" if flat else "Reshape_2"
        return add_op("SparseSoftmaxCrossEntropyWithLogits", tensors, None, inner)


# ---- logistic and Poisson ----------------------------------------------------------------------------------------


def _same_shape(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    first, second = inputs[:2]
    if not first.dtype.is_floating:
        raise TypeError(f"Expected floating inputs, got {first.dtype.name}.")
    if not TensorShape(first.dims).is_compatible_with(second.dims):
        raise shapes.StaticShapeError(
            f"{attrs['names']} must have the same shape ({TensorShape(second.dims)} vs {TensorShape(first.dims)})"
        )
    return [Signature(first.dtype, shapes.merge(first.dims, second.dims))]


def _logistic(targets: Any, logits: Any, *, names: str, numpy: Any = jnp) -> Any:
    zero = np.zeros((), logits.dtype)
    positive = logits >= zero
    rest = numpy.log1p(numpy.exp(numpy.where(positive, -logits, logits)))
    return numpy.where(positive, logits, zero) - logits * targets + rest


def _weighted_logistic(targets: Any, logits: Any, weight: Any, *, names: str) -> Any:
    one_, zero = np.ones((), logits.dtype), np.zeros((), logits.dtype)
    log_weight = one_ + (weight - one_) * targets
    below = jnp.where(logits < zero, -logits, zero)
    away = jnp.where(logits > zero, -logits, jnp.where(logits < zero, logits, zero))
    return (one_ - targets) * logits + log_weight * (jnp.log1p(jnp.exp(away)) + below)


def _log_poisson(targets: Any, log_input: Any, *, full: bool, names: str) -> Any:
    loss = jnp.exp(log_input) - log_input * targets
    if not full:
        return loss
    one_, zero = np.ones((), loss.dtype), np.zeros((), loss.dtype)
    small = (targets >= zero) & (targets <= one_)
    z = jnp.where(small, one_, targets)
    stirling = z * jnp.log(z) - z + np.asarray(0.5, z.dtype) * jnp.log(np.asarray(2 * math.pi, z.dtype) * z)
    return loss + jnp.where(small, zero, stirling)


def _weighted_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    (found,) = _same_shape(inputs, attrs)
    if inputs[2].dtype is not found.dtype:
        raise TypeError(f"Expected pos_weight of type {found.dtype.name}, got {inputs[2].dtype.name}.")
    return [Signature(found.dtype, shapes.broadcast(found.dims, inputs[2].dims))]


def _logistic_formula(targets: Tensor, logits: Tensor, names: str) -> Tensor:
    return add_op("Relu", [logits]) - logits * targets + log1p(exp(-abs(logits)))


def _weighted_formula(targets: Tensor, logits: Tensor, weight: Tensor, names: str) -> Tensor:
    log_weight = 1.0 + (weight - 1.0) * targets
    return (1.0 - targets) * logits + log_weight * (log1p(exp(-abs(logits))) + add_op("Relu", [-logits]))


def _poisson_formula(targets: Tensor, log_input: Tensor, full: bool, names: str) -> Tensor:
    loss = exp(log_input) - log_input * targets
    if not full:
        return loss
    small = logical_and(greater_equal(targets, 0.0), less_equal(targets, 1.0))
    z = where(small, ones_like(targets), targets)
    return loss + where(small, zeros_like(targets), z * log(z) - z + 0.5 * log(2 * math.pi * z))


define_op(
    "SigmoidCrossEntropyWithLogits", _same_shape, _logistic, numpy=numpy_kernels.form(_logistic, numpy=np),
    nodes=expansion(_logistic_formula),
)  # fmt: skip
define_op("WeightedCrossEntropyWithLogits", _weighted_rule, _weighted_logistic, nodes=expansion(_weighted_formula))
define_op("LogPoissonLoss", _same_shape, _log_poisson, nodes=expansion(_poisson_formula))


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """``-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits))``, element by element.

    Raises:
      ValueError: positional arguments, shapes that differ.
    """
    _needed(labels, logits, _sentinel, "sigmoid_cross_entropy_with_logits")
    labels, logits = convert_pair(labels, logits, noun="labels and logits")
    return add_op(
        "SigmoidCrossEntropyWithLogits", [labels, logits], {"names": "logits and labels"}, name or "logistic_loss"
    )


def weighted_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, pos_weight: Any = None, name: str | None = None, targets: Any = None
) -> Tensor:
    """The sigmoid cross entropy, positive labels weighing ``pos_weight`` times as much.

    ``targets`` is an old name of ``labels``.
    """
    targets = one_of(labels, targets, "labels", "targets")
    check_given("weighted_cross_entropy_with_logits", labels=targets, logits=logits, pos_weight=pos_weight)
    targets, logits = convert_pair(targets, logits, noun="labels and logits")
    weight = convert_to_tensor(pos_weight, logits.dtype)
    attrs = {"names": "logits and targets"}
    return add_op("WeightedCrossEntropyWithLogits", [targets, logits, weight], attrs, name or "logistic_loss")


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """``exp(log_input) - log_input * targets``, element by element.

    Args:
      compute_full_loss: adds Stirling's approximation of ``log(targets!)`` where targets are above 1.
    """
    targets, log_input = convert_pair(targets, log_input, noun="targets and log_input")
    attrs = {"full": bool(compute_full_loss), "names": "log_input and targets"}
    return add_op("LogPoissonLoss", [targets, log_input], attrs, name or "log_poisson_loss")
