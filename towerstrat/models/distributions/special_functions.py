"""Functions of the standard normal and Laplace distributions that stay exact in the tails."""

from __future__ import annotations

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import float64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.nn.clipping import clip_by_value

_TAIL_TERMS = 3


def ndtr(x: Tensor) -> Tensor:
    """The standard normal distribution function."""
    w = x * np.sqrt(0.5).astype(x.dtype.np)
    return 0.5 * arithmetic.erfc(-w)


def log_ndtr(x: Tensor) -> Tensor:
    """``log(ndtr(x))``: by an asymptotic series far below 0, where ``ndtr`` has few digits left, or none."""
    lower, upper = (-20.0, 8.0) if x.dtype == float64 else (-10.0, 5.0)
    # Each branch computes where it is used only: the others' gradients there would be NaN.
    high = -ndtr(-arithmetic.maximum(x, upper))
    middle = arithmetic.log(ndtr(clip_by_value(x, lower, upper)))
    low = arithmetic.minimum(x, lower)
    return arrays.where(x > upper, high, arrays.where(x > lower, middle, _log_of_lower_tail(low)))


def _log_of_lower_tail(x: Tensor) -> Tensor:
    """``-x^2/2 - log(-x) - log(2 pi)/2 + log(1 - 1/x^2 + 3/x^4 - 15/x^6)``."""
    total, factor = arrays.ones_like(x), 1.0
    for n in range(1, _TAIL_TERMS + 1):
        factor *= 1 - 2 * n
        total += factor * arithmetic.pow(x, -2.0 * n)
    return -0.5 * arithmetic.square(x) - arithmetic.log(-x) - 0.5 * np.log(2 * np.pi) + arithmetic.log(total)


def log_cdf_laplace(x: Tensor) -> Tensor:
    """The logarithm of the distribution function of the Laplace distribution of mean 0 and scale 1."""
    below = x - np.log(2.0)
    above = arithmetic.log1p(-0.5 * arithmetic.exp(-arithmetic.abs(x)))
    return arrays.where(x < 0.0, below, above)
