"""Which pixels of a line an output pixel is made of, and with which weights, for each method of making images smaller
or larger.

Rows and columns are handled alike and apart. All arithmetic is float32, in the original's order, so that a pixel at a
border falls to the same side.

Sources: ``resize_bilinear_op.cc``, ``resize_bicubic_op.cc``, ``resize_area_op.cc`` and ``scale_and_translate_op.cc`` of
TensorFlow; R. G. Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans. ASSP 29 (1981).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from towerstrat.graph.ir.types import HostArray

_STEPS = 1024
"""Cubic weights are tabulated at so many places between two pixels."""
_LEAST = 1000 * np.finfo(np.float32).tiny


class Taps(NamedTuple):
    """Input pixels and weights of which the pixels of one output line are made.

    Attributes:
      places: int ``[size, taps]``, the input pixels.
      weights: float32 ``[size, taps]``.
    """

    places: HostArray
    weights: HostArray

    def matrix(self, size: int) -> HostArray:
        """The same as float32 ``[outputs, size]``, where the input has ``size`` pixels."""
        found = np.zeros((len(self.places), size), np.float32)
        np.add.at(found, (np.arange(len(self.places))[:, None], self.places), self.weights)
        return found


class Scale(NamedTuple):
    """Map from output pixels to coordinates of the input.

    Attributes:
      size, wanted: pixels of the input and of the output.
      align_corners: the first and last pixels of both have the same centres.
      half_pixel_centers: the centre of pixel i is at i + 0.5; else at i.
    """

    size: int
    wanted: int
    align_corners: bool = False
    half_pixel_centers: bool = False

    @property
    def step(self) -> np.float32:
        """Input pixels for each output pixel."""
        if self.align_corners and self.wanted > 1:
            return np.float32(self.size - 1) / np.float32(self.wanted - 1)
        return np.float32(self.size) / np.float32(self.wanted)

    def places(self) -> HostArray:
        """The places of the output pixels, float32 ``[wanted]``."""
        numbers = np.arange(self.wanted, dtype=np.float32)
        if self.half_pixel_centers:
            return (numbers + np.float32(0.5)) * self.step - np.float32(0.5)
        return numbers * self.step


def nearest(scale: Scale) -> Taps:
    """The pixel to the left; the nearer one where corners are aligned; the one around the centre of a half pixel."""
    places = scale.places() + np.float32(0.5) if scale.half_pixel_centers else scale.places()
    whole = np.floor(places + np.float32(0.5)) if scale.align_corners else np.floor(places)
    chosen = np.clip(whole.astype(np.int64), 0, scale.size - 1)[:, None]
    return Taps(chosen, np.ones(chosen.shape, np.float32))


def bilinear(scale: Scale) -> Taps:
    places = scale.places()
    lower = np.floor(places)
    part = places - lower
    first = lower.astype(np.int64)
    both = np.stack([np.maximum(first, 0), np.minimum(first + 1, scale.size - 1)], 1)
    return Taps(both, np.stack([1 - part, part], 1))


def bicubic(scale: Scale) -> Taps:
    """Keys' cubics: with a = -0.75 and repeated borders, or with a = -0.5 and none where pixels have half centres."""
    a = -0.5 if scale.half_pixel_centers else -0.75
    places = scale.places()
    lower = np.floor(places)
    part = (np.rint((places - lower) * np.float32(_STEPS)) / np.float32(_STEPS)).astype(np.float64)
    near, far = _cubic(np.stack([part, 1 - part]), a), _cubic_tail(np.stack([1 + part, 2 - part]), a)
    weights = np.stack([far[0], near[0], near[1], far[1]], 1).astype(np.float32)
    wanted = lower.astype(np.int64)[:, None] + np.arange(-1, 3)
    inside = np.clip(wanted, 0, scale.size - 1)
    if scale.half_pixel_centers:
        weights = _normalised(np.where(inside == wanted, weights, np.float32(0)))
    return Taps(inside, weights)


