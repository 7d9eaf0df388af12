"""Shapes of images: known sizes as integers, others as tensors, and checks at once or when the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.assertions import assert_positive
from towerstrat.graph.ops.control.branches import with_dependencies
from towerstrat.graph.ops.host.runtime_checks import Assert

Size = Any
"""A number of pixels: an integer, or a scalar tensor where it is not known while the graph is built."""


def dimensions(image: Tensor, rank: int) -> list[Size]:
    """The sizes of an image: integers where they are known, else tensors.

    Raises:
      ValueError: it has another rank.
    """
    static = image.shape.with_rank(rank).as_list()
    if None not in static:
        return static
    dynamic = arrays.unstack(arrays.shape(image), rank)
    return [d if s is None else s for s, d in zip(static, dynamic, strict=True)]


def shaped(value: Tensor | Array, dims: Sequence[int | None], what: str) -> list[int | None]:
    """The sizes of a tensor, or of its value. Raises ValueError where its shape does not go with ``dims``."""
    given = value.dims if isinstance(value, Tensor) else tuple(np.shape(value))
    if not TensorShape(given).is_compatible_with(list(dims)):
        raise ValueError(f"Expected {what} of shape {TensorShape(list(dims))}, got {TensorShape(given)}.")
    return list(dims) if given is None else [d if n is None else n for d, n in zip(dims, given, strict=True)]


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def ensure(condition: Any, message: str) -> list[Any]:
    """At most one operation that raises InvalidArgumentError when it runs and ``condition``, a tensor, is false.

    Raises:
      ValueError: ``condition`` is Python's, and false.
    """
    if is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def at_least_3d(image: Tensor) -> list[Any]:
    """Operations to run before an image is used: checks that all sizes are positive, where they are not known yet.

    Raises:
      ValueError: it has fewer than three dimensions, or a size of 0.
    """
    shape = image.shape
    if shape.ndims is not None and shape.ndims < 3:
        raise ValueError(f"'image' (shape {shape}) must be at least three-dimensional.")
    if shape.ndims is not None and 0 in shape.as_list():
        raise ValueError(f"all dims of 'image.shape' must be > 0: {shape}")
    if shape.is_fully_defined():
        return []
    return [assert_positive(arrays.shape(image), ["all dims of 'image.shape' must be > 0."])]


def checked(image: Any) -> Tensor:
    """An image as a tensor that ``at_least_3d`` has looked at."""
    image = convert_to_tensor(image, name="image")
    result: Tensor = with_dependencies(at_least_3d(image), image)
    return result


def batched(image: Any) -> tuple[Tensor, bool]:
    """(images ``[batch, height, width, channels]``, whether a batch was given); a single image is a batch of one.

    Raises:
      ValueError: it has neither 3 nor 4 dimensions.
    """
    image = convert_to_tensor(image, name="image")
    if image.shape.ndims == 4:
        return image, True
    if image.shape.ndims not in (3, None):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    if image.shape.ndims is None:
        image = arrays.ensure_shape(image, [None] * 3)
    return arrays.expand_dims(image, 0), False


def unbatched(images: Tensor, is_batch: bool) -> Tensor:
    """Undoes ``batched``."""
    return images if is_batch else arrays.squeeze(images, [0])
