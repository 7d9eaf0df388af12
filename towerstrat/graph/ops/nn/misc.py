"""Neural-network operations: the family's surface, and those that belong to no smaller subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bool_, int32, int64
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.arrays import shape as shape_of
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.linalg.products import matmul
from towerstrat.graph.ops.math.arithmetic import floor, sigmoid, tanh
from towerstrat.graph.ops.nn.activations import (
    crelu,
    elu,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    softmax,
    softplus,
    softsign,
    swish,
)
from towerstrat.graph.ops.nn.convolution import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
    conv3d_backprop_filter_v2,
    conv3d_transpose,
    convolution,
    depthwise_conv2d,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from towerstrat.graph.ops.nn.cross_entropy import (
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from towerstrat.graph.ops.nn.embedding import embedding_lookup
from towerstrat.graph.ops.nn.normalization import (
    batch_norm_with_global_normalization,
    batch_normalization,
    fused_batch_norm,
    l2_loss,
    l2_normalize,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
    zero_fraction,
)
from towerstrat.graph.ops.nn.pooling import (
    avg_pool,
    avg_pool3d,
    dilation2d,
    local_response_normalization,
    lrn,
    max_pool,
    max_pool3d,
    max_pool_with_argmax,
    pool,
)
from towerstrat.graph.ops.random.stateful import random_uniform

__all__ = [
    "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool", "avg_pool3d", "batch_norm_with_global_normalization",
    "batch_normalization", "bias_add", "conv1d", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "conv3d_backprop_filter_v2", "conv3d_transpose", "convolution", "crelu",
    "depthwise_conv2d", "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input", "dilation2d", "dropout", "elu", "embedding_lookup", "fused_batch_norm",
    "in_top_k", "l2_loss", "l2_normalize", "leaky_relu", "local_response_normalization", "log_poisson_loss",
    "log_softmax", "lrn", "max_pool", "max_pool3d", "max_pool_with_argmax", "moments", "normalize_moments", "pool",
    "relu", "relu6", "relu_layer", "selu", "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits",
    "softmax", "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "softplus", "softsign",
    "sparse_softmax_cross_entropy_with_logits", "sufficient_statistics", "swish", "tanh", "top_k",
    "weighted_cross_entropy_with_logits", "weighted_moments", "xw_plus_b", "zero_fraction",
]  # fmt: skip


# ---- biases ------------------------------------------------------------------------------------------------------


def _bias_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x, bias = inputs
    if x.dtype is not bias.dtype:
        raise TypeError(f"Expected value and bias of one element type, got {x.dtype.name} and {bias.dtype.name}.")
    if bias.dims is not None and len(bias.dims) != 1:
        raise ValueError(f"Expected a bias of rank 1, got shape {TensorShape(bias.dims)}.")
    if x.dims is None:
        return [Signature(x.dtype, None)]
    if len(x.dims) < 2:
        raise ValueError(f"Expected a value of rank 2 or more, got shape {TensorShape(x.dims)}.")
    axis = 1 if attrs["data_format"] == "NCHW" else len(x.dims) - 1
    size = None if bias.dims is None else bias.dims[0]
    if size is not None and x.dims[axis] is not None and x.dims[axis] != size:
        raise ValueError(f"Dimensions must be equal, but are {x.dims[axis]} and {size}: value's channels and bias.")
    return [Signature(x.dtype, tuple(size if i == axis and d is None else d for i, d in enumerate(x.dims)))]


def _bias_add(x: Any, bias: Any, *, data_format: str) -> Any:
    if data_format == "NCHW":
        bias = bias.reshape(-1, *(1,) * (x.ndim - 2))
    return x + bias


define_op("BiasAdd", _bias_rule, _bias_add, numpy=numpy_kernels.form(_bias_add), derivative="linear")


def bias_add(value: Any, bias: Any, data_format: Any = None, name: str | None = None) -> Tensor:
    """``value + bias``, one entry of ``bias`` per channel.

    Args:
      value: rank 2 or more.
      data_format: "NHWC" or any other "N...C" (channels last, the default), "NCHW" or any other "NC..." (second).

    Raises:
      ValueError: as many channels as biases were expected.
    """
    layout = str(data_format or "NHWC")
    if not layout.startswith("N") or not (layout.endswith("C") or layout.startswith("NC")):
        raise ValueError(f"Expected data_format 'N...C' or 'NC...', got {data_format!r}.")
    value = convert_to_tensor(value, name="input")
    inputs = [value, convert_to_tensor(bias, None if isinstance(bias, Tensor) else value.dtype, name="bias")]
    return add_op("BiasAdd", inputs, {"data_format": "NCHW" if layout.startswith("NC") else "NHWC"}, name)


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``matmul(x, weights) + biases``."""
    with get_default_graph().name_scope(name or "xw_plus_b") as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``relu(matmul(x, weights) + biases)``."""
    with get_default_graph().name_scope(name or "relu_layer") as scope:
        return relu(bias_add(matmul(x, weights), biases), name=scope)


# ---- dropout -----------------------------------------------------------------------------------------------------


def _dropout_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x, _, noise = inputs
    shapes.broadcast(x.dims, noise.dims)
    return [Signature(x.dtype, x.dims)]


define_op(
    "Dropout", _dropout_rule, lambda x, keep, noise: x / keep * lax.stop_gradient(jnp.floor(keep + noise)),
    nodes=expansion(lambda x, keep, noise: x / keep * floor(keep + noise)),
)  # fmt: skip


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape of the flags: the input's where nothing or None is said."""
    if noise_shape is None:
        return x.shape if shapes.known(x.dims) else shape_of(x)
    try:
        dims = as_shape(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    if x.dims is not None and dims.raw is not None and len(x.dims) == len(dims.raw):
        return TensorShape([own if said is None else said for own, said in zip(x.dims, dims.raw, strict=True)])
    return noise_shape


def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: int | None = None, name: str | None = None,
    rate: Any = None,
) -> Tensor:  # fmt: skip
    """Each element kept with probability ``keep_prob`` and divided by it, 0 otherwise.

    Args:
      x: floating.
      keep_prob: a number in (0, 1], or a scalar tensor of ``x``'s type.
      noise_shape: the shape of the flags that decide, broadcast over ``x``; 1 where elements share one.
      rate: ``1 - keep_prob``, instead of it.

    Raises:
      ValueError: a probability outside (0, 1], both or none of the two, or an ``x`` that is not floating.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError(f"dropout takes either keep_prob or rate, got keep_prob={keep_prob!r} and rate={rate!r}.")
    keep_prob = 1 - rate if keep_prob is None else keep_prob
    x = convert_to_tensor(x, name="x")
    if not x.dtype.is_floating:
        raise ValueError(f"x has to be a floating point tensor since it is going to be scaled, got {x.dtype.name}.")
    if isinstance(keep_prob, Real | np.generic) and not 0 < keep_prob <= 1:  # type: ignore[operator]
        raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}.")
    with get_default_graph().name_scope(name or "dropout"):
        keep = convert_to_tensor(keep_prob, x.dtype, name="keep_prob")
        if not keep.shape.is_compatible_with([]):
            raise ValueError(f"Expected a scalar keep_prob, got shape {keep.shape}.")
        known = constant_value(keep)
        if known is not None and known == 1:
            return x
        noise = random_uniform(_noise_shape(x, noise_shape), 0, 1, x.dtype, seed)
        return add_op("Dropout", [x, keep, noise], None, "mul")


# ---- ranking -----------------------------------------------------------------------------------------------------


class TopKV2(NamedTuple):
    """The largest entries along the last dimension, and where they are."""

    values: Tensor
    indices: Tensor


def _top_k_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x, k = inputs[0], constant_value(inputs[1])
    if k is not None and k.ndim:
        raise ValueError(f"Expected a scalar k, got shape {k.shape}.")
    if x.dims is None:
        return [Signature(x.dtype, None), Signature(int32, None)]
    if not x.dims:
        raise ValueError("input must have at least k columns: expected rank 1 or more, got a scalar.")
    if k is not None and x.dims[-1] is not None and not 0 <= k <= x.dims[-1]:
        raise ValueError(f"input must have last dimension >= k = {int(k)} but is {x.dims[-1]}.")
    dims = (*x.dims[:-1], None if k is None else int(k))
    return [Signature(x.dtype, dims), Signature(int32, dims)]


_entries = jnp.vectorize(lambda row, places: row.at[places].get(mode="fill"), signature="(n),(k)->(k)")
"""Entries of ``[..., n]`` by ``[..., k]`` places: ``jnp.take_along_axis`` would compute with 64-bit places."""


def _top_k(x: Any, k: Any, *, sorted: bool) -> tuple[Any, Any]:
    if not jnp.issubdtype(x.dtype, jnp.floating):
        values, indices = lax.top_k(x, int(k))
        return values, indices.astype(jnp.int32)
    key = lax.stop_gradient(jnp.where(jnp.isnan(x), np.asarray(-np.inf, x.dtype), x))
    indices = lax.top_k(key, int(k))[1].astype(jnp.int32)
    return _entries(x, indices), indices


def _top_k_gradient(
    inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], **attrs: Any
) -> list[Any]:
    """The formula of top_k: its indices say where each cotangent goes."""
    if cotangents[0] is None:
        return [None, None]
    _, pull = jax.vjp(lambda x: _entries(x, outputs[1]), inputs[0])
    return [*pull(cotangents[0]), None]


define_op(
    "TopKV2", _top_k_rule, _top_k, static=(1,), numpy=numpy_kernels.top_k, gradient=_top_k_gradient, derivative="linear"
)


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """The ``k`` largest entries along the last dimension, largest first; of equal ones the first. NaN counts as -inf.

    Args:
      sorted: False allowed any order in the original; here it is the same.
    """
    inputs = [convert_to_tensor(input, name="input"), convert_to_tensor(k, int32, name="k")]
    return TopKV2(*add("TopKV2", inputs, {"sorted": bool(sorted)}, name))


def _in_top_k_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    predictions, targets = inputs[:2]
    if predictions.dims is not None and len(predictions.dims) != 2:
        raise ValueError(f"Expected predictions of shape [batch, classes], got {TensorShape(predictions.dims)}.")
    if targets.dims is not None and len(targets.dims) != 1:
        raise ValueError(f"Expected targets of shape [batch], got {TensorShape(targets.dims)}.")
    if targets.dtype not in (int32, int64):
        raise TypeError(f"Expected targets of type int32 or int64, got {targets.dtype.name}.")
    outer = None if predictions.dims is None else predictions.dims[:1]
    if not TensorShape(outer).is_compatible_with(targets.dims):
        raise ValueError(f"First dimension of predictions {outer} must match length of targets {targets.dims}.")
    return [Signature(bool_, shapes.merge(outer, targets.dims) or (None,))]


def _in_top_k(predictions: Any, targets: Any, k: Any, numpy: Any = jnp) -> Any:
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    chosen = numpy.clip(targets, 0, max(classes - 1, 0))[:, None]
    own = np.take_along_axis(predictions, chosen, axis=1) if numpy is np else _entries(predictions, chosen)
    better = numpy.sum((predictions > own).astype(np.int32), axis=1, dtype=np.int32)
    usable = numpy.isfinite(own[:, 0]) & numpy.all(numpy.isfinite(predictions), axis=1)
    return inside & usable & (better < k)


def _check_targets(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    predictions, targets = values[:2]
    return input_checks.first_of(
        input_checks.outside(targets, predictions.shape[1]),
        targets,
        message=lambda where, t: f"targets{where} is out of range: {int(t)} of {predictions.shape[1]} classes",
    )


define_op(
    "InTopKV2", _in_top_k_rule, _in_top_k, numpy=numpy_kernels.form(_in_top_k, numpy=np), differentiable=False,
    check=InputCheck(_check_targets, (1,)),
)  # fmt: skip


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each target is among the ``k`` largest predictions; ties at the border count as among them.

    Args:
      predictions: ``[batch, classes]``.
      targets: ``[batch]``, int32 or int64.
    """
    with get_default_graph().name_scope(name or "in_top_k"):
        targets = convert_to_tensor(targets, name="targets")
        inputs = [convert_to_tensor(predictions, name="predictions"), targets]
        return add_op("InTopKV2", [*inputs, convert_to_tensor(k, targets.dtype, name="k")])