def _cubic(x: HostArray, a: float) -> HostArray:
    """Keys' kernel from 0 to 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _cubic_tail(x: HostArray, a: float) -> HostArray:
    """Keys' kernel from 1 to 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _normalised(weights: HostArray) -> HostArray:
    """Weights that add up to 1, where they add up to something."""
    total = weights.sum(axis=1, keepdims=True, dtype=np.float32)
    enough = np.abs(total) >= _LEAST
    return np.where(enough, weights / np.where(enough, total, 1), weights)


def area(scale: Scale) -> Taps:
    """The mean of the input under an output pixel, partly covered pixels by their part."""
    step = scale.step
    start = np.arange(scale.wanted, dtype=np.float32) * step
    end = np.arange(1, scale.wanted + 1, dtype=np.float32) * step
    first = np.floor(start).astype(np.int64)
    taps = int((np.ceil(end).astype(np.int64) - first).max(initial=1))
    places = first[:, None] + np.arange(taps)
    pixel = places.astype(np.float32)
    covered = np.minimum(pixel + 1, end[:, None]) - np.maximum(pixel, start[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN where corners are aligned and the input is one pixel
        weights = np.maximum(covered, 0).astype(np.float32) * (np.float32(1) / step)
    return Taps(np.minimum(places, scale.size - 1), weights)


# ---- kernels of any width ----------------------------------------------------------------------------------------


def _lanczos(radius: float) -> Callable[[HostArray], HostArray]:
    def kernel(x: HostArray) -> HostArray:
        inner = np.where(x == 0, 1, x)
        found = radius * np.sin(np.pi * inner) * np.sin(np.pi * inner / radius) / (np.pi * inner) ** 2
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, found))

    return kernel


def _keys_cubic(x: HostArray) -> HostArray:
    return np.where(x >= 2, 0, np.where(x >= 1, _cubic_tail(x, -0.5), _cubic(x, -0.5)))


def _mitchell_cubic(x: HostArray) -> HostArray:
    tail = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, tail, (7 / 6 * x - 2) * x * x + 8 / 9))


_KERNELS: dict[str, tuple[float, Callable[[HostArray], HostArray]]] = {
    "lanczos1": (1, _lanczos(1)),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-x * x / (2 * 0.5**2)))),
    "box": (1, lambda x: np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))),
    "triangle": (1, lambda x: np.where(x < 1, 1 - x, 0)),
    "keyscubic": (2, _keys_cubic),
    "mitchellcubic": (2, _mitchell_cubic),
}
"""Name -> (radius, weight at a distance)."""


def kernel(name: str, antialias: bool, scale: Scale) -> Taps:
    """The pixels within a kernel around an output pixel's centre.

    Args:
      antialias: the kernel is as wide in output pixels where the image is made smaller.
    """
    radius, weight = _KERNELS[name]
    step = np.float32(1) / (np.float32(scale.wanted) / np.float32(scale.size))
    width = max(step, np.float32(1)) if antialias else np.float32(1)
    reach = np.float32(radius) * width
    taps = min(2 * math.ceil(reach) + 1, scale.size)
    centre = (np.arange(scale.wanted, dtype=np.float32) + np.float32(0.5)) * step
    first = np.maximum(np.ceil(centre - reach - np.float32(0.5)).astype(np.int64), 0)
    last = np.minimum(np.floor(centre + reach - np.float32(0.5)).astype(np.int64), scale.size - 1)
    places = first[:, None] + np.arange(taps)
    distance = np.abs(places.astype(np.float32) + np.float32(0.5) - centre[:, None]) / width
    weights = np.where(places <= last[:, None], weight(distance), 0).astype(np.float32)
    return Taps(np.minimum(places, scale.size - 1), _normalised(weights))


_METHODS = {"nearest": nearest, "bilinear": bilinear, "bicubic": bicubic, "area": area}


@functools.lru_cache(256)
def taps(method: str, antialias: bool, scale: Scale) -> Taps:
    """The pixels of one line by method: nearest, bilinear, bicubic, area, or one of ``kernel``."""
    return _METHODS[method](scale) if method in _METHODS else kernel(method, antialias, scale)
