"""Pooling layers."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.nn import convolution, pooling
from towerstrat.models.layers import layer_arguments
from towerstrat.models.layers.layer import InputSpec, Layer


class Pooling(Layer):
    """The largest element or the mean of each window: what the layers of one to three dimensions have in common.

    Args:
      pool_size, strides: an integer, or one per spatial dimension.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
    """

    rank: int
    largest: bool

    def __init__(
        self, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
        name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.pool_size = layer_arguments.sizes(pool_size, self.rank, "pool_size")
        if strides is None:
            raise ValueError("Argument `strides` must not be None; pass pool_size again for windows side by side.")
        self.strides = layer_arguments.sizes(strides, self.rank, "strides")
        self.padding = layer_arguments.padding(padding)
        self.data_format = layer_arguments.data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Any) -> Any:
        if self.rank == 3:
            return self._pooled(inputs, pooling.max_pool3d if self.largest else pooling.avg_pool3d, 3)
        function = pooling.max_pool if self.largest else pooling.avg_pool
        if self.rank == 2:
            return self._pooled(inputs, function, 2)
        space = 1 if self.data_format == "channels_last" else 2
        return arrays.squeeze(self._pooled(arrays.expand_dims(inputs, space), function, 2), [space])

    def _pooled(self, inputs: Any, function: Any, rank: int) -> Any:
        layout = layer_arguments.layout(self.data_format, rank)
        ones = (1,) * (rank - self.rank)
        window = convolution.spread_over(layout, (*ones, *self.pool_size))
        strides = convolution.spread_over(layout, (*ones, *self.strides))
        return function(inputs, window, strides, self.padding.upper(), layout)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        batch, *rest = as_shape(input_shape).with_rank(self.rank + 2).as_list()
        last = self.data_format == "channels_last"
        space, channels = (rest[:-1], rest[-1]) if last else (rest[1:], rest[0])
        made = [
            layer_arguments.window_length(size, window, self.padding, stride)
            for size, window, stride in zip(space, self.pool_size, self.strides, strict=True)
        ]
        return TensorShape([batch, *made, channels] if last else [batch, channels, *made])

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {n: getattr(self, n) for n in ("pool_size", "strides", "padding", "data_format")}


class MaxPooling1D(Pooling):
    """The largest of each window of ``[batch, steps, channels]``."""

    rank = 1
    largest = True


class MaxPooling2D(Pooling):
    """The largest of each window of ``[batch, height, width, channels]``."""

    rank = 2
    largest = True


class MaxPooling3D(Pooling):
    """The largest of each window of ``[batch, depth, height, width, channels]``."""

    rank = 3
    largest = True


class AveragePooling1D(Pooling):
    """The mean of each window of ``[batch, steps, channels]``."""

    rank = 1
    largest = False


class AveragePooling2D(Pooling):
    """The mean of each window of ``[batch, height, width, channels]``."""

    rank = 2
    largest = False


class AveragePooling3D(Pooling):
    """The mean of each window of ``[batch, depth, height, width, channels]``."""

    rank = 3
    largest = False


def max_pooling1d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The output of a ``MaxPooling1D`` layer."""
    return MaxPooling1D(pool_size, strides, padding, data_format, name).apply(inputs)


def max_pooling2d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The output of a ``MaxPooling2D`` layer."""
    return MaxPooling2D(pool_size, strides, padding, data_format, name).apply(inputs)


def max_pooling3d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The output of a ``MaxPooling3D`` layer."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name).apply(inputs)


def average_pooling1d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The output of an ``AveragePooling1D`` layer."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name).apply(inputs)


def average_pooling2d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The output of an ``AveragePooling2D`` layer."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name).apply(inputs)


def average_pooling3d(
    inputs: Any, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
    name: str | None = None,
) -> Any:  # fmt: skip
    """The output of an ``AveragePooling3D`` layer."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name).apply(inputs)
