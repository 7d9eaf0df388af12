"""Turning, moving and projecting images: ``tf.contrib.image``, and ``tf.raw_ops.ImageProjectiveTransformV3``.

Source: ``image_ops.h`` and ``image_ops.py`` of ``tensorflow/contrib/image``; ``image_ops.h`` of ``core/kernels/image``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value_as_dims
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, float16, float32, float64, int32, int64, uint8
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.images.image_shapes import shaped
from towerstrat.graph.ops.linalg.products import matmul
from towerstrat.graph.ops.math import arithmetic

_DTYPES = (uint8, int32, int64, float16, float32, float64)


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    images, transforms, size = inputs[:3]
    batch, channels = _check_transforms(images, transforms)
    height, width = constant_value_as_dims(size) or (None, None)
    return [Signature(images.dtype, (batch, height, width, channels))]


def _check_transforms(images: Tensor | Array, transforms: Tensor | Array) -> tuple[int | None, int | None]:
    """Numbers of images and channels. Raises ValueError for other transforms than one for all or each."""
    batch, _, _, channels = shaped(images, [None] * 4, "images")
    count = shaped(transforms, [None, 8], "transforms (num_images x 8 or 1 x 8)")[0]
    if None not in (batch, count) and count not in (1, batch):
        raise ValueError(f"Input transform should be num_images x 8 or 1 x 8, got {count} for {batch} images.")
    return batch, channels


def _rounded(place: Array) -> Array:
    """The nearest whole number, of two the one further from 0. Adding a half would round up what is just below one."""
    whole = jnp.trunc(place)
    return jnp.where(jnp.abs(place - whole) >= 0.5, whole + jnp.sign(place), whole)


def _reflected(place: Array, length: int) -> Array:
    """Places on a line that is continued by its mirror image: ``dcba|abcd|dcba``."""
    twice = 2.0 * length
    before = jnp.where(place < -twice, place + twice * jnp.trunc(-place / twice), place)
    before = jnp.where(before < -length, before + twice, -before - 1)
    after = place - twice * jnp.trunc(place / twice)
    after = jnp.where(after >= length, twice - after - 1, after)
    return jnp.where(place < 0, before, jnp.where(place > length - 1, after, place))


def _wrapped(place: Array, length: int) -> Array:
    """Places on a line that repeats: ``abcd|abcd|abcd``."""
    around = max(length - 1, 1)
    before = place + length * (jnp.trunc(-place / around) + 1)
    after = place - length * jnp.trunc(place / around)
    return jnp.where(place < 0, before, jnp.where(place > length - 1, after, place))


_FILLS: dict[str, Callable[[Array, int], Array]] = {
    "REFLECT": _reflected, "WRAP": _wrapped, "NEAREST": lambda place, length: place,
}  # fmt: skip
"""How places outside of an image become ones inside; with CONSTANT they have the value that fills."""


def _project(
    images: Array, transforms: Array, size: Array, fill: Any = 0.0, *, interpolation: str, fill_mode: str = "CONSTANT"
) -> Array:
    """Images whose pixel (x, y) is the input's at ``(a x + b y + c, d x + e y + f) / (g x + h y + 1)``."""
    _check_transforms(images, transforms)
    images = jnp.asarray(images)
    height, width = images.shape[1:3]
    y, x = (np.arange(int(size[i]), dtype=np.float32) for i in range(2))
    y, x = y[:, None], x[None]
    a, b, c, d, e, f, g, h = (transforms[:, i, None, None] for i in range(8))
    depth = g * x + h * y + 1
    across, down = (a * x + b * y + c) / depth, (d * x + e * y + f) / depth
    if fill_mode != "CONSTANT":
        inside = _FILLS[fill_mode]
        down, across = (jnp.clip(inside(p, n), 0, n - 1) for p, n in ((down, height), (across, width)))
    filling = jnp.asarray(fill, images.dtype)
    rows = np.arange(images.shape[0], dtype=np.int32)[:, None, None]

    def pixels(row: Array, column: Array) -> Array:
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        places = [jnp.clip(p, 0, n - 1).astype(jnp.int32) for p, n in ((row, height), (column, width))]
        return jnp.where(inside[..., None], images[rows, places[0], places[1]], filling)

    if interpolation == "NEAREST":
        return pixels(_rounded(down), _rounded(across))
    top, left = jnp.floor(down), jnp.floor(across)
    below, right = (down - top)[..., None], (across - left)[..., None]
    above = pixels(top, left) * (1 - right) + pixels(top, left + 1) * right
    under = pixels(top + 1, left) * (1 - right) + pixels(top + 1, left + 1) * right
    return (above * (1 - below) + under * below).astype(images.dtype)


