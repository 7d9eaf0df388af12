"""``tf.gradients`` itself: what is connected, feeds, seeds, replays and order, beside the goldens of control flow."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.control_flow_namespace import namespace
from tests.spread import spread
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.indexed_slices import IndexedSlices, IndexedSlicesValue
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives.all_reduce import all_reduce, position, select
from towerstrat.graph.ops.random import stateful

tf = namespace()


@pytest.fixture
def session():
    with tf.Session() as opened:
        yield opened


def test_what_is_not_connected():
    x, z = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    n = tf.placeholder(tf.int32, [])
    y = x * 2.0
    assert tf.gradients(y, z) == [None]
    assert tf.gradients(y, [n]) == [None]
    for blocked in (
        tf.stop_gradient(y),
        tf.floor(y),
        tf.cast(tf.cast(y, tf.int32), tf.float32),
        tf.cast(y > 0.0, tf.float32),
    ):
        assert tf.gradients(blocked * 2.0, x) == [None]
    assert tf.gradients(y, [x])[0].dtype is tf.float32
    assert tf.gradients(n * 2, n) == [None]
    assert tf.gradients([y, n], [x])[0].dtype is tf.float32
    with pytest.raises(TypeError, match="numeric"):
        tf.gradients(y > 0.0, x)
    with pytest.raises(ValueError, match="1 grad_ys for 2 ys"):
        tf.gradients([y, y], x, grad_ys=[1.0])
    with pytest.raises(ValueError, match=r"grad_ys\[0\] has shape"):
        tf.gradients(y, x, grad_ys=[tf.zeros([3])])


def test_a_zero_is_not_none(session):
    x = tf.placeholder(tf.float32, [])
    (g,) = tf.gradients(x * 0.0, x)
    (of_itself,) = tf.gradients(x, x)
    assert session.run([g, of_itself], {x: 5.0}) == [0.0, 1.0]


def test_fed_in_the_middle(session):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(2.0)
    a = x * v
    b = a * a
    fetches = [b, *tf.gradients(b, [x, v, a])]
    session.run(v.initializer)
    assert session.run(fetches, {x: 3.0}) == [36.0, 24.0, 36.0, 12.0]
    assert session.run(fetches, {x: 3.0, a: 10.0}) == [100.0, 40.0, 60.0, 20.0]


def test_stopped_and_seeded(session):
    x = tf.placeholder(tf.float32, [2])
    a = x * x
    b = tf.cond(tf.reduce_sum(x) > 0.0, lambda: a * x, lambda: a)
    _, c = tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * x), [0, a])
    fetches = [
        tf.gradients(b, x)[0], tf.gradients(b, x, stop_gradients=[a])[0], tf.gradients(b, x, grad_ys=[[1.0, 10.0]])[0],
        tf.gradients(c, x)[0], tf.gradients(c, x, stop_gradients=a)[0], tf.gradients([a, a], x, [None, [0.0, 1.0]])[0],
    ]  # fmt: skip
    found = session.run(fetches, {x: [2.0, 3.0]})
    wanted = [[12, 27], [4, 9], [12, 270], [32, 108], [16, 54], [4, 12]]
    np.testing.assert_allclose(found, wanted)


def test_assignments_between(session):
    v = tf.Variable(2.0)
    before = v * v
    with get_default_graph().control_dependencies([before]):
        changed = v.assign(10.0)
    with get_default_graph().control_dependencies([changed]):
        after = v * 3.0
        y = before * after
        (g,) = tf.gradients(y, v)
        (through,) = tf.gradients(changed * 5.0, v)
    assert through is None
    session.run(v.initializer)
    assert session.run([y, g]) == [120.0, 4.0 * 30.0 + 4.0 * 3.0]
    assert session.run(v) == 10.0


def test_gradients_after_the_variable_changed_see_what_was_read(session):
    v = tf.Variable(2.0)
    x = tf.placeholder(tf.float32, [])
    _, y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * v), [0, x])
    with get_default_graph().control_dependencies([y]):
        changed = v.assign(100.0)
    with get_default_graph().control_dependencies([changed]):
        (g,) = tf.gradients(y, v)
        (gg,) = tf.gradients(g, v)
        fetches = [tf.identity(t) for t in (y, g, gg)]
    session.run(v.initializer)
    assert session.run(fetches, {x: 3.0}) == [12.0, 12.0, 6.0]


def test_random_numbers_are_drawn_once(session):
    x = tf.placeholder(tf.float32, [])
    y = x * x * x * stateful.random_uniform([], 1.0, 2.0)
    (g,) = tf.gradients(y, x)
    (gg,) = tf.gradients(g, x)
    for _ in range(3):
        found = session.run([y, g, gg], {x: 2.0})
        np.testing.assert_allclose(found, np.array([8.0, 12.0, 12.0]) * found[0] / 8.0, rtol=1e-6)


def test_rows_and_whole_variables(session):
    table = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
    rows = table.sparse_read([2, 0, 2])
    (slices,) = tf.gradients(rows * [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], table)
    (whole,) = tf.gradients(tf.reduce_sum(rows) + tf.reduce_sum(table.value() * 10.0), table)
    _, looped = tf.while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, s + table.sparse_read(i)), [tf.constant(0), tf.zeros([2])]
    )
    (in_loop,) = tf.gradients(looped, table)
    assert isinstance(slices, IndexedSlices)
    session.run(table.initializer)
    found, whole, in_loop = session.run([slices, whole, in_loop])
    np.testing.assert_array_equal(found.indices, [2, 0, 2])
    np.testing.assert_array_equal(found.values, [[1, 1], [2, 2], [3, 3]])
    np.testing.assert_array_equal(whole, [[11, 11], [10, 10], [12, 12]])
    np.testing.assert_array_equal(in_loop.indices, [0, 1])
    np.testing.assert_array_equal(in_loop.values, [[1, 1], [1, 1]])


def test_many_gradients_share_a_path(session):
    x = tf.placeholder(tf.float32, [])
    a = tf.sin(x)
    b, c = a * a, a * 3.0
    fetches = [*tf.gradients(b, [x, a]), *tf.gradients(c, [x, a]), *tf.gradients([b, c], [a, x]), *tf.gradients(a, x)]
    s, k = np.sin(0.7), np.cos(0.7)
    wanted = [2 * s * k, 2 * s, 3 * k, 3, 2 * s + 3, (2 * s + 3) * k, k]
    np.testing.assert_allclose(session.run(fetches, {x: 0.7}), wanted, rtol=1e-6)


@pytest.mark.long
@given(
    st.lists(st.sampled_from(["square", "sin", "scale", "branch", "loop"]), min_size=1, max_size=4),
    st.floats(-1.2, 1.2),
)
def test_chains_against_jax(steps, at):
    """First and second derivatives of random chains, against JAX's of the same function."""
    ours = {
        "square": lambda v: v * v + v,
        "sin": tf.sin,
        "scale": lambda v: v * 1.5,
        "branch": lambda v: tf.cond(v > 0.1, lambda: v * v, lambda: v * -2.0),
        "loop": lambda v: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + 0.5), [0, v])[1],
    }
    jaxs = {
        "square": lambda v: v * v + v,
        "sin": jax.numpy.sin,
        "scale": lambda v: v * 1.5,
        "branch": lambda v: v * v if v > 0.1 else v * -2.0,
        "loop": lambda v: ((v * v + 0.5) * v + 0.5) * v + 0.5,
    }
    with Graph().as_default(), tf.Session() as session, jax.enable_x64(True):
        x = tf.placeholder(tf.float64, [])
        y = x
        for step in steps:
            y = ours[step](y)
        (g,) = tf.gradients(y, x)
        (gg,) = tf.gradients(g, x)
        found = session.run([y, g, *([] if gg is None else [gg])], {x: at})

        def function(v):
            for step in steps:
                v = jaxs[step](v)
            return v

        wanted = [function(at), jax.grad(function)(at), jax.grad(jax.grad(function))(at)]
    np.testing.assert_allclose(found, wanted[: len(found)], rtol=1e-9, atol=1e-12)
    assert gg is not None or float(wanted[2]) == 0.0


