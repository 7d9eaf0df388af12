"""Convolutions: plain, depthwise, separable, atrous, transposed, and their gradients as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value_as_dims
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims, TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array.padding import pad
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.nn.convolution_kernels import (
    Window,
    convolve,
    filter_gradient,
    input_gradient,
    output_size,
    padding_of,
    window,
)

_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_ONES = {4: [1, 1, 1, 1], 5: [1, 1, 1, 1, 1]}
_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_FLOATING = ("float16", "bfloat16", "float32", "float64")


# ---- layouts -----------------------------------------------------------------------------------------------------


def check_format(data_format: str | None, rank: int) -> str:
    """The layout's name; None is channels last.

    Raises:
      ValueError: it is no layout of this many spatial dimensions.
    """
    if data_format is None:
        return _LAST[rank]
    if data_format not in (_LAST[rank], _FIRST[rank]):
        raise ValueError(f"Expected data_format {_LAST[rank]!r} or {_FIRST[rank]!r}, got {data_format!r}.")
    return data_format


@cache
def space_axes(data_format: str) -> tuple[int, ...]:
    """Which dimensions of the layout are spatial."""
    return tuple(i for i, letter in enumerate(data_format) if letter not in "NC")


def channels_last(x: Any, data_format: str) -> Any:
    """An array moved from its layout to channels last."""
    return jnp.moveaxis(x, 1, -1) if data_format[1] == "C" and x.ndim > 2 else x


def channels_back(x: Any, data_format: str) -> Any:
    """An array moved from channels last to its layout."""
    return jnp.moveaxis(x, -1, 1) if data_format[1] == "C" and x.ndim > 2 else x


def check_padding(padding: Any) -> str:
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Expected padding 'SAME' or 'VALID', got {padding!r}.")
    return padding


@cache
def check_window(values: tuple[Any, ...], data_format: str, what: str) -> tuple[int, ...]:
    """A per-dimension setting of a layout as its spatial entries.

    Raises:
      ValueError: of the wrong length, not positive, or other than 1 for batch and channels.
    """
    entries = tuple(int(v) for v in values)
    if len(entries) != len(data_format):
        raise ValueError(f"Expected {what} with one entry per dimension of {data_format}, got {list(entries)}.")
    if any(v < 1 for v in entries):
        raise ValueError(f"Expected positive {what}, got {list(entries)}.")
    space = space_axes(data_format)
    if any(v != 1 for i, v in enumerate(entries) if i not in space):
        raise ValueError(f"Expected {what} of 1 for batch and channels ({data_format}), got {list(entries)}.")
    return tuple(entries[i] for i in space)


def ranked(tensor: Any, rank: int, what: str) -> tuple[int | None, ...]:
    """The sizes of an input that must have this rank."""
    if tensor.dims is None:
        return (None,) * rank
    if len(tensor.dims) != rank:
        raise ValueError(f"Expected {what} of rank {rank}, got shape {TensorShape(tensor.dims)}.")
    return tensor.dims


def _floating(inputs: Sequence[Any]) -> None:
    first = inputs[0].dtype
    if first.name not in _FLOATING:
        raise TypeError(f"Expected a convolution's input of type {', '.join(_FLOATING)}, got {first.name}.")
    for other in inputs[1:]:
        if other.dtype is not first:
            raise TypeError(
                f"Expected input and filter of one element type, got {first.name} and {other.dtype.name}. Use tf.cast."
            )


def _agree(a: int | None, b: int | None, what: str) -> None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}: {what}.")


# ---- rules and kernels -------------------------------------------------------------------------------------------


def _settings(attrs: Mapping[str, Any]) -> tuple[str, tuple[int, ...], tuple[int, ...], str]:
    layout = attrs["data_format"]
    strides = check_window(attrs["strides"], layout, "strides")
    dilations = check_window(attrs["dilations"], layout, "dilations")
    return layout, strides, dilations, check_padding(attrs["padding"])


def _arranged(batch: int | None, space: Sequence[int | None], channels: int | None, layout: str) -> Dims:
    return (batch, channels, *space) if layout[1] == "C" else (batch, *space, channels)


def _output(
    x: Sequence[int | None], w: Sequence[int | None], out: int | None, attrs: Mapping[str, Any]
) -> tuple[int | None, ...]:
    layout, strides, dilations, padding = _settings(attrs)
    sizes = (x[i] for i in space_axes(layout))
    space = [output_size(*args, padding) for args in zip(sizes, w, strides, dilations, strict=False)]
    return _arranged(x[0], space, out, layout)  # type: ignore[return-value]


def _conv_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    _floating(inputs)
    layout = attrs["data_format"]
    x = ranked(inputs[0], len(layout), f"an input ({layout})")
    w = ranked(inputs[1], len(layout), "a filter ([*space, in_channels, out_channels])")
    channels, own = x[layout.index("C")], w[-2]
    groups = channels // own if channels and own and channels % own == 0 else 1
    if groups == 1 or (w[-1] is not None and w[-1] % groups):
        _agree(channels, own, "the input's channels and the filter's in_channels")
    return [Signature(inputs[0].dtype, _output(x, w, w[-1], attrs))]


def _depthwise_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    _floating(inputs)
    layout = attrs["data_format"]
    x = ranked(inputs[0], 4, f"an input ({layout})")
    w = ranked(inputs[1], 4, "a filter ([height, width, in_channels, channel_multiplier])")
    channels = x[layout.index("C")]
    _agree(channels, w[2], "the input's channels and the filter's in_channels")
    channels = w[2] if channels is None else channels
    out = None if channels is None or w[3] is None else channels * w[3]
    return [Signature(inputs[0].dtype, _output(x, w, out, attrs))]


def _how(size: Sequence[int], w: Sequence[int], attrs: Mapping[str, Any], groups: int = 1) -> Window:
    """The window of a convolution over an input of the spatial lengths ``size``."""
    _, strides, dilations, padding = _settings(attrs)
    return window(strides, padding_of(size, w[: len(size)], strides, dilations, padding), dilations, groups)


def _conv(x: Any, w: Any, *, platform: str, **attrs: Any) -> Any:
    x = channels_last(x, attrs["data_format"])
    how = _how(x.shape[1:-1], w.shape, attrs, x.shape[-1] // w.shape[-2])
    return channels_back(convolve(x, w, how, platform), attrs["data_format"])


def _depthwise(x: Any, w: Any, *, platform: str, **attrs: Any) -> Any:
    x = channels_last(x, attrs["data_format"])
    how = _how(x.shape[1:-1], w.shape, attrs, x.shape[-1])
    return channels_back(convolve(x, _as_grouped(w), how, platform), attrs["data_format"])


def _as_grouped(w: Any) -> Any:
    return w.reshape(*w.shape[:-2], 1, w.shape[-2] * w.shape[-1])


def _input_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    """(input_sizes, filter, out_backprop) -> the input's gradient."""
    _floating(inputs[1:])
    layout = attrs["data_format"]
    w = ranked(inputs[1], len(layout), "a filter")
    dy = ranked(inputs[2], len(layout), f"an output gradient ({layout})")
    dims = constant_value_as_dims(inputs[0])
    depthwise = attrs.get("depthwise", False)
    if dims is None:
        dims = _arranged(dy[0], [None] * (len(layout) - 2), w[-2], layout)
    elif len(dims) != len(layout):
        raise ValueError(f"Expected an input shape of {len(layout)} entries ({layout}), got {list(dims)}.")
    assert dims is not None
    _agree(dims[layout.index("C")], w[-2], "the output shape's channels and the filter's")
    if not depthwise:
        _agree(dy[layout.index("C")], w[-1], "the channels of the value and the filter's last dimension")
    _agree(dims[0], dy[0], "the batch sizes of the output shape and the value")
    expected = _output(dims, w, None, attrs)
    for axis in space_axes(layout):
        _agree(
            expected[axis], dy[axis], f"what the output shape {list(dims)} convolves to, and the value (axis {axis})"
        )
    return [Signature(inputs[1].dtype, (dims[0] if dims[0] is not None else dy[0], *dims[1:]))]


