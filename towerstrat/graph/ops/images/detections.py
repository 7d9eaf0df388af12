"""Boxes among the outputs of a detector: the best of all classes, and proposals from anchors.

Sources: ``non_max_suppression_op.cc`` and ``generate_box_proposals_op.cu.cc`` of TensorFlow. Boxes are
``[y1, x1, y2, x2]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, float32, int32
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.images import box_kernels
from towerstrat.graph.ops.images.boxes import NO_LIMIT
from towerstrat.graph.ops.images.image_shapes import shaped

Inputs = Sequence[Tensor]


# ---- the best of all classes -----------------------------------------------------------------------------------------


def _check_combined(inputs: Sequence[Tensor | Array]) -> tuple[int | None, int | None]:
    """Numbers of images and classes. Raises ValueError for shapes that do not go together."""
    boxes, scores, *numbers = inputs
    batch, count, owners, _ = shaped(boxes, [None, None, None, 4], "boxes")
    batch, _, classes = shaped(scores, [batch, count, None], "scores")
    if None not in (owners, classes) and owners not in (1, classes):
        raise ValueError(f"third dimension of boxes must be either 1 or num classes, got {owners}, {classes} classes.")
    names = ("max_size_per_class", "max_total_size", "iou_threshold", "score_threshold")
    for what, number in zip(names, numbers, strict=True):
        shaped(number, [], what)
    return batch, classes


def _check_positive(*sizes: Array | None) -> None:
    for what, size in zip(("max_size_per_class", "max_total_size"), sizes, strict=True):
        if size is not None and size <= 0:
            raise ValueError(f"{what} must be > 0, got {int(size)}.")


def _combined_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    batch, classes = _check_combined(inputs)
    some, every = (constant_value(number) for number in inputs[2:4])
    _check_positive(some, every)
    size = None if every is None else int(every)
    if attrs["pad_per_class"]:
        size = None if some is None or size is None or classes is None else min(size, int(some) * classes)
    return [
        Signature(float32, (batch, size, 4)), Signature(float32, (batch, size)), Signature(float32, (batch, size)),
        Signature(int32, (batch,)),
    ]  # fmt: skip


def _combined(
    boxes: Array, scores: Array, of_class: Array, of_all: Array, limit: Array, least: Array, *, pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[Array, ...]:  # fmt: skip
    _check_combined((boxes, scores, of_class, of_all, limit, least))
    _check_positive(np.asarray(of_class), np.asarray(of_all))
    boxes, scores = jnp.asarray(boxes), jnp.asarray(scores)
    count, classes = scores.shape[1:]
    shared = boxes.shape[2] == 1
    size = min(int(of_all), int(of_class) * classes) if pad_per_class else int(of_all)
    each = min(int(of_class), count)

    def of_one(boxes: Array, scores: Array) -> tuple[Array, Array, Array]:
        return box_kernels.suppress(box_kernels.overlaps(boxes), scores, each, limit, least, np.zeros((), np.float32))

    def of_image(boxes: Array, scores: Array) -> tuple[Array, ...]:
        sides = boxes[:, 0] if shared else boxes
        indices, values, found = jax.vmap(of_one, (None if shared else 1, 1))(sides, scores)
        counts = np.arange(each) < found[:, None]
        kept = min(size, each * classes)
        order = jnp.where(counts, values, -np.inf).reshape(-1)
        best, places = lax.top_k(order, kept)
        valid = counts.reshape(-1)[places]
        owners = (places // max(each, 1)).astype(jnp.int32)
        chosen = boxes[indices.reshape(-1)[places], np.int32(0) if shared else owners]
        chosen = jnp.clip(chosen, 0, 1) if clip_boxes else chosen
        room = size - kept
        return (
            jnp.pad(jnp.where(valid[:, None], chosen, 0), [(0, room), (0, 0)]),
            jnp.pad(jnp.where(valid, best, 0), [(0, room)]),
            jnp.pad(jnp.where(valid, owners.astype(jnp.float32), 0), [(0, room)]),
            jnp.sum(valid, dtype=jnp.int32),
        )

    return tuple(jax.vmap(of_image)(boxes, scores))


def _check_limit(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    limit = values[4]
    return input_checks.first_of(
        (limit < 0) | (limit > 1), limit,
        message=lambda where, value: f"iou_threshold must be in [0, 1], got {float(value):g}",
    )  # fmt: skip


define_op("CombinedNonMaxSuppression", _combined_rule, _combined, static=(2, 3), differentiable=False,
       check=InputCheck(_check_limit, (4,)))  # fmt: skip


class CombinedNonMaxSuppression(NamedTuple):
    """The best boxes of images, of falling score."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