def test_towers_see_their_own_gradients_and_sums_of_sums(session):
    axis = Axis("tower", jax.devices()[:4])
    v = tf.Variable(3.0)
    graph = get_default_graph()
    with graph.under(axis):
        i = tf.cast(position(axis), tf.float32)
        local = i * v * v
        total = all_reduce(local, axis, "sum")
        own, of_sum = tf.gradients(local, v)[0], tf.gradients(total, v)[0]
        (second,) = tf.gradients(own, v)
    outside = tf.gradients(total, v)[0]
    session.run(v.initializer)
    fetches = [[select(t, axis, k) for k in range(4)] for t in (own, of_sum, second)]
    found = session.run([*fetches, outside])
    assert found[:3] == [[0.0, 6.0, 12.0, 18.0], [0.0, 24.0, 48.0, 72.0], [0.0, 2.0, 4.0, 6.0]]
    assert found[3] == 36.0


def power(v, k):
    """v to the k-th, by a loop whose number of iterations depends on a value."""
    return tf.while_loop(lambda i, a: i < k, lambda i, a: (i + 1, a * v), [0, v * 0.0 + 1.0])[1]


@pytest.mark.long
@spread(("inner", "count", "taken"), [(3, 4, True), (2, 5, False), (0, 0, True)], every=3)
def test_loops_inside_of_others_need_no_bound(session, inner, count, taken):
    x, n, m = tf.placeholder(tf.float64, []), tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    c = tf.placeholder(tf.bool, [])
    in_loop = tf.while_loop(lambda j, a: j < m, lambda j, a: (j + 1, a + power(x, j)), [0, x * 0.0])[1]
    in_branch = tf.cond(c, lambda: power(x, n), lambda: power(x * 2.0, m))
    in_both = tf.while_loop(
        lambda j, a: j < m,
        lambda j, a: (j + 1, tf.cond(j > 1, lambda: a + power(x, j), lambda: a + power(x, n))),
        [0, x * 0.0],
    )[1]
    exponents = [range(count), [inner if taken else count], [j if j > 1 else inner for j in range(count)]]
    scale = [1.0, 1.0 if taken else 2.0**count, 1.0]
    at = 1.5
    for y, powers, factor in zip([in_loop, in_branch, in_both], exponents, scale, strict=True):
        (first,) = tf.gradients(y, x)
        (second,) = tf.gradients(first, x)
        found = session.run([y, first, second], {x: at, n: inner, m: count, c: taken})
        wanted = [
            sum(at**k for k in powers),
            sum(k * at ** (k - 1) for k in powers),
            sum(k * (k - 1) * at ** (k - 2) for k in powers),
        ]
        np.testing.assert_allclose(found, np.multiply(wanted, factor), rtol=1e-12)


