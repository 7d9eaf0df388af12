"""Adjusting images by random amounts: drawn anew at each run, or a function of a seed."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.images.colors import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_jpeg_quality,
    adjust_saturation,
)
from towerstrat.graph.ops.random.stateful import random_uniform
from towerstrat.graph.ops.random.stateless import stateless_uniform


def _around_zero(max_delta: float, most: float | None = None) -> tuple[float, float]:
    """The range of an amount. Raises ValueError for a negative one, or one above ``most``."""
    if most is not None and max_delta > most:
        raise ValueError(f"max_delta must be <= {most}.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return -max_delta, max_delta


def _factors(lower: float, upper: float) -> tuple[float, float]:
    """The range of a factor. Raises ValueError where it is empty or negative."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return lower, upper


def _qualities(low: int, high: int) -> tuple[int, int]:
    """The range of a quality. Raises ValueError where it is empty, or goes beyond 0 to 100."""
    if low < 0 or high < 0 or low > 100 or high > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return low, high


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """``adjust_brightness`` by an amount between ``-max_delta`` and ``max_delta``."""
    return adjust_brightness(image, random_uniform([], *_around_zero(max_delta), seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """``adjust_contrast`` by a factor between ``lower`` and ``upper``."""
    return adjust_contrast(image, random_uniform([], *_factors(lower, upper), seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """``adjust_hue`` by an amount between ``-max_delta`` and ``max_delta``, which is 0.5 at most."""
    return adjust_hue(image, random_uniform([], *_around_zero(max_delta, 0.5), seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """``adjust_saturation`` by a factor between ``lower`` and ``upper``."""
    return adjust_saturation(image, random_uniform([], *_factors(lower, upper), seed=seed))


def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """``adjust_jpeg_quality`` with a quality of at least ``min_jpeg_quality``, below ``max_jpeg_quality``."""
    low, high = _qualities(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, random_uniform([], low, high, int32, seed))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Tensor:
    """As ``random_brightness``, a function of ``seed``, two integers."""
    return adjust_brightness(image, stateless_uniform([], seed, *_around_zero(max_delta)))


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Tensor:
    """As ``random_contrast``, a function of ``seed``, two integers."""
    return adjust_contrast(image, stateless_uniform([], seed, *_factors(lower, upper)))


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Tensor:
    """As ``random_hue``, a function of ``seed``, two integers."""
    return adjust_hue(image, stateless_uniform([], seed, *_around_zero(max_delta, 0.5)))


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Tensor:
    """As ``random_saturation``, a function of ``seed``, two integers."""
    return adjust_saturation(image, stateless_uniform([], seed, *_factors(lower, upper)))


def stateless_random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any) -> Tensor:
    """As ``random_jpeg_quality``, a function of ``seed``, two integers."""
    low, high = _qualities(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, stateless_uniform([], seed, low, high, int32))
