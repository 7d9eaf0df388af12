"""Moments and the normalizations made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.integer_arguments import integers
from towerstrat.graph.ir.node_writer import NodeWriter, name_of
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import float32, int32, int64
from towerstrat.graph.ops.array.arrays import squeeze, zeros_like
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.math.arithmetic import add as plus
from towerstrat.graph.ops.math.arithmetic import (
    cast,
    equal,
    maximum,
    multiply,
    reciprocal,
    rsqrt,
    square,
    squared_difference,
    subtract,
)
from towerstrat.graph.ops.math.reductions import reduce_mean, reduce_sum
from towerstrat.graph.ops.nn.activations import check_axis
from towerstrat.graph.ops.nn.convolution import channels_back, channels_last, check_format

_LEAST_EPSILON = 1.001e-5
"""Below it the original's fused batch normalization raises epsilon to this."""


def _reduced(dims: Dims, axes: Sequence[int] | None, keep: bool) -> Dims:
    if dims is None:
        return None
    wanted = range(len(dims)) if axes is None else [check_axis(a, len(dims)) for a in axes]
    if keep:
        return tuple(1 if i in wanted else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in wanted)


def _wide(x: Any) -> Any:
    return x.astype(jnp.float32) if x.dtype == np.float16 else x


# ---- moments -----------------------------------------------------------------------------------------------------


def _moments_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    whole = x.dtype in (int32, int64) and len(inputs) == 1
    if not x.dtype.is_floating and not x.dtype.is_complex and not whole:
        raise TypeError(f"Expected a floating input, got {x.dtype.name}. Use tf.cast.")
    dims = shapes.broadcast(x.dims, inputs[1].dims) if len(inputs) > 1 else x.dims
    return [Signature(x.dtype, _reduced(dims, attrs["axes"], attrs["keep_dims"]))] * 2


