"""Pooling: the largest or the mean of each window, in one to three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.array.padding import pad
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.math.elementwise_gradients import of_both
from towerstrat.graph.ops.math.reductions import reduce_prod
from towerstrat.graph.ops.nn.convolution import (
    check_format,
    check_padding,
    check_window,
    ranked,
    setting,
    space_axes,
    spread_over,
)
from towerstrat.graph.ops.nn.convolution_kernels import output_size, padding_of
from towerstrat.graph.ops.nn.pooling_kernels import avg_pool as average_windows
from towerstrat.graph.ops.nn.pooling_kernels import lowest_value, slices
from towerstrat.graph.ops.nn.pooling_kernels import max_pool as largest_of_windows


def _pool_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x, layout = inputs[0], attrs["data_format"]
    dims = list(ranked(x, len(layout), f"an input ({layout})"))
    sizes, strides, dilations, axes = _settings(attrs)
    padding = check_padding(attrs["padding"])
    for axis, k, stride, apart in zip(axes, sizes, strides, dilations, strict=True):
        dims[axis] = output_size(dims[axis], k, stride, apart, padding)
    return [Signature(x.dtype, tuple(dims))]


def _settings(attrs: Mapping[str, Any]) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
    """(window sizes, strides, dilations, axes): of space, or of the channels where these are pooled."""
    layout, ksize, strides = attrs["data_format"], attrs["ksize"], attrs["strides"]
    dilations = attrs.get("dilations") or (1,) * len(ksize)
    channel = layout.index("C")
    if len(ksize) == len(layout) and len(strides) == len(layout) and ksize[channel] > 1:
        if any(k != 1 for i, k in enumerate(ksize) if i != channel):
            raise ValueError(f"Pooling over channels and space at once is not possible: ksize {list(ksize)}.")
        return [ksize[channel]], [strides[channel]], [dilations[channel]], [channel]
    return (
        check_window(ksize, layout, "ksize"),
        check_window(strides, layout, "strides"),
        check_window(dilations, layout, "dilations"),
        space_axes(layout),
    )


def _floating_pool_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    if not inputs[0].dtype.is_floating:
        raise TypeError(f"Expected a floating input of an average pooling, got {inputs[0].dtype.name}.")
    return _pool_rule(inputs, attrs)


def _max_pool(x: Any, *, platform: str, **attrs: Any) -> Any:
    sizes, strides, dilations, axes = _settings(attrs)
    return largest_of_windows(x, axes, sizes, strides, attrs["padding"], platform, dilations)


def _avg_pool(x: Any, *, platform: str, **attrs: Any) -> Any:
    sizes, strides, dilations, axes = _settings(attrs)
    return average_windows(x, axes, sizes, strides, attrs["padding"], platform, dilations)


def _argmax_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    (values,) = _pool_rule(inputs, attrs)
    return [values, Signature(attrs["Targmax"], values.dims)]


def _max_pool_with_argmax(x: Any, *, Targmax: Any, **attrs: Any) -> tuple[Any, Any]:
    """Also each window's place of the largest element in its image: (row * width + column) * channels + channel."""
    sizes, strides, dilations, axes = _settings(attrs)
    pads = padding_of([x.shape[a] for a in axes], sizes, strides, dilations, attrs["padding"])
    _, height, width, channels = x.shape
    around = [(0, 0, 0), *((low, high, 0) for low, high in pads), (0, 0, 0)]
    places = jnp.asarray(np.arange(height * width * channels).reshape(1, height, width, channels), Targmax.np)
    padded = lax.pad(x, jnp.asarray(lowest_value(x.dtype)), around)
    spots = lax.pad(places, jnp.asarray(-1, Targmax.np), around)
    best: Any = None
    for row in range(sizes[0]):
        for column in range(sizes[1]):
            part, spot = (
                _shifted(a, (row, column), sizes, strides) for a in (padded, jnp.broadcast_to(spots, padded.shape))
            )
            if best is None:
                best, where = part, spot
                continue
            larger = (part > best) | (where < 0)
            best, where = jnp.where(larger, part, best), jnp.where(larger, spot, where)
    return best, where


