"""``tf.GradientTape``: what it sees, what it returns, eagerly and in functions. Meaning as in 2.15."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def both(function):
    """The function called eagerly, and as a program."""
    return [function, tf.function(function)]


def test_sources_in_structures():
    def work():
        x = tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = y * y
            other = tf.constant(1) * 2
        return (
            tape.gradient(z, [x, y]), tape.gradient(y, {"a": x, "b": tf.constant(2.0)}), tape.gradient(other, x),
            tape.gradient([y, z], x), tape.gradient(y, x, output_gradients=tf.constant(2.0)),
            tape.gradient(y, tf.constant([1.0, 2.0]), unconnected_gradients=tf.UnconnectedGradients.ZERO),
        )  # fmt: skip

    for call in both(work):
        (dx, dy), named, none, both_targets, doubled, zeros = call()
        assert (float(dx), float(dy)) == (108.0, 18.0)
        assert float(named["a"]) == 6.0
        assert named["b"] is None
        assert none is None
        assert float(both_targets) == 114.0
        assert float(doubled) == 12.0
        np.testing.assert_array_equal(zeros.numpy(), [0.0, 0.0])


def test_what_came_before_is_not_on_the_tape():
    variable = tf.Variable(2.0)

    def work():
        before = variable * 3.0
        with tf.GradientTape() as tape:
            y = before * variable
        return tape.gradient(y, variable)

    for call in both(work):
        assert float(call()) == 6.0


def test_what_comes_after_is_not_on_the_tape():
    x = tf.constant(2.0)

    def work(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y * 1.0, x)

    for call in both(work):
        assert call(x) is None


def test_stop_recording():
    x = tf.constant(2.0)

    def work(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                hidden = y * x
            z = y * x
        return tape.gradient(hidden, x), tape.gradient(z, x)

    for call in both(work):
        hidden, seen = call(x)
        assert hidden is None
        assert float(seen) == 12.0


def test_reset_forgets():
    x = tf.constant(2.0)

    def work(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
            tape.reset()
            tape.watch(x)
            y = y + x * x
        return tape.gradient(y, x)

    for call in both(work):
        assert float(call(x)) == 4.0


def test_variables_are_watched_when_they_are_read():
    seen, frozen, unread = tf.Variable(2.0), tf.Variable(3.0, trainable=False), tf.Variable(4.0)

    def work():
        with tf.GradientTape(persistent=True) as tape:
            y = seen * frozen
        return tape.gradient(y, [seen, frozen, unread]), tape.watched_variables()

    grads, watched = work()
    assert [None if g is None else float(g) for g in grads] == [3.0, None, None]
    assert len(watched) == 1
    assert watched[0] is seen
    found = tf.function(lambda: work()[0])()
    assert [None if g is None else float(g) for g in found] == [3.0, None, None]


def test_watched_variables_come_in_the_order_in_which_they_were_made():
    """As in 1.12.3 and 2.15.1, eagerly and in functions, whatever is read or watched first."""
    first, second, third = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)

    def watched():
        with tf.GradientTape() as tape:
            tape.watch(third)
            third * second * first
        return tape.watched_variables()

    for found in (watched(), _traced(watched)):
        assert [v is w for v, w in zip(found, (first, second, third), strict=True)] == [True] * 3


def _traced(function):
    """The result of a function while it was traced."""
    found = []
    tf.function(lambda: found.append(function()))()
    return found[0]


def test_watching_by_hand():
    first, second = tf.Variable(2.0), tf.Variable(5.0)

    def work():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(first)
            y = first * second
        return tape.gradient(y, [first, second])

    for call in both(work):
        one, two = call()
        assert float(one) == 5.0
        assert two is None


def test_one_gradient_for_a_tape_that_is_not_persistent():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
        tape.gradient(y, x)


def test_wrong_use():
    tape = tf.GradientTape()
    with pytest.raises(ValueError, match="not tf.Tensor or tf.Variable"):
        tape.watch("x")
    with tape, pytest.raises(ValueError, match="already recording"):
        tape.__enter__()
    with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        pass
    with pytest.raises(ValueError, match="output_gradients"):
        tf.GradientTape().gradient(tf.constant(1.0), tf.constant(1.0), output_gradients=[tf.constant(1.0)] * 2)


@pytest.mark.parametrize("order", [2, 3])
def test_nested_tapes(order):
    x = tf.constant([1.0, 2.0])

    def work(x, depth=order):
        if depth == 0:
            return tf.reduce_sum(tf.exp(x) * x**3)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = work(x, depth - 1)
        return tape.gradient(y, x)

    def twin(x, depth=order):
        return jnp.sum(jnp.exp(x) * x**3) if depth == 0 else jax.grad(lambda v: jnp.sum(twin(v, depth - 1)))(x)

    want = twin(jnp.asarray([1.0, 2.0]))
    for call in both(work):
        np.testing.assert_allclose(call(x).numpy(), want, rtol=2e-5)


def test_a_tape_around_a_function_in_a_tape():
    scale = tf.Variable(3.0)
    cube = tf.function(lambda x: scale * x**3)
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        first = inner.gradient(y, x)
    second = outer.gradient(first, [x, scale])
    assert float(first) == 36.0
    assert [float(g) for g in second] == [36.0, 12.0]


def test_row_lookups_give_rows():
    table = tf.Variable(np.ones((5, 2), np.float32))

    def work():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3, 1]) * 2.0)
        return tape.gradient(y, table)

    for call in both(work):
        found = call()
        assert isinstance(found, tf.IndexedSlices)
        np.testing.assert_array_equal(tf.convert_to_tensor(found).numpy()[:, 0], [0, 4, 0, 2, 0])


def test_integers_have_no_gradient():
    x = tf.constant(2)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize("n", [1, 3])
def test_jacobian(n):
    weights = np.arange(2.0 * n, dtype=np.float32).reshape(2, n)
    x = tf.constant(np.linspace(1, 2, n), tf.float32)

    def work(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.matvec(weights, x) ** 2
        return tape.jacobian(y, x)

    want = jax.jacobian(lambda v: (weights @ v) ** 2)(jnp.asarray(x.numpy()))
    for call in both(work):
        np.testing.assert_allclose(call(x).numpy(), want, rtol=1e-5)


def test_jacobian_of_what_is_not_connected():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.constant([1.0, 2.0, 3.0]) * 2.0
    assert tape.jacobian(y, x) is None
    zero = tape.jacobian(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zero.numpy(), np.zeros((3, 2)))


def test_batch_jacobian():
    x = tf.constant(np.random.default_rng(0).normal(size=(4, 3)), tf.float32)

    def work(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2], axis=1)
        return tape.batch_jacobian(y, x)

    want = jax.vmap(jax.jacobian(lambda v: jnp.stack([v[0] * v[1], v[2] ** 2])))(jnp.asarray(x.numpy()))
    for call in both(work):
        np.testing.assert_allclose(call(x).numpy(), want, rtol=1e-5)
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="Need first dimension"):
        tape.batch_jacobian(tf.ones([3, 2]), tf.ones([4, 2]))


def test_gradients_through_control_flow_taken_eagerly():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        while y < 50.0:
            y = y * x
    assert float(y) == 81.0
    assert float(tape.gradient(y, x)) == 4 * 27.0


def test_iterating_and_indexing_are_seen():
    x = tf.constant([2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.constant(0.0)
        for i, part in enumerate(x):
            total += part * float(i) + x[i]
    np.testing.assert_array_equal(tape.gradient(total, x).numpy(), [1.0, 2.0, 3.0])


def test_a_tape_lets_go():
    x = tf.random.normal([10, 10])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.matmul(x, x)
    inner = weakref.ref(y)
    del y, tape
    gc.collect()
    assert inner() is None


def test_a_function_in_a_graph_watches_what_it_uses_from_outside():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        v = tf1.get_variable("v", initializer=3.0, trainable=False, use_resource=True)

        @tf.function
        def gradients():
            with tf.GradientTape() as tape:
                tape.watch([x, v])
                y = x * x * v
            return tape.gradient(y, [x, v])

        by_x, by_v = gradients()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            np.testing.assert_array_equal(session.run(by_x), [6.0, 12.0])
            assert session.run(by_v) == 5.0


def test_a_path_through_executed_operations_is_refused_in_a_function():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * 2.0

        @tf.function
        def inner():
            return tape.gradient(z * z, x)

        with pytest.raises(NotImplementedError, match=r"the function inner: .* depends on .*3\.0.* executed before"):
            inner()
