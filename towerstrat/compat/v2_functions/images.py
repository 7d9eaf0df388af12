"""Images with the arguments of 2.x."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import branches
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.images import boxes as image_boxes
from towerstrat.graph.ops.images import patches
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.random import stateless


def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear",
    extrapolation_value: float = 0.0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Parts of images in one size: float32 ``[boxes, *crop_size, channels]``."""
    return image_boxes.crop_and_resize(image, boxes, box_indices, crop_size, method, extrapolation_value, name)


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Tensor:
    """Images with the outlines of boxes, in ``colors`` in turn (None: ten colours)."""
    return image_boxes.draw_bounding_boxes(images, boxes, name, colors)


def extract_glimpse(
    input: Any, size: Any, offsets: Any, centered: bool = True, normalized: bool = True, noise: str = "uniform",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window of each image, with noise or zeros outside of it."""
    return patches.extract_glimpse_v2(input, size, offsets, centered, normalized, noise, name)


def non_max_suppression_padded(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False, name: str | None = None, sorted_input: bool = False,
    canonicalized_coordinates: bool = False, tile_size: int = 512,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Indices of boxes by falling score without those that overlap with a better one, and how many count.

    Args:
      boxes: ``[..., boxes, 4]``; scores: ``[..., boxes]``. Batches need ``pad_to_max_output_size``.
      sorted_input, canonicalized_coordinates, tile_size: what the original may leave out, and in which portions it
        works; the result does not depend on them.

    Raises:
      ValueError: batches that are not padded.
    """
    found: tuple[Tensor, Tensor] = image_boxes.non_max_suppression_padded(
        boxes, scores, max_output_size, iou_threshold, score_threshold, pad_to_max_output_size, name
    )
    return found


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = None) -> Tensor:
    """Windows of images as rows of pixels."""
    return patches.extract_image_patches(images, sizes, strides, rates, padding, name)


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """A slice of the given size at a random offset, a function of ``seed``.

    Args:
      size: one integer per dimension, none above the value's.
      seed: two integers.

    Raises:
      InvalidArgumentError: a size that does not fit.
    """
    with get_default_graph().name_scope(name or "random_crop"):
        value, size = convert_to_tensor(value, name="value"), convert_to_tensor(size, int32, name="size")
        shape = arrays.shape(value)
        fits = reductions.reduce_all(arithmetic.greater_equal(shape, size))
        check = Assert(fits, ["Need value.shape >= size, got ", shape, size], 1000)
        shape = branches.with_dependencies([] if check is None else [check], shape)
        draws = stateless.stateless_uniform(arrays.shape(shape), seed, 0, int32.max, int32)
        return arrays.slice(value, draws % (shape - size + 1), size)