def test_gradients_inside_of_functions_reach_what_they_capture(session):
    x, z, v = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, []), tf.Variable(2.0)
    session.run(v.initializer)
    product = x * z
    square = v * v

    @function
    def outer():
        same = tf.identity(x)

        @function
        def inner():
            ys = [tf.identity(same), tf.identity(z), tf.identity(product), x]
            return [*tf.gradients(ys, [x, z]), *tf.gradients(square * product, [v, x])]

        return inner()

    assert session.run(outer(), {x: 5.0, z: 3.0}) == [5.0, 6.0, 60.0, 12.0]


def test_the_gradient_of_a_constant_gradient_is_none(session):
    x, z = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
    for y in (x * 3.0 + z, tf.reduce_mean(x), tf.maximum(x, z), tf.reshape(x, [3, 1]) / 2.0, tf.reduce_max(x)):
        assert tf.gradients(tf.gradients(y, x), x) == [None]
    by_x, by_z = tf.gradients(x * z, [x, z])
    assert tf.gradients(by_x, x) == [None]
    assert session.run(tf.gradients(by_x * by_z, [x, z]), {x: [1, 2, 3], z: [4, 5, 6]})[0].tolist() == [4, 5, 6]


def test_third_derivatives_go_through_all_of_the_inner_paths(session):
    x = tf.placeholder(tf.float64, [2])
    first = tf.gradients(tf.reduce_sum(tf.exp(x) * x * x), x)
    second = tf.gradients(first, x)
    (third,) = tf.gradients(second, x)
    at = np.array([1.0, 2.0])
    np.testing.assert_allclose(session.run(third, {x: at}), np.exp(at) * (at * at + 6 * at + 6))


def test_rows_stay_rows(session):
    x, at = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.int32, [None])
    seed = IndexedSlices(tf.ones([2, 2]), at, tf.constant([3, 2]))
    for y, sign in ((tf.identity(x), 1.0), (-x, -1.0), (tf.identity(tf.negative(-x)), 1.0)):
        (g,) = tf.gradients(y, x, seed)
        assert isinstance(g, IndexedSlices)
        assert g.dense_shape is not None
        found = session.run(g, {x: np.zeros((3, 2)), at: [2, 0]})
        np.testing.assert_array_equal(found.values, np.full((2, 2), sign))
        assert found.indices.tolist() == [2, 0]
    (g,) = tf.gradients(tf.sin(x), x, seed)
    assert not isinstance(g, IndexedSlices)
    found = session.run(g, {x: np.zeros((3, 2)), at: [2, 2]})
    np.testing.assert_array_equal(found, [[0, 0], [0, 0], [2, 2]])
    (g,) = tf.gradients([tf.identity(x), x * 2.0], x, [seed, None])
    assert session.run(g, {x: np.zeros((3, 2)), at: [1, 0]}).tolist() == [[3, 3], [3, 3], [2, 2]]


def test_rows_are_negated_scaled_fed_and_fetched(session):
    rows = IndexedSlices(tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [None]))
    negated = -rows
    assert isinstance(negated, IndexedSlices)
    found = session.run([negated, tf.scalar_mul(2.0, rows).values], {rows: IndexedSlicesValue([1.0, 2.0], [3, 0])})
    assert found[0].values.tolist() == [-1.0, -2.0]
    assert found[0].indices.tolist() == [3, 0]
    assert found[1].tolist() == [2.0, 4.0]
    again = session.run(rows, {rows: ([1.0], [7])})
    assert (again.values.tolist(), again.indices.tolist(), again.dense_shape) == ([1.0], [7], None)


def test_each_of_several_gradients_has_an_operation_of_its_own(session):
    """Programs name what belongs to a gradient by ``gradient.op.name``."""
    x, z = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="z")
    first, nothing, second = tf.gradients(x * z, [x, tf.constant(1.0), z])
    assert nothing is None
    assert [g.op.name for g in (first, second)] == ["gradients/x_grad", "gradients/z_grad"]
    assert session.run([first, second], {x: 2.0, z: 3.0}) == [3.0, 2.0]
    (twice,) = tf.gradients(first * second, x)
    assert session.run(twice, {x: 2.0, z: 3.0}) == 3.0
