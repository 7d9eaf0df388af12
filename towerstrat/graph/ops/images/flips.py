"""Mirroring and turning images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.branches import case, cond
from towerstrat.graph.ops.images.image_shapes import checked
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random.stateful import random_uniform
from towerstrat.graph.ops.random.stateless import stateless_uniform

Draw = Callable[[Any], Tensor]
"""A shape -> uniformly distributed floats in [0, 1)."""


def _by_rank(image: Tensor, single: Callable[[], Tensor], batch: Callable[[], Tensor]) -> Tensor:
    """``single()`` for an image of three dimensions, ``batch()`` for one of four.

    Raises:
      ValueError: another rank.
    """
    rank = image.shape.ndims
    if rank is None:
        return cond(arithmetic.equal(arrays.rank(image), 3), single, batch)
    if rank not in (3, 4):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return single() if rank == 3 else batch()


def _shaped(result: Tensor, image: Tensor) -> Tensor:
    """The result with the image's static shape."""
    result.set_shape([None] * 3 if image.shape.ndims is None else image.shape)
    return result


def _flip(image: Any, axis: int, name: str) -> Tensor:
    with get_default_graph().name_scope(name):
        image = checked(image)
        single = partial(arrays.reverse, image, [axis])
        return _by_rank(image, lambda: _shaped(single(), image), partial(arrays.reverse, image, [axis + 1]))


def flip_left_right(image: Any) -> Tensor:
    """Images ``[..., height, width, channels]`` with the columns in reverse order."""
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Images ``[..., height, width, channels]`` with the rows in reverse order."""
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, draw: Draw, name: str) -> Tensor:
    with get_default_graph().name_scope(name) as scope:
        image = checked(image)

        def single() -> Tensor:
            mirrored = arithmetic.less(draw([]), 0.5)
            return _shaped(cond(mirrored, partial(arrays.reverse, image, [axis]), lambda: image, name=scope), image)

        def batch() -> Tensor:
            size = arrays.shape(image)[0]
            flips = arithmetic.round(arrays.reshape(draw(arrays.stack([size])), arrays.stack([size, 1, 1, 1])))
            flips = arithmetic.cast(flips, image.dtype)
            return flips * arrays.reverse(image, [axis + 1]) + (1 - flips) * image

        return _by_rank(image, single, batch)


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """``flip_left_right`` with a chance of one half, of a batch for each image by itself."""
    return _random_flip(image, 1, partial(random_uniform, seed=seed), "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """``flip_up_down`` with a chance of one half, of a batch for each image by itself."""
    return _random_flip(image, 0, partial(random_uniform, seed=seed), "random_flip_up_down")


def stateless_random_flip_left_right(image: Any, seed: Any) -> Tensor:
    """As ``random_flip_left_right``, a function of ``seed``, two integers."""
    return _random_flip(image, 1, partial(stateless_uniform, seed=seed), "stateless_random_flip_left_right")


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """As ``random_flip_up_down``, a function of ``seed``, two integers."""
    return _random_flip(image, 0, partial(stateless_uniform, seed=seed), "stateless_random_flip_up_down")


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Images ``[..., height, width, channels]`` turned to the left by ``k`` times 90 degrees.

    Args:
      k: a scalar integer.
    """
    with get_default_graph().name_scope(name or "rot90") as scope:
        image = checked(image)
        turns = arithmetic.floormod(convert_to_tensor(k, int32, name="k"), 4)
        return _by_rank(image, partial(_turned, image, turns, 0, scope), partial(_turned, image, turns, 1, scope))


def _turned(image: Tensor, turns: Tensor, first: int, scope: str) -> Tensor:
    """An image whose rows are dimension ``first``, turned."""
    across = [*range(first), first + 1, first, first + 2]
    by_turns = [
        lambda: image,
        lambda: arrays.transpose(arrays.reverse(image, [first + 1]), across),
        lambda: arrays.reverse(image, [first, first + 1]),
        lambda: arrays.reverse(arrays.transpose(image, across), [first + 1]),
    ]
    known = constant_value(turns)
    if known is not None:
        return by_turns[int(known)]()
    cases = [(arithmetic.equal(turns, number), by_turns[number]) for number in (1, 2, 3)]
    result = case(cases, default=by_turns[0], exclusive=True, name=scope)
    sizes = [None] * (first + 3) if image.shape.ndims is None else image.shape.as_list()
    result.set_shape([*sizes[:first], None, None, sizes[-1]])
    return result


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Images ``[..., height, width, channels]`` with rows as columns."""
    return transpose(image, name or "transpose_image")


def transpose(image: Any, name: str | None = None) -> Tensor:
    """``transpose_image`` under its later name."""
    with get_default_graph().name_scope(name or "transpose"):
        image = checked(image)
        return _by_rank(
            image, partial(arrays.transpose, image, [1, 0, 2]), partial(arrays.transpose, image, [0, 2, 1, 3])
        )
