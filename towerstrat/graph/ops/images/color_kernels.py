"""Hue, saturation and value of colours, and what is adjusted in them.

Sources: ``colorspace_op.h``, ``adjust_hue_op.cc``, ``adjust_saturation_op.cc`` and ``adjust_contrast_op.cc`` of
TensorFlow.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.types import Array

_LEAST = np.float32(1e-30)
"""Divides where a divisor is zero."""


def _parts(rgb: Array, numpy: Any) -> tuple[Array, Array, Array]:
    """(hue in [0, 1), largest minus smallest channel, value) of colours ``[..., 3]``, each ``[...]``."""
    red, green, blue = (rgb[..., i] for i in range(3))
    value = numpy.maximum(numpy.maximum(red, green), blue)
    spread = value - numpy.minimum(numpy.minimum(red, green), blue)
    some = spread > 0
    norm = 1 / (6 * numpy.where(some, spread, 1))
    third = np.asarray(1 / 3, rgb.dtype)
    hue = numpy.where(
        red == value, norm * (green - blue),
        numpy.where(green == value, norm * (blue - red) + third, norm * (red - green) + 2 * third),
    )  # fmt: skip
    hue = numpy.where(some, hue, 0)
    return numpy.where(hue < 0, hue + 1, hue), spread, value


def rgb_to_hsv(rgb: Array, numpy: Any = jnp) -> Array:
    """Hue, saturation and value in [0, 1] of red, green and blue, ``[..., 3]``."""
    hue, spread, value = _parts(rgb, numpy)
    bright = value > 0
    saturation = numpy.where(bright, spread / numpy.where(bright, value, 1), 0)
    return numpy.stack([hue, saturation, value], axis=-1)


def _colors(hue: Array, saturation: Array, value: Array, numpy: Any) -> Array:
    sixths = hue * 6
    red = numpy.abs(sixths - 3) - 1
    green = 2 - numpy.abs(sixths - 2)
    blue = 2 - numpy.abs(sixths - 4)
    shades = numpy.clip(numpy.stack([red, green, blue], axis=-1), 0, 1)
    saturation = saturation[..., None]
    return ((1 - saturation) + saturation * shades) * value[..., None]


def hsv_to_rgb(hsv: Array, numpy: Any = jnp) -> Array:
    """Red, green and blue of hue, saturation and value, ``[..., 3]``."""
    return _colors(hsv[..., 0], hsv[..., 1], hsv[..., 2], numpy)


def _range(rgb: Array, numpy: Any) -> tuple[Array, Array]:
    """(value, largest minus smallest channel) of colours ``[..., 3]``, each ``[...]``."""
    red, green, blue = (rgb[..., i] for i in range(3))
    value = numpy.maximum(numpy.maximum(red, green), blue)
    return value, value - numpy.minimum(numpy.minimum(red, green), blue)


def _once(values: Any, numpy: Any) -> Any:
    """The values, which the compiler does not compute anew for each channel or use."""
    return lax.optimization_barrier(values) if numpy is jnp else values


def adjust_hue(rgb: Array, delta: Array, numpy: Any = jnp) -> Array:
    """Colours with ``delta`` of the circle added to their hue: their least and largest channel stay."""
    wide = _once(rgb.astype(np.float32), numpy)
    red, green, blue = (wide[..., i] for i in range(3))
    value, spread = _range(wide, numpy)
    norm = 1 / numpy.maximum(spread, _LEAST)
    blueish = numpy.where(green == value, (blue - red) * norm + 2, (red - green) * norm + 4)
    sixths = numpy.where(red == value, (green - blue) * norm, blueish) + delta.astype(np.float32) * 6
    sixths = sixths - 6 * numpy.floor(sixths * np.float32(1 / 6))
    sixths, spread, value = _once((sixths, spread, value), numpy)
    # How far a channel is from the largest one, along the circle: red has the largest part around 0, the others not.
    away = numpy.abs(sixths[..., None] - np.array([3, 2, 4], np.float32))
    lacking = numpy.clip(away * np.array([-1, 1, 1], np.float32) + np.array([2, -1, -1], np.float32), 0, 1)
    return (value[..., None] - spread[..., None] * lacking).astype(rgb.dtype)


def adjust_saturation(rgb: Array, factor: Array, numpy: Any = jnp) -> Array:
    """Colours with their saturation times ``factor``, at most 1: channels move to the largest one, or away from it."""
    wide = rgb.astype(np.float32)
    value, spread = _range(wide, numpy)
    # The saturation is spread / value: times this ratio it is 1.
    most = value / numpy.maximum(spread, _LEAST)
    ratio = numpy.clip(most, 0, numpy.maximum(factor.astype(np.float32), 0))
    ratio, value = _once((ratio, value), numpy)
    return (value[..., None] - (value[..., None] - wide) * ratio[..., None]).astype(rgb.dtype)


def adjust_contrast(images: Array, factor: Array, numpy: Any = jnp) -> Array:
    """Each channel of each image ``[..., height, width, channels]`` spread around its mean by ``factor``."""
    wide = _once(images.astype(np.float32), numpy)
    line = numpy.mean(wide, axis=-3, keepdims=True, dtype=np.float32)
    # Two sums in turn: the compiler does one over both dimensions number by number.
    mean = numpy.mean(_once(line, numpy), axis=-2, keepdims=True, dtype=np.float32)
    return ((wide - mean) * factor.astype(np.float32) + mean).astype(images.dtype)
