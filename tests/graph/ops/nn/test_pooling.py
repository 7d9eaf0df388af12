"""Pooling: layouts, ties, shape rules, both forms of it, loops and bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from tests.spread import spread
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.math.arithmetic import multiply
from towerstrat.graph.ops.nn import pooling as p
from towerstrat.graph.ops.nn import pooling_kernels
from towerstrat.graph.runtime.sessions.session import Session

RNG = np.random.RandomState(0)


def coarse(*shape):
    return RNG.randint(0, 3, shape).astype(np.float32)


def f32(*shape):
    return placeholder("float32", list(shape))


@pytest.mark.parametrize("function", [p.max_pool, p.avg_pool])
def test_channels_first_is_channels_last_transposed(function):
    x, to = coarse(2, 7, 6, 3), (0, 3, 1, 2)
    last, first = f32(2, 7, 6, 3), f32(2, 3, 7, 6)
    a = function(last, [1, 3, 2, 1], [1, 2, 1, 1], "SAME")
    b = function(first, [1, 1, 3, 2], [1, 1, 2, 1], "SAME", data_format="NCHW")
    fetches = [a, *gradients(multiply(a, a), [last]), b, *gradients(multiply(b, b), [first])]
    a, da, b, db = Session().run(fetches, {last: x, first: x.transpose(to)})
    np.testing.assert_allclose(a.transpose(to), b, rtol=1e-6)
    np.testing.assert_allclose(da.transpose(to), db, rtol=1e-6)


def test_one_element_of_a_tie_gets_the_gradient():
    x = f32(1, 4, 4, 1)
    for ksize, strides in (([1, 2, 2, 1], [1, 2, 2, 1]), ([1, 4, 4, 1], [1, 4, 4, 1])):
        (dx,) = gradients(p.max_pool(x, ksize, strides, "VALID"), [x])
        found = Session().run(dx, {x: np.ones((1, 4, 4, 1), np.float32)})[0, :, :, 0]
        wanted = np.zeros((4, 4))
        wanted[:: strides[1], :: strides[2]] = 1
        np.testing.assert_array_equal(found, wanted)


def test_pooling_over_channels():
    x = coarse(2, 3, 3, 4)
    largest, mean = Session().run([p.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME"),
                                   p.avg_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")])  # fmt: skip
    np.testing.assert_array_equal(largest, x.reshape(2, 3, 3, 2, 2).max(-1))
    np.testing.assert_array_equal(mean, x.reshape(2, 3, 3, 2, 2).mean(-1))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_argmax_says_where_the_largest_is(padding):
    x = RNG.permutation(2 * 5 * 6 * 3).reshape(2, 5, 6, 3).astype(np.float32)
    given = f32(2, 5, 6, 3)
    values, places = p.max_pool_with_argmax(given, [1, 2, 3, 1], [1, 2, 2, 1], padding)
    (dx,) = gradients(values, [given])
    assert places.dtype.name == "int64"
    found, where, dx, wanted = Session().run(
        [values, places, dx, p.max_pool(given, [1, 2, 3, 1], [1, 2, 2, 1], padding)], {given: x}
    )
    np.testing.assert_array_equal(found, wanted)
    for image, spots, own in zip(x, where, found, strict=True):
        np.testing.assert_array_equal(image.reshape(-1)[spots], own)
    assert dx.sum() == found.size


@spread(("rank", "padding"), itertools.product([1, 2, 3], ["SAME", "VALID"]), every=3)
def test_both_forms_agree(rank, padding):
    """The one for the CPU and the one for accelerators: values and gradients, dilated and overlapping too."""
    x = RNG.permutation(2 * 6**rank * 2).reshape(2, *(6,) * rank, 2).astype(np.float32)
    axes = range(1, rank + 1)
    threes, twos, ones = (3,) * rank, (2,) * rank, (1,) * rank

    def everything(x, platform):
        largest = lambda x: pooling_kernels.max_pool(x, axes, threes, twos, padding, platform)  # noqa: E731
        return (
            largest(x),
            jax.grad(lambda x: jnp.sum(largest(x) ** 2))(x),
            pooling_kernels.avg_pool(x, axes, threes, twos, padding, platform),
            jax.grad(lambda x: jnp.sum(pooling_kernels.max_pool(x, axes, twos, ones, padding, platform, twos) ** 2))(x),
            pooling_kernels.avg_pool(x, axes, twos, ones, padding, platform, twos),
        )

    both = jax.jit(lambda x: (everything(x, "cpu"), everything(x, "tpu")))(x)
    for found, wanted in zip(*both, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_inside_towers_on_either_platform():
    axis = Axis("tower", jax.devices()[:2])
    x = RNG.rand(2, 3, 6, 6, 2).astype(np.float32)

    def loss(x):
        pools = (f(x, (1, 2), (3, 3), (2, 2), "SAME", platform) for platform in ("cpu", "tpu")
                 for f in (pooling_kernels.max_pool, pooling_kernels.avg_pool))  # fmt: skip
        return sum(jnp.sum(y**2) for y in pools)

    found = jax.jit(axis.map(lambda x: jax.grad(loss)(x[0])[None], (P("tower"),), P("tower")))(x)
    np.testing.assert_allclose(found[1], jax.jit(jax.grad(loss))(x[1]), rtol=1e-5)


def test_integers_empty_batches_and_long_windows():
    given = placeholder("int32", [None, 4, 4, 1])
    empty = f32(None, 6, 6, 2)
    y = p.max_pool(empty, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    (dx,) = gradients(p.avg_pool(multiply(y, y), [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), [empty])
    wide = RNG.rand(1, 1, 80, 1).astype(np.float32)
    long = [f(wide, [1, 1, 40, 1], [1, 1, 40, 1], "VALID") for f in (p.max_pool, p.avg_pool)]
    a, b, c, d = Session().run(
        [p.max_pool(given, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), y, dx, long],
        {given: np.arange(16).reshape(1, 4, 4, 1) - 20, empty: np.zeros((0, 6, 6, 2), np.float32)},
    )
    np.testing.assert_array_equal(a[0, :, :, 0], [[-15, -13], [-7, -5]])
    assert (b.shape, c.shape) == ((0, 3, 3, 2), (0, 6, 6, 2))
    np.testing.assert_allclose(d[0].ravel(), wide.reshape(2, 40).max(1))
    np.testing.assert_allclose(d[1].ravel(), wide.reshape(2, 40).mean(1), rtol=1e-6)


def test_shapes_known_in_part():
    assert p.max_pool(f32(None, None, 7, 3), [1, 2, 2, 1], [1, 2, 2, 1], "SAME").shape.as_list() == [None, None, 4, 3]
    assert p.avg_pool(placeholder("float32"), [1, 2, 2, 1], [1, 2, 2, 1], "VALID").shape.as_list() == [None] * 4
    assert p.max_pool3d(f32(2, 4, 5, 6, None), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID").shape.as_list() == [
        2, 2, 2, 3, None]  # fmt: skip


BAD = [
    (lambda: p.max_pool(f32(1, 8, 8, 3), [1, 9, 2, 1], [1, 1, 1, 1], "VALID"), ValueError, "subtracting 9 from 8"),
    (lambda: p.max_pool(f32(8, 8, 3), [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), ValueError, "rank 4"),
    (lambda: p.max_pool(f32(4, 8, 8, 3), [2, 1, 1, 1], [2, 1, 1, 1], "SAME"), ValueError, "batch"),
    (lambda: p.max_pool(f32(4, 8, 8, 4), [1, 2, 1, 2], [1, 1, 1, 2], "SAME"), ValueError, "channels and space"),
    (lambda: p.max_pool(f32(4, 8, 8, 3), [1, 2, 2, 1], [1, 2, 2, 1], "same"), ValueError, "'SAME' or 'VALID'"),
    (lambda: p.max_pool(f32(4, 8, 8, 3), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "NWHC"), ValueError, "data_format"),
    (lambda: p.avg_pool(placeholder("int32", [4, 8, 8, 3]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), TypeError, "int32"),
    (lambda: p.pool(f32(4, 8, 8, 3), [2, 2], "MIN", "SAME"), ValueError, "'MAX' or 'AVG'"),
    (lambda: p.pool(f32(4, 8, 8, 3), [2, 2], "MAX", "VALID", [2, 2], [2, 2]), ValueError, "strides > 1"),
    (lambda: p.pool(f32(4, 8, 8, 3), [2, 2], "MAX", "SAME", [2, 2]), ValueError, "SAME"),
    (lambda: p.pool(f32(4, 8, 8, 8, 8, 3), [2] * 4, "MAX", "SAME"), UnsupportedError, "Reshape"),
    (lambda: p.max_pool_with_argmax(f32(4, 8, 8, 3), [1, 2, 2, 1], [1, 2, 2, 1], "SAME", "float32"), TypeError,
     "int32 or int64"),
    (lambda: p.dilation2d(f32(4, 8, 8, 3), f32(2, 2, 4), [1] * 4, [1] * 4, "SAME"), ValueError, "3 and 4"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "kind", "words"), BAD)
def test_refused_while_building(build, kind, words):
    with pytest.raises(kind, match=words):
        build()
