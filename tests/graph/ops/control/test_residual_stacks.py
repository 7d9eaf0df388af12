"""Loops with a gradient: as ``lax.scan`` to the bit, whoever knows how often they run; what they keep."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import towerstrat.compat.v1 as tf
from towerstrat.graph.ops.control.residual_stacks import repeat

ROWS, BOUND, SIZE = 5, 8, 4


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def model(loop, dtype):
    """A loss by weights, a factor, the first state and rows: what is carried and what is made are in it."""

    def loss(w, v, x, rows):
        def step(carry, row):
            i, h = carry
            h = jnp.tanh(h @ w.astype(jnp.float32).T.astype(dtype) + row * v)
            return (i + np.int64(1), h), (h * 2, i)

        (i, h), (made, numbers) = loop(step, (np.int64(0), x), rows)
        return jnp.sum(h * h) + jnp.sum(made * made), (i, numbers)

    return jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3), has_aux=True))


def values(dtype):
    random = np.random.RandomState(0)
    sizes = (SIZE, SIZE), (), (2, SIZE), (BOUND, 2, SIZE)
    return [jnp.asarray(random.normal(size=s) * 0.5, dtype) for s in sizes]


def bounded(length):
    """A loop that may run ``BOUND`` times, and runs ``length`` times."""

    def loop(step, carry, rows):
        rest = jnp.zeros_like(rows), jnp.full((BOUND,), -1)
        return repeat(step, carry, rows, BOUND, lambda carry: carry[0] < length, rest)

    return loop


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float64])
@pytest.mark.parametrize("length", [0, 2, ROWS, BOUND])
def test_gradients_are_those_of_a_scan_to_the_bit(dtype, length):
    *args, rows = values(dtype)
    (wanted, (count, _)), of_scan = model(lambda s, c, x: lax.scan(s, c, x[:length]), dtype)(*args, rows)
    loops = [bounded(length)]
    if length:
        loops.append(lambda s, c, x: repeat(s, c, x[:length], length))
    for loop in loops:
        (found, (times, numbers)), gradients = model(loop, dtype)(*args, rows)
        assert found == wanted
        assert times == count == length
        assert numbers.tolist() == [*range(length), *[-1] * (len(numbers) - length)]
        for mine, theirs in zip(gradients, of_scan, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


@pytest.mark.parametrize("loop", [bounded(ROWS), lambda s, c, x: repeat(s, c, x, BOUND)])
def test_what_iterations_have_in_common_is_kept_once(loop):
    text = str(jax.make_jaxpr(model(loop, jnp.float32))(*values(jnp.float32)))
    assert f"[{BOUND},2,{SIZE}]" in text
    assert f"[{BOUND},{SIZE},{SIZE}]" not in text, "no stack of weights, nor of what is made of them alone"


def test_only_what_is_differentiated_is_kept():
    def loss(x, w, y):
        step = lambda h, row: (h * jnp.sin(x), row @ w)  # noqa: E731
        h, made = repeat(step, jnp.float32(1), y, BOUND)
        return h + jnp.sum(made)

    w, _, _, y = values(jnp.float32)
    text = str(jax.make_jaxpr(jax.grad(loss))(jnp.float32(2), w, y))
    assert f"f32[{BOUND}]" in text
    assert text.count("dot_general") == 1, "the product, and none of its derivatives"


def sines(x, count, **options):
    return tf.while_loop(lambda i, v: i < count, lambda i, v: (i + 1, tf.sin(v) * x), [0, x], **options)[1]


def by_jax(x, count, order):
    def function(x):
        v = x
        for _ in range(count):
            v = jnp.sin(v) * x
        return v

    for _ in range(order):
        function = jax.grad(function)
    return float(function(jnp.float64(x)))


def test_derivatives_of_higher_order():
    x, n = tf.constant(1.3, tf.float64), tf.placeholder(tf.int32, [])
    for loop in (sines(x, n), sines(x, n, maximum_iterations=6), sines(x, 3)):
        found = [loop]
        for _ in range(3):
            found += tf.gradients(found[-1], x)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(found, {n: 3}), [by_jax(1.3, 3, k) for k in range(4)], rtol=1e-12)
    with tf.Session() as session:
        assert session.run(tf.gradients(sines(x, n), x), {n: 0}) == [1.0]


def test_loops_in_a_branch_in_a_loop_whose_lengths_are_fed():
    x, n, m = tf.constant(1.1, tf.float64), tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])

    def body(i, v):
        return i + 1, tf.cond(tf.equal(i, 1), lambda: v * x, lambda: sines(v, m + i) + x)

    y = tf.while_loop(lambda i, _: i < n, body, [0, x])[1]

    def wanted(x):
        v = x
        for i in range(3):
            if i == 1:
                v = v * x
                continue
            inner = v
            for _ in range(2 + i):
                inner = jnp.sin(inner) * v
            v = inner + x
        return v

    with tf.Session() as session:
        found = session.run([y, *tf.gradients(y, x)], {n: 3, m: 2})
    np.testing.assert_allclose(found, jax.value_and_grad(wanted)(jnp.float64(1.1)), rtol=1e-12)


def test_bodies_act_once_in_each_iteration(capfd):
    """Printing, writing and drawing, in a loop in a loop, of lengths that are fed."""
    x, n = tf.constant(1.0), tf.placeholder(tf.int32, [])
    v = tf.Variable(0.0, use_resource=True)

    def inner(j, a):
        with tf.control_dependencies([tf.Print(j, [], "inside"), v.assign_add(1.0)]):
            return j + 1, a * (1.0 + tf.random_uniform([]))

    def body(i, a):
        return i + 1, tf.while_loop(lambda j, _: j < i + 1, inner, [0, a])[1]

    y = tf.while_loop(lambda i, _: i < n, body, [0, x])[1]
    (g,) = tf.gradients(y, x)
    with tf.Session() as session:
        session.run(v.initializer)
        value, slope = session.run([y, g], {n: 3})
        assert session.run(v) == 6.0
    assert slope > 1.0
    np.testing.assert_allclose(value, slope, rtol=1e-6, err_msg="other draws")
    assert capfd.readouterr().err.count("inside") == 6


def test_arrays_that_a_loop_of_unknown_length_walks_through():
    rows, n = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [])
    array = tf.TensorArray(tf.float32, tf.shape(rows)[0]).unstack(rows)
    made = tf.TensorArray(tf.float32, 4)

    def step(i, a, made):
        a = a * array.read(i)
        return i + 1, a, made.write(i, a)

    _, last, made = tf.while_loop(lambda i, *_: i < n, step, [0, tf.ones([2]), made])
    y = made.stack()
    (g,) = tf.gradients([y, last], rows)
    data = np.array([[1, 2], [3, 4], [5, 6]], np.float32)

    def by_hand(rows):
        made = jnp.cumprod(rows[:2], 0)
        return jnp.sum(made) + jnp.sum(made[-1])

    with tf.Session() as session:
        stacked, gradient = session.run([y, g], {rows: data, n: 2})
        np.testing.assert_array_equal(stacked, [[1, 2], [3, 8], [0, 0], [0, 0]])
        np.testing.assert_array_equal(gradient, jax.grad(by_hand)(jnp.asarray(data)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="read from index 3 but array size is: 3"):
            session.run([y, g], {rows: data, n: 4})
        with pytest.raises(tf.errors.InvalidArgumentError, match="write to index 4"):
            session.run([y, g], {rows: np.ones([8, 2], np.float32), n: 6})
