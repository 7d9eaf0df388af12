"""Layers of neural networks as functions, with the arguments of 2.x."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.given_arguments import refuse
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.nn import activations, convolution, cross_entropy, embedding, misc, normalization, pooling
from towerstrat.graph.ops.nn.convolution import check_format, padded, setting

# ---- activations and losses --------------------------------------------------------------------------------------


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """exp(logits) that sum to 1 along ``axis`` (the last one by default)."""
    return activations.softmax(logits, axis, name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The logarithm of ``softmax``, without overflow."""
    return activations.log_softmax(logits, axis, name)


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """The positive part and the negative part side by side: twice as many channels."""
    return activations.crelu(features, name, axis)


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None) -> Tensor:
    """Each element 0 with probability ``rate``, otherwise divided by ``1 - rate``.

    Args:
      rate: a number in [0, 1), or a scalar tensor of ``x``'s type.
      noise_shape: the shape of the flags that decide, broadcast over ``x``; 1 where elements share one.

    Raises:
      ValueError: a rate outside [0, 1), or an ``x`` that is not floating.
    """
    if isinstance(rate, int | float) and not 0 <= rate < 1:
        raise ValueError(f"Expected a rate in [0, 1), got {rate}.")
    return misc.dropout(x, 1 - rate, noise_shape, seed, name)


def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """``-sum(labels * log_softmax(logits))`` along ``axis``, for each example. Gradients reach labels as well."""
    return cross_entropy.softmax_cross_entropy_with_logits_v2(labels, logits, axis, name)


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """``-log_softmax(logits)[label]`` for each example; labels are integers, classes are last."""
    return cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """``-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits))``, element by element."""
    return cross_entropy.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any, name: str | None = None) -> Tensor:
    """The sigmoid cross entropy, positive labels weighing ``pos_weight`` times as much."""
    return cross_entropy.weighted_cross_entropy_with_logits(labels, logits, pos_weight, name)


def embedding_lookup(params: Any, ids: Any, max_norm: float | None = None, name: str | None = None) -> Tensor:
    """The rows ``ids`` of one table, or of a list of tables that hold consecutive parts of it."""
    return embedding.embedding_lookup(params, ids, "div", name, max_norm=max_norm)


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, combiner: str | None = None, max_norm: float | None = None,
    name: str | None = None, allow_fast_lookup: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of a table, looked up by an example's ids and combined to one. ``allow_fast_lookup`` changes nothing."""
    return embedding.embedding_lookup_sparse(params, sp_ids, sp_weights, "div", name, combiner, max_norm)


# ---- normalization -----------------------------------------------------------------------------------------------


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, variance) over dimensions. ``shift`` changes nothing, as in the original."""
    return normalization.moments(x, axes, shift, name, keepdims)


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, variance) over dimensions, each element counted ``frequency_weights`` times."""
    return normalization.weighted_moments(x, axes, frequency_weights, name, keepdims)


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """(count, sum, sum of squares, shift): what ``normalize_moments`` makes mean and variance of."""
    return normalization.sufficient_statistics(x, axes, shift, keepdims, name)


def batch_norm_with_global_normalization(
    input: Any, mean: Any, variance: Any, beta: Any, gamma: Any, variance_epsilon: float,
    scale_after_normalization: bool, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``batch_normalization`` in its oldest form; ``gamma`` counts only with ``scale_after_normalization``."""
    return normalization.batch_norm_with_global_normalization(
        input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name
    )


# ---- convolutions ------------------------------------------------------------------------------------------------


def conv1d(
    input: Any, filters: Any, stride: Any, padding: Any, data_format: Any = "NWC", dilations: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A 1-D convolution: ``[batch, width, channels]`` by ``[width, in_channels, out_channels]``.

    Args:
      stride, dilations: an integer, or a list of one or three.
      padding: "SAME", "VALID", or a (before, after) pair per dimension.
    """
    layout = check_format(data_format, 1)
    input, padding = padded(input, padding)
    return convolution.convolution(input, filters, padding, stride, dilations, name or "conv1d", layout)


def conv2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: Any = "NHWC", dilations: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A 2-D convolution: ``[batch, height, width, channels]`` by ``[height, width, in_channels, out_channels]``.

    Args:
      strides, dilations: one integer, two (height, width), or four in the order of ``data_format``.
      padding: "SAME", "VALID", or a (before, after) pair per dimension.
    """
    return convolution.conv2d(input, filters, strides, padding, True, data_format, dilations, name)


def conv3d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: Any = "NDHWC", dilations: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A 3-D convolution; ``strides`` and ``dilations`` are one, three or five integers."""
    return convolution.conv3d(input, filters, strides, padding, data_format, dilations, name)


def conv1d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str = "NWC",
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """What ``conv1d``'s gradient does to its output: ``conv2d_transpose`` with a height of 1."""
    layout = check_format(data_format, 1)
    space, high = layout.index("W"), layout.index("W")
    steps = setting(strides, 1, layout, "strides")
    rates = setting(dilations or 1, 1, layout, "dilations")
    with get_default_graph().name_scope(name or "conv1d_transpose") as scope:
        sizes = arrays.concat([output_shape[:high], [1], output_shape[high:]], 0)
        made = convolution.transposed(
            arrays.expand_dims(input, space), arrays.expand_dims(filters, 0), sizes,
            (*steps[:high], 1, *steps[high:]), padding, layout.replace("W", "HW"), "conv2d_transpose", rank=2,
            dilations=(*rates[:high], 1, *rates[high:]),
        )  # fmt: skip
        return arrays.squeeze(made, [space], name=scope)


def conv2d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str = "NHWC",
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """What ``conv2d``'s gradient does to its output ("deconvolution").

    Args:
      filters: ``[height, width, out_channels, in_channels]``.
      output_shape: four integers or an integer tensor.
      strides: one integer, two, or four in the order of ``data_format``.
    """
    return convolution.conv2d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )  # fmt: skip