def _shifted(x: Any, start: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Any:
    counts = [(x.shape[i + 1] - k) // s + 1 for i, (k, s) in enumerate(zip(sizes, strides, strict=True))]
    stops = [a + (n - 1) * s + 1 for a, n, s in zip(start, counts, strides, strict=True)]
    return lax.slice(x, (0, *start, 0), (x.shape[0], *stops, x.shape[3]), (1, *strides, 1))


for _type in ("MaxPool1D", "MaxPool", "MaxPool3D"):
    define_op(_type, _pool_rule, _max_pool, platform=True)
for _type in ("AvgPool1D", "AvgPool3D"):
    define_op(_type, _floating_pool_rule, _avg_pool, platform=True)
define_op("AvgPool", _floating_pool_rule, _avg_pool, platform=True, derivative="linear")
define_op("MaxPoolWithArgmax", _argmax_rule, _max_pool_with_argmax)

_SUFFIX = {1: "1D", 2: "", 3: "3D"}


def _attrs(ksize: Any, strides: Any, padding: Any, data_format: Any, rank: int) -> dict[str, Any]:
    layout = check_format(data_format, rank)
    return {
        "ksize": setting(ksize, rank, layout, "ksize"),
        "strides": setting(strides, rank, layout, "strides"),
        "padding": padding,
        "data_format": layout,
    }


def max_pool(
    value: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NHWC", name: str | None = None,
    input: Any = None,
) -> Any:  # fmt: skip
    """The largest element of each window. At ties the first in row-major order gets the gradient.

    Args:
      input: ``[batch, height, width, channels]`` or as ``data_format`` says; ``value`` is an old name.
      ksize, strides: one integer, two (height, width), or four in the order of ``data_format``; 1 for the batch, and
        for channels unless only these are pooled.
      padding: "SAME" or "VALID".
    """
    value = one_of(input, value, "input", "value")
    attrs = _attrs(ksize, strides, padding, data_format, 2)
    return add_op("MaxPool", [convert_to_tensor(value, name="input")], attrs, name)


def avg_pool(
    value: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NHWC", name: str | None = None,
    input: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window's elements, padding not counted. Arguments as of ``max_pool``."""
    value = one_of(input, value, "input", "value")
    attrs = _attrs(ksize, strides, padding, data_format, 2)
    return add_op("AvgPool", [convert_to_tensor(value, name="value")], attrs, name)


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NDHWC", name: str | None = None
) -> Any:
    """``max_pool`` over depth, height and width; five integers each in ``ksize`` and ``strides``."""
    attrs = _attrs(ksize, strides, padding, data_format, 3)
    return add_op("MaxPool3D", [convert_to_tensor(input, name="input")], attrs, name)


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = "NDHWC", name: str | None = None
) -> Any:
    """``avg_pool`` over depth, height and width; five integers each in ``ksize`` and ``strides``."""
    attrs = _attrs(ksize, strides, padding, data_format, 3)
    return add_op("AvgPool3D", [convert_to_tensor(input, name="input")], attrs, name)


def max_pool_with_argmax(
    input: Any, ksize: Any, strides: Any, padding: Any, Targmax: Any = None, name: str | None = None,
    data_format: str = "NHWC", output_dtype: Any = None, include_batch_in_index: bool = False,
) -> Any:  # fmt: skip
    """(the largest of each window, its index in the flattened image: ``(row * width + column) * channels + c``).

    Args:
      output_dtype: the indices' type, int32 or int64 (the default); ``Targmax`` is an old name.
      include_batch_in_index: indices are those in the whole batch, flattened.

    Raises:
      ValueError: another ``data_format`` than "NHWC", as in the original. TypeError: another type.
    """
    if data_format != "NHWC":
        raise ValueError(f"Expected data_format 'NHWC', got {data_format!r}: transpose the input.")
    kind = as_dtype(one_of(output_dtype, Targmax, "output_dtype", "Targmax") or int64)
    if kind not in (int32, int64):
        raise TypeError(f"Expected indices of type int32 or int64, got {kind.name}.")
    attrs = _attrs(ksize, strides, padding, data_format, 2) | {"Targmax": kind}
    images = convert_to_tensor(input, name="input")
    largest, places = add("MaxPoolWithArgmax", [images], attrs, name)
    if include_batch_in_index:
        sizes = arrays.shape(images, out_type=kind)
        first = arrays.range(sizes[0]) * reduce_prod(sizes[1:])
        places += arrays.reshape(first, [-1, 1, 1, 1])
    return largest, places


def pool(
    input: Any, window_shape: Any, pooling_type: str, padding: Any, dilation_rate: Any = None, strides: Any = None,
    name: str | None = None, data_format: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """Pooling over one to three spatial dimensions.

    Args:
      input: ``[batch, *space, channels]`` or as ``data_format`` says.
      window_shape: one integer per spatial dimension.
      pooling_type: "MAX" or "AVG".
      dilations, strides: one integer per spatial dimension, 1 by default; not both above 1. ``dilation_rate`` is an
        old name.

    Raises:
      ValueError: settings that do not fit together or do not fit the input's rank.
    """
    rank = len(window_shape)
    if rank not in _SUFFIX:
        raise UnsupportedError(f"Pooling over {rank} dimensions: 1, 2 and 3 are supported. Reshape the input first.")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"Expected pooling_type 'MAX' or 'AVG', got {pooling_type!r}.")
    layout = check_format(data_format, rank)
    dilation_rate = one_of(dilations, dilation_rate, "dilations", "dilation_rate")
    steps = [1] * rank if strides is None else list(strides)
    apart = [1] * rank if dilation_rate is None else list(dilation_rate)
    if len(steps) != rank or len(apart) != rank:
        raise ValueError(f"Expected {rank} strides and dilation rates (as window_shape has), got {steps} and {apart}.")
    if max(steps) > 1 and max(apart) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1.")
    if padding == "SAME" and max(apart) > 1:
        raise ValueError("Pooling with SAME padding is not defined for dilation_rate > 1; use VALID.")
    if any(s > k for s, k in zip(steps, window_shape, strict=True)):
        raise ValueError(f"Expected strides of at most window_shape {list(window_shape)}, got {steps}.")
    attrs = _attrs(spread_over(layout, window_shape), spread_over(layout, steps), padding, layout, rank)
    attrs["dilations"] = spread_over(layout, apart)
    kind = "MaxPool" if pooling_type == "MAX" else "AvgPool"
    default = "max_pool" if pooling_type == "MAX" else "avg_pool"
    return add_op(f"{kind}{_SUFFIX[rank]}", [convert_to_tensor(input, name="input")], attrs, name or default)


# ---- local response normalization --------------------------------------------------------------------------------


def _around(x: Any, depth_radius: int) -> Any:
    """The sum over the channels around each."""
    around = (depth_radius, depth_radius)
    return sum(slices(x, 3, 2 * depth_radius + 1, 1, around, 1, np.zeros((), x.dtype)))


def _lrn_base(x: Any, depth_radius: int, bias: float, alpha: float) -> Any:
    return np.asarray(bias, x.dtype) + np.asarray(alpha, x.dtype) * _around(x * x, depth_radius)


def _lrn(x: Any, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    return x * jnp.exp(np.asarray(-beta, x.dtype) * jnp.log(_lrn_base(x, depth_radius, bias, alpha)))


def _lrn_gradient(g: Any, x: Any, y: Any, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    base = _lrn_base(x, depth_radius, bias, alpha)
    shared = np.asarray(2 * alpha * beta, x.dtype) * x * _around(g * y / base, depth_radius)
    return g * jnp.exp(np.asarray(-beta, x.dtype) * jnp.log(base)) - shared


def _lrn_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(inputs[0].dtype, ranked(inputs[0], 4, "an input"))]


define_op("LRN", _lrn_rule, _lrn, gradient=of_both(_lrn_gradient))


def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, name: str | None = None
) -> Any:
    """``input / (bias + alpha * sum of squares of the 2 * depth_radius + 1 channels around) ** beta``."""
    attrs = {"depth_radius": int(depth_radius), "bias": float(bias), "alpha": float(alpha), "beta": float(beta)}
    return add_op("LRN", [convert_to_tensor(input, name="input")], attrs, name)


lrn = local_response_normalization


# ---- morphology --------------------------------------------------------------------------------------------------


def _dilation_settings(attrs: Mapping[str, Any]) -> tuple[Sequence[int], Sequence[int], str]:
    strides = check_window(attrs["strides"], "NHWC", "strides")
    return strides, check_window(attrs["rates"], "NHWC", "rates"), check_padding(attrs["padding"])


def _dilation_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = ranked(inputs[0], 4, "an input (NHWC)")
    w = ranked(inputs[1], 3, "a filter ([height, width, depth])")
    if x[3] is not None and w[2] is not None and x[3] != w[2]:
        raise ValueError(f"Dimensions must be equal, but are {x[3]} and {w[2]}: the input's channels and the filter's.")
    strides, rates, padding = _dilation_settings(attrs)
    space = [output_size(*args, padding) for args in zip(x[1:3], w[:2], strides, rates, strict=True)]
    return [Signature(inputs[0].dtype, (x[0], *space, x[3]))]


def _dilation2d(x: Any, w: Any, **attrs: Any) -> Any:
    strides, rates, padding = _dilation_settings(attrs)
    pads = padding_of(x.shape[1:3], w.shape[:2], strides, rates, padding)
    padded = lax.pad(
        x, jnp.asarray(lowest_value(x.dtype)), [(0, 0, 0), *((low, high, 0) for low, high in pads), (0, 0, 0)]
    )
    reach = [(k - 1) * r + 1 for k, r in zip(w.shape[:2], rates, strict=True)]
    best: Any = None
    for row in range(w.shape[0]):
        for column in range(w.shape[1]):
            part = _shifted(padded, (row * rates[0], column * rates[1]), reach, strides) + w[row, column]
            best = part if best is None else jnp.where(part > best, part, best)
    return best


define_op("Dilation2D", _dilation_rule, _dilation2d)


def dilation2d(
    input: Any, filter: Any = None, strides: Any = None, rates: Any = None, padding: Any = None,
    name: str | None = None, filters: Any = None, dilations: Any = None,
) -> Any:  # fmt: skip
    """Grayscale dilation: the largest of ``input + filters`` over each window.

    Args:
      input: ``[batch, height, width, depth]``.
      filters: ``[height, width, depth]``; ``filter`` is an old name.
      strides, dilations: four integers, 1 for batch and depth; ``rates`` is an old name.
    """
    filter, rates = one_of(filters, filter, "filters", "filter"), one_of(dilations, rates, "dilations", "rates")
    check_given("dilation2d", filters=filter, strides=strides, dilations=rates, padding=padding)
    x = convert_to_tensor(input, name="input")
    w = convert_to_tensor(filter, x.dtype, name="filter")
    attrs = {"strides": tuple(strides), "rates": tuple(rates), "padding": padding}
    return add_op("Dilation2D", [x, w], attrs, name)


# ---- pooling by rank ---------------------------------------------------------------------------------------------


def _pool_by_rank(
    kind: str, input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None, name: str | None
) -> Any:
    x = convert_to_tensor(input, name="input")
    if x.dims is None and data_format is None:
        raise ValueError("The rank of the input must be known to choose the pooling; use set_shape.")
    rank = len(data_format if x.dims is None else x.dims) - 2  # type: ignore[arg-type]
    if rank not in _SUFFIX:
        raise ValueError(f"Expected an input of rank 3, 4 or 5, got shape {x.shape}.")
    attrs = _attrs(ksize, strides, padding, data_format, rank)
    if not isinstance(padding, str):
        if kind == "AvgPool":
            raise ValueError(f"Expected padding 'SAME' or 'VALID', got {padding!r}.")
        x, attrs["padding"] = pad(x, padding, constant_values=x.dtype.min), "VALID"
    return add_op(f"{kind}{_SUFFIX[rank]}", [x], attrs, name)


def max_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Any:
    """The largest element of each window, over one to three spatial dimensions.

    Args:
      input: ``[batch, *space, channels]`` or as ``data_format`` says.
      ksize, strides: one integer, one per spatial dimension, or one per dimension.
      padding: "SAME", "VALID", or a (before, after) pair per dimension.
    """
    return _pool_by_rank("MaxPool", input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Any:
    """The mean of each window's elements, padding not counted; arguments as of ``max_pool_v2``."""
    return _pool_by_rank("AvgPool", input, ksize, strides, padding, data_format, name)
