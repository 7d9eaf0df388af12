"""Fully connected layers, dropout, flattening."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.shapes import TensorShape, as_shape, size_at
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.linalg import products
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.models.layers import layer_arguments
from towerstrat.models.layers.layer import InputSpec, Layer
from towerstrat.models.layers.training_phase import choose


class Dense(Layer):
    """``activation(inputs @ kernel + bias)`` over the last dimension.

    Args:
      units: the size of the output's last dimension.
      activation: a function, its name, or None.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
        kernel_constraint, bias_constraint: functions, or None.
      trainable, name: as of ``Layer``.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer(),
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = layer_arguments.activation(activation)
        self.use_bias = use_bias
        self.kernel_initializer = layer_arguments.initializer(kernel_initializer)
        self.bias_initializer = layer_arguments.initializer(bias_initializer)
        self.kernel_regularizer = layer_arguments.regularizer(kernel_regularizer)
        self.bias_regularizer = layer_arguments.regularizer(bias_regularizer)
        self.kernel_constraint = layer_arguments.constraint(kernel_constraint)
        self.bias_constraint = layer_arguments.constraint(bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        size = size_at(input_shape, -1)
        if size is None:
            raise ValueError(
                f"The last dimension of the inputs to `Dense` should be defined, got {as_shape(input_shape)} "
                f"(layer {self.name}). Use set_shape."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            shape=[size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                trainable=True,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank > 2:
            outputs = products.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        else:
            outputs = products.matmul(inputs, self.kernel)
        if self.use_bias:
            outputs = misc.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape).with_rank_at_least(2)
        if size_at(shape, -1) is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {shape}.")
        return shape[:-1].concatenate(self.units)

    def get_config(self) -> dict[str, Any]:
        names = ("kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer",
                 "activity_regularizer", "kernel_constraint", "bias_constraint")  # fmt: skip
        config = {"units": self.units, "activation": layer_arguments.described(self.activation) or "linear"}
        config |= {"use_bias": self.use_bias} | {n: layer_arguments.described(getattr(self, n)) for n in names}
        return super().get_config() | config


def dense(
    inputs: Any,
    units: int,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = zeros_initializer(),
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """The output of a ``Dense`` layer: ``[..., n]`` to ``[..., units]``; ``reuse=True`` shares ``name``'s variables."""
    layer = Dense(
        units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
        activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse,
        dtype=getattr(inputs, "dtype", None),
    )  # fmt: skip
    return layer.apply(inputs)


class Dropout(Layer):
    """While training, sets a fraction of the elements to zero and scales the others up.

    Args:
      rate: the fraction that is dropped; a number or a scalar tensor.
      noise_shape: the shape of the mask, broadcast to the inputs'; None entries take the inputs' sizes.
      seed: of the random numbers.
    """

    def __init__(
        self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, name: str | None = None, **kwargs: Any
    ):
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = False) -> Any:
        return choose(training, lambda: self._dropped(inputs), lambda: arrays.identity(inputs))

    def _dropped(self, inputs: Any) -> Any:
        return misc.dropout(inputs, 1 - self.rate, noise_shape=self._noise_shape(inputs), seed=self.seed)

    def _noise_shape(self, inputs: Any) -> Any:
        shape = self.noise_shape
        if shape is None or not isinstance(shape, list | tuple) or None not in shape:
            return shape
        sizes = arrays.shape(inputs)
        known = inputs.shape.as_list()
        return [(known[i] if known[i] is not None else sizes[i]) if d is None else d for i, d in enumerate(shape)]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """The output of a ``Dropout`` layer; ``training`` is a bool or a scalar bool tensor."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(inputs, training=training)


class Flatten(Layer):
    """``[batch, ...]`` to ``[batch, product of the rest]``.

    Args:
      data_format: "channels_first" moves the channels behind the rest before.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = layer_arguments.data_format(data_format)
        self.input_spec = InputSpec(min_ndim=2)

    def call(self, inputs: Any) -> Any:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank > 2:
            inputs = arrays.transpose(inputs, [0, *range(2, rank), 1])
        shape = self.compute_output_shape(inputs.shape)
        batch, size = shape.as_list()
        outputs = arrays.reshape(
            inputs, (arrays.shape(inputs)[0] if batch is None else batch, -1 if size is None else size)
        )
        outputs.set_shape(shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        batch, *rest = as_shape(input_shape).as_list()
        return TensorShape([batch, None if None in rest else int(np.prod(rest))])  # type: ignore[arg-type]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"data_format": self.data_format}


def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """The output of a ``Flatten`` layer: ``[batch, ...]`` to ``[batch, product of the rest]``."""
    return Flatten(name=name, data_format=data_format).apply(inputs)
