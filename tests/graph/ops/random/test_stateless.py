"""Stateless random operations: moments and ranges, seeds, dtypes, shapes and bad input."""

import math

import jax
import numpy as np
import pytest

from towerstrat.graph.eager import mode
from towerstrat.graph.functions.map_fn import map_fn
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array.arrays import stack
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.ops.random import stateless as r
from towerstrat.graph.ops.random.stateful import key_of, stateless_random_uniform
from towerstrat.graph.runtime.sessions.session import Session

N = 40000
SEED = [7, -3]


@pytest.mark.long
def test_moments_and_ranges():
    values = Session().run({
        "uniform": r.stateless_uniform([N], SEED, -1.0, 3.0),
        "integers": r.stateless_uniform([N], SEED, -2, 3, "int32"),
        "long": r.stateless_uniform([N], SEED, 2**40, 2**40 + 4, "int64"),
        "normal": r.stateless_normal([N], SEED, 2.0, 0.5, "float64"),
        "truncated": r.stateless_truncated_normal([N], SEED, -1.0, 2.0),
        "half": r.stateless_uniform([N], SEED, dtype="float16"),
        "gamma": r.stateless_gamma([N, 2], SEED, [0.5, 3.0], 2.0),
        "poisson": r.stateless_poisson([N, 2], SEED, [0.5, 20.0]),
        "binomial": r.stateless_binomial([N, 2], SEED, [4.0, 100.0], [0.5, 0.1]),
        "certain": r.stateless_binomial([1, 4], SEED, [5.0, 0.0, 7.0, -2.0], [0.0, 0.5, 1.0, 0.5]),
        "classes": r.stateless_categorical(np.log(np.float32([[0.2, 0.3, 0.5]])), N, SEED),
        "tail": r.stateless_parameterized_truncated_normal([N, 2], SEED, 1.0, 2.0, [9.0, -20.0], [1e9, -7.0]),
    })  # fmt: skip
    uniform, integers, normal = values["uniform"], values["integers"], values["normal"]
    assert uniform.min() >= -1
    assert uniform.max() < 3
    np.testing.assert_allclose([uniform.mean(), uniform.std()], [1, 4 / 12**0.5], atol=0.03)
    assert integers.dtype == np.int32
    np.testing.assert_allclose(np.bincount(integers + 2) / N, [0.2] * 5, atol=0.01)
    assert set(values["long"] - 2**40) == {0, 1, 2, 3}
    assert normal.dtype == np.float64
    np.testing.assert_allclose([normal.mean(), normal.std()], [2, 0.5], atol=0.02)
    cut = (values["truncated"] + 1) / 2
    assert np.abs(cut).max() <= 2
    np.testing.assert_allclose([cut.mean(), cut.std()], [0, 0.87962566], atol=0.02)
    assert values["half"].dtype == np.float16
    np.testing.assert_allclose(values["gamma"].mean(0), [0.25, 1.5], rtol=0.03)
    np.testing.assert_allclose(values["gamma"].var(0), [0.125, 0.75], rtol=0.06)
    assert values["poisson"].dtype == np.int32
    np.testing.assert_allclose(values["poisson"].mean(0), [0.5, 20], rtol=0.03)
    np.testing.assert_allclose(values["poisson"].var(0), [0.5, 20], rtol=0.06)
    np.testing.assert_allclose(values["binomial"].mean(0), [2, 10], rtol=0.02)
    np.testing.assert_allclose(values["binomial"].var(0), [1, 9], rtol=0.05)
    np.testing.assert_array_equal(values["certain"], [[0, 0, 7, 0]])
    np.testing.assert_allclose(np.bincount(values["classes"][0]) / N, [0.2, 0.3, 0.5], atol=0.01)
    tail = values["tail"]
    assert tail[:, 0].min() >= 9
    assert tail[:, 1].max() <= -7
    # The mean of a standard normal beyond 4 is its density there over the area above it: 4.2256.
    np.testing.assert_allclose(tail.mean(0), [1 + 2 * 4.2256, 1 - 2 * 4.2256], rtol=0.003)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_the_whole_range_of_integers(dtype):
    values = Session().run(r.stateless_uniform([N], SEED, None, None, dtype))
    assert values.dtype == np.dtype(dtype)
    info = np.iinfo(dtype)
    share = (values.astype(np.float64) - info.min) / (float(info.max) - info.min)
    np.testing.assert_allclose([share.mean(), share.std()], [0.5, 12**-0.5], atol=0.01)
    assert np.unique(values & np.array(1, dtype)).size == 2
    unsigned = np.dtype(f"uint{info.bits}")
    with jax.enable_x64(True):
        bits = jax.random.bits(key_of(np.array(SEED)), [N], unsigned)
    np.testing.assert_array_equal(values.view(unsigned), bits)