def _filter_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    """(input, filter_sizes, out_backprop) -> the filter's gradient."""
    _floating([inputs[0], inputs[2]])
    layout = attrs["data_format"]
    x = ranked(inputs[0], len(layout), f"an input ({layout})")
    ranked(inputs[2], len(layout), f"an output gradient ({layout})")
    dims = constant_value_as_dims(inputs[1])
    if dims is None:
        return [Signature(inputs[0].dtype, (None,) * len(layout))]
    if len(dims) != len(layout):
        raise ValueError(f"Expected a filter shape of {len(layout)} entries, got {list(dims)}.")
    _agree(x[layout.index("C")], dims[-2], "the input's channels and the filter's in_channels")
    return [Signature(inputs[0].dtype, dims)]


def _input_kernel(sizes: Any, w: Any, dy: Any, *, platform: str, depthwise: bool = False, **attrs: Any) -> Any:
    layout = attrs["data_format"]
    shape = [int(s) for s in sizes]
    last = [shape[0], *(shape[i] for i in space_axes(layout)), shape[layout.index("C")]]
    how = _how(last[1:-1], w.shape, attrs, last[-1] if depthwise else 1)
    w, dy = alike(_as_grouped(w) if depthwise else w, channels_last(dy, layout))
    _check_output(last, w, dy, how)
    made = input_gradient(last, w, dy, how, lambda a, b, h: convolve(a, b, h, platform))
    return channels_back(made, layout)