def combined_non_max_suppression(
    boxes: Any, scores: Any, max_output_size_per_class: Any, max_total_size: Any, iou_threshold: Any = 0.5,
    score_threshold: Any = NO_LIMIT, pad_per_class: bool = False, clip_boxes: bool = True, name: str | None = None,
) -> CombinedNonMaxSuppression:  # fmt: skip
    """``non_max_suppression`` of each class of each image, and the best of all classes. Not differentiable.

    Args:
      boxes: ``[batch, boxes, 1 or classes, 4]``, float32: for all classes, or for each.
      scores: ``[batch, boxes, classes]``, float32.
      max_output_size_per_class: so many of a class at most.
      max_total_size: so many of an image at most.
      iou_threshold: a box is dropped if its intersection with a chosen one of its class is more of their union.
      score_threshold: boxes with scores up to this are dropped.
      pad_per_class: the results have ``max_output_size_per_class * classes`` places, if ``max_total_size`` is more.
      clip_boxes: cut off what is outside of [0, 1].

    Returns:
      (boxes ``[batch, n, 4]``, scores ``[batch, n]``, classes ``[batch, n]``: all float32, 0 after the valid ones;
      how many are valid ``[batch]``, int32), where n is ``max_total_size``.

    Raises:
      TypeError: other types. ValueError: other shapes, sizes that are not positive, a threshold outside of [0, 1].
    """
    with get_default_graph().name_scope(name or "combined_non_max_suppression"):
        inputs = [
            convert_to_tensor(boxes, float32, name="boxes"), convert_to_tensor(scores, float32, name="scores"),
            convert_to_tensor(max_output_size_per_class, int32, name="max_output_size_per_class"),
            convert_to_tensor(max_total_size, int32, name="max_total_size"),
            convert_to_tensor(iou_threshold, float32, name="iou_threshold"),
            convert_to_tensor(score_threshold, float32, name="score_threshold"),
        ]  # fmt: skip
        attrs = {"pad_per_class": bool(pad_per_class), "clip_boxes": bool(clip_boxes)}
        return CombinedNonMaxSuppression(*add("CombinedNonMaxSuppression", inputs, attrs))


# ---- proposals -------------------------------------------------------------------------------------------------------

_LARGEST = np.float32(np.log(1000.0 / 16.0))
"""Sides grow by this logarithm at most, as in Detectron."""


def _proposals_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    batch, size = _check_proposed(inputs), attrs["post_nms_topn"]
    return [Signature(float32, (batch, size, 4)), Signature(float32, (batch, size))]


def _check_proposed(inputs: Sequence[Tensor | Array]) -> int | None:
    """Number of images. Raises ValueError for shapes that do not go together."""
    scores, deltas, info, anchors, *numbers = inputs
    batch, height, width, kinds = shaped(scores, [None] * 4, "scores")
    sides = None if kinds is None else 4 * kinds
    batch = shaped(deltas, [batch, height, width, sides], "bbox_deltas")[0]
    batch = shaped(info, [batch, 5], "image_info")[0]
    shaped(anchors, [height, width, sides], "anchors")
    for what, number in zip(("nms_threshold", "pre_nms_topn", "min_size"), numbers, strict=True):
        shaped(number, [], what)
    return batch


