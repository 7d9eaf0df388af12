"""Colour spaces, and adjusting brightness, contrast, hue, saturation and gamma."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, DType, float16, float32, float64, int32, uint8
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.numpy_kernels import form
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.control.branches import with_dependencies
from towerstrat.graph.ops.images import color_kernels
from towerstrat.graph.ops.images.codecs import decode_jpeg, encode_jpeg_variable_quality
from towerstrat.graph.ops.images.dtype_conversion import as_floats, convert_image_dtype
from towerstrat.graph.ops.images.image_shapes import checked, ensure, is_tensor
from towerstrat.graph.ops.linalg.products import tensordot
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.math.reductions import reduce_mean, reduce_prod

Inputs = Sequence[Tensor]


def _colors_rule(dtypes: Sequence[DType], smallest: int) -> Callable[[Inputs, Attrs], list[Signature]]:
    """The rule of types that map colours ``[..., 3]``; ``smallest``: dimensions that there must be."""

    def rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
        image = inputs[0]
        _floating(image, dtypes)
        if image.dims is not None:
            _check_colors(image.dims, smallest)
        _check_scalar(inputs)
        return [Signature(image.dtype, image.dims)]

    return rule


def _check_colors(dims: Sequence[int | None], smallest: int) -> None:
    if len(dims) < smallest:
        raise ValueError(f"input must be at least {smallest}-D, got shape {TensorShape(list(dims))}.")
    if dims[-1] not in (None, 3):
        raise ValueError(f"input must have 3 channels in its last dimension, got shape {TensorShape(list(dims))}.")


def _of_colors(kernel: Callable[..., Any], smallest: int) -> Callable[..., Any]:
    """A kernel that refuses what has no colours, where that was not known while the graph was built."""

    def of_colors(image: Array, *amounts: Array, **settings: Any) -> Array:
        _check_colors(image.shape, smallest)
        return kernel(image, *amounts, **settings)

    return of_colors


def _contrast_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    image = inputs[0]
    _floating(image, (float16, float32))
    if image.dims is not None and len(image.dims) < 3:
        raise ValueError(f"input must be at least 3-D, got shape {image.shape}.")
    _check_scalar(inputs)
    return [Signature(image.dtype, image.dims)]


def _floating(image: Tensor, dtypes: Sequence[DType]) -> None:
    if image.dtype not in dtypes:
        raise TypeError(f"Expected an image of {' or '.join(d.name for d in dtypes)}, got {image.dtype.name}. Use "
                        "tf.image.convert_image_dtype.")  # fmt: skip


def _check_scalar(inputs: Inputs) -> None:
    for amount in inputs[1:]:
        if amount.dims not in (None, ()):
            raise ValueError(f"Expected a scalar, got shape {amount.shape}.")


_REAL = (float32, float64, float16)
_ADJUSTED = (float32, float16)
for _type, _rule, _kernel in (
    ("HSVToRGB", _colors_rule(_REAL, 1), _of_colors(color_kernels.hsv_to_rgb, 1)),
    ("AdjustHue", _colors_rule(_ADJUSTED, 3), _of_colors(color_kernels.adjust_hue, 3)),
    ("AdjustSaturation", _colors_rule(_ADJUSTED, 3), _of_colors(color_kernels.adjust_saturation, 3)),
    ("AdjustContrastv2", _contrast_rule, color_kernels.adjust_contrast),
):
    define_op(_type, _rule, _kernel, numpy=form(partial(_kernel, numpy=np)), differentiable=False)
_hsv = _of_colors(color_kernels.rgb_to_hsv, 1)
define_op("RGBToHSV", _colors_rule(_REAL, 1), _hsv, numpy=form(partial(_hsv, numpy=np)))


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of red, green and blue, floats ``[..., 3]`` in [0, 1]."""
    return add_op("RGBToHSV", [convert_to_tensor(images, name="images")], None, name)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value, floats ``[..., 3]`` in [0, 1]. Not differentiable."""
    return add_op("HSVToRGB", [convert_to_tensor(images, name="images")], None, name)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The brightness ``[..., 1]`` of colours ``[..., 3]``."""
    with get_default_graph().name_scope(name or "rgb_to_grayscale") as scope:
        images = convert_to_tensor(images, name="images")
        grey = tensordot(convert_image_dtype(images, float32), [0.2989, 0.587, 0.114], [-1, -1])
        return convert_image_dtype(arrays.expand_dims(grey, -1), images.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Colours ``[..., 3]`` of one brightness ``[..., 1]``."""
    with get_default_graph().name_scope(name or "grayscale_to_rgb") as scope:
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            times = arrays.concat([arrays.ones([arrays.rank(images) - 1], int32), [3]], 0)
            return arrays.tile(images, times, name=scope)
        if images.shape.ndims == 0 or images.shape.as_list()[-1] not in (1, None):
            raise ValueError(f"Last dimension of a grayscale image should be size 1, got shape {images.shape}.")
        return arrays.tile(images, [1] * (images.shape.ndims - 1) + [3], name=scope)


_YIQ = np.array([[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])
_FROM_YIQ = np.array([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
_YUV = np.array([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])
_FROM_YUV = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def _by_matrix(images: Any, matrix: Any) -> Tensor:
    images = convert_to_tensor(images, name="images")
    if images.shape.ndims is None:
        raise TypeError("The rank of the images must be known.")
    weights = convert_to_tensor(matrix.astype(images.dtype.np), name="kernel")
    return tensordot(images, weights, [[images.shape.ndims - 1], [0]])


def rgb_to_yiq(images: Any) -> Tensor:
    """Brightness and two differences of colours (NTSC), floats ``[..., 3]``."""
    return _by_matrix(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """Undoes ``rgb_to_yiq``."""
    return _by_matrix(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Brightness and two differences of colours (PAL), floats ``[..., 3]``."""
    return _by_matrix(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """Undoes ``rgb_to_yuv``."""
    return _by_matrix(images, _FROM_YUV)


# ---- adjusting ---------------------------------------------------------------------------------------------------


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """An image plus ``delta``, in the scale where the whole range of integers is [0, 1]."""
    with get_default_graph().name_scope("adjust_brightness") as scope:
        image = convert_to_tensor(image, name="image")
        floats = as_floats(image)
        brighter = arithmetic.add(floats, arithmetic.cast(delta, floats.dtype), name=scope)
        return convert_image_dtype(brighter, image.dtype, saturate=True)


def _adjusted(type: str, image: Any, amount: Any, scope: str, saturate: bool = False) -> Tensor:
    image = convert_to_tensor(image, name="image")
    floats = as_floats(image)
    found = add_op(type, [floats, convert_to_tensor(amount, float32, name="amount")], None, scope)
    return convert_image_dtype(found, image.dtype, saturate)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Images ``[..., height, width, channels]``, each channel spread around its mean. Not differentiable."""
    with get_default_graph().name_scope("adjust_contrast") as scope:
        return _adjusted("AdjustContrastv2", images, contrast_factor, scope, saturate=True)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Colours ``[..., 3]`` with ``delta`` of the colour circle, -1 to 1, added to their hue. Not differentiable."""
    if get_default_graph().executing_eagerly and not -1 <= float(delta) <= 1:
        raise ValueError(f"delta must be in the interval [-1, 1], got {float(delta)}.")
    with get_default_graph().name_scope(name or "adjust_hue") as scope:
        return _adjusted("AdjustHue", image, delta, scope)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Colours ``[..., 3]`` with their saturation times a factor. Not differentiable."""
    with get_default_graph().name_scope(name or "adjust_saturation") as scope:
        return _adjusted("AdjustSaturation", image, saturation_factor, scope)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, in the scale where the whole range of integers is [0, 1].

    Raises:
      ValueError: a negative ``gamma``; InvalidArgumentError for a tensor.
    """
    with get_default_graph().name_scope("adjust_gamma"):
        image = convert_to_tensor(image, name="image")
        floats = as_floats(image)
        return convert_image_dtype(gain * floats ** _power(gamma), image.dtype, saturate=True)


def _power(gamma: Any) -> Any:
    checks = ensure(gamma >= 0, "Gamma should be a non-negative real number.")
    return with_dependencies(checks, gamma) if is_tensor(gamma) else gamma


def adjust_gamma_v1(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * (image / range) ** gamma * range`` as float32, where ``range`` is that of the element type."""
    with get_default_graph().name_scope("adjust_gamma"):
        image = convert_to_tensor(image, name="image")
        scale = convert_to_tensor(1 if image.dtype.is_floating else image.dtype.max, float32)
        return (arithmetic.cast(image, float32) / scale) ** _power(gamma) * scale * gain


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """An image as it is after it was stored as a JPEG of a quality, 0 to 100. Not differentiable."""
    with get_default_graph().name_scope(name or "adjust_jpeg_quality"):
        image = convert_to_tensor(image, name="image")
        stored = encode_jpeg_variable_quality(convert_image_dtype(image, uint8, saturate=True), jpeg_quality)
        channels = None if image.dims is None else image.dims[-1]
        return convert_image_dtype(decode_jpeg(stored, channels or 0), image.dtype, saturate=True)


def per_image_standardization(image: Any) -> Tensor:
    """Images ``[..., height, width, channels]``, each minus its mean and divided by its deviation, float32.

    The deviation is at least 1 / sqrt(number of its values), so that an image of one colour becomes zeros.
    """
    with get_default_graph().name_scope("per_image_standardization") as scope:
        image = checked(image)
        size = arithmetic.cast(reduce_prod(arrays.shape(image)[-3:]), float32)
        image = arithmetic.cast(image, float32)
        image = image - reduce_mean(image, axis=[-3, -2, -1], keepdims=True)
        variance = reduce_mean(arithmetic.square(image), axis=[-3, -2, -1], keepdims=True)
        return arithmetic.truediv(
            image, arithmetic.maximum(arithmetic.sqrt(variance), arithmetic.rsqrt(size)), name=scope
        )
