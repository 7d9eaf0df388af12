"""Random draws outside of compiled programs: in blocks of one size, so that all shapes share one program.

Threefry with ``jax_threefry_partitionable`` makes element i of a draw from the key and i alone. A block is a draw of
``BLOCK`` elements that starts at another i; several make up a draw of any shape, from the random bits of the whole one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.platform import compilers
from towerstrat.platform.deferred import jax_extend

BLOCK_BITS = 14
BLOCK = 2**BLOCK_BITS
"""Elements of a block: few enough that a small draw costs little, and that the rounds of Threefry stay in the cache."""

Draw = Callable[[Any, tuple[int, ...], Any], Any]
"""(key, shape, numpy dtype) -> array, each element a function of its own random bits only."""


def scaled(values: Any, factor: Any, low: Any) -> Any:
    """``values * factor + low`` in the type of ``values``; what changes nothing is left out."""
    if factor != 1:
        values = values * np.asarray(factor, values.dtype)
    return values + np.asarray(low, values.dtype) if low != 0 else values


def draw(function: Draw, key: Any, shape: tuple[int, ...], dtype: Any, factor: float, low: float) -> Any:
    """``scaled(function(key, shape, dtype), factor, low)``, where the key is known by blocks."""
    settings: Any = jax.config
    if isinstance(key, jax.core.Tracer) or not settings.jax_threefry_partitionable:
        return scaled(function(key, shape, dtype), factor, low)
    size = math.prod(shape)
    pair = np.asarray(jax.random.key_data(key))
    # Adding -0.0 changes no number, zeros of either sign included.
    arguments = np.asarray(factor, dtype), np.asarray(low if low != 0 else -0.0, dtype)
    block = _program(function, np.dtype(dtype), compilers.default_platform())
    blocks = [block(np.array([*pair, i], np.uint32), *arguments) for i in range(-(-size // BLOCK))]
    values = np.empty(len(blocks) * BLOCK, dtype)
    for i, made in enumerate(blocks):
        values[i * BLOCK : (i + 1) * BLOCK] = made
    return jax.device_put(values[:size].reshape(shape))


@functools.cache
def _program(function: Draw, dtype: np.dtype[Any], platform: str) -> Callable[..., jax.Array]:
    """(key of a block, factor, low) -> the block's values. The scale is an argument: all initializers share it."""
    # Made before the trace: the first use of jax.extend changes what JAX traces under, and a second call would compile.
    blocks = _blocks()

    def block(data: jax.Array, factor: jax.Array, low: jax.Array) -> jax.Array:
        return function(jax.random.wrap_key_data(data, impl=blocks), (BLOCK,), dtype) * factor + low

    return compilers.jit(block, platform)


def _block_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """The random bits of block ``key[2]`` of what ``key[:2]`` draws, as JAX makes those of the whole draw."""
    first, second, block = key
    place = lax.iota(np.uint32, math.prod(shape)).reshape(shape)
    count = (jnp.full(shape, block >> np.uint32(32 - BLOCK_BITS)), (block << np.uint32(BLOCK_BITS)) | place)
    high, low = jax_extend.random.threefry2x32_p.bind(first, second, *count)
    if bit_width == 64:
        return (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    return (high ^ low).astype(f"uint{bit_width}")


def _refused(*args: Any) -> Any:
    raise TypeError("A block's key makes random bits; it cannot be seeded, split or folded.")


@functools.cache
def _blocks() -> Any:
    """The kind of key that draws a block: the two words of a Threefry key, and the number of the block."""
    return jax_extend.random.define_prng_impl(
        key_shape=(3,), seed=_refused, split=_refused, fold_in=_refused, random_bits=_block_bits,
        name="threefry_block", tag="block",
    )  # fmt: skip