def _proposals(
    scores: Array, deltas: Array, info: Array, anchors: Array, limit: Array, first: Array, least: Array, *,
    post_nms_topn: int,
) -> tuple[Array, Array]:  # fmt: skip
    _check_proposed((scores, deltas, info, anchors, limit, first, least))
    batch, total = scores.shape[0], math.prod(scores.shape[1:])
    scores = jnp.asarray(scores).reshape(batch, total)
    sources = jnp.asarray(anchors).reshape(total, 4)
    count = min(int(first), total)

    def of_image(scores: Array, deltas: Array, info: Array) -> tuple[Array, Array]:
        values, places = lax.top_k(scores, count)
        boxes = _moved(sources[places], deltas[places], info[:2])
        wide = jnp.min(boxes[:, 2:] - boxes[:, :2], axis=1, initial=np.inf) >= least * info[2]
        order = jnp.where(wide, values, -np.inf)
        common = box_kernels.overlaps(boxes)
        chosen, found, valid = box_kernels.suppress(
            common, order, post_nms_topn, limit, np.full((), NO_LIMIT, np.float32), np.zeros((), np.float32)
        )
        kept = np.arange(post_nms_topn) < valid
        rows = boxes[chosen] if count else jnp.zeros((post_nms_topn, 4), jnp.float32)
        return jnp.where(kept[:, None], rows, 0), found

    boxes, values = jax.vmap(of_image)(scores, jnp.asarray(deltas).reshape(batch, total, 4), jnp.asarray(info))
    return boxes, values


def _moved(anchors: Array, deltas: Array, size: Array) -> Array:
    """Anchors ``[n, 4]`` moved by ``[dy, dx, dh, dw]`` in their own sizes, and cut off at an image's edges."""
    sides = anchors[:, 2:] - anchors[:, :2]
    middle = anchors[:, :2] + 0.5 * sides + sides * deltas[:, :2]
    half = 0.5 * sides * jnp.exp(jnp.minimum(deltas[:, 2:], _LARGEST))
    return jnp.concatenate([jnp.clip(corner, 0, size) for corner in (middle - half, middle + half)], 1)


define_op("GenerateBoundingBoxProposals", _proposals_rule, _proposals, static=(5,), differentiable=False)


class GenerateBoundingBoxProposals(NamedTuple):
    """Boxes of falling score, and their scores."""

    rois: Tensor
    roi_probabilities: Tensor


def generate_bounding_box_proposals(
    scores: Any, bbox_deltas: Any, image_info: Any, anchors: Any, nms_threshold: Any = 0.7, pre_nms_topn: Any = 6000,
    min_size: Any = 16, post_nms_topn: int = 300, name: str | None = None,
) -> GenerateBoundingBoxProposals:  # fmt: skip
    """The best boxes of what a region proposal network gives: ``[images, post_nms_topn, 4]`` and their scores.

    What is missing to ``post_nms_topn`` is 0. Not differentiable. Ren, He, Girshick and Sun, "Faster R-CNN", NIPS 2015.

    Args:
      scores: ``[images, height, width, anchors]``, float32.
      bbox_deltas: ``[images, height, width, 4 * anchors]``: ``[dy, dx, dh, dw]`` of each anchor; the first two in its
        sizes, the others logarithms.
      image_info: ``[images, 5]``: height, width, scale, and two more that do not matter.
      anchors: ``[height, width, 4 * anchors]``, boxes.
      nms_threshold: a box is dropped if its intersection with a better one is more than this part of their union.
      pre_nms_topn: only so many boxes are looked at, the best.
      min_size: boxes with a shorter side than this times the scale are dropped.
      post_nms_topn: so many boxes are returned.
    """
    with get_default_graph().name_scope(name or "generate_bounding_box_proposals"):
        if post_nms_topn < 0:
            raise ValueError(f"Expected post_nms_topn of at least 0, got {post_nms_topn}.")
        inputs = [
            convert_to_tensor(scores, float32, name="scores"),
            convert_to_tensor(bbox_deltas, float32, name="bbox_deltas"),
            convert_to_tensor(image_info, float32, name="image_info"),
            convert_to_tensor(anchors, float32, name="anchors"),
            convert_to_tensor(nms_threshold, float32, name="nms_threshold"),
            convert_to_tensor(pre_nms_topn, int32, name="pre_nms_topn"),
            convert_to_tensor(min_size, float32, name="min_size"),
        ]  # fmt: skip
        return GenerateBoundingBoxProposals(
            *add("GenerateBoundingBoxProposals", inputs, {"post_nms_topn": int(post_nms_topn)})
        )