def _gradient(inputs: Any, outputs: Any, cotangents: Any, *, interpolation: str) -> list[Any]:
    """The cotangent projected back, as TensorFlow has it: not the exact derivative."""
    images, transforms, _ = inputs
    size = np.array(images.shape[1:3], np.int32)
    return [_project(cotangents[0], _inverse(transforms), size, interpolation=interpolation), None, None]


def _inverse(transforms: Array) -> Array:
    """The transforms that lead back."""
    ones = jnp.ones((transforms.shape[0], 1), transforms.dtype)
    back = jnp.linalg.inv(jnp.concatenate([transforms, ones], 1).reshape(-1, 3, 3)).reshape(-1, 9)
    return (back / back[:, 8:])[:, :8]


def _filled_gradient(inputs: Any, outputs: Any, cotangents: Any, *, interpolation: str, fill_mode: str) -> list[Any]:
    """As ``_gradient``; the cotangent is continued like the image, but for what a number fills."""
    images, transforms, *_ = inputs
    size = np.array(images.shape[1:3], np.int32)
    how = {"interpolation": interpolation, "fill_mode": fill_mode}
    return [_project(cotangents[0], _inverse(transforms), size, **how), None, None, None]


define_op("ImageProjectiveTransformV2", _rule, _project, static=(2,), gradient=_gradient, constants=(1,))
define_op(
    "ImageProjectiveTransformV3", _rule, _project, static=(2,), gradient=_filled_gradient, constants=(1, 3)
)  # fmt: skip


def image_projective_transform(
    *, images: Any, transforms: Any, output_shape: Any, fill_value: Any, interpolation: str,
    fill_mode: str = "CONSTANT", name: str | None = None,
) -> Tensor:  # fmt: skip
    """Images projected, as ``transform`` does it: ``tf.raw_ops.ImageProjectiveTransformV3``.

    Args:
      images: ``[batch, height, width, channels]``. transforms: ``[batch, 8]`` or ``[1, 8]``.
      output_shape: ``[height, width]``. fill_value: a float32 scalar, what CONSTANT has outside.
      interpolation: ``"NEAREST"`` or ``"BILINEAR"``.
      fill_mode: what is outside of an image: ``"REFLECT"``, ``"WRAP"``, ``"CONSTANT"`` or ``"NEAREST"``.

    Raises:
      TypeError: images of another type. ValueError: another interpolation, mode or shape of the transforms.
    """
    given = convert_to_tensor(images, name="images")
    if given.dtype not in _DTYPES:
        raise TypeError(f"Invalid dtype {given.dtype.name}: expected one of {[d.name for d in _DTYPES]}.")
    method, mode = interpolation.upper(), fill_mode.upper()
    if method not in ("NEAREST", "BILINEAR"):
        raise ValueError(f"Expected interpolation 'NEAREST' or 'BILINEAR', got {interpolation!r}.")
    if mode not in (*_FILLS, "CONSTANT"):
        raise ValueError(f"Expected fill_mode 'REFLECT', 'WRAP', 'CONSTANT' or 'NEAREST', got {fill_mode!r}.")
    inputs = [
        given, convert_to_tensor(transforms, float32), convert_to_tensor(output_shape, int32),
        convert_to_tensor(fill_value, float32),
    ]  # fmt: skip
    return add_op("ImageProjectiveTransformV3", inputs, {"interpolation": method, "fill_mode": mode}, name)


def _batch(images: Any) -> tuple[Tensor, int]:
    """(images ``[batch, height, width, channels]``, how many dimensions there were)."""
    images = convert_to_tensor(images, name="images")
    if images.dtype not in _DTYPES:
        raise TypeError(f"Invalid dtype {images.dtype.name}: expected one of {[d.name for d in _DTYPES]}.")
    rank = images.shape.ndims
    if rank not in (2, 3, 4):
        raise TypeError(f"Images should have a rank between 2 and 4 that is known, got shape {images.shape}.")
    if rank == 2:
        images = arrays.expand_dims(images, -1)
    return (images if rank == 4 else arrays.expand_dims(images, 0)), rank


