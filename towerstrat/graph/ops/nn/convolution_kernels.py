"""Convolution of any rank as JAX functions, channels last.

XLA's CPU backend has a fast form only for a convolution whose operands lie in memory as it expects (input
``[batch, *space, channels]``, filter ``[*space, in, out]``, no reversed window). Elsewhere the compiler brings an
operation into that form, but not inside a loop, where it falls back to one that is a hundred times slower. So for the
CPU the convolution and the two of its gradient, theirs included, are written in that form here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir.mesh import alike
from towerstrat.graph.ir.shapes import StaticShapeError

Pads = tuple[tuple[int, int], ...]
_SPACE = "DHW"
_MANY_TAPS = 64


class Window(NamedTuple):
    """Motion of a filter over its input, one entry per spatial dimension.

    Attributes:
      strides: steps between outputs.
      pads: zeros before and after the input; negative ones crop.
      base: distance between neighbours of the input, zeros between them.
      dilation: distance between the filter's taps.
      groups: channels are cut into this many parts, convolved one by one.
    """

    strides: tuple[int, ...]
    pads: Pads
    base: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1


def window(strides: Sequence[int], pads: Sequence[tuple[int, int]], dilation: Sequence[int], groups: int = 1) -> Window:
    return Window(tuple(strides), tuple(pads), (1,) * len(tuple(strides)), tuple(dilation), groups)


def output_size(size: int | None, taps: int | None, stride: int, dilation: int, padding: str) -> int | None:
    """The length of one spatial dimension of a convolution's or pooling's output; None where it is not known.

    Raises:
      StaticShapeError: the window is larger than the input.
    """
    if size is None or (taps is None and padding == "VALID"):
        return None
    if padding == "SAME":
        return -(-size // stride)
    reach = (taps - 1) * dilation + 1  # type: ignore[operator]
    if size < reach:
        raise StaticShapeError(
            f"Negative dimension size caused by subtracting {reach} from {size}: the window is larger than the input. "
            "Use padding='SAME' or a smaller window."
        )
    return (size - reach) // stride + 1


def padding_of(
    sizes: Sequence[int], taps: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding: str
) -> Pads:
    """Zeros before and after each spatial dimension: as even as possible, the odd one behind."""
    if padding == "VALID":
        return tuple((0, 0) for _ in sizes)
    pads = []
    for size, k, stride, apart in zip(sizes, taps, strides, dilation, strict=True):
        total = max((-(-size // stride) - 1) * stride + (k - 1) * apart + 1 - size, 0)
        pads.append((total // 2, total - total // 2))
    return tuple(pads)


def convolve(x: Any, w: Any, how: Window, platform: str) -> Any:
    """``x``: ``[batch, *space, in]``, ``w``: ``[*space, in / groups, out]`` -> ``[batch, *space, out]``."""
    if platform != "cpu":
        return _plain(x, w, how)
    x, w = alike(x, w)
    return _by_taps(x, w, how) if _is_depthwise(x, w, how) else _canonical(x, w, how)


def _plain(x: Any, w: Any, how: Window) -> Any:
    letters = _SPACE[-len(how.strides) :]
    return lax.conv_general_dilated(
        x,
        w,
        how.strides,
        how.pads,
        lhs_dilation=how.base,
        rhs_dilation=how.dilation,
        dimension_numbers=(f"N{letters}C", f"{letters}IO", f"N{letters}C"),
        feature_group_count=how.groups,
    )


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _canonical(x: Any, w: Any, how: Window) -> Any:
    """The convolution between barriers, so that nothing changes the layout of what goes in or comes out."""
    x, w = lax.optimization_barrier((x, w))
    return lax.optimization_barrier(_plain(x, w, how))


def _canonical_forward(x: Any, w: Any, how: Window) -> tuple[Any, Any]:
    return _canonical(x, w, how), (x, w)


def _canonical_backward(how: Window, saved: Any, dy: Any) -> tuple[Any, Any]:
    x, w = saved
    return input_gradient(x.shape, w, dy, how, _canonical), filter_gradient(x, w.shape, dy, how, _canonical)


_canonical.defvjp(_canonical_forward, _canonical_backward)


def _reaches(shape: Sequence[int], w_shape: Sequence[int], how: Window) -> list[tuple[int, int]]:
    """Per spatial dimension: the spread input's length, and the spread filter's."""
    found = []
    for i, (base, apart) in enumerate(zip(how.base, how.dilation, strict=True)):
        found.append((max((shape[i + 1] - 1) * base + 1, 0), (w_shape[i] - 1) * apart + 1))
    return found


def input_gradient(shape: Sequence[int], w: Any, dy: Any, how: Window, function: Any = _plain) -> Any:
    """The cotangent of the input: the output's, spread by the strides, convolved with the mirrored filter."""
    rank = len(how.strides)
    space = tuple(range(rank))
    mirrored = lax.rev(w, space)
    if how.groups > 1:
        inner, out = w.shape[-2:]
        mirrored = mirrored.reshape(*w.shape[:-1], how.groups, out // how.groups)
        mirrored = jnp.transpose(mirrored, (*space, rank + 2, rank + 1, rank))
        mirrored = mirrored.reshape(*w.shape[:-2], out // how.groups, how.groups * inner)
    else:
        mirrored = jnp.swapaxes(mirrored, -1, -2)
    pads = []
    for i, (size, reach) in enumerate(_reaches(shape, w.shape, how)):
        low = reach - 1 - how.pads[i][0]
        spread = (dy.shape[i + 1] - 1) * how.strides[i] + 1
        pads.append((low, size + reach - 1 - spread - low))
    return function(dy, mirrored, Window(how.base, tuple(pads), how.strides, how.dilation, how.groups))


def filter_gradient(x: Any, w_shape: Sequence[int], dy: Any, how: Window, function: Any = _plain) -> Any:
    """The cotangent of the filter: the input as images of one channel per example, the output's as their filter."""
    rank = len(how.strides)
    space = tuple(range(1, rank + 1))
    if how.groups > 1:
        apart = x.reshape(*x.shape[:-1], how.groups, x.shape[-1] // how.groups)
        images = jnp.transpose(apart, (rank + 2, *space, rank + 1, 0))
        images = images.reshape(*images.shape[:-2], how.groups * x.shape[0])
    else:
        images = jnp.transpose(x, (rank + 1, *space, 0))
    filters = jnp.transpose(dy, (*space, 0, rank + 1))
    pads = []
    for i, (size, _) in enumerate(_reaches(x.shape, w_shape, how)):
        spread = (dy.shape[i + 1] - 1) * how.strides[i] + 1
        low = how.pads[i][0]
        needed = (w_shape[i] - 1) * how.dilation[i] + spread
        pads.append((low, needed - size - low))
    made = function(images, filters, Window(how.dilation, tuple(pads), how.base, how.strides, how.groups))
    return jnp.transpose(made, (*space, 0, rank + 1))


def _is_depthwise(x: Any, w: Any, how: Window) -> bool:
    taps = 1
    for k in w.shape[:-2]:
        taps *= k
    return how.groups > 1 and w.shape[-2] == 1 and taps <= _MANY_TAPS and all(b == 1 for b in how.base)


def _by_taps(x: Any, w: Any, how: Window) -> Any:
    """A depthwise convolution as a sum of shifted products; the compiler makes one loop of it, its gradients too."""
    rank = len(how.strides)
    channels = x.shape[-1]
    padded = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), *((low, high, 0) for low, high in how.pads), (0, 0, 0)])
    multiplier = w.shape[-1] // channels
    sizes = [(padded.shape[i + 1] - (w.shape[i] - 1) * how.dilation[i] - 1) // how.strides[i] + 1 for i in range(rank)]
    total: Any = None
    for flat in range(w[..., 0, 0].size):
        tap: list[int] = []
        rest = flat
        for k in reversed(w.shape[:-2]):
            tap.insert(0, rest % k)
            rest //= k
        starts = [t * apart for t, apart in zip(tap, how.dilation, strict=True)]
        stops = [s + (n - 1) * stride + 1 for s, n, stride in zip(starts, sizes, how.strides, strict=True)]
        part = lax.slice(padded, (0, *starts, 0), (x.shape[0], *stops, channels), (1, *how.strides, 1))
        row = w[tuple(tap)].reshape(channels, multiplier)
        product = part[..., None] * row if multiplier > 1 else part * row[:, 0]
        total = product if total is None else total + product
    return total.reshape(*total.shape[: rank + 1], channels * multiplier)
