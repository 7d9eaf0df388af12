"""Cutting images out and padding them."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float64, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.array.padding import pad
from towerstrat.graph.ops.control.branches import with_dependencies
from towerstrat.graph.ops.images.image_shapes import (
    Size,
    at_least_3d,
    batched,
    checked,
    dimensions,
    ensure,
    is_tensor,
    unbatched,
)
from towerstrat.graph.ops.math import arithmetic


def _static(*sizes: Size) -> list[int | None]:
    return [None if is_tensor(s) else s for s in sizes]


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """The middle of an image, ``central_fraction`` of its height and of its width.

    Args:
      image: ``[height, width, channels]`` or ``[batch, height, width, channels]``.
      central_fraction: in (0, 1].

    Raises:
      ValueError: another fraction, or another rank.
    """
    with get_default_graph().name_scope("central_crop"):
        image = convert_to_tensor(image, name="image")
        fraction = constant_value(central_fraction) if is_tensor(central_fraction) else central_fraction
        words = "central_fraction must be within (0, 1]"
        if fraction is None:
            above, below = arithmetic.greater(central_fraction, 0.0), arithmetic.less_equal(central_fraction, 1.0)
            image = with_dependencies(ensure(arithmetic.logical_and(above, below), words), image)
        else:
            ensure(0.0 < fraction <= 1.0, words)
            if fraction == 1.0:
                return image
        if image.shape.ndims not in (3, 4):
            raise ValueError("`image` should either be a Tensor with rank = 3 or rank = 4. "
                             f"Had rank = {image.shape.ndims}.")  # fmt: skip
        images, is_batch = batched(checked(image))
        batch, height, width, depth = dimensions(images, 4)
        top, left = (
            _margin(size, central_fraction if fraction is None else float(fraction)) for size in (height, width)
        )
        kept = (height - top * 2, width - left * 2)
        middle = arrays.slice(images, arrays.stack([0, top, left, 0]), arrays.stack([-1, *kept, -1]))
        middle.set_shape(_static(batch, *kept, depth))
        return unbatched(middle, is_batch)


def _margin(size: Size, fraction: Any) -> Size:
    """Number of pixels that are cut off on one side."""
    if is_tensor(size) or is_tensor(fraction):
        whole = arithmetic.cast(size, float64)
        return arithmetic.cast((whole - whole * arithmetic.cast(fraction, float64)) / 2, int32)
    return int((size - size * fraction) / 2)


def crop_to_bounding_box(
    image: Any, offset_height: Size, offset_width: Size, target_height: Size, target_width: Size
) -> Tensor:
    """The part of an image ``[..., height, width, channels]`` that begins at an offset and has a size.

    Raises:
      ValueError: it leaves the image, or has no size; InvalidArgumentError where that is known when it runs.
    """
    with get_default_graph().name_scope("crop_to_bounding_box"):
        images, is_batch = batched(image)
        checks = at_least_3d(images)
        batch, height, width, depth = dimensions(images, 4)
        checks += ensure(offset_width >= 0, "offset_width must be >= 0.")
        checks += ensure(offset_height >= 0, "offset_height must be >= 0.")
        checks += ensure(target_width > 0, "target_width must be > 0.")
        checks += ensure(target_height > 0, "target_height must be > 0.")
        checks += ensure(width >= target_width + offset_width, "width must be >= target + offset.")
        checks += ensure(height >= target_height + offset_height, "height must be >= target + offset.")
        images = with_dependencies(checks, images)
        begin, size = [0, offset_height, offset_width, 0], [-1, target_height, target_width, -1]
        part = arrays.slice(images, arrays.stack(begin), arrays.stack(size))
        part.set_shape(_static(batch, target_height, target_width, depth))
        return unbatched(part, is_batch)


def pad_to_bounding_box(
    image: Any, offset_height: Size, offset_width: Size, target_height: Size, target_width: Size
) -> Tensor:
    """An image ``[..., height, width, channels]`` at an offset in a larger one of zeros.

    Raises:
      ValueError: it does not fit in; InvalidArgumentError where that is known when it runs.
    """
    with get_default_graph().name_scope("pad_to_bounding_box"):
        images, is_batch = batched(image)
        checks = at_least_3d(images)
        batch, height, width, depth = dimensions(images, 4)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks += ensure(offset_height >= 0, "offset_height must be >= 0")
        checks += ensure(offset_width >= 0, "offset_width must be >= 0")
        checks += ensure(right >= 0, "width must be <= target - offset")
        checks += ensure(below >= 0, "height must be <= target - offset")
        images = with_dependencies(checks, images)
        pairs = [0, 0, offset_height, below, offset_width, right, 0, 0]
        padded = pad(images, arrays.reshape(arrays.stack(pairs), [4, 2]))
        padded.set_shape(_static(batch, target_height, target_width, depth))
        return unbatched(padded, is_batch)


def _larger(x: Size, y: Size) -> Size:
    return arithmetic.maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def _smaller(x: Size, y: Size) -> Size:
    return arithmetic.minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def resize_image_with_crop_or_pad(image: Any, target_height: Size, target_width: Size) -> Tensor:
    """An image ``[..., height, width, channels]`` in another size: its middle, or itself in the middle of zeros.

    Raises:
      ValueError: a size that is not positive; InvalidArgumentError where that is known when it runs.
    """
    with get_default_graph().name_scope("resize_image_with_crop_or_pad"):
        images, is_batch = batched(image)
        checks = at_least_3d(images)
        checks += ensure(target_width > 0, "target_width must be > 0.")
        checks += ensure(target_height > 0, "target_height must be > 0.")
        images = with_dependencies(checks, images)
        target_height, target_width = (
            with_dependencies(checks, size) if is_tensor(size) else size for size in (target_height, target_width)
        )
        _, height, width, _ = dimensions(images, 4)
        wider, higher = target_width - width, target_height - height
        cut = crop_to_bounding_box(
            images, _larger(-higher // 2, 0), _larger(-wider // 2, 0), _smaller(target_height, height),
            _smaller(target_width, width),
        )  # fmt: skip
        result = pad_to_bounding_box(cut, _larger(higher // 2, 0), _larger(wider // 2, 0), target_height, target_width)
        return unbatched(result, is_batch)