def draws(seed):
    """One value of each kind."""
    return [
        r.stateless_uniform([2], seed), r.stateless_uniform([2], seed, 0, 2**30, "int32"),
        r.stateless_normal([2], seed), r.stateless_gamma([2], seed, 2.0), r.stateless_poisson([2], seed, 1e6),
        r.stateless_binomial([2], seed, 1e6, 0.5), r.stateless_parameterized_truncated_normal([2], seed),
        r.split(seed), r.stateless_shuffle(np.arange(50), seed),
    ]  # fmt: skip


@pytest.mark.long
def test_the_seed_decides():
    seed = placeholder("int64", [2])
    tensors = draws(seed)
    session = Session()
    first, again = session.run(tensors, {seed: [1, 2]}), session.run(tensors, {seed: [1, 2]})
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y)
    for other in ([2, 1], [1, 3], [-2, 2], [1, -3], [1 + 2**32, 2], [1, 2 + 2**40]):
        for x, y in zip(first, session.run(tensors, {seed: other}), strict=True):
            assert not np.array_equal(x, y)


@pytest.mark.long
def test_the_same_numbers_in_graphs_functions_and_eagerly():
    in_graph = Session().run(draws([1, 2]))
    with mode.eager_mode():
        eagerly = [t.numpy() for t in draws([1, 2])]
        in_function = [t.numpy() for t in function(draws)(constant([1, 2]))]
    for x, y, z in zip(in_graph, eagerly, in_function, strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)


def test_the_type_of_the_seed_does_not_matter():
    found = Session().run([r.stateless_normal([3], constant(SEED, kind)) for kind in ("int32", "int64")])
    np.testing.assert_array_equal(found[0], found[1])
    older = Session().run([stateless_random_uniform([3], SEED), r.stateless_uniform([3], SEED, alg="philox")])
    np.testing.assert_array_equal(older[0], older[1])


def test_parameters_and_shapes_that_are_tensors():
    low, size = placeholder("int32", []), placeholder("int32", [2])
    x = r.stateless_uniform(size, SEED, low, low + 1, "int32")
    assert x.dims == (None, None)
    np.testing.assert_array_equal(Session().run(x, {low: 5, size: [2, 3]}), np.full([2, 3], 5))
    wide = Session().run(r.stateless_normal([2, 3], SEED, [[100.0], [-100.0]], [1e-3, 1e-3, 1e-3]))
    np.testing.assert_allclose(wide, [[100.0] * 3, [-100.0] * 3], atol=0.1)
    assert Session().run(r.stateless_gamma([0, 2], SEED, [1.0, 2.0])).shape == (0, 2)


def test_new_seeds_from_seeds():
    one, two, same, parts = Session().run([
        r.fold_in(SEED, 3), r.fold_in(SEED, 4), r.fold_in(SEED, constant(3, "int64")), r.split(SEED, 5),
    ])  # fmt: skip
    assert (one.dtype, same.dtype, one.shape) == (np.int32, np.int64, (2,))
    assert not np.array_equal(one, two)
    assert (parts.dtype, parts.shape) == (np.int32, (5, 2))
    assert len(np.unique(parts)) == 10


def test_shuffling():
    x = np.arange(100).reshape(50, 2)
    found = Session().run(r.stateless_shuffle(x, SEED))
    assert not np.array_equal(found, x)
    np.testing.assert_array_equal(np.sort(found, 0), x)


def test_gradients_reach_parameters():
    alpha, beta, mean = constant([1.0, 2.0]), constant(2.0), constant(3.0)
    gamma = reduce_sum(r.stateless_gamma([4, 2], SEED, alpha, beta))
    normal = reduce_sum(r.stateless_normal([4], SEED, mean))
    d_alpha, d_beta, d_mean, value = Session().run([*gradients(gamma, [alpha, beta]), *gradients(normal, mean), gamma])
    assert (d_alpha > 0).all()
    np.testing.assert_allclose(d_beta, -value / 2, rtol=1e-5)
    assert d_mean == 4


