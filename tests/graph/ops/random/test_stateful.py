"""Random operations: moments, ranges, seeds, counters, shapes and bad input."""

import jax
import numpy as np
import pytest

from tests.bounds import close
from tests.spread import spread
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array.arrays import shape, stack
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.ops.random import stateful as r
from towerstrat.graph.runtime.sessions.session import Session

N = 40000


@pytest.mark.long
def test_moments_and_ranges():
    r.set_random_seed(1)
    values = Session().run({
        "uniform": r.random_uniform([N], -1.0, 3.0),
        "integers": r.random_uniform([N], -2, 3, "int32"),
        "long": r.random_uniform([N], 2**40, 2**40 + 4, "int64"),
        "normal": r.random_normal([N], 2.0, 0.5, "float64"),
        "truncated": r.truncated_normal([N], -1.0, 2.0),
        "half": r.random_uniform([N], dtype="float16"),
        "gamma": r.random_gamma([N // 10], [0.5, 3.0], 2.0),
        "poisson": r.random_poisson([0.5, 20.0], [N // 10], "int32"),
        "classes": r.multinomial(np.log(np.float32([[0.2, 0.3, 0.5], [1, 1e-30, 1e-30]])), N),
    })  # fmt: skip
    uniform, integers, normal = values["uniform"], values["integers"], values["normal"]
    assert uniform.min() >= -1
    assert uniform.max() < 3
    np.testing.assert_allclose([uniform.mean(), uniform.std()], [1, 4 / 12**0.5], atol=0.03)
    assert integers.dtype == np.int32
    np.testing.assert_allclose(np.bincount(integers + 2) / N, [0.2] * 5, atol=0.01)
    assert values["long"].dtype == np.int64
    assert set(values["long"] - 2**40) == {0, 1, 2, 3}
    assert normal.dtype == np.float64
    np.testing.assert_allclose([normal.mean(), normal.std()], [2, 0.5], atol=0.02)
    cut = (values["truncated"] + 1) / 2
    assert np.abs(cut).max() <= 2
    np.testing.assert_allclose([cut.mean(), cut.std()], [0, 0.87962566], atol=0.02)
    assert values["half"].dtype == np.float16
    assert values["half"].max() < 1
    np.testing.assert_allclose(values["gamma"].mean(0), [0.25, 1.5], rtol=0.1)
    np.testing.assert_allclose(values["gamma"].var(0), [0.125, 0.75], rtol=0.2)
    assert values["poisson"].dtype == np.int32
    np.testing.assert_allclose(values["poisson"].mean(0), [0.5, 20], rtol=0.1)
    np.testing.assert_allclose(values["poisson"].var(0), [0.5, 20], rtol=0.2)
    assert values["classes"].dtype == np.int64
    np.testing.assert_allclose(np.bincount(values["classes"][0]) / N, [0.2, 0.3, 0.5], atol=0.01)
    assert not values["classes"][1].any()


def build(seed, op_seeds):
    """Three draws of a graph of its own, twice in one session and once in another."""
    graph = Graph()
    with graph.as_default():
        r.set_random_seed(seed)
        tensors = [r.random_uniform([4], seed=s) for s in op_seeds]
        first = Session(graph=graph)
        return first.run(tensors), first.run(tensors), Session(graph=graph).run(tensors)


def test_seeds():
    a, later, again = build(5, [None, None, 3])
    assert not np.array_equal(a[0], a[1])
    assert not np.array_equal(a[0], later[0])
    np.testing.assert_array_equal(a, again)
    other = build(6, [3, 3, None])[0]
    np.testing.assert_array_equal(other[0], other[1])
    assert not any(np.array_equal(x, y) for x in a for y in other)


def test_an_unrelated_run_moves_nothing():
    x, y = r.random_uniform([3], seed=1), r.random_uniform([3], seed=2)
    one, two = Session(), Session()
    one.run(y)
    one.run(y)
    np.testing.assert_array_equal(one.run([x]), two.run([x]))


def test_get_seed_is_the_originals():
    assert r.get_seed(None) == (None, None)
    assert r.get_seed(4) == (87654321, 4)
    r.set_random_seed(11)
    assert r.get_seed(4) == (11, 4)
    constant(1.0)
    assert r.get_seed(None) == (11, 1)
    r.set_random_seed(0)
    assert r.get_seed(0) == (0, 2**31 - 1)
    r.set_random_seed(2**31)
    assert r.get_seed(2**31 + 4) == (1, 5)


def test_shapes():
    x = placeholder("float32", [None, 3])
    dynamic = r.random_normal(shape(x))
    packed = r.random_uniform(stack([shape(x)[0], 2]), 0, 5, "int32")
    assert dynamic.shape.as_list() == [None, 3]
    assert packed.shape.as_list() == [None, 2]
    assert r.random_gamma([4], np.ones((2, 1), np.float32), np.ones(3, np.float32)).shape.as_list() == [4, 2, 3]
    assert r.random_poisson(np.ones((2, 3), np.float32), [4]).shape.as_list() == [4, 2, 3]
    assert r.multinomial(x, 5).shape.as_list() == [None, 5]
    assert r.random_uniform([]).shape.as_list() == []
    session = Session()
    for n in (2, 0):
        a, b = session.run([dynamic, packed], {x: np.zeros((n, 3), np.float32)})
        assert (a.shape, b.shape) == ((n, 3), (n, 2))


def test_names_are_the_originals():
    assert r.random_uniform([2]).name == "random_uniform:0"
    assert r.random_uniform([2], 0, 3, "int32").name == "random_uniform_1:0"
    assert r.random_normal([2], name="x").name == "x:0"
    assert r.truncated_normal([2], stddev=constant(2.0)).name == "truncated_normal:0"
    assert r.random_shuffle([1.0, 2.0]).name == "RandomShuffle:0"
    assert r.multinomial([[0.0, 1.0]], 1).name == "multinomial/Multinomial:0"


def test_parameters_are_differentiated():
    mean, stddev = placeholder("float32", []), placeholder("float32", [])
    made = r.random_normal([5], mean, stddev, seed=1)
    values, da, db = Session().run([made, *gradients(made, [mean, stddev])], {mean: 3.0, stddev: 2.0})
    assert da == 5
    close(db, ((values - 3) / 2).sum(), 5 + 2, np.abs(values).sum() + 3 * 5)


def test_shuffle_and_crop():
    rows = np.arange(24).reshape(12, 2)
    x = placeholder("float32", [6, 5, 3])
    part = r.random_crop(x, [4, 5, 2], seed=3)
    (dx,) = gradients(part, [x])
    session = Session()
    shuffled = session.run(r.random_shuffle(rows, seed=1))
    assert not np.array_equal(shuffled, rows)
    np.testing.assert_array_equal(np.sort(shuffled[:, 0]), rows[:, 0])
    np.testing.assert_array_equal(shuffled[:, 1], shuffled[:, 0] + 1)
    image = np.arange(90.0, dtype=np.float32).reshape(6, 5, 3)
    corners = set()
    for _ in range(12):
        found, dx_ = session.run([part, dx], {x: image})
        corner = np.unravel_index(int(found[0, 0, 0]), image.shape)
        corners.add(corner)
        np.testing.assert_array_equal(found, image[corner[0] :, corner[1] :, corner[2] :][:4, :5, :2])
        np.testing.assert_array_equal(image[dx_ == 1], found.ravel())
    assert len(corners) > 2


def test_stateless_depends_on_its_seed_only():
    seed = placeholder("int64", [2])
    made = [r.stateless_random_uniform([5], seed, 2.0, 4.0), r.stateless_random_normal([5], seed),
            r.stateless_truncated_normal([5], seed, dtype="float64"),
            r.stateless_multinomial(np.zeros((2, 3), np.float32), 5, seed)]  # fmt: skip
    session = Session()
    a, b = (session.run(made, {seed: [1, 2]}) for _ in range(2))
    for other in ([2, 1], [1, 2 + 2**32]):
        assert not np.array_equal(a[0], session.run(made[0], {seed: other}))
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)
    assert a[0].min() >= 2
    assert a[0].max() < 4


def test_dropout():
    x = placeholder("float32", [None, 50])
    keep = placeholder("float32", [])
    y = misc.dropout(x, keep, seed=1)
    rows = misc.dropout(np.ones((400, 50), np.float32), 0.5, noise_shape=[None, 1], seed=2)
    dx, dkeep = gradients(y, [x, keep])
    ones = np.ones((400, 50), np.float32)
    session = Session()
    a, b, g, dk = session.run([y, rows, dx, dkeep], {x: ones, keep: 0.8})
    assert set(np.unique(a)) == {0, np.float32(1.25)}
    np.testing.assert_allclose((a > 0).mean(), 0.8, atol=0.02)
    np.testing.assert_array_equal(g, a)
    close(dk, -(a > 0).sum() / 0.64, ones.size)
    assert (b == b[:, :1]).all()
    assert 0.4 < (b > 0).mean() < 0.6
    assert session.run(y, {x: ones[:0], keep: 0.8}).shape == (0, 50)
    assert misc.dropout(x, 1.0) is x
    assert misc.dropout(x, 0.5, name="d").name == "d/mul:0"


@spread("build", [
    lambda: r.random_uniform([3], seed=1),
    lambda: r.random_normal([3], seed=1),
    lambda: r.truncated_normal([3], seed=1),
    lambda: r.random_uniform([3], 0, 2**30, "int32", seed=1),
    lambda: r.random_shuffle(np.arange(50.0, dtype=np.float32), seed=1),
    lambda: r.multinomial(np.zeros((2, 900), np.float32), 3, seed=1),
    lambda: r.random_gamma([3], 2.0, seed=1),
    lambda: r.random_poisson(500.0, [3], seed=1),
], every=4)  # fmt: skip
def test_towers_draw_their_own(build):
    axis = Axis("tower", jax.devices()[:3])
    with get_default_graph().under(axis):
        made = build()
    values = Session().run([all_reduce.select(made, axis, i) for i in range(3)])
    assert not any(np.array_equal(values[i], values[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


BAD = [
    (lambda: r.random_uniform([2], 0, dtype="int32"), ValueError, "maxval"),
    (lambda: r.random_uniform([2], 5, 5, "int32"), ValueError, "minval < maxval"),
    (lambda: r.random_uniform([2], dtype="uint8"), ValueError, "uint8"),
    (lambda: r.random_normal([2], dtype="int32"), TypeError, "int32"),
    (lambda: r.random_normal([2, -1]), ValueError, "at least 0"),
    (lambda: r.random_normal(placeholder("int32", [2, 2])), ValueError, "rank 1"),
    (lambda: r.multinomial(np.zeros(3, np.float32), 2), ValueError, "batch, classes"),
    (lambda: r.random_crop(np.zeros((3, 3), np.float32), [4, 3]), ValueError, "Need value.shape >= size"),
    (lambda: r.random_crop(np.zeros((3, 3), np.float32), [2]), ValueError, "2 entries"),
    (lambda: r.stateless_random_uniform([2], [1, 2, 3]), ValueError, "two integers"),
    (lambda: misc.dropout(np.ones(3, np.float32), 0.0), ValueError, "keep_prob"),
    (lambda: misc.dropout(np.ones(3, np.int32), 0.5), ValueError, "floating"),
]


@pytest.mark.parametrize(("build", "kind", "words"), BAD)
def test_refused_while_building(build, kind, words):
    with pytest.raises(kind, match=words):
        build()
