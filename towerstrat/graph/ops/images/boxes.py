"""Boxes in images: the operation types, and the functions that make them. Boxes are ``[y1, x1, y2, x2]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import EagerArgumentError
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, float16, float32, int8, int16, int32, int64, uint8
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.images import box_kernels
from towerstrat.graph.ops.images.image_shapes import shaped
from towerstrat.graph.ops.random.stateful import key_of, seeds

Inputs = Sequence[Tensor]
NO_LIMIT = float("-inf")


# ---- cutting out -------------------------------------------------------------------------------------------------


def _crop_dims(inputs: Sequence[Tensor | Array], size: Array | None) -> tuple[int | None, ...]:
    """The shape of the parts. Raises ValueError for inputs that do not go together."""
    image, boxes, indices, places = inputs
    *_, channels = shaped(image, [None] * 4, "images")
    count = shaped(indices, [shaped(boxes, [None, 4], "boxes")[0]], "the images of boxes")[0]
    shaped(places, [2], "a crop size")
    if size is not None and (size <= 0).any():
        raise ValueError(f"crop dimensions must be positive, got {size.tolist()}.")
    height, width = (None, None) if size is None else (int(size[0]), int(size[1]))
    return count, height, width, channels


def _crop_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(float32, _crop_dims(inputs, constant_value(inputs[3])))]


def _crop(image: Array, boxes: Array, indices: Array, size: Array, **attrs: Any) -> Array:
    _crop_dims((image, boxes, indices, size), np.asarray(size))
    return box_kernels.crop_and_resize(image, boxes, indices, size, **attrs)


def _check_indices(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    images, _, indices, _ = values
    batch = images.shape[0]
    return input_checks.first_of(
        (indices < 0) | (indices >= batch), indices,
        message=lambda where, index: f"box_index has values outside [0, batch_size): box_index{where} = {int(index)}, "
        f"batch_size {batch}",
    )  # fmt: skip


define_op("CropAndResize", _crop_rule, _crop, static=(3,), check=InputCheck(_check_indices, (2,)))


def crop_and_resize(
    image: Any, boxes: Any, box_ind: Any = None, crop_size: Any = None, method: str = "bilinear",
    extrapolation_value: float = 0, name: str | None = None, box_indices: Any = None,
) -> Tensor:  # fmt: skip
    """Parts of images in one size: float32 ``[boxes, *crop_size, channels]``. Differentiable by images and boxes.

    Args:
      image: ``[batch, height, width, channels]``.
      boxes: ``[boxes, 4]``; 0 is the first row and column, 1 the last.
      box_ind: ``[boxes]``, int32, the image of each; ``box_indices`` is its later name.
      crop_size: ``[height, width]``, int32.
      method: ``"bilinear"`` or ``"nearest"``.
      extrapolation_value: the value of what lies outside of the image.
    """
    if method not in ("bilinear", "nearest"):
        raise EagerArgumentError(None, None, f"method must be 'bilinear' or 'nearest', got {method!r}.")
    inputs = [
        convert_to_tensor(image, name="image"), convert_to_tensor(boxes, float32, name="boxes"),
        convert_to_tensor(one_of(box_indices, box_ind, "box_indices", "box_ind"), int32, name="box_ind"),
        convert_to_tensor(crop_size, int32, name="crop_size"),
    ]  # fmt: skip
    attrs = {"method": method, "extrapolation_value": float(extrapolation_value)}
    return add_op("CropAndResize", inputs, attrs, name)


# ---- drawing -----------------------------------------------------------------------------------------------------

_COLORS = np.array(
    [[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1], [0.5, 0.5, 0, 1], [0.5, 0, 0, 1],
     [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]], np.float32
)  # fmt: skip
"""Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia."""


def _draw_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    images, boxes, colors = inputs
    if images.dtype not in (float32, float16):
        raise TypeError(f"Expected images of float32 or float16, got {images.dtype.name}.")
    _check_drawn(images, boxes, colors)
    return [Signature(images.dtype, images.dims)]


def _check_drawn(images: Tensor | Array, boxes: Tensor | Array, colors: Tensor | Array) -> None:
    batch, _, _, channels = shaped(images, [None] * 4, "images")
    if channels not in (None, 1, 3, 4):
        raise ValueError(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {channels}.")
    shaped(boxes, [batch, None, 4], "boxes")
    shaped(colors, [None, None], "colors")


def _draw(images: Array, boxes: Array, colors: Array, *, own_colors: bool) -> Array:
    _check_drawn(images, boxes, colors)
    if images.shape[-1] == 1 and not own_colors:
        colors = np.ones((1, 1), np.float32)
    if images.shape[-1] > colors.shape[1]:
        raise ValueError(f"Expected colors of {images.shape[-1]} channels, got shape {colors.shape}.")
    return box_kernels.draw(images, boxes, colors)


define_op("DrawBoundingBoxesV2", _draw_rule, _draw, differentiable=False)


def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """Images ``[batch, height, width, 1, 3 or 4]`` with the outlines of boxes, one pixel wide. Not differentiable.

    Args:
      boxes: ``[batch, boxes, 4]``; 0 is the first row and column, 1 the last.
      colors: ``[colors, channels]``, taken in turn; ten colours by default, white in grey images.
    """
    palette = _COLORS if colors is None else colors
    inputs = [
        convert_to_tensor(images, name="images"), convert_to_tensor(boxes, float32, name="boxes"),
        convert_to_tensor(palette, float32, name="colors"),
    ]  # fmt: skip
    return add_op("DrawBoundingBoxesV2", inputs, {"own_colors": colors is not None}, name)


# ---- choosing ----------------------------------------------------------------------------------------------------


def _choice_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    boxes, scores, most = inputs[:3]
    dims = boxes.dims
    batch = () if dims is None or not attrs["padded"] else dims[:-2]
    _check_choice(inputs, batch, attrs["overlaps"])
    known = constant_value(most) if attrs["padded"] else None
    if known is not None and known < 0:
        raise ValueError(f"max_output_size must be non-negative, got {int(known)}")
    size = None if known is None else int(known)
    return [Signature(int32, (*batch, size)), Signature(scores.dtype, (*batch, size)), Signature(int32, batch)]


def _check_choice(inputs: Sequence[Tensor | Array], batch: Sequence[int | None], overlaps: bool) -> None:
    """Raises ValueError for shapes that do not go together."""
    boxes, scores, *numbers = inputs
    count = shaped(boxes, [*batch, None, None if overlaps else 4], "overlaps" if overlaps else "boxes")[-2]
    if overlaps:
        shaped(boxes, [count, count], "overlaps")
    shaped(scores, [*batch, count], "scores")
    for what, number in zip(("max_output_size", "iou_threshold", "score_threshold", "sigma"), numbers, strict=True):
        shaped(number, [], what)


def _choose(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Array, sigma: Array, *, overlaps: bool, padded: bool
) -> tuple[Array, Array, Array]:
    _check_choice((boxes, scores, most, limit, least, sigma), boxes.shape[:-2] if padded else (), overlaps)
    count = max(int(most), 0)

    def choose(boxes: Array, scores: Array) -> tuple[Array, Array, Array]:
        similar = jnp.asarray(boxes).__getitem__ if overlaps else box_kernels.overlaps(jnp.asarray(boxes))
        return box_kernels.suppress(similar, scores, count, limit, least, sigma)

    for _ in range(boxes.ndim - 2):
        choose = jax.vmap(choose)
    return choose(boxes, scores)


def _choose_some(*arrays: Any, **attrs: Any) -> tuple[Array, Array, Array]:
    indices, scores, count = _choose(*arrays, **attrs)
    return indices[: int(count)], scores[: int(count)], count


def _check_limit(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    limit = values[3]
    if op.attrs["overlaps"]:
        return None
    return input_checks.first_of(
        (limit < 0) | (limit > 1), limit,
        message=lambda where, value: f"iou_threshold must be in [0, 1], got {float(value):g}",
    )  # fmt: skip


define_op("NonMaxSuppressionPadded", _choice_rule, _choose, static=(2,), differentiable=False,
       check=InputCheck(_check_limit, (3,)))  # fmt: skip
define_op("NonMaxSuppressionV5", _choice_rule, _choose_some, static=(2,), dynamic=True, differentiable=False,
       check=InputCheck(_check_limit, (3,)))  # fmt: skip


class _Chosen(NamedTuple):
    """Indices of boxes, their scores, and how many are valid."""

    indices: Tensor
    scores: Tensor
    valid: Tensor


def _suppressed(
    boxes: Any, scores: Any, most: Any, limit: Any, least: Any, sigma: Any = 0.0, padded: bool = False,
    overlaps: bool = False,
) -> _Chosen:  # fmt: skip
    inputs = [
        convert_to_tensor(boxes, name="boxes"), convert_to_tensor(scores, name="scores"),
        convert_to_tensor(most, int32, name="max_output_size"), convert_to_tensor(limit, float32, name="iou_threshold"),
        convert_to_tensor(least, float32, name="score_threshold"), convert_to_tensor(sigma, float32, name="sigma"),
    ]  # fmt: skip
    type = "NonMaxSuppressionPadded" if padded else "NonMaxSuppressionV5"
    return _Chosen(*add(type, inputs, {"overlaps": overlaps, "padded": padded}))


def non_max_suppression(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = NO_LIMIT,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Indices of boxes by falling score, int32 ``[chosen]``, without those that overlap with a better one.

    Of equal scores the one with the smaller index is better.

    Args:
      boxes: ``[boxes, 4]``; scores: ``[boxes]``.
      max_output_size: so many at most.
      iou_threshold: a box is dropped if its intersection with a chosen one is more than this part of their union.
      score_threshold: boxes with scores up to this are dropped.
    """
    with get_default_graph().name_scope(name or "non_max_suppression"):
        return _suppressed(boxes, scores, max_output_size, iou_threshold, score_threshold).indices