def transform(
    images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None, name: str | None = None
) -> Tensor:
    """Images projected: pixel (x, y) is the input's at ``(a x + b y + c, d x + e y + f) / (g x + h y + 1)``.

    Args:
      images: ``[height, width]``, ``[height, width, channels]`` or ``[batch, height, width, channels]``.
      transforms: ``[8]`` for all images, or ``[batch, 8]``: a to h.
      interpolation: ``"NEAREST"`` or ``"BILINEAR"``; what lies outside is 0.
      output_shape: ``[height, width]``, that of the images by default.
    """
    with get_default_graph().name_scope(name or "transform"):
        batch, rank = _batch(images)
        given = convert_to_tensor(transforms, float32, name="transforms")
        if given.shape.ndims not in (1, 2):
            raise TypeError(f"Transforms should have rank 1 or 2, got shape {given.shape}.")
        given = arrays.expand_dims(given, 0) if given.shape.ndims == 1 else given
        method = interpolation.upper()
        if method not in ("NEAREST", "BILINEAR"):
            raise ValueError(f"Expected interpolation 'NEAREST' or 'BILINEAR', got {interpolation!r}.")
        size = arrays.shape(batch)[1:3] if output_shape is None else convert_to_tensor(output_shape, int32)
        found = add_op("ImageProjectiveTransformV2", [batch, given, size], {"interpolation": method})
        return found if rank == 4 else found[0] if rank == 3 else found[0, :, :, 0]


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Images turned to the left around their middles.

    Args:
      angles: in radians, a scalar or ``[batch]``.
      images, interpolation: see ``transform``.
    """
    with get_default_graph().name_scope(name or "rotate"):
        batch, _ = _batch(images)
        height, width = (arithmetic.cast(arrays.shape(batch)[i], float32) for i in (1, 2))
        return transform(images, angles_to_projective_transforms(angles, height, width), interpolation)


def translate(images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None) -> Tensor:
    """Images moved by ``translations``, ``[2]`` or ``[batch, 2]``: to the right and down."""
    with get_default_graph().name_scope(name or "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def _columns(values: Sequence[Any], like: Tensor) -> Tensor:
    """Vectors and numbers as the columns of ``[n, 8]``, where ``like`` is a vector of ``n``."""
    return arrays.stack([arithmetic.add(arrays.zeros_like(like), v) for v in values], axis=1)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Tensor:
    """The transforms ``[n, 8]`` that turn images around their middles by angles, a scalar or ``[n]``."""
    with get_default_graph().name_scope(name or "angles_to_projective_transforms"):
        given = convert_to_tensor(angles, float32, name="angles")
        if given.shape.ndims not in (0, 1):
            raise TypeError(f"Angles should have rank 0 or 1, got shape {given.shape}.")
        turns = arrays.expand_dims(given, 0) if given.shape.ndims == 0 else given
        cos, sin = arithmetic.cos(turns), arithmetic.sin(turns)
        wide, high = image_width - 1, image_height - 1
        across = (wide - (cos * wide - sin * high)) / 2.0
        down = (high - (sin * wide + cos * high)) / 2.0
        return _columns([cos, -sin, across, sin, cos, down, 0.0, 0.0], turns)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Tensor:
    """The transforms ``[n, 8]`` that move images by translations, ``[2]`` or ``[n, 2]``."""
    with get_default_graph().name_scope(name or "translations_to_projective_transforms"):
        given = convert_to_tensor(translations, float32, name="translations")
        if given.shape.ndims not in (1, 2):
            raise TypeError(f"Translations should have rank 1 or 2, got shape {given.shape}.")
        moves = arrays.expand_dims(given, 0) if given.shape.ndims == 1 else given
        across, down = moves[:, 0], moves[:, 1]
        return _columns([1.0, 0.0, -across, 0.0, 1.0, -down, 0.0, 0.0], across)


def compose_transforms(*transforms: Any) -> Tensor:
    """One transform that does what several do, the last of them first."""
    if not transforms:
        raise ValueError("transforms cannot be empty")
    with get_default_graph().name_scope("compose_transforms"):
        matrices = [flat_transforms_to_matrices(t) for t in transforms]
        composed = matrices[0]
        for other in matrices[1:]:
            composed = matmul(composed, other)
        return matrices_to_flat_transforms(composed)


def flat_transforms_to_matrices(transforms: Any) -> Tensor:
    """Transforms ``[8]`` or ``[n, 8]`` as matrices ``[n, 3, 3]``."""
    with get_default_graph().name_scope("flat_transforms_to_matrices"):
        given = convert_to_tensor(transforms, name="transforms")
        if given.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {given}")
        flat = arrays.reshape(given, [-1, 8])
        return arrays.reshape(arrays.concat([flat, arrays.ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Tensor:
    """Matrices ``[3, 3]`` or ``[n, 3, 3]`` as transforms ``[n, 8]``."""
    with get_default_graph().name_scope("matrices_to_flat_transforms"):
        given = convert_to_tensor(transform_matrices, name="transform_matrices")
        if given.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {given}")
        flat = arrays.reshape(given, [-1, 9])
        return (flat / flat[:, 8:9])[:, :8]