def test_in_loops():
    seeds = constant([[1, 2], [3, 4]])
    looped, single = Session().run([
        map_fn(lambda seed: r.stateless_binomial([3], seed, 10.0, 0.5), seeds, dtype="int32"),
        r.stateless_binomial([3], [3, 4], 10.0, 0.5),
    ])  # fmt: skip
    np.testing.assert_array_equal(looped[1], single)


@pytest.mark.long
def test_in_towers():
    axis = Axis("tower", jax.devices()[:3])
    graph = get_default_graph()
    with graph.under(axis):
        own = all_reduce.position(axis)
        same = draws([1, 2])
        apart = draws(stack([constant(1), own])) + [r.stateless_poisson([2], [1, 2], cast(own, "float32") * 50.0)]
    values = Session().run([[all_reduce.select(t, axis, i) for i in range(3)] for t in same + apart])
    for here in values[: len(same)]:
        np.testing.assert_array_equal(here[0], here[1])
    for here in values[len(same) :]:
        assert not any(np.array_equal(here[i], here[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    for x, y in zip(Session().run(draws([1, 2])), (here[0] for here in values), strict=False):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: r.stateless_uniform([2], SEED, dtype="int32"), ValueError, "both None or both not"),
        (lambda: r.stateless_uniform([2], SEED, 0, 5, "uint32"), ValueError, "must be None"),
        (lambda: r.stateless_uniform([2], SEED, 0, 5, "int8"), ValueError, "got int8"),
        (lambda: r.stateless_uniform([2], SEED, 5, 5, "int32"), ValueError, "Need minval < maxval"),
        (lambda: r.stateless_uniform([2], [1, 2, 3]), ValueError, "a seed of two integers"),
        (lambda: r.stateless_normal([2], SEED, alg="pcg"), ValueError, "got 'pcg'"),
        (lambda: r.stateless_normal([2], SEED, alg=9), ValueError, "got 9"),
        (lambda: r.stateless_normal([2], SEED, alg=1.5), TypeError, "got 1.5"),
        (lambda: r.stateless_gamma([3], SEED, [1.0, 2.0]), ValueError, "(?i)broadcast"),
        (lambda: r.stateless_gamma([3], SEED, 1.0, [1.0, 2.0]), ValueError, "(?i)broadcast"),
        (lambda: r.stateless_gamma([], SEED, [1.0, 2.0]), ValueError, "broadcast"),
        (lambda: r.stateless_binomial([2], SEED, constant(4.0), constant(0.5, "float64")), TypeError, "counts and"),
        (lambda: r.stateless_shuffle(3, SEED), ValueError, "at least one dimension"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_gradients_of_truncated_numbers_are_implicit_ones():
    """``random_grad.py`` of the original: bounds do not move with the mean; those at infinity have none."""
    ndtr = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
    given = [np.array([[0.5], [-1.0]]), np.array(2.0), np.array([-1.0, -np.inf, 0.7]), np.array([3.0, np.inf, 4.0])]
    parameters = [constant(value) for value in given]
    drawn = r.stateless_parameterized_truncated_normal([4, 2, 3], SEED, *parameters)
    found = Session().run([drawn, *gradients([reduce_sum(drawn * drawn)], parameters)])
    sample, (mean, deviation, low, high) = found[0], given
    z, a, b = ((value - mean) / deviation for value in (sample, low, high))
    share = (ndtr(z) - ndtr(a)) / (ndtr(b) - ndtr(a))
    by_low, by_high = np.exp((z**2 - a**2) / 2) * (1 - share), np.exp((z**2 - b**2) / 2) * share
    weight = 2 * sample
    np.testing.assert_allclose(found[1], np.sum(weight, (0, 2))[:, None], rtol=1e-6)
    np.testing.assert_allclose(found[2], np.sum(weight * z), rtol=1e-6)
    np.testing.assert_allclose(found[3], np.sum(weight * by_low, (0, 1)), rtol=1e-6)
    np.testing.assert_allclose(found[4], np.sum(weight * by_high, (0, 1)), rtol=1e-6)
    assert found[3][1] == found[4][1] == 0