def conv3d_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str = "NDHWC",
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``conv2d_transpose`` with a depth."""
    return convolution.conv3d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )  # fmt: skip


_TRANSPOSED = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}


def conv_transpose(
    input: Any, filters: Any, output_shape: Any, strides: Any, padding: str = "SAME", data_format: str | None = None,
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """``conv1d_transpose``, ``conv2d_transpose`` or ``conv3d_transpose``, as many dimensions as ``filters`` has."""
    weights = convert_to_tensor(filters, name="filters")
    rank = 0 if weights.dims is None else len(weights.dims) - 2
    if rank not in _TRANSPOSED:
        raise ValueError(f"Expected filters of rank 3, 4 or 5, got shape {weights.shape}.")
    layout = check_format(data_format, rank)
    return _TRANSPOSED[rank](input, weights, output_shape, strides, padding, layout, dilations, name)


def convolution_(
    input: Any, filters: Any, strides: Any = None, padding: str = "VALID", data_format: str | None = None,
    dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A convolution of one to three spatial dimensions; ``strides`` and ``dilations`` are one integer for each."""
    rank = len(convert_to_tensor(filters).shape) - 2
    x = convert_to_tensor(input)
    if x.dims is None or len(x.dims) <= rank + 2:
        return convolution.convolution(x, filters, padding, strides, dilations, name, data_format)
    # Further dimensions in front are those of the batch.
    front, sizes = len(x.dims) - rank - 1, arrays.shape(x)
    flat = arrays.reshape(x, arrays.concat([[-1], sizes[front:]], 0))
    flat.set_shape([None, *x.dims[front:]])
    made = convolution.convolution(flat, filters, padding, strides, dilations, name, data_format)
    found = arrays.reshape(made, arrays.concat([sizes[:front], arrays.shape(made)[1:]], 0))
    found.set_shape([*x.dims[:front], *(made.dims or ())[1:]])
    return found


def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, data_format: str | None = None, dilations: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A filter of its own for each channel. ``dilations``: two integers, the distance between the filter's taps."""
    input, padding = padded(input, padding)
    return convolution.depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


def separable_conv2d(
    input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any,
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A depthwise convolution, and a 1 x 1 convolution that mixes its channels."""
    input, padding = padded(input, padding)
    return convolution.separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, dilations, name, data_format
    )


def dilation2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str, dilations: Any, name: str | None = None
) -> Tensor:
    """Grayscale dilation: the largest of ``input + filters`` over each window."""
    refuse("tf.nn.dilation2d", "Transpose the input.", data_format=(data_format, "NHWC"))
    return pooling.dilation2d(input, filters, strides, dilations, padding, name)


# ---- pooling -----------------------------------------------------------------------------------------------------


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The largest element of each window of ``[batch, width, channels]``."""
    return pooling.max_pool_v2(input, ksize, strides, padding, check_format(data_format, 1), name)


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The largest element of each window of ``[batch, height, width, channels]``."""
    return pooling.max_pool_v2(input, ksize, strides, padding, check_format(data_format, 2), name)


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The mean of each window of ``[batch, width, channels]``."""
    return pooling.avg_pool_v2(input, ksize, strides, padding, check_format(data_format, 1), name)


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The mean of each window of ``[batch, height, width, channels]``."""
    return pooling.avg_pool_v2(input, ksize, strides, padding, check_format(data_format, 2), name)


def max_pool_with_argmax(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", output_dtype: Any = int64,
    include_batch_in_index: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """(the largest of each window, its index in the flattened image, or in all of them)."""
    return pooling.max_pool_with_argmax(
        input, ksize, strides, padding, output_dtype, name, data_format, include_batch_in_index=include_batch_in_index
    )  # fmt: skip


def pool(
    input: Any, window_shape: Any, pooling_type: str, strides: Any = None, padding: str = "VALID",
    data_format: str | None = None, dilations: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Pooling ("MAX" or "AVG") over one to three spatial dimensions, one integer for each in the settings."""
    return pooling.pool(input, window_shape, pooling_type, padding, dilations, strides, name, data_format)