def _filter_kernel(x: Any, sizes: Any, dy: Any, *, platform: str, depthwise: bool = False, **attrs: Any) -> Any:
    layout = attrs["data_format"]
    shape = [int(s) for s in sizes]
    x, dy = alike(channels_last(x, layout), channels_last(dy, layout))
    how = _how(x.shape[1:-1], shape, attrs, x.shape[-1] if depthwise else 1)
    grouped = (*shape[:-2], 1, shape[-2] * shape[-1]) if depthwise else shape
    made = filter_gradient(x, grouped, dy, how, lambda a, b, h: convolve(a, b, h, platform))
    return made.reshape(shape)


def _check_output(shape: Sequence[int], w: Any, dy: Any, how: Window) -> None:
    for i, stride in enumerate(how.strides):
        reach = (w.shape[i] - 1) * how.dilation[i] + 1
        made = (shape[i + 1] + sum(how.pads[i]) - reach) // stride + 1
        if made != dy.shape[i + 1]:
            raise ValueError(f"An input of shape {list(shape)} convolves to a length of {made}, got {dy.shape[i + 1]}.")


define_op("Conv1D", _conv_rule, _conv, platform=True)
for _type in ("Conv2D", "Conv3D"):
    define_op(_type, _conv_rule, _conv, platform=True, derivative="bilinear")
for _type in ("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"):
    define_op(_type, _input_rule, _input_kernel, platform=True, static=(0,))
for _type in ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"):
    define_op(_type, _filter_rule, _filter_kernel, platform=True, static=(1,))
define_op("DepthwiseConv2dNative", _depthwise_rule, _depthwise, platform=True, derivative="bilinear")


# ---- public functions --------------------------------------------------------------------------------------------


def _attrs(strides: Any, padding: Any, data_format: Any, dilations: Any, rank: int) -> dict[str, Any]:
    layout = check_format(data_format, rank)
    return {
        "strides": setting(1 if strides is None else strides, rank, layout, "strides"),
        "padding": padding,
        "data_format": layout,
        "dilations": setting(1 if dilations is None else dilations, rank, layout, "dilations"),
    }


def _operands(x: Any, w: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="input")
    w = convert_to_tensor(w, None if hasattr(w, "dtype") else x.dtype, name="filter")
    return x, w


def padded(input: Any, padding: Any) -> tuple[Any, Any]:
    """The input and a padding by name: (before, after) pairs, one per dimension, are padded here."""
    return (pad(input, padding), "VALID") if isinstance(padding, list | tuple) else (input, padding)


def conv2d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None, use_cudnn_on_gpu: bool = True,
    data_format: Any = "NHWC", dilations: Any = _ONES[4], name: str | None = None, filters: Any = None,
) -> Tensor:  # fmt: skip
    """A 2-D convolution (no mirroring of the filter).

    Args:
      input: floating, ``[batch, height, width, channels]`` or as ``data_format`` says.
      filters: ``[height, width, in_channels, out_channels]``, of the input's type; ``filter`` is an old name.
      strides, dilations: one integer, two (height, width), or four in the order of ``data_format``; 1 for batch and
        channels.
      padding: "SAME", "VALID", or a (before, after) pair per dimension.
      use_cudnn_on_gpu: changes nothing; the compiler chooses the algorithm.

    Raises:
      ValueError: channels that differ, a window larger than the input, settings of the wrong length.
      TypeError: element types that differ or are not floating.
    """
    filter = one_of(filters, filter, "filters", "filter")
    check_given("conv2d", filters=filter, padding=padding)
    input, padding = padded(input, padding)
    return add_op("Conv2D", _operands(input, filter), _attrs(strides, padding, data_format, dilations, 2), name)