def _mean(x: Any, axes: tuple[int, ...] | None, keep_dims: bool) -> Any:
    """Of integers without its fraction."""
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.mean(x, axes, dtype=x.dtype, keepdims=keep_dims)
    total = jnp.sum(x, axes, dtype=x.dtype, keepdims=keep_dims)
    return lax.div(total, jnp.full_like(total, max(x.size // max(total.size, 1), 1)))


def _moments(x: Any, *, axes: tuple[int, ...] | None, keep_dims: bool) -> tuple[Any, Any]:
    wide = _wide(x)
    mean = _mean(wide, axes, True)
    away = wide - lax.stop_gradient(mean)
    variance = _mean(away * away, axes, keep_dims)
    mean = mean if keep_dims else jnp.squeeze(mean, axes)
    return mean.astype(x.dtype), variance.astype(x.dtype)


def _weighted_moments(x: Any, weights: Any, *, axes: tuple[int, ...] | None, keep_dims: bool) -> tuple[Any, Any]:
    wide = _wide(x)
    weights = weights.astype(wide.dtype)
    kind: Any = wide.dtype
    total = jnp.sum(jnp.broadcast_to(weights, jnp.broadcast_shapes(wide.shape, weights.shape)), axes, dtype=kind,
                    keepdims=True)  # fmt: skip
    mean = jnp.sum(weights * wide, axes, dtype=kind, keepdims=True) / total
    away = wide - mean
    variance = jnp.sum(weights * (away * away), axes, dtype=kind, keepdims=True) / total
    results = (mean, variance) if keep_dims else (jnp.squeeze(mean, axes), jnp.squeeze(variance, axes))
    return results[0].astype(x.dtype), results[1].astype(x.dtype)


def _moments_formula(x: Tensor, axes: tuple[int, ...] | None, keep_dims: bool) -> tuple[Tensor, Tensor]:
    wide = cast(x, float32) if x.dtype.name in ("float16", "bfloat16") else x
    mean = reduce_mean(wide, axes, keepdims=True)
    variance = reduce_mean(square(subtract(wide, mean)), axes, keepdims=keep_dims)
    return cast(mean if keep_dims else squeeze(mean, axes), x.dtype), cast(variance, x.dtype)


def _weighted_moments_formula(
    x: Tensor, weights: Tensor, axes: tuple[int, ...] | None, keep_dims: bool
) -> tuple[Tensor, Tensor]:
    wide = cast(x, float32) if x.dtype.name in ("float16", "bfloat16") else x
    factors = plus(cast(weights, wide.dtype), zeros_like(wide))
    total = reduce_sum(factors, axes, keepdims=True)
    mean = reduce_sum(multiply(factors, wide), axes, keepdims=True) / total
    variance = reduce_sum(multiply(factors, square(subtract(wide, mean))), axes, keepdims=True) / total
    return tuple(cast(t if keep_dims else squeeze(t, axes), x.dtype) for t in (mean, variance))


define_op("Moments", _moments_rule, _moments, nodes=expansion(_moments_formula))
define_op("WeightedMoments", _moments_rule, _weighted_moments, nodes=expansion(_weighted_moments_formula))


def moments(
    x: Any, axes: Any, shift: Any = None, name: str | None = None, keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(mean, variance) over dimensions. float16 is computed in float32; of int32 and int64 both lose their fraction.

    Args:
      axes: integers.
      shift: changes nothing, as in the original.
      keepdims: keeps the reduced dimensions, with size 1; ``keep_dims`` is an old name.
    """
    attrs = {"axes": integers(axes), "keep_dims": bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))}
    mean, variance = add("Moments", [convert_to_tensor(x, name="x")], attrs, name or "moments")
    return mean, variance


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, name: str | None = None, keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(mean, variance) over dimensions, each element counted ``frequency_weights`` times (broadcast with ``x``).

    Args:
      keepdims: keeps the reduced dimensions, with size 1; ``keep_dims`` is an old name.
    """
    x = convert_to_tensor(x, name="x")
    weights = convert_to_tensor(frequency_weights, name="frequency_weights")
    attrs = {"axes": integers(axes), "keep_dims": bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))}
    mean, variance = add("WeightedMoments", [x, weights], attrs, name or "weighted_moments")
    return mean, variance


def _count(x: Any, *, axes: tuple[int, ...]) -> Any:
    return np.asarray(np.prod([x.shape[a] for a in axes], dtype=np.int64)).astype(x.dtype)


define_op(
    "CountOver", lambda inputs, attrs: [Signature(inputs[0].dtype, ())], lambda x, *, axes: jnp.asarray(
        _count(x, axes=axes)
    ), numpy=_count, differentiable=False,
)  # fmt: skip


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keep_dims: bool | None = None, name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """(count, sum, sum of squares, shift): what ``normalize_moments`` makes mean and variance of.

    Args:
      shift: subtracted from ``x`` first, for accuracy; or None.
      keepdims: keeps the reduced dimensions, with size 1; ``keep_dims`` is an old name.
    """
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    dims = sorted(set(integers(axes) or ()))
    with get_default_graph().name_scope(name or "sufficient_statistics"):
        x = convert_to_tensor(x, name="x")
        sizes: list[Any] = [None if x.dims is None else x.dims[d] for d in dims]
        if None in sizes:
            counts = add_op("CountOver", [x], {"axes": tuple(dims)}, "count")
        else:
            counts = constant(np.prod(sizes, dtype=np.int64).astype(x.dtype.np), x.dtype)
        first, second = x, None
        if shift is not None:
            shift = convert_to_tensor(shift, None if isinstance(shift, Tensor) else x.dtype, name="shift")
            first, second = subtract(x, shift), squared_difference(x, shift)
        mean_ss = reduce_sum(first, dims, keepdims=keep, name="mean_ss")
        var_ss = reduce_sum(square(x) if second is None else second, dims, keepdims=keep, name="var_ss")
    return counts, mean_ss, var_ss, shift


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, variance) from sufficient statistics."""
    with get_default_graph().name_scope(name or "normalize"):
        mean_ss = convert_to_tensor(mean_ss)
        divisor = reciprocal(convert_to_tensor(counts, mean_ss.dtype), name="divisor")
        if shift is not None:
            shifted = multiply(mean_ss, divisor, name="shifted_mean")
            mean = plus(shifted, shift, name="mean")
        else:
            shifted = mean = multiply(mean_ss, divisor, name="mean")
        variance = subtract(multiply(variance_ss, divisor), square(shifted), name="variance")
    return mean, variance


# ---- batch normalization -----------------------------------------------------------------------------------------


def _normalization_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    dims = inputs[0].dims
    for other in inputs[1:]:
        dims = shapes.broadcast(dims, other.dims)
    return [Signature(inputs[0].dtype, dims)]


def _normalization(x: Any, mean: Any, variance: Any, *rest: Any, epsilon: float, scaled: bool, moved: bool) -> Any:
    parts = iter(rest)
    factor = lax.rsqrt(variance + np.asarray(epsilon, variance.dtype))
    if scaled:
        factor = factor * next(parts)
    rest_ = (next(parts) - mean * factor) if moved else -mean * factor
    return x * factor.astype(x.dtype) + rest_.astype(x.dtype)


def _normalization_formula(
    x: Tensor, mean: Tensor, variance: Tensor, *scale_and_offset: Tensor, epsilon: float, scaled: bool, moved: bool
) -> Tensor:
    parts = iter(scale_and_offset)
    factor = rsqrt(plus(variance, constant(epsilon, variance.dtype)))
    factor = multiply(factor, next(parts)) if scaled else factor
    shift = multiply(mean, factor)
    offset = subtract(next(parts), shift) if moved else -shift
    return plus(multiply(x, cast(factor, x.dtype)), cast(offset, x.dtype))


define_op("BatchNormalization", _normalization_rule, _normalization, nodes=expansion(_normalization_formula))


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float, name: str | None = None
) -> Tensor:
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    Args:
      mean, variance, offset, scale: of shapes that broadcast with ``x``; offset and scale may be None.
    """
    x = convert_to_tensor(x)
    mean, variance = convert_to_tensor(mean), convert_to_tensor(variance)
    inputs = [x, mean, variance, *(convert_to_tensor(t, mean.dtype) for t in (scale, offset) if t is not None)]
    attrs = {"epsilon": float(variance_epsilon), "scaled": scale is not None, "moved": offset is not None}
    with get_default_graph().name_scope(name or "batchnorm"):
        return add_op("BatchNormalization", inputs, attrs, "add_1")


def batch_norm_with_global_normalization(
    t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None,
    variance_epsilon: Any = None, scale_after_normalization: bool | None = None, name: str | None = None,
    input: Any = None, mean: Any = None, variance: Any = None,
) -> Tensor:  # fmt: skip
    """``batch_normalization`` in its oldest form; ``gamma`` counts only with ``scale_after_normalization``.

    ``t``, ``m`` and ``v`` are old names of ``input``, ``mean`` and ``variance``.
    """
    t, m, v = one_of(input, t, "input", "t"), one_of(mean, m, "mean", "m"), one_of(variance, v, "variance", "v")
    check_given(
        "batch_norm_with_global_normalization", input=t, mean=m, variance=v, variance_epsilon=variance_epsilon
    )  # fmt: skip
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


def _fused_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    layout = attrs["data_format"]
    if x.dtype.name not in ("float16", "bfloat16", "float32"):
        raise TypeError(f"Expected an input of float16, bfloat16 or float32, got {x.dtype.name}.")
    channels = None
    if x.dims is not None:
        if len(x.dims) != 4:
            raise ValueError(f"Expected an input of rank 4 ({layout}), got shape {shapes.TensorShape(x.dims)}.")
        channels = x.dims[layout.index("C")]
    for what, other in zip(("scale", "offset", "mean", "variance"), inputs[1:], strict=False):
        if other.dtype is not float32:
            raise TypeError(f"Expected {what} of type float32, got {other.dtype.name}.")
        if not shapes.TensorShape([channels]).is_compatible_with(other.dims):
            raise ValueError(f"Expected {what} of shape [{channels}], got {shapes.TensorShape(other.dims)}.")
        if other.dims is not None and channels is None:
            channels = other.dims[0]
    return [Signature(x.dtype, x.dims), Signature(float32, (channels,)), Signature(float32, (channels,))]


def _fused(x: Any, scale: Any, offset: Any, *known: Any, epsilon: float, data_format: str, is_training: bool) -> Any:
    last = channels_last(x, data_format)
    wide = last.astype(jnp.float32)
    kind: Any = np.dtype(np.float32)
    if is_training:
        count = wide.size // wide.shape[-1] if wide.shape[-1] else 0
        mean = jnp.mean(wide, (0, 1, 2), dtype=kind)
        away = wide - mean
        if x.dtype == kind:
            variance = jnp.mean(away * away, (0, 1, 2), dtype=kind)
        else:  # One reading of x, as on TPUs: float32 holds the squares of short floats, so that less cancels than
            # their rounding hides. Of float32 itself the difference would lose digits.
            variance = jnp.maximum(jnp.mean(wide * wide, (0, 1, 2), dtype=kind) - mean * mean, np.zeros((), kind))
        unbiased = variance * np.asarray(count / max(count - 1, 1), kind)
        told = (lax.stop_gradient(mean), lax.stop_gradient(unbiased))
        if not count:
            variance = jnp.zeros_like(variance)  # nothing is normalized, and no gradient may become NaN
    else:
        mean, variance = (lax.stop_gradient(k) for k in known)
        away = wide - mean
        told = (mean, variance)
    y = away * (lax.rsqrt(variance + np.asarray(epsilon, kind)) * scale) + offset
    return channels_back(y.astype(x.dtype), data_format), *told


def _fused_nodes(writer: NodeWriter, op: Operation) -> None:
    """Training does without the mean and variance from before: the original takes empty ones."""
    inputs = [name_of(t) for t in op.inputs]
    inputs += [writer.constant(name, np.zeros([0]), float32) for name in ("mean", "variance")[: 5 - len(inputs)]]
    attrs: dict[str, object] = {key: op.attrs[key] for key in ("epsilon", "data_format", "is_training")}
    types: dict[str, object] = {"T": op.inputs[0].dtype}
    if op.type == "FusedBatchNormV2":
        types["U"] = float32
    writer.node("", op.type, inputs, **types, **attrs)


for _type in ("FusedBatchNorm", "FusedBatchNormV2"):
    define_op(_type, _fused_rule, _fused, nodes=_fused_nodes)


def fused_batch_norm(
    x: Any, scale: Any, offset: Any, mean: Any = None, variance: Any = None, epsilon: float = 0.001,
    data_format: str = "NHWC", is_training: bool = True, name: str | None = None, exponential_avg_factor: Any = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Batch normalization of images in one operation.

    Args:
      x: rank 4; float16 and bfloat16 are computed in float32.
      scale, offset: float32, ``[channels]``.
      mean, variance: float32, ``[channels]``, where ``is_training`` is False, or ``exponential_avg_factor`` is not 1;
        None otherwise.
      exponential_avg_factor: in training, how much of the batch's mean and variance the returned ones have; the rest is
        that of ``mean`` and ``variance``. None: all, and these two may be given and are not used.

    Returns:
      (normalized x, mean, variance): training gives the batch's, the variance with ``n - 1`` in its denominator (NaN
      for an empty batch). Gradients reach x, scale and offset, through the first result only.

    Raises:
      ValueError: mean or variance given in training or missing otherwise.
    """
    if exponential_avg_factor is None:
        exponential_avg_factor = 1.0
        mean, variance = (None, None) if is_training else (mean, variance)
    averaging = is_training and not (isinstance(exponential_avg_factor, int | float) and exponential_avg_factor == 1.0)
    if is_training and not averaging and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True and exponential_avg_factor 1.")
    if averaging and (mean is None or variance is None):
        raise ValueError("Both 'mean' and 'variance' must be given if exponential_avg_factor is not 1.")
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both 'mean' and 'variance' must be given if is_training is False.")
    x = convert_to_tensor(x, name="input")
    before = [convert_to_tensor(t, float32) for t in (mean, variance) if t is not None]
    inputs = [x, convert_to_tensor(scale, float32), convert_to_tensor(offset, float32), *([] if averaging else before)]
    attrs = {
        "epsilon": max(float(epsilon), _LEAST_EPSILON),
        "data_format": check_format(data_format, 2),
        "is_training": bool(is_training),
    }
    kind = "FusedBatchNormV2" if x.dtype.name in ("float16", "bfloat16") else "FusedBatchNorm"
    y, *found = add(kind, inputs, attrs, name)
    if averaging:
        factor = convert_to_tensor(exponential_avg_factor, float32)
        found = [old * (1.0 - factor) + new * factor for old, new in zip(before, found, strict=True)]
    return y, found[0], found[1]


# ---- norms -------------------------------------------------------------------------------------------------------


def _np_l2_normalize(x: Any, *, axes: tuple[int, ...] | None, epsilon: float) -> Any:
    total = np.sum(x * x, axes, dtype=x.dtype, keepdims=True)
    return x / np.sqrt(np.maximum(total, np.asarray(epsilon, x.dtype)))


def _l2_normalize(x: Any, *, axes: tuple[int, ...] | None, epsilon: float) -> Any:
    total = jnp.sum(x * x, axes, dtype=x.dtype, keepdims=True)
    floor = np.asarray(epsilon, x.dtype)
    return x * lax.rsqrt(jnp.where(total >= floor, total, floor))


def _l2_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    _reduced(inputs[0].dims, attrs["axes"], True)
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _l2_formula(x: Tensor, axes: tuple[int, ...] | None, epsilon: float) -> Tensor:
    total = reduce_sum(square(x), axes, keepdims=True)
    return multiply(x, rsqrt(maximum(total, constant(epsilon, x.dtype))))


define_op(
    "L2Normalize", _l2_rule, _l2_normalize, numpy=numpy_kernels.form(_np_l2_normalize), nodes=expansion(_l2_formula)
)
define_op(
    "L2Loss",
    lambda inputs, attrs: [Signature(inputs[0].dtype, ())],
    lambda x: jnp.sum(x * x, dtype=x.dtype) * np.asarray(0.5, x.dtype),
    numpy=numpy_kernels.form(lambda x: np.sum(x * x, dtype=x.dtype) * np.asarray(0.5, x.dtype)),
)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """``x / sqrt(max(sum(x * x), epsilon))``, the sum over ``axis`` (all by default). ``dim``: its deprecated name."""
    if axis is not None and dim is not None:
        raise ValueError("Specify either axis or its deprecated name dim, not both.")
    axis = dim if axis is None else axis
    axis = convert_to_tensor(axis) if isinstance(axis, Convertible) else axis
    if isinstance(axis, Tensor) and constant_value(axis) is None:
        with get_default_graph().name_scope(name or "l2_normalize"):
            x = convert_to_tensor(x, name="x")
            return x * rsqrt(maximum(reduce_sum(square(x), axis, keepdims=True), epsilon))
    attrs = {"axes": integers(axis), "epsilon": float(epsilon)}
    return add_op("L2Normalize", [convert_to_tensor(x, name="x")], attrs, name or "l2_normalize")


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """``sum(t * t) / 2``."""
    return add_op("L2Loss", [convert_to_tensor(t, name="t")], None, name)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Which part of the elements is 0 (float32)."""
    return add_op("ZeroFraction", [convert_to_tensor(value, name="value")], None, name or "zero_fraction")


define_op(
    "ZeroFraction",
    lambda inputs, attrs: [Signature(float32, ())],
    lambda x: jnp.mean((x == np.zeros((), x.dtype)).astype(jnp.float32), dtype=jnp.float32),
    numpy=numpy_kernels.on_host(lambda x: np.float32(np.sum(x == 0)) / np.float32(x.size)),
    differentiable=False,
    nodes=expansion(lambda x: reduce_mean(cast(equal(x, zeros_like(x)), float32))),
)
