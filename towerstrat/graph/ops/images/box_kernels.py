"""Boxes in images: cutting them out, drawing them, choosing among those that overlap, and random ones.

Sources: ``crop_and_resize_op.cc``, ``draw_bounding_box_op.cc``, ``non_max_suppression_op.cc`` and
``sample_distorted_bounding_box_op.cc`` of TensorFlow. Boxes are ``[y1, x1, y2, x2]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.types import Array

# ---- cutting out -------------------------------------------------------------------------------------------------


def _places(low: Array, high: Array, size: int, wanted: int) -> Array:
    """Coordinates of the pixels of a cut-out in one direction of the image, ``[boxes, wanted]``."""
    if wanted > 1:
        step = (high - low) * (size - 1) / (wanted - 1)
        return low[:, None] * (size - 1) + np.arange(wanted, dtype=np.float32) * step[:, None]
    return 0.5 * (low + high)[:, None] * (size - 1)


def crop_and_resize(
    image: Array, boxes: Array, indices: Array, crop_size: Array, *, method: str, extrapolation_value: float
) -> Array:
    """float32 ``[boxes, *crop_size, channels]``: parts of images ``[batch, height, width, channels]``.

    Args:
      boxes: ``[boxes, 4]``, 1 is the last row and column; what lies outside has ``extrapolation_value``.
      indices: ``[boxes]``, the image of each.
    """
    height, width = image.shape[1:3]
    rows = _places(boxes[:, 0], boxes[:, 2], height, int(crop_size[0]))
    columns = _places(boxes[:, 1], boxes[:, 3], width, int(crop_size[1]))
    inside = ((rows >= 0) & (rows <= height - 1))[:, :, None] & ((columns >= 0) & (columns <= width - 1))[:, None]

    def pixels(source: Array, row: Array, column: Array) -> Array:
        row = jnp.clip(row, 0, height - 1).astype(jnp.int32)[:, :, None]
        column = jnp.clip(column, 0, width - 1).astype(jnp.int32)[:, None]
        return jnp.asarray(source).at[indices[:, None, None], row, column].get(mode="clip").astype(jnp.float32)

    def bilinear(source: Array) -> Array:
        top, left, bottom, right = jnp.floor(rows), jnp.floor(columns), jnp.ceil(rows), jnp.ceil(columns)
        down, beside = (rows - top)[:, :, None, None], (columns - left)[:, None, :, None]
        corners = (pixels(source, top, left), pixels(source, top, right), pixels(source, bottom, left))
        above = corners[0] + (corners[1] - corners[0]) * beside
        below = corners[2] + (pixels(source, bottom, right) - corners[2]) * beside
        return above + (below - above) * down

    if method == "nearest":
        # TensorFlow differentiates by the boxes as if it were bilinear.
        smooth = bilinear(lax.stop_gradient(image))
        found = pixels(image, jnp.round(rows), jnp.round(columns)) + (smooth - lax.stop_gradient(smooth))
    else:
        found = bilinear(image)
    return jnp.where(inside[..., None], found, np.float32(extrapolation_value))


# ---- drawing -----------------------------------------------------------------------------------------------------


def draw(images: Array, boxes: Array, colors: Array) -> Array:
    """Images ``[batch, height, width, channels]`` with the outlines of boxes ``[batch, boxes, 4]``.

    Args:
      boxes: 1 is the last row and column.
      colors: ``[colors, channels or more]``, taken in turn.
    """
    batch, height, width, channels = images.shape
    count = boxes.shape[1]
    if not count or not batch:
        return images
    scale = np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    corners = jnp.trunc(boxes.astype(jnp.float32) * scale).astype(jnp.int32)
    rows, columns = np.arange(height)[:, None], np.arange(width)
    images, corners, palette = alike(jnp.asarray(images), corners, jnp.asarray(colors, images.dtype))

    def add(i: Any, pixels: Array) -> Array:
        top, left, bottom, right = (corners[:, i, k, None, None] for k in range(4))
        drawn = (top <= bottom) & (left <= right)
        tall, wide = (rows >= top) & (rows <= bottom), (columns >= left) & (columns <= right)
        line = ((rows == top) | (rows == bottom)) & wide | ((columns == left) | (columns == right)) & tall
        return jnp.where((line & drawn)[..., None], palette[i % len(palette), :channels], pixels)

    return lax.fori_loop(0, count, add, images)


# ---- choosing ----------------------------------------------------------------------------------------------------


def overlaps(boxes: Array) -> Callable[[Array], Array]:
    """Intersection over union (Jaccard index) of box ``i`` and each of ``[boxes, 4]``, ``[boxes]``.

    It is 0 for boxes without area. One row at a time: a square of some thousand boxes would fill the memory.
    """
    corners = boxes.astype(jnp.float32)
    low = jnp.minimum(corners[:, :2], corners[:, 2:])
    high = jnp.maximum(corners[:, :2], corners[:, 2:])
    area = jnp.prod(high - low, axis=1)

    def common(i: Array) -> Array:
        sides = jnp.minimum(high[i], high) - jnp.maximum(low[i], low)
        both = jnp.prod(jnp.maximum(sides, 0), axis=1)
        some = (area[i] > 0) & (area > 0)
        return jnp.where(some, both / jnp.where(some, area[i] + area - both, 1), 0)

    return common


def suppress(
    similar: Callable[[Array], Array], scores: Array, most: int, limit: Array, least: Array, sigma: Array
) -> tuple[Array, Array, Array]:
    """Chooses the best score again and again, and drops what is too similar to what was chosen.

    Args:
      similar: the index of a box -> how similar each of them is, ``[boxes]``.
      limit: what is more similar than this is dropped.
      least: only scores above this are chosen.
      sigma: above 0, nothing is dropped, and scores of similar ones are lowered by a Gaussian of this width.

    Returns:
      (indices int32 ``[most]``, their scores, how many of them count); after these both are 0.
    """
    kind = scores.dtype
    count = scores.shape[0]
    if not count or not most:
        return jnp.zeros(most, jnp.int32), jnp.zeros(most, kind), jnp.zeros((), jnp.int32)
    lost = jnp.asarray(-np.inf, jnp.float32)
    wide = scores.astype(jnp.float32)
    factor = jnp.where(sigma > 0, -0.5 / jnp.where(sigma > 0, sigma, 1), 0).astype(jnp.float32)

    def choose(i: Any, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        left, indices, values, chosen = carry
        best = jnp.argmax(left).astype(jnp.int32)
        found = left[best] > jnp.maximum(least.astype(jnp.float32), lost)
        near = similar(best).astype(jnp.float32)
        lowered = jnp.where((near <= limit) | (sigma > 0), left * jnp.exp(factor * near * near), lost)
        left = jnp.where(found, lowered, left).at[best].set(lost)
        indices = indices.at[i].set(jnp.where(found, best, 0))
        values = values.at[i].set(jnp.where(found, carry[0][best], 0).astype(kind))
        return left, indices, values, chosen + found.astype(jnp.int32)

    start = alike(
        jnp.where(wide > least, wide, lost), jnp.zeros(most, jnp.int32), jnp.zeros(most, kind),
        jnp.zeros((), jnp.int32), similar(jnp.zeros((), jnp.int32)), limit, sigma,
    )[:4]  # fmt: skip
    _, indices, values, chosen = lax.fori_loop(0, most, choose, start)
    return indices, values, chosen


# ---- random boxes ------------------------------------------------------------------------------------------------


def sample(
    key: Array, size: Array, boxes: Array, covered: Array, ratios: tuple[float, float], areas: tuple[float, float],
    attempts: int,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """A random box that covers enough of one of ``boxes``: (begin ``[3]``, size ``[3]``, box ``[1, 1, 4]``).

    All attempts are made at once; the first that fits is taken, else the whole image.

    Args:
      size: ``[height, width, channels]`` of the image.
      boxes: ``[..., 4]``, 1 is the height and width.
      covered: the least part of one box that must be in the result.
      ratios, areas: the ranges of width / height, and of the part of the image.
    """
    height, width = (size[i].astype(jnp.float32) for i in range(2))
    draws = jax.random.uniform(key, (4, attempts), jnp.float32)
    ratio = draws[0] * np.float32(ratios[1] - ratios[0]) + np.float32(ratios[0])
    low, high = np.float32(areas[0]) * width * height, np.float32(areas[1]) * width * height
    least, most = jnp.round(jnp.sqrt(low / ratio)), jnp.round(jnp.sqrt(high / ratio))
    fitting = jnp.floor((width + np.float32(0.5 - 1e-7)) / ratio)
    fitting = jnp.where(jnp.round(fitting * ratio) > width, fitting - 1, fitting)
    most = jnp.minimum(jnp.where(jnp.round(most * ratio) > width, fitting, most), height)
    least = jnp.minimum(least, most)
    tall = least + jnp.floor(draws[1] * (most - least + 1))
    tall = jnp.where(jnp.round(tall * ratio) * tall < low, tall + 1, tall)
    tall = jnp.where(jnp.round(tall * ratio) * tall > high, tall - 1, tall)
    wide = jnp.round(tall * ratio)
    area = tall * wide
    fits = (area >= low) & (area <= high) & (wide <= width) & (tall <= height) & (wide > 0) & (tall > 0)
    top = jnp.floor(draws[2] * jnp.maximum(height - tall, 1))
    left = jnp.floor(draws[3] * jnp.maximum(width - wide, 1))
    wanted = jnp.trunc(boxes.reshape(-1, 4) * jnp.stack([height, width, height, width]))
    fits &= _covers(jnp.stack([top, left, top + tall, left + wide], 1), wanted, covered)
    first = jnp.argmax(fits)
    whole = jnp.stack([jnp.zeros_like(height), jnp.zeros_like(height), height, width])
    chosen = jnp.where(jnp.any(fits), jnp.stack([top, left, tall, wide], 1)[first], whole)
    kind = size.dtype
    begin = jnp.concatenate([chosen[:2].astype(kind), jnp.zeros(1, kind)])
    extent = jnp.concatenate([chosen[2:].astype(kind), jnp.full(1, -1).astype(kind)])
    corners = jnp.concatenate([chosen[:2], chosen[:2] + chosen[2:]])
    return begin, extent, (corners / jnp.stack([height, width, height, width]))[None, None]


def _covers(tries: Array, wanted: Array, covered: Array) -> Array:
    """Whether each of ``tries`` covers enough of one of ``wanted``, ``[n]``; boxes below one pixel do not count."""
    low = jnp.maximum(tries[:, None, :2], wanted[None, :, :2])
    high = jnp.minimum(tries[:, None, 2:], wanted[None, :, 2:])
    common = jnp.prod(jnp.maximum(high - low, 0), axis=2)
    area = jnp.prod(wanted[:, 2:] - wanted[:, :2], axis=1)
    return jnp.any((area >= 1) & (common >= covered * area), axis=1)