def conv3d(
    input: Any, filter: Any = None, strides: Any = None, padding: Any = None, data_format: Any = "NDHWC",
    dilations: Any = _ONES[5], name: str | None = None, filters: Any = None,
) -> Tensor:  # fmt: skip
    """A 3-D convolution: ``[batch, depth, height, width, channels]`` by ``[d, h, w, in_channels, out_channels]``.

    ``filter`` is an old name of ``filters``.
    """
    filter = one_of(filters, filter, "filters", "filter")
    check_given("conv3d", filters=filter, strides=strides, padding=padding)
    return add_op("Conv3D", _operands(input, filter), _attrs(strides, padding, data_format, dilations, 3), name)


def conv1d(
    value: Any = None, filters: Any = None, stride: Any = None, padding: Any = None, use_cudnn_on_gpu: Any = None,
    data_format: Any = None, name: str | None = None, input: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A 1-D convolution: ``[batch, width, channels]`` by ``[width, in_channels, out_channels]``.

    Args:
      input: floating; ``value`` is an old name.
      stride, dilations: an integer, or a list of one or three; 1 by default.
      data_format: "NWC" (or "NHWC") or "NCW" (or "NCHW").
      use_cudnn_on_gpu: changes nothing.
    """
    value = one_of(input, value, "input", "value")
    check_given("conv1d", input=value, filters=filters, padding=padding)
    layout = {"NHWC": "NWC", "NCHW": "NCW"}.get(data_format, data_format)
    with get_default_graph().name_scope(name or "conv1d"):
        return add_op("Conv1D", _operands(value, filters), _attrs(stride, padding, layout, dilations, 1), "Squeeze")


def conv2d_backprop_input(
    input_sizes: Any, filter: Any = None, out_backprop: Any = None, strides: Any = None, padding: Any = None,
    use_cudnn_on_gpu: bool = True, data_format: Any = "NHWC", dilations: Any = _ONES[4], name: str | None = None,
    filters: Any = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``conv2d`` with respect to its input, whose shape is ``input_sizes``.

    ``filter`` is an old name of ``filters``.
    """
    filter = one_of(filters, filter, "filters", "filter")
    check_given(
        "conv2d_backprop_input", filters=filter, out_backprop=out_backprop, strides=strides, padding=padding
    )  # fmt: skip
    attrs = _attrs(strides, padding, data_format, dilations, 2)
    return add_op("Conv2DBackpropInput", _with_sizes(input_sizes, filter, out_backprop, 0), attrs, name)


def conv2d_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, use_cudnn_on_gpu: bool = True,
    data_format: Any = "NHWC", dilations: Any = _ONES[4], name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``conv2d`` with respect to its filter, whose shape is ``filter_sizes``."""
    attrs = _attrs(strides, padding, data_format, dilations, 2)
    return add_op("Conv2DBackpropFilter", _with_sizes(filter_sizes, input, out_backprop, 1), attrs, name)


def conv3d_backprop_filter_v2(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, data_format: Any = "NDHWC",
    dilations: Any = _ONES[5], name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``conv3d`` with respect to its filter, whose shape is ``filter_sizes``."""
    attrs = _attrs(strides, padding, data_format, dilations, 3)
    return add_op("Conv3DBackpropFilterV2", _with_sizes(filter_sizes, input, out_backprop, 1), attrs, name)


def _with_sizes(sizes: Any, other: Any, dy: Any, position: int) -> tuple[Tensor, ...]:
    other, dy = _operands(other, dy)
    sizes = convert_to_tensor(sizes, None if isinstance(sizes, Tensor) else int32, name="sizes")
    return (sizes, other, dy) if position == 0 else (other, sizes, dy)


def transposed(
    value: Any, filter: Any, output_shape: Any, strides: Any, padding: Any, data_format: Any, name: str, rank: int,
    dilations: Any = None,
) -> Tensor:  # fmt: skip
    """``conv2d_transpose`` (``rank`` 2) or ``conv3d_transpose`` (3), with a dilation per dimension of the layout."""
    type = {2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}[rank]
    attrs = _attrs(strides, padding, data_format, dilations, rank)
    value, filter = _operands(value, filter)
    return add_op(type, _with_sizes(output_shape, filter, value, 0), attrs, name)


def conv2d_transpose(
    value: Any = None, filter: Any = None, output_shape: Any = None, strides: Any = None, padding: Any = "SAME",
    data_format: Any = "NHWC", name: str | None = None, input: Any = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """Transpose of ``conv2d``, which its gradient applies to cotangents ("deconvolution").

    Args:
      input: ``[batch, height, width, in_channels]``; ``value`` is an old name.
      filters: ``[height, width, out_channels, in_channels]``; ``filter`` is an old name.
      output_shape: four integers or an integer tensor; what ``conv2d`` with these settings brings to the input's shape.
      strides, dilations: one integer, two (height, width), or four in the order of ``data_format``; 1 by default.

    Raises:
      ValueError: an output shape that cannot be, channels that differ.
    """
    value, filter = one_of(input, value, "input", "value"), one_of(filters, filter, "filters", "filter")
    check_given("conv2d_transpose", input=value, filters=filter, output_shape=output_shape)
    return transposed(
        value, filter, output_shape, strides, padding, data_format, name or "conv2d_transpose", 2, dilations
    )  # fmt: skip


def conv3d_transpose(
    value: Any, filter: Any = None, output_shape: Any = None, strides: Any = None, padding: Any = "SAME",
    data_format: Any = "NDHWC", name: str | None = None, input: Any = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """``conv2d_transpose`` with a depth: ``[batch, depth, height, width, in_channels]``."""
    value, filter = one_of(input, value, "input", "value"), one_of(filters, filter, "filters", "filter")
    check_given("conv3d_transpose", input=value, filters=filter, output_shape=output_shape)
    return transposed(
        value, filter, output_shape, strides, padding, data_format, name or "conv3d_transpose", 3, dilations
    )  # fmt: skip


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """The transpose of ``atrous_conv2d``."""
    spread = (1, rate, rate, 1)
    return transposed(
        value, filters, output_shape, (1, 1, 1, 1), padding, "NHWC", name or "atrous_conv2d_transpose", 2, spread
    )


def depthwise_conv2d_native(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: Any = "NHWC", dilations: Any = _ONES[4],
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A filter of its own for each channel.

    Args:
      filter: ``[height, width, in_channels, channel_multiplier]``.

    Returns:
      ``[batch, height, width, in_channels * channel_multiplier]``; channel k gives outputs k * multiplier and on.
    """
    attrs = _attrs(strides, padding, data_format, dilations, 2)
    return add_op("DepthwiseConv2dNative", _operands(input, filter), attrs, name)


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any, filter: Any, out_backprop: Any, strides: Any, padding: Any, data_format: Any = "NHWC",
    dilations: Any = _ONES[4], name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``depthwise_conv2d_native`` with respect to its input."""
    attrs = _attrs(strides, padding, data_format, dilations, 2) | {"depthwise": True}
    return add_op("DepthwiseConv2dNativeBackpropInput", _with_sizes(input_sizes, filter, out_backprop, 0), attrs, name)


def depthwise_conv2d_native_backprop_filter(
    input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any, data_format: Any = "NHWC",
    dilations: Any = _ONES[4], name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of ``depthwise_conv2d_native`` with respect to its filter."""
    attrs = _attrs(strides, padding, data_format, dilations, 2) | {"depthwise": True}
    return add_op("DepthwiseConv2dNativeBackpropFilter", _with_sizes(filter_sizes, input, out_backprop, 1), attrs, name)


def spread_over(data_format: str, values: Sequence[int]) -> tuple[int, ...]:
    """Spatial settings as a setting per dimension of the layout, 1 for batch and channels."""
    entries = iter(values)
    return tuple(1 if letter in "NC" else int(next(entries)) for letter in data_format)


def setting(value: Any, rank: int, data_format: str, what: str) -> tuple[int, ...]:
    """A window, stride or dilation per dimension of the layout: given as one number, one per spatial one, or all."""
    entries = [int(v) for v in (value if np.iterable(value) else [value])]
    if len(entries) == 1:
        entries *= rank
    if len(entries) == rank:
        return spread_over(data_format, entries)
    if len(entries) == rank + 2:
        return tuple(entries)
    raise ValueError(f"Expected {what} of 1, {rank} or {rank + 2} integers, got {entries}.")


def _rates(rate: Any, rank: int, what: str) -> tuple[int, ...]:
    if rate is None:
        return (1,) * rank
    values = tuple(int(v) for v in (rate if np.ndim(rate) else [rate] * rank))
    if len(values) != rank or any(v < 1 for v in values):
        raise ValueError(f"Expected {rank} positive {what}, got {list(values)}.")
    return values


def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, rate: Any = None, name: str | None = None,
    data_format: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """``depthwise_conv2d_native`` with dilation.

    Args:
      dilations: two integers, the distance between the filter's taps; ``rate`` is an old name.

    Raises:
      ValueError: a dilation and a stride above 1 together.
    """
    rate = one_of(dilations, rate, "dilations", "rate")
    layout = check_format(data_format, 2)
    rates = _rates(rate, 2, "rates")
    if max(rates) > 1 and max(strides) > 1:
        raise ValueError(f"strides > 1 cannot be combined with rate > 1: got strides {list(strides)}, rate {rate}.")
    return depthwise_conv2d_native(
        input, filter, strides, padding, layout, spread_over(layout, rates), name or "depthwise"
    )


def separable_conv2d(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any, rate: Any = None,
    name: str | None = None, data_format: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A depthwise convolution, and a 1 x 1 convolution that mixes its channels.

    Args:
      dilations: two integers, the distance between the depthwise filter's taps; ``rate`` is an old name.
      depthwise_filter: ``[height, width, in_channels, channel_multiplier]``.
      pointwise_filter: ``[1, 1, channel_multiplier * in_channels, out_channels]``.
    """
    rate, layout = one_of(dilations, rate, "dilations", "rate"), check_format(data_format, 2)
    with get_default_graph().name_scope(name or "separable_conv2d") as scope:
        pointwise = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        if pointwise.dims is not None and any(d not in (1, None) for d in pointwise.dims[:2]):
            raise ValueError(f"Expected a pointwise_filter of shape [1, 1, in, out], got {pointwise.shape}.")
        made = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, "depthwise", layout)
        return conv2d(made, pointwise, (1, 1, 1, 1), "VALID", True, layout, (1, 1, 1, 1), scope)


def _space_rank(input: Tensor, filter: Tensor) -> int:
    for tensor in (filter, input):
        if tensor.dims is not None:
            return len(tensor.dims) - 2
    raise ValueError("The rank of the input or of the filter must be known to choose the convolution; use set_shape.")


def convolution(
    input: Any, filter: Any, padding: Any, strides: Any = None, dilation_rate: Any = None, name: str | None = None,
    data_format: Any = None, filters: Any = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """A convolution of one to three spatial dimensions.

    Args:
      input: ``[batch, *space, in_channels]`` or as ``data_format`` says.
      filters: ``[*space, in_channels, out_channels]``; ``filter`` is an old name.
      strides, dilations: one integer, one per spatial dimension, or one per dimension, 1 by default; not both above 1.
        ``dilation_rate`` is an old name.
    """
    filter = one_of(filters, filter, "filters", "filter")
    check_given("convolution", filters=filter)
    x, w = _operands(input, filter)
    rank = _space_rank(x, w)
    if rank not in _LAST:
        raise ValueError(f"Expected 1, 2 or 3 spatial dimensions, got {rank} (filter {w.shape}).")
    layout = check_format(data_format, rank)
    attrs = _attrs(strides, padding, layout, one_of(dilations, dilation_rate, "dilations", "dilation_rate"), rank)
    if max(attrs["strides"]) > 1 and max(attrs["dilations"]) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1.")
    return add_op(f"Conv{rank}D", (x, w), attrs, name or "convolution")


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: Any, name: str | None = None) -> Tensor:
    """``conv2d`` whose filter's taps are ``rate`` apart."""
    if rate < 1:
        raise ValueError(f"Expected a positive rate, got {rate}.")
    return convolution(value, filters, padding, None, [rate, rate], name)
