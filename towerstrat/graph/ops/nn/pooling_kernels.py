"""Pooling of any rank as JAX functions, along any axes.

For the CPU a window is taken apart into one pass per dimension, each a chain of element-wise steps over strided
slices: the compiler makes one loop of each pass and of its gradient, where its own windowed reduction and scatter are
many times slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ops.nn.convolution_kernels import Pads, padding_of

_LONG_CHAIN = 32


def max_pool(
    x: Any, axes: Sequence[int], taps: Sequence[int], strides: Sequence[int], padding: str, platform: str,
    dilation: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The largest of each window. At ties the first in row-major order gets the cotangent."""
    dilation = dilation or [1] * len(axes)
    pads = padding_of([x.shape[a] for a in axes], taps, strides, dilation, padding)
    lowest = lowest_value(x.dtype)
    # JAX has no gradient for a dilated maximum.
    if max(dilation) == 1 and (platform != "cpu" or max(taps) > _LONG_CHAIN):
        return _reduce_window(x, lowest, lax.max, axes, taps, strides, pads, dilation)
    # The last dimension first: of equal values, the first column of the first row is then the one that is kept.
    for axis, k, stride, pad, apart in reversed(list(zip(axes, taps, strides, pads, dilation, strict=True))):
        parts = slices(x, axis, k, stride, pad, apart, lowest)
        x = parts[0]
        for part in parts[1:]:
            x = jnp.where((part > x) | (x != x), part, x)
    return x


def avg_pool(
    x: Any, axes: Sequence[int], taps: Sequence[int], strides: Sequence[int], padding: str, platform: str,
    dilation: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The mean of each window's elements; padding does not count."""
    dilation = dilation or [1] * len(axes)
    sizes = [x.shape[a] for a in axes]
    pads = padding_of(sizes, taps, strides, dilation, padding)
    dtype = x.dtype
    if platform != "cpu" or max(taps) > _LONG_CHAIN:
        total = _reduce_window(x, np.zeros((), dtype), lax.add, axes, taps, strides, pads, dilation)
    else:
        total = x
        for axis, k, stride, pad, apart in zip(axes, taps, strides, pads, dilation, strict=True):
            total = sum(slices(total, axis, k, stride, pad, apart, np.zeros((), dtype)))
    counts = np.ones((1,) * x.ndim, np.int64)
    for axis, size, k, stride, pad, apart in zip(axes, sizes, taps, strides, pads, dilation, strict=True):
        inside = _count(size, k, stride, pad, apart)
        counts = counts * inside.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    if counts.size and counts.min() == counts.max():
        return total / np.asarray(counts.flat[0], dtype)
    return total / counts.astype(dtype)


def lowest_value(dtype: Any) -> np.ndarray[Any, Any]:
    """The lowest value of a type."""
    kind = np.dtype(dtype)
    return np.asarray(np.iinfo(kind).min if kind.kind in "iu" else -np.inf, kind)


def _count(size: int, k: int, stride: int, pad: tuple[int, int], apart: int) -> np.ndarray[Any, Any]:
    """Number of taps of each window that lie inside the input."""
    reach = (k - 1) * apart + 1
    outputs = max((size + sum(pad) - reach) // stride + 1, 0)
    places = np.arange(outputs)[:, None] * stride - pad[0] + np.arange(k)[None, :] * apart
    return ((places >= 0) & (places < size)).sum(1)


def slices(
    x: Any, axis: int, k: int, stride: int, pad: tuple[int, int], apart: int, fill: np.ndarray[Any, Any]
) -> list[Any]:
    """One strided slice per tap, all of the output's length."""
    if pad != (0, 0):
        x = lax.pad(x, jnp.asarray(fill), [(*(pad if i == axis else (0, 0)), 0) for i in range(x.ndim)])
    outputs = max((x.shape[axis] - (k - 1) * apart - 1) // stride + 1, 0)
    return [
        lax.slice_in_dim(x, t * apart, t * apart + max((outputs - 1) * stride + 1, 0), stride, axis) for t in range(k)
    ]


def _reduce_window(
    x: Any, start: np.ndarray[Any, Any], step: Any, axes: Sequence[int], taps: Sequence[int], strides: Sequence[int],
    pads: Pads, dilation: Sequence[int],
) -> Any:  # fmt: skip
    sizes, steps, spread, around = [1] * x.ndim, [1] * x.ndim, [1] * x.ndim, [(0, 0)] * x.ndim
    for axis, k, stride, pad, apart in zip(axes, taps, strides, pads, dilation, strict=True):
        sizes[axis], steps[axis], spread[axis], around[axis] = k, stride, apart, pad
    return lax.reduce_window(x, start, step, sizes, steps, around, window_dilation=spread)
