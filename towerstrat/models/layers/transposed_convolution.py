"""Transposed convolution layers ("deconvolution")."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.nn import convolution
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.models.layers import layer_arguments
from towerstrat.models.layers.convolution import Convolution, applied, arguments


class Transposed(Convolution):
    """The transpose of a convolution: what the gradient of one does to its output."""

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self._weight("kernel", (*self.kernel_size, self.filters, channels))

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        if shape.ndims != self.rank + 2:
            raise ValueError(f"Inputs should have rank {self.rank + 2}, received input shape: {shape}.")
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        inputs = convert_to_tensor(inputs)
        wanted = self.compute_output_shape(inputs.shape)
        sizes: Any = wanted.as_list()
        if not wanted.is_fully_defined():
            given = arrays.shape(inputs)
            sizes = arrays.stack([given[0], *self._arranged(self._unwound([given[i] for i in self._space()]))])
        function = convolution.conv2d_transpose if self.rank == 2 else convolution.conv3d_transpose
        layout = self.layout
        strides = convolution.spread_over(layout, self.strides)
        outputs = function(inputs, self.kernel, sizes, strides, self.padding.upper(), layout)
        outputs.set_shape(wanted)
        return self._finished(outputs)

    def _space(self) -> list[int]:
        first = 1 if self.data_format == "channels_last" else 2
        return list(range(first, first + self.rank))

    def _unwound(self, sizes: list[Any]) -> list[Any]:
        return [
            layer_arguments.unwound_length(size, window, self.padding, stride)
            for size, window, stride in zip(sizes, self.kernel_size, self.strides, strict=True)
        ]

    def _arranged(self, space: list[Any]) -> list[Any]:
        return [*space, self.filters] if self.data_format == "channels_last" else [self.filters, *space]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        given = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        return TensorShape([given[0], *self._arranged(self._unwound([given[i] for i in self._space()]))])

    def get_config(self) -> dict[str, Any]:
        return {k: v for k, v in super().get_config().items() if k != "dilation_rate"}


class Conv2DTranspose(Transposed):
    """A transposed convolution over ``[batch, height, width, channels]``. Arguments as of ``Convolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str = "channels_last", activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(2, **arguments(locals()))


class Conv3DTranspose(Transposed):
    """A transposed convolution over ``[batch, depth, height, width, channels]``. Arguments as of ``Convolution``."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
        data_format: str = "channels_last", activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(3, **arguments(locals()))


def conv2d_transpose(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
    bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None, bias_regularizer: Any = None,
    activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
    trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``Conv2DTranspose`` layer."""
    return applied(Conv2DTranspose, locals())


def conv3d_transpose(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: str = "channels_last", activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
    bias_initializer: Any = zeros_initializer(), kernel_regularizer: Any = None, bias_regularizer: Any = None,
    activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
    trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``Conv3DTranspose`` layer."""
    return applied(Conv3DTranspose, locals())