def non_max_suppression_with_scores(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = NO_LIMIT,
    soft_nms_sigma: Any = 0.0, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As ``non_max_suppression``: (indices, scores); overlaps lower scores by a Gaussian, if ``soft_nms_sigma`` > 0.

    Bodla, Singh, Chellappa and Davis, "Soft-NMS", ICCV 2017.
    """
    with get_default_graph().name_scope(name or "non_max_suppression_with_scores"):
        found = _suppressed(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
        return found.indices, found.scores


def non_max_suppression_padded(
    boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any = 0.5, score_threshold: Any = NO_LIMIT,
    pad_to_max_output_size: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As ``non_max_suppression``: (indices, how many count), with zeros up to ``max_output_size`` if asked for.

    Padded, all shapes are known and it runs on the device in one piece with the rest of a program; then there may be
    batches of ``boxes`` and ``scores``.
    """
    with get_default_graph().name_scope(name or "non_max_suppression_padded"):
        found = _suppressed(
            boxes, scores, max_output_size, iou_threshold, score_threshold, padded=pad_to_max_output_size
        )
        return found.indices, found.valid


def non_max_suppression_overlaps(
    overlaps: Any, scores: Any, max_output_size: Any, overlap_threshold: Any = 0.5, score_threshold: Any = NO_LIMIT,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """As ``non_max_suppression``, with the overlap of each two boxes given, ``[boxes, boxes]``."""
    with get_default_graph().name_scope(name or "non_max_suppression_overlaps"):
        return _suppressed(overlaps, scores, max_output_size, overlap_threshold, score_threshold, overlaps=True).indices


# ---- random boxes ------------------------------------------------------------------------------------------------


def _sample_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    size = inputs[0]
    if size.dtype not in (uint8, int8, int16, int32, int64):
        raise TypeError(f"Expected an image_size of integers, got {size.dtype.name}.")
    _check_sampled(size, inputs[1], inputs[2], attrs["use_image"])
    return [Signature(size.dtype, (3,)), Signature(size.dtype, (3,)), Signature(float32, (1, 1, 4))]


def _check_sampled(size: Tensor | Array, boxes: Tensor | Array, covered: Tensor | Array, use_image: bool) -> None:
    """Raises ValueError for shapes that do not fit, or no boxes where they are needed."""
    shaped(size, [3], "image_size")
    shaped(covered, [], "min_object_covered")
    if 0 in shaped(boxes, [None, None, 4], "bounding_boxes") and not use_image:
        raise ValueError("No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you "
                         "wish to not provide any bounding boxes.")  # fmt: skip


def _sample(
    key: Array, size: Array, boxes: Array, covered: Array, *, ratios: tuple[float, float], areas: tuple[float, float],
    attempts: int, use_image: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    _check_sampled(size, boxes, covered, use_image)
    if not boxes.size:
        boxes = jnp.array([[[0, 0, 1, 1]]], jnp.float32)
    return box_kernels.sample(key, size, boxes, covered, ratios, areas, attempts)


def _check_sample_values(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    size, boxes, covered = values[:3]
    numpy: Any = np if input_checks.on_host(size, boxes, covered) else jnp
    parts = [numpy.reshape(part, (-1,)).astype(np.float32) for part in (size[:2], covered, boxes)]
    numbers = numpy.concatenate(parts)
    count = numbers.shape[0]
    lows, highs = np.zeros(count, np.float32), np.full(count, np.inf, np.float32)
    lows[:2], highs[3:] = 1, 1

    def message(where: str, number: Any) -> str:
        place = int(where[1:-1])
        if place < 2:
            return f"image {('height', 'width')[place]} must be positive, got {float(number):g}"
        if place == 2:
            return f"Min object covered must be non-negative: {float(number):g}"
        return f"All bounding box coordinates must be in [0.0, 1.0]: {float(number):g}"

    return input_checks.first_of((numbers < lows) | (numbers > highs), numbers, message=message)


_CORNERS = InputCheck(_check_sample_values, (0, 1, 2))
define_op("SampleDistortedBoundingBoxV2", _sample_rule, _sample, random=True, differentiable=False, check=_CORNERS)
define_op("StatelessSampleDistortedBoundingBox", _sample_rule,
       lambda size, boxes, covered, seed, **attrs: _sample(key_of(seed), size, boxes, covered, **attrs),
       differentiable=False, check=_CORNERS)  # fmt: skip


def _sampled(
    type: str, size: Any, boxes: Any, covered: Any, ratios: Any, areas: Any, attempts: int | None,
    use_image: bool | None, last: Sequence[Any], attrs: Attrs,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    ratios, areas = (0.75, 1.33) if ratios is None else ratios, (0.05, 1.0) if areas is None else areas
    for what, between in (("aspect_ratio_range", ratios), ("area_range", areas)):
        fits = len(between) == 2 and 0 < between[0] <= between[1] and (what != "area_range" or between[1] <= 1)
        if not fits:
            raise EagerArgumentError(
                None,
                None,
                f"{what} must be two positive numbers that do not fall, an area at most 1: got {[*between]}.",
            )
    attempts = 100 if attempts is None else attempts
    if attempts <= 0:
        raise EagerArgumentError(None, None, f"max_attempts must be positive, got {attempts}.")
    inputs = [
        convert_to_tensor(size, name="image_size"), convert_to_tensor(boxes, float32, name="bounding_boxes"),
        convert_to_tensor(covered, float32, name="min_object_covered"), *last,
    ]  # fmt: skip
    settings = {
        "ratios": tuple(float(r) for r in ratios), "areas": tuple(float(a) for a in areas), "attempts": attempts,
        "use_image": bool(use_image),
    }  # fmt: skip
    begin, extent, box = add(type, inputs, {**settings, **attrs})
    return begin, extent, box


def sample_distorted_bounding_box(
    image_size: Any, bounding_boxes: Any, seed: int | None = None, seed2: int | None = None,
    min_object_covered: Any = 0.1, aspect_ratio_range: Any = None, area_range: Any = None,
    max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A random part of an image that covers some of a box: what ``tf.slice`` takes, and the part as a box.

    Args:
      image_size: ``[height, width, channels]``, integers.
      bounding_boxes: ``[batch, boxes, 4]``, float32; 1 is the height and width.
      seed, seed2: make the draws repeat.
      min_object_covered: the least part of one of the boxes.
      aspect_ratio_range: of width / height, (0.75, 1.33) by default.
      area_range: of the part of the image, (0.05, 1) by default.
      max_attempts: after so many draws that do not fit, 100 by default, it is the whole image.
      use_image_if_no_bounding_boxes: without boxes, the whole image is the box.

    Returns:
      (begin ``[3]``, size ``[3]`` with -1 for the channels, box float32 ``[1, 1, 4]``).

    Raises:
      ValueError: no boxes, or ranges that are none. InvalidArgumentError: a corner outside of [0, 1].
    """
    with get_default_graph().name_scope(name or "sample_distorted_bounding_box"):
        own = None if not seed and not seed2 else (seed or 0) + ((seed2 or 0) << 16)
        return _sampled(
            "SampleDistortedBoundingBoxV2", image_size, bounding_boxes, min_object_covered, aspect_ratio_range,
            area_range, max_attempts, use_image_if_no_bounding_boxes, [], {"seeds": seeds(own)},
        )  # fmt: skip


def sample_distorted_bounding_box_v2(
    image_size: Any, bounding_boxes: Any, seed: int = 0, min_object_covered: Any = 0.1, aspect_ratio_range: Any = None,
    area_range: Any = None, max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """``sample_distorted_bounding_box`` with one seed."""
    return sample_distorted_bounding_box(
        image_size, bounding_boxes, seed, None, min_object_covered, aspect_ratio_range, area_range, max_attempts,
        use_image_if_no_bounding_boxes, name,
    )  # fmt: skip


def stateless_sample_distorted_bounding_box(
    image_size: Any, bounding_boxes: Any, seed: Any, min_object_covered: Any = 0.1, aspect_ratio_range: Any = None,
    area_range: Any = None, max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """As ``sample_distorted_bounding_box``, a function of ``seed``, two integers."""
    with get_default_graph().name_scope(name or "stateless_sample_distorted_bounding_box"):
        return _sampled(
            "StatelessSampleDistortedBoundingBox", image_size, bounding_boxes, min_object_covered, aspect_ratio_range,
            area_range, max_attempts, use_image_if_no_bounding_boxes, [convert_to_tensor(seed, name="seed")], {},
        )  # fmt: skip
