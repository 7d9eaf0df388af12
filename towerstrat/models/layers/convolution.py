"""Convolution layers, and separable ones."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.shapes import TensorShape, as_shape, size_at
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.array import padding as spatial
from towerstrat.graph.ops.nn import convolution, misc
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.models.layers import layer_arguments
from towerstrat.models.layers.layer import InputSpec, Layer

_FUNCTIONS = ("kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer",
              "activity_regularizer", "kernel_constraint", "bias_constraint")  # fmt: skip


class Convolution(Layer):
    """``activation(convolution(inputs, kernel) + bias)``: what the layers of one to three dimensions have in common.

    Args:
      rank: the number of spatial dimensions.
      filters: the number of output channels.
      kernel_size, strides, dilation_rate: an integer, or one per spatial dimension.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      activation: a function, its name, or None.
      use_bias: whether there is a bias.
      kernel_initializer, ...: functions, or None.
    """

    functions: tuple[str, ...] = _FUNCTIONS

    def __init__(
        self, rank: int, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
        trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        given = {n: kwargs.pop(n, None) for n in self.functions}
        super().__init__(trainable, name, activity_regularizer=given.pop("activity_regularizer"), **kwargs)
        self.rank = rank
        self.filters = int(filters)
        self.kernel_size = layer_arguments.sizes(kernel_size, rank, "kernel_size")
        self.strides = layer_arguments.sizes(strides, rank, "strides")
        self.padding = layer_arguments.padding(padding, causal=rank == 1)
        self.data_format = layer_arguments.data_format(data_format)
        self.dilation_rate = layer_arguments.sizes(dilation_rate, rank, "dilation_rate")
        self.activation = layer_arguments.activation(activation)
        self.use_bias = use_bias
        for attribute, value in given.items():
            kind = attribute.rsplit("_", 1)[1]
            setattr(self, attribute, getattr(layer_arguments, kind)(value))
        self.input_spec = InputSpec(ndim=rank + 2)
        self.bias: Any = None

    @property
    def layout(self) -> str:
        """The operations' name of the data format: "NHWC" and so on."""
        return layer_arguments.layout(self.data_format, self.rank)

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self._make_kernels(channels)
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))
        self.built = True

    def _channels(self, input_shape: Any) -> int:
        axis = layer_arguments.channel_axis(self.data_format)
        shape = as_shape(input_shape)
        channels = size_at(shape, axis)
        if channels is None:
            raise ValueError(
                f"The channel dimension of the inputs should be defined, got {shape} (layer {self.name}, "
                f"{self.data_format}). Use set_shape."
            )
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        return channels

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self._weight("kernel", (*self.kernel_size, channels, self.filters))

    def _weight(self, name: str, shape: Any, kind: str | None = None) -> Any:
        kind = kind or name
        return self.add_weight(
            name,
            shape=shape,
            initializer=getattr(self, f"{kind}_initializer"),
            regularizer=getattr(self, f"{kind}_regularizer"),
            constraint=getattr(self, f"{kind}_constraint"),
            trainable=True,
        )

    def call(self, inputs: Any) -> Any:
        if self.padding == "causal":
            inputs = self._padded(inputs)
        how = "VALID" if self.padding == "causal" else self.padding.upper()
        if self.rank == 1:
            with get_default_graph().name_scope("conv1d"):
                outputs = self._convolved(inputs, how, "Squeeze")
        else:
            outputs = self._convolved(inputs, how, f"Conv{self.rank}D")
        return self._finished(outputs)

    def _convolved(self, inputs: Any, how: str, name: str) -> Any:
        return convolution.convolution(inputs, self.kernel, how, self.strides, self.dilation_rate, name, self.layout)

    def _padded(self, inputs: Any) -> Any:
        """Zeros before the first step, so that no output sees a later input."""
        left = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
        return spatial.pad(
            inputs, [[0, 0], left, [0, 0]] if self.data_format == "channels_last" else [[0, 0], [0, 0], left]
        )

    def _finished(self, outputs: Any) -> Any:
        if self.use_bias:
            outputs = self._biased(outputs)
        return outputs if self.activation is None else self.activation(outputs)

    def _biased(self, outputs: Any) -> Any:
        if self.data_format == "channels_last":
            return misc.bias_add(outputs, self.bias)
        if outputs.shape.ndims == 4:
            return misc.bias_add(outputs, self.bias, data_format="NCHW")
        return outputs + arrays.reshape(self.bias, (1, self.filters, *[1] * self.rank))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        batch, *rest = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        space = rest[:-1] if self.data_format == "channels_last" else rest[1:]
        how = "same" if self.padding == "causal" else self.padding
        made = [
            layer_arguments.window_length(size, window, how, stride, dilation)
            for size, window, stride, dilation in zip(
                space, self.kernel_size, self.strides, self.dilation_rate, strict=True
            )
        ]
        return TensorShape(
            [batch, *made, self.filters] if self.data_format == "channels_last" else [batch, self.filters, *made]
        )

    def get_config(self) -> dict[str, Any]:
        plain = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "use_bias")
        config: dict[str, Any] = {n: getattr(self, n) for n in plain}
        config["activation"] = layer_arguments.described(self.activation) or "linear"
        config |= {n: layer_arguments.described(getattr(self, n)) for n in self.functions}
        return super().get_config() | config


