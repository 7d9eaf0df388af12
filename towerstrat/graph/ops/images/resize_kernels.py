"""Making images smaller or larger: sums of weighted pixels, of rows and of columns.

On devices each is a product with a matrix of weights, whose gradient is one too; on the host, where shapes differ from
image to image, a few rows or columns are weighed and added.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.types import Array, HostArray
from towerstrat.graph.ops.images.resize_weights import Scale, Taps, taps

_ROWS = 128
"""Rows that the host makes at a time."""


def _two(
    method: str, shape: tuple[int, ...], wanted: Any, align_corners: bool, half_pixel_centers: bool, antialias: bool
) -> tuple[Taps, Taps]:
    """The taps of rows and of columns."""
    height, width = (
        taps(method, antialias, Scale(size, int(target), align_corners, half_pixel_centers))
        for size, target in zip(shape[1:3], wanted, strict=True)
    )
    return height, width


def resize(
    images: Array, wanted: HostArray, *, method: str, align_corners: bool = False, half_pixel_centers: bool = False,
    antialias: bool = False,
) -> Array:  # fmt: skip
    """float32 ``[batch, *wanted, channels]`` of images ``[batch, height, width, channels]``, by matrices."""
    rows, columns = _two(method, images.shape, wanted, align_corners, half_pixel_centers, antialias)
    pixels = images.astype(jnp.float32)
    weigh = partial(jnp.einsum, precision=lax.Precision.HIGHEST)
    pixels = weigh("yh,bhwc->bywc", rows.matrix(images.shape[1]), pixels)
    return weigh("xw,bywc->byxc", columns.matrix(images.shape[2]), pixels)


def resize_on_host(
    images: HostArray, wanted: HostArray, *, method: str, align_corners: bool = False,
    half_pixel_centers: bool = False, antialias: bool = False,
) -> HostArray:  # fmt: skip
    """As ``resize``, by numpy: some rows at a time, which stay in the cache, as lines of numbers."""
    rows, columns = _two(method, images.shape, wanted, align_corners, half_pixel_centers, antialias)
    images, rows = _forwards(images, 1, rows)
    images, columns = _forwards(images, 2, columns)
    count, height, width, channels = images.shape
    size, line = len(rows.places), len(columns.places) * channels
    down, across = _Weighing(rows), _Weighing(columns, channels)
    made = np.empty((count, size, line), np.float32)
    source = np.ascontiguousarray(images).reshape(count, height, width * channels)  # ``take`` would copy all of a view
    for image, result in zip(source, made, strict=True):
        lines = image
        if height < size:  # columns cost more than rows: they are made of the fewer ones
            numbers, lines = image.astype(np.float32, copy=False), np.empty((height, line), np.float32)
            for some in _chunks(height):
                across.columns(numbers[some], lines[some])
        for some in _chunks(size):
            if height < size:
                down.rows(lines, some, result[some])
            else:
                between = np.empty((len(result[some]), lines.shape[1]), np.float32)
                across.columns(down.rows(lines, some, between), result[some])
    return made.reshape(count, size, len(columns.places), channels)


def _forwards(images: HostArray, axis: int, taps: Taps) -> tuple[HostArray, Taps]:
    """A mirrored view as it lies in memory, with the places that its pixels have there."""
    if images.strides[axis] >= 0:
        return images, taps
    return np.flip(images, axis), Taps(images.shape[axis] - 1 - taps.places, taps.weights)


def _chunks(size: int) -> Iterator[slice]:
    return (slice(first, first + _ROWS) for first in range(0, size, _ROWS))


class _Weighing:
    """Sums of weighed lines, or of weighed numbers in lines.

    Args:
      taps: of pixels. channels: numbers of a pixel, in lines of numbers.
    """

    def __init__(self, taps: Taps, channels: int = 1):
        places, weights = taps.places, taps.weights
        if channels != 1:
            places = (places[:, None] * channels + np.arange(channels)[:, None]).reshape(-1, places.shape[1])
            weights = np.repeat(weights, channels, axis=0)
        self.places = np.ascontiguousarray(places.T)
        self.weights = np.ascontiguousarray(weights.T)

    def rows(self, lines: HostArray, some: slice, out: HostArray) -> HostArray:
        """Writes some of the sums of weighed lines."""
        return self._sums(lines, 0, self.places[:, some], self.weights[:, some, None], out)

    def columns(self, lines: HostArray, out: HostArray) -> HostArray:
        """Writes the sums of weighed numbers of each line."""
        return self._sums(lines, 1, self.places, self.weights, out)

    @staticmethod
    def _sums(lines: HostArray, axis: int, places: HostArray, weights: HostArray, out: HostArray) -> HostArray:
        def taken(tap: int) -> HostArray:
            # No place is outside; numpy is fastest where it does not have to look.
            return lines.take(places[tap], axis, mode="wrap").astype(np.float32, copy=False)

        total = taken(0)
        if len(places) == 2:  # two weights that add up to 1
            change = taken(1)
            change -= total
            change *= weights[1]
            return np.add(total, change, out=out)
        np.multiply(total, weights[0], out=out)
        for tap in range(1, len(places)):
            part = taken(tap)
            part *= weights[tap]
            out += part
        return out


def nearest(
    images: Array, wanted: HostArray, *, align_corners: bool, half_pixel_centers: bool = False, numpy: Any = jnp
) -> Array:
    """Chosen pixels, of the element type of the images."""
    rows, columns = _two("nearest", images.shape, wanted, align_corners, half_pixel_centers, False)
    chosen = numpy.take(images, rows.places[:, 0], axis=1)
    return numpy.take(chosen, columns.places[:, 0], axis=2)


def by_kernel(images: Array, wanted: HostArray, *, kernel_type: str, antialias: bool) -> Array:
    """``resize`` with a kernel around each pixel's centre."""
    return resize(images, wanted, method=kernel_type, antialias=antialias)


def by_kernel_on_host(images: HostArray, wanted: HostArray, *, kernel_type: str, antialias: bool) -> HostArray:
    """As ``by_kernel``, by numpy."""
    return resize_on_host(images, wanted, method=kernel_type, antialias=antialias)
