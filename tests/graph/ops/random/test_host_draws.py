"""Draws by blocks are the draws of whole programs: the same random bits, equal but for the rounding of compilers."""

import itertools

import jax
import numpy as np

from tests.spread import spread
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function as traced
from towerstrat.graph.ops.random import host_draws, stateful

SHAPES = ((), (0, 3), (7, 5), (host_draws.BLOCK,), (host_draws.BLOCK + 1,), (3, 100, 101))
SCALES = ((1.0, 0.0), (0.02, 0.0), (1.0, 0.3), (2.2, -1.1))
DISTRIBUTIONS = dict(stateful._RAW)


def key(data):
    return jax.random.wrap_key_data(data, impl="threefry2x32")


@spread(
    ("distribution", "dtype"), itertools.product(DISTRIBUTIONS, ("float16", "bfloat16", "float32", "float64")), every=9
)
def test_blocks_make_up_the_whole_draw(distribution, dtype):
    function, dtype = DISTRIBUTIONS[distribution], jax.numpy.dtype(dtype)
    data = np.array([123456, 7], np.uint32)
    with jax.enable_x64(True):

        def whole(data):
            return [host_draws.draw(function, key(data), s, dtype, *scale) for s in SHAPES for scale in SCALES]

        expected = jax.jit(whole)(data)
        for (shape, scale), value in zip([(s, scale) for s in SHAPES for scale in SCALES], expected, strict=True):
            made = host_draws.draw(function, key(data), shape, dtype, *scale)
            assert (made.shape, made.dtype) == (shape, dtype)
            # The last steps of a draw (a polynomial, the scale) are rounded otherwise in vectors than in scalars.
            found, wanted = np.asarray(made, np.float64), np.asarray(value, np.float64)
            eps = float(jax.numpy.finfo(dtype).eps)
            off = np.abs(found - wanted) - 5 * eps * (np.abs(wanted) + abs(scale[1]))
            assert np.max(off, initial=0.0) <= 0.0, (shape, scale)


def test_blocks_far_into_a_draw():
    """The place of an element has 64 bits: blocks are right where the upper 32 begin."""
    last, pair = 2 ** (32 - host_draws.BLOCK_BITS), np.array([3, 9], np.uint32)
    places = np.array([2**32 - 1, 2**32], np.uint64)
    with jax.enable_x64(True):
        bits = [
            host_draws._block_bits(np.array([*pair, i], np.uint32), 64, (host_draws.BLOCK,)) for i in (last - 1, last)
        ]
        counts = np.concatenate([places >> np.uint64(32), places]).astype(np.uint32)
        high, low = jax.extend.random.threefry_2x32(tuple(pair), counts).reshape(2, 2).astype(np.uint64)
        expected = (high << np.uint64(32)) | low
    assert [int(bits[0][-1]), int(bits[1][0])] == expected.tolist()


def test_where_threefry_is_not_partitionable_the_whole_is_drawn():
    data = np.array([1, 2], np.uint32)
    with jax.enable_x64(True), jax.threefry_partitionable(False):
        whole = jax.jit(lambda data: jax.random.normal(key(data), (5, 5), np.float32))(data)
        made = host_draws.draw(DISTRIBUTIONS["RandomStandardNormal"], key(data), (5, 5), np.float32, 1.0, 0.0)
    np.testing.assert_array_equal(made, whole)


def test_stateless_draws_of_all_shapes_share_a_program():
    block = host_draws._program(stateful._uniform, np.dtype(np.float32), jax.default_backend())
    with mode.eager_mode():
        eagerly = [stateful.stateless_random_uniform(shape, [3, 5]).numpy() for shape in ([7, 3], [2, 11], [20_000])]
        compiled = traced(lambda: stateful.stateless_random_uniform([20_000], [3, 5]))().numpy()
    assert block._cache_size() == 1
    np.testing.assert_array_equal(eagerly[2], compiled)
    np.testing.assert_array_equal(eagerly[0].ravel(), compiled[:21])