def applied(layer: type[Layer], given: dict[str, Any]) -> Any:
    """The output of a layer on ``inputs``, made with the other arguments of a function like ``conv2d``."""
    inputs, reuse = given.pop("inputs"), given.pop("reuse")
    return layer(**given, _reuse=reuse, _scope=given["name"]).apply(inputs)


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an ``__init__`` from its ``locals()``, to be passed on by name."""
    more = given.pop("kwargs")
    return {k: v for k, v in given.items() if k not in ("self", "__class__")} | more


class Conv1D(Convolution):
    """A convolution over ``[batch, steps, channels]``; ``padding="causal"`` too. Arguments as of ``Convolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(1, **arguments(locals()))


class Conv2D(Convolution):
    """A convolution over ``[batch, height, width, channels]``. Arguments as of ``Convolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = (1, 1), activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(2, **arguments(locals()))


class Conv3D(Convolution):
    """A convolution over ``[batch, depth, height, width, channels]``. Arguments as of ``Convolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = (1, 1, 1), activation: Any = None,
        use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(),
        kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
        **kwargs: Any,
    ):  # fmt: skip
        super().__init__(3, **arguments(locals()))


class SeparableConvolution(Convolution):
    """A filter of its own for each input channel, then a 1 x 1 convolution that mixes the channels.

    Args:
      depth_multiplier: filters per input channel.
    """

    functions = ("depthwise_initializer", "pointwise_initializer", "bias_initializer", "depthwise_regularizer",
                 "pointwise_regularizer", "bias_regularizer", "activity_regularizer", "depthwise_constraint",
                 "pointwise_constraint", "bias_constraint")  # fmt: skip

    def __init__(self, rank: int, depth_multiplier: int = 1, **kwargs: Any):
        super().__init__(rank, **kwargs)
        self.depth_multiplier = depth_multiplier

    def _make_kernels(self, channels: int) -> None:
        made = channels * self.depth_multiplier
        depthwise = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._weight("depthwise_kernel", depthwise, "depthwise")
        self.pointwise_kernel = self._weight("pointwise_kernel", (*[1] * self.rank, made, self.filters), "pointwise")

    def _separated(self, inputs: Any, kernels: Any, strides: Any, how: str, rate: Any) -> Any:
        layout = layer_arguments.layout(self.data_format, 2)
        depthwise, pointwise = kernels
        strides = convolution.spread_over(layout, strides)
        return convolution.separable_conv2d(inputs, depthwise, pointwise, strides, how, rate, None, layout)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"depth_multiplier": self.depth_multiplier}


class SeparableConv1D(SeparableConvolution):
    """A separable convolution over ``[batch, steps, channels]``. Arguments as of ``SeparableConvolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None,
        use_bias: bool = True, depthwise_initializer: Any = None, pointwise_initializer: Any = None,
        bias_initializer: Any = zeros_initializer(), depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(1, **arguments(locals()))

    def call(self, inputs: Any) -> Any:
        how = self.padding.upper()
        if self.padding == "causal":
            inputs, how = self._padded(inputs), "VALID"
        space = 1 if self.data_format == "channels_last" else 2
        kernels = [arrays.expand_dims(k, 0) for k in (self.depthwise_kernel, self.pointwise_kernel)]
        made = self._separated(
            arrays.expand_dims(inputs, space), kernels, self.strides * 2, how, (1, *self.dilation_rate)
        )
        made = arrays.squeeze(self._biased(made) if self.use_bias else made, [space])
        return made if self.activation is None else self.activation(made)


class SeparableConv2D(SeparableConvolution):
    """A separable convolution over ``[batch, height, width, channels]``. Arguments as of ``SeparableConvolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = (1, 1), depth_multiplier: int = 1,
        activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = None,
        pointwise_initializer: Any = None, bias_initializer: Any = zeros_initializer(),
        depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(2, **arguments(locals()))

    def call(self, inputs: Any) -> Any:
        kernels = [self.depthwise_kernel, self.pointwise_kernel]
        made = self._separated(inputs, kernels, self.strides, self.padding.upper(), self.dilation_rate)
        return self._finished(made)


def conv1d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
    kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    bias_constraint: Any = None, trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``Conv1D`` layer: ``[batch, steps, channels]`` to ``[batch, new steps, filters]``."""
    return applied(Conv1D, locals())


def conv2d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1), activation: Any = None, use_bias: bool = True,
    kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    bias_constraint: Any = None, trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``Conv2D`` layer: ``[batch, height, width, channels]`` to ``[..., filters]``."""
    return applied(Conv2D, locals())


def conv3d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1, 1), activation: Any = None, use_bias: bool = True,
    kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    bias_constraint: Any = None, trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``Conv3D`` layer: ``[batch, depth, height, width, channels]`` to ``[..., filters]``."""
    return applied(Conv3D, locals())


def separable_conv1d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = 1, depth_multiplier: int = 1, activation: Any = None,
    use_bias: bool = True, depthwise_initializer: Any = None, pointwise_initializer: Any = None,
    bias_initializer: Any = zeros_initializer(), depthwise_regularizer: Any = None, pointwise_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None,
    pointwise_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
    reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``SeparableConv1D`` layer."""
    return applied(SeparableConv1D, locals())


def separable_conv2d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1), depth_multiplier: int = 1, activation: Any = None,
    use_bias: bool = True, depthwise_initializer: Any = None, pointwise_initializer: Any = None,
    bias_initializer: Any = zeros_initializer(), depthwise_regularizer: Any = None, pointwise_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, depthwise_constraint: Any = None,
    pointwise_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
    reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``SeparableConv2D`` layer."""
    return applied(SeparableConv2D, locals())
