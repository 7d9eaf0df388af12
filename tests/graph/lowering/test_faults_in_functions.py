"""Checks of operations' inputs inside of functions of 2.x: maps, gradients, loops over data, uneven batches."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.eager.mode import eager_mode


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        yield


def looked_up(place):
    return tf.gather(tf.constant([1.0, 2.0, 3.0]), place)


def mapped(x, places):
    return tf.map_fn(lambda i: tf.gather(x, i), places, fn_output_signature=tf.float32)


def vectorized(x, places):
    return tf.vectorized_map(lambda i: tf.gather(x, i), places)


def recomputed(x, places):
    function = tf.recompute_grad(lambda z: tf.reduce_sum(tf.gather(z, places)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def in_a_custom_gradient(x, places):
    @tf.custom_gradient
    def function(z):
        return tf.reduce_sum(z), lambda dy: dy * tf.reduce_sum(tf.gather(z, places)) * z

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def under_a_tape(x, places):
    inner = tf.function(lambda z: tf.gather(z, places) * z[0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(inner(x))
    return tape.gradient(y, x)


def nested(x, places):
    return tf.function(tf.gather)(x, places) + 1.0


@pytest.mark.parametrize("home", [lambda f: f, tf.function], ids=["eagerly", "function"])
@pytest.mark.parametrize("way", [mapped, vectorized, recomputed, in_a_custom_gradient, under_a_tape, nested])
def test_in_every_home(way, home):
    function = home(way)
    x = tf.constant([1.0, 2.0, 3.0])
    function(x, tf.constant([0, 2]))
    with pytest.raises(InvalidArgumentError, match="= 5 is not in"):
        function(x, tf.constant([0, 5]))


def test_a_loop_over_data_keeps_the_iterations_before():
    v = tf.Variable([0.0, 0.0])
    data = tf.data.Dataset.from_tensor_slices(np.array([0, 1, 2, 8, 1], np.int32))

    @tf.function
    def loop(iterator, count):
        for _ in tf.range(count):
            v.assign_add(looked_up(next(iterator)) * tf.ones(2))

    iterator = iter(data)
    with pytest.raises(InvalidArgumentError, match="indices = 8 is not in"):
        loop(iterator, tf.constant(5))
    assert v.numpy().tolist() == [6.0, 6.0]
    loop(iterator, tf.constant(1))
    assert v.numpy().tolist() == [8.0, 8.0]


def test_an_uneven_batch_is_checked_on_each_replica():
    strategy = tf.distribute.TPUStrategy()
    towers = strategy.num_replicas_in_sync
    with strategy.scope():
        table = tf.Variable(tf.ones([4, 2]))
    rows = np.arange(3 * towers - 1) % 4

    @tf.function
    def train(places):
        def step(places):
            total = tf.reduce_sum(tf.gather(table, places))
            table.assign_add(tf.ones([4, 2]) * tf.distribute.get_replica_context().all_reduce("sum", total))
            return total

        return strategy.reduce("sum", strategy.run(step, args=(places,)), axis=None)

    def batch(wrong):
        places = rows.copy()
        if wrong:
            places[-1] = 9
        dataset = tf.data.Dataset.from_tensor_slices(places.astype(np.int32)).batch(len(places))
        return next(iter(strategy.experimental_distribute_dataset(dataset)))

    assert float(train(batch(wrong=False))) == 2.0 * len(rows)
    before = table.numpy()
    with pytest.raises(InvalidArgumentError, match="= 9 is not in"):
        train(batch(wrong=True))
    np.testing.assert_array_equal(table.numpy(), before)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_clipping_by_a_norm_that_is_no_number_gives_none(wrong):
    (clipped, _), norm = tf.clip_by_global_norm([tf.constant([wrong, 1.0]), None], 1.0)
    assert np.isnan(clipped.numpy()).all()
    assert not np.isfinite(float(norm))
    (clipped,), norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 1.0)
    np.testing.assert_allclose(clipped.numpy(), [0.6, 0.8], rtol=1e-6)
