"""Making images smaller or larger: sums of weighted pixels, of rows and of columns.

On devices each is a product with a matrix of weights, whose gradient is one too; on the host, where shapes differ from
image to image, a few rows or columns are weighed and added.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.types import Array, HostArray
from towerstrat.graph.ops.images.resize_taps import Scale, Taps, taps

_ROWS = 32
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
    """As ``resize``, by numpy: some rows at a time, which stay in the cache."""
    rows, columns = _two(method, images.shape, wanted, align_corners, half_pixel_centers, antialias)
    sizes = (len(rows.places), len(columns.places))
    made = np.empty((images.shape[0], *sizes, images.shape[3]), np.float32)
    for image, result in zip(np.ascontiguousarray(images), made, strict=True):  # ``take`` would copy all of a view
        for first in range(0, sizes[0], _ROWS):
            some = slice(first, first + _ROWS)
            result[some] = _weighed(_weighed(image, Taps(rows.places[some], rows.weights[some]), 0), columns, 1)
    return made


def _weighed(pixels: HostArray, line: Taps, axis: int) -> HostArray:
    """The sum of weighed rows (axis 0) or columns (axis 1) of ``[height, width, channels]``, float32."""
    # Columns have one weight for each channel too: numpy is slow where it repeats in the last dimension.
    weights = line.weights[:, :, None, None] if axis == 0 else np.repeat(line.weights.T, pixels.shape[2], axis=1).T

    def taken(tap: int) -> HostArray:
        found = pixels.take(line.places[:, tap], axis).astype(np.float32, copy=False)
        return found if axis == 0 else found.reshape(len(found), -1)

    total = taken(0)
    if line.places.shape[1] == 2:  # two weights that add up to 1
        change = taken(1)
        change -= total
        change *= weights[:, 1]
        total += change
    else:
        total *= weights[:, 0]
        for tap in range(1, line.places.shape[1]):
            part = taken(tap)
            part *= weights[:, tap]
            total += part
    return total.reshape(len(total), -1, pixels.shape[2])


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
