"""Patches and glimpses: many windows of images as rows, and one window of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import EagerArgumentError
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, float32, int32
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.images.image_shapes import shaped
from towerstrat.graph.ops.random.stateful import seeds

Inputs = Sequence[Tensor]
Pair = tuple[int, int]


def _span(size: int | None, window: int, stride: int, rate: int, padding: str) -> tuple[int | None, Pair]:
    """(how many windows, zeros before and after) along one dimension."""
    reach = (window - 1) * rate + 1
    if size is None:
        return None, (0, 0)
    if padding == "VALID":
        return max(-(-(size - reach + 1) // stride), 0), (0, 0)
    count = -(-size // stride)
    total = max((count - 1) * stride + reach - size, 0)
    return count, (total // 2, total - total // 2)


def _patches_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    (images,) = inputs
    if images.dims is not None and len(images.dims) != 4:
        raise ValueError(f"Shape must be rank 4 but is rank {len(images.dims)}: expected images, got {images.shape}.")
    batch, height, width, channels = images.dims or (None,) * 4
    sizes = zip((height, width), attrs["ksizes"], attrs["strides"], attrs["rates"], strict=True)
    rows, columns = (_span(*four, attrs["padding"])[0] for four in sizes)
    depth = None if channels is None else channels * attrs["ksizes"][0] * attrs["ksizes"][1]
    return [Signature(images.dtype, (batch, rows, columns, depth))]


def _patches(images: Array, *, ksizes: Pair, strides: Pair, rates: Pair, padding: str) -> Array:
    """Shifted and thinned images side by side: one for each pixel of a window."""
    spans = [_span(*four, padding) for four in zip(images.shape[1:3], ksizes, strides, rates, strict=True)]
    padded = jnp.pad(images, [(0, 0), spans[0][1], spans[1][1], (0, 0)])
    rows, columns = spans[0][0] or 0, spans[1][0] or 0
    parts = []
    for y in range(0, ksizes[0] * rates[0], rates[0]):
        for x in range(0, ksizes[1] * rates[1], rates[1]):
            ends = (y + (rows - 1) * strides[0] + 1, x + (columns - 1) * strides[1] + 1)
            parts.append(padded[:, y : max(ends[0], y) : strides[0], x : max(ends[1], x) : strides[1]])
    return jnp.concatenate(parts, axis=-1)


define_op("ExtractImagePatches", _patches_rule, _patches)


def extract_image_patches(
    images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: Any = None,
    name: str | None = None, sizes: Any = None,
) -> Tensor:  # fmt: skip
    """Windows of images as rows of pixels: ``[batch, rows, columns, window height * window width * channels]``.

    Args:
      images: ``[batch, height, width, channels]``.
      ksizes: ``[1, height, width, 1]`` of a window; ``sizes`` is its later name.
      strides: ``[1, rows, columns, 1]`` from one window to the next.
      rates: ``[1, rows, columns, 1]`` from one pixel of a window to the next.
      padding: ``"VALID"``, or ``"SAME"`` with zeros around the images.
    """
    wanted = ksizes if sizes is None else sizes
    pairs = {"ksizes": wanted, "strides": strides, "rates": rates}
    attrs: dict[str, Any] = {what: _pair(four, what) for what, four in pairs.items()}
    padding = str(padding).upper()
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Expected padding 'SAME' or 'VALID', got {padding!r}.")
    return add_op(
        "ExtractImagePatches", [convert_to_tensor(images, name="images")], {**attrs, "padding": padding}, name
    )


def _pair(four: Any, what: str) -> Pair:
    values = [int(v) for v in four]
    if len(values) != 4 or values[0] != 1 or values[3] != 1 or min(values) < 1:
        raise ValueError(f"Expected {what} of the form [1, rows, columns, 1], got {values}.")
    return values[1], values[2]


# ---- glimpses ----------------------------------------------------------------------------------------------------


def _glimpse_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    images, size, offsets = inputs
    if images.dtype is not float32:
        raise TypeError(f"Expected images of float32, got {images.dtype.name}.")
    batch, channels = _check_glimpse(images, size, offsets)
    known = constant_value(size)
    height, width = (None, None) if known is None else (int(known[0]), int(known[1]))
    return [Signature(float32, (batch, height, width, channels))]


def _check_glimpse(
    images: Tensor | Array, size: Tensor | Array, offsets: Tensor | Array
) -> tuple[int | None, int | None]:
    """Numbers of images and channels. Raises ValueError for shapes that do not go together."""
    batch, _, _, channels = shaped(images, [None] * 4, "images")
    shaped(size, [2], "a size")
    return shaped(offsets, [batch, 2], "offsets")[0], channels


def _glimpse(
    key: Array, images: Array, size: Array, offsets: Array, *, centered: bool, normalized: bool, noise: str
) -> Array:
    _check_glimpse(images, size, offsets)
    images, offsets = jnp.asarray(images), jnp.asarray(offsets)
    batch, channels = images.shape[0], images.shape[3]
    inside, places = [], []
    for axis in (0, 1):
        length, wanted = images.shape[axis + 1], int(size[axis])
        place = offsets[:, axis]
        if normalized:
            place = place * np.float32(length)
        if centered:
            place = place / 2 + np.float32(length / 2)
        place = place - np.float32(wanted / 2)
        index = jnp.trunc(place).astype(jnp.int32)[:, None] + np.arange(wanted, dtype=np.int32)
        inside.append((index >= 0) & (index < length))
        places.append(jnp.clip(index, 0, length - 1))
    rows, columns = places[0][:, :, None], places[1][:, None]
    found = images[jnp.arange(batch, dtype=jnp.int32)[:, None, None], rows, columns]
    seen = (inside[0][:, :, None] & inside[1][:, None])[..., None]
    return jnp.where(seen, found, _noise(key, noise, images, (*found.shape[:3], channels)))


def _noise(key: Array, noise: str, images: Array, shape: tuple[int, ...]) -> Array:
    if noise == "zero":
        return jnp.zeros(shape, jnp.float32)
    if noise == "uniform":
        low, high = (f(images, axis=(1, 2, 3), keepdims=True) for f in (jnp.min, jnp.max))
        return low + (high - low) * jax.random.uniform(key, shape, jnp.float32)
    mean, deviation, low, high = (f(images, axis=(1, 2), keepdims=True) for f in (jnp.mean, jnp.std, jnp.min, jnp.max))
    return jnp.clip(mean + deviation * jax.random.normal(key, shape, jnp.float32), low, high)


define_op("ExtractGlimpse", _glimpse_rule, _glimpse, static=(1,), random=True, differentiable=False)


def extract_glimpse_v2(
    input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True, noise: str = "uniform",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window of each image: float32 ``[batch, *size, channels]``. Not differentiable.

    Args:
      input: float32 ``[batch, height, width, channels]``.
      size: ``[height, width]`` of the windows, int32.
      offsets: ``[batch, 2]``, the middles of the windows.
      centered: offsets count from the middle of the image, in halves, else from its first pixel.
      normalized: offsets are in units of the image's size, else in pixels.
      noise: what lies outside of the image is ``"uniform"`` (between the least and largest value of the image) or
        ``"gaussian"`` (of each channel's mean and deviation, within its range) noise, or ``"zero"``.
    """
    if noise not in ("uniform", "gaussian", "zero"):
        raise EagerArgumentError(None, None, f"noise should be one of 'uniform', 'gaussian' or 'zero', got {noise!r}.")
    inputs = [
        convert_to_tensor(input, float32, name="input"), convert_to_tensor(size, int32, name="size"),
        convert_to_tensor(offsets, float32, name="offsets"),
    ]  # fmt: skip
    attrs = {"centered": centered, "normalized": normalized, "noise": noise, "seeds": seeds(None)}
    return add_op("ExtractGlimpse", inputs, attrs, name)


def extract_glimpse(
    input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True, uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``extract_glimpse_v2`` with uniform or Gaussian noise outside of the image."""
    noise = "uniform" if uniform_noise else "gaussian"
    return extract_glimpse_v2(input, size, offsets, centered, normalized, noise, name)
