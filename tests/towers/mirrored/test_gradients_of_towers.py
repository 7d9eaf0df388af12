"""Gradients in towers through what enters loops, branches and vectorized maps: by hand, y = a w^3 in each case."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread


def twice(w, start):
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * w), [0, start])[1]


def through_array(w, start):
    """The initial value is read from a TensorArray that is a loop variable, and written to."""
    array = tf.TensorArray(tf.float32, size=3, element_shape=(), clear_after_read=False).write(0, start)

    def step(i, array):
        return i + 1, array.write(i + 1, array.read(i) * w)

    return tf.while_loop(lambda i, _: i < 2, step, [0, array])[1].read(2)


def by_cell(w, start):
    class Cell(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 1

        def call(self, inputs, state):
            return state * w * inputs, state * w * inputs

    state = tf.nn.dynamic_rnn(Cell(), tf.ones([1, 2, 1]), initial_state=tf.reshape(start, [1, 1]))[1]
    return tf.reduce_sum(state)


def own_gradient(w, start):
    @tf.custom_gradient
    def product(a, b):
        return a * b, lambda dy: (dy * b, dy * a)

    return product(product(start, w), w)


STRUCTURES = {
    "while": twice,
    "while of no trip": lambda w, start: tf.while_loop(lambda a: False, lambda a: a * 0.0, [start * w * w]),
    "array": through_array,
    "scan": lambda w, start: tf.scan(lambda a, e: a * e, tf.stack([w, w]), initializer=start)[1],
    "foldl": lambda w, start: tf.foldl(lambda a, e: a * e, tf.stack([w, w]), initializer=start),
    "foldr": lambda w, start: tf.foldr(lambda a, e: a * e, tf.stack([w, w]), initializer=start),
    "map": lambda w, start: tf.reduce_sum(tf.map_fn(lambda e: e * w * w, tf.stack([start, start]))) / 2.0,
    "rnn": by_cell,
    "cond": lambda w, start: tf.cond(w > 0.0, lambda: start * w * w, lambda: start),
    "cond as it is": lambda w, start: tf.cond(w < 0.0, lambda: w, lambda: start) * w * w,
    "case": lambda w, start: tf.case([(w < 0.0, lambda: w)], default=lambda: start * w * w),
    "while in cond": lambda w, start: tf.cond(w > 0.0, lambda: twice(w, start * 1.0), lambda: start),
    "cond in while": lambda w, start: tf.while_loop(
        lambda i, a: i < 2, lambda i, a: (i + 1, tf.cond(a > 0.0, lambda: a * w, lambda: start)), [0, start]
    )[1],
    "scan in while": lambda w, start: tf.while_loop(
        lambda i, a: i < 1, lambda i, a: (i + 1, tf.scan(lambda b, e: b * e, tf.stack([w, w]), a)[1]), [0, start]
    )[1],
}


@spread("name", STRUCTURES, every=2)
def test_initial_values(name):
    """First and second gradients, where what enters the structure is made in the tower, from its own number."""
    towers = tf.contrib.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])

    def tower():
        own = tf.cast(tf.constant(2.0) + tf.contrib.distribute.get_tower_context().tower_id, tf.float32)
        w = tf.get_variable("w", initializer=3.0)
        (first,) = tf.gradients(STRUCTURES[name](w, w * own), w)
        return [first, tf.gradients(first, w)[0]]

    with tf.Graph().as_default(), towers.scope():
        found = [towers.unwrap(g) for g in towers.call_for_each_tower(tower)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            # y = a w^3 for w = 3, with a = 2 in the first tower and 3 in the second.
            np.testing.assert_allclose(session.run(found), [[54.0, 81.0], [36.0, 54.0]], rtol=1e-6)


def test_custom_gradients():
    towers = tf.contrib.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])

    def tower():
        w = tf.get_variable("w", initializer=3.0)
        return tf.gradients(own_gradient(w, w * 2.0), w)[0]

    with tf.Graph().as_default(), towers.scope():
        found = towers.unwrap(towers.call_for_each_tower(tower))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(found) == [54.0, 54.0]


@pytest.mark.parametrize("loop", [False, True])
def test_sources_from_outside(loop):
    """Each tower differentiates by another tensor from outside, which only the second one was found to differ in."""
    towers = tf.contrib.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])
    with tf.Graph().as_default(), towers.scope():
        outside = [tf.constant(2.0), tf.constant(3.0)]

        def tower():
            start = outside[tf.contrib.distribute.get_tower_context().tower_id]
            y = twice(tf.constant(5.0), start) if loop else start * start * start
            return tf.gradients(y, start)[0]

        found = towers.unwrap(towers.call_for_each_tower(tower))
        with tf.Session() as session:
            assert session.run(found) == ([25.0, 25.0] if loop else [12.0, 27.0])


def test_what_is_constant_stays_none():
    towers = tf.contrib.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])

    def tower():
        w = tf.get_variable("w", initializer=3.0)
        plain = twice(tf.constant(2.0), tf.identity(tf.constant(1.0)))
        stopped = tf.cond(w > 0.0, lambda: tf.stop_gradient(w), lambda: tf.constant(0.0))
        once = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * w), [0, w], back_prop=False)[1]
        return [tf.gradients(y, w)[0] is None for y in (plain, stopped, once)]

    with tf.Graph().as_default(), towers.scope():
        assert towers.call_for_each_tower(tower) == [True, True, True]


@pytest.fixture
def replicas(later_behavior):
    return tf2.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def in_replicas(strategy, step):
    return [r.numpy() for r in strategy.experimental_local_results(tf2.function(lambda: strategy.run(step))())]


def test_rows_of_a_vectorized_map(replicas):
    with replicas.scope():
        w = tf2.Variable(2.0)

    def step():
        with tf2.GradientTape() as tape:
            rows = w * tf2.constant([3.0, 6.0])
            y = tf2.reduce_sum(tf2.vectorized_map(lambda e: e * e, rows))
        return tape.gradient(y, w)

    assert in_replicas(replicas, step) == [180.0, 180.0]  # 2 w (9 + 36)


@pytest.mark.parametrize("weighted", [True, False])
def test_loops_of_python(replicas, weighted):
    with replicas.scope():
        w = tf2.Variable(2.0)

    def step():
        with tf2.GradientTape() as tape:
            y = w * 3.0
            for _ in tf2.range(2):
                y = y * (w if weighted else 1.5)
        return tape.gradient(y, w)

    assert in_replicas(replicas, step) == [36.0 if weighted else 6.75] * 2


def test_jacobians_in_replicas(replicas):
    with replicas.scope():
        w = tf2.Variable(2.0)

    def step():
        with tf2.GradientTape() as outer:
            x = w * tf2.constant([1.0, 2.0])
            with tf2.GradientTape() as inner:
                inner.watch(x)
                y = x * x * w
            penalty = tf2.reduce_sum(inner.jacobian(y, x))
        return outer.gradient(penalty, w)

    assert in_replicas(replicas, step) == [24.0, 24.0]  # the sum is 2 w x = 2 w^2 (1 + 2)
