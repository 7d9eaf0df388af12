"""``tf.function`` in tower context: one trace for all towers."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.ops.math.equality import disable_tensor_equality, enable_tensor_equality


@pytest.fixture(autouse=True)
def by_value():
    enable_tensor_equality()
    yield
    disable_tensor_equality()


def strategy(count=4):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver()
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1, num_cores=count)


def tower_index():
    """The tower's number as a tensor, as the later surface gives it."""
    return tf.convert_to_tensor(tf.contrib.distribute.get_tower_context().tower_id)


def test_rule_24_a_condition_on_the_replica_is_a_tensor_condition():
    traces = []

    @tf2.function
    def work(x, replica_id):
        traces.append(x)
        if replica_id == 0:
            y = x * 10.0
        elif replica_id == 2:
            y = -x
        else:
            y = x
        return y

    distribution = strategy()
    with distribution.scope():
        variable = tf.Variable(2.0)
        result = distribution.unwrap(distribution.call_for_each_tower(lambda: work(variable + 0.0, tower_index())))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result) == [20.0, 2.0, -2.0, 2.0]
    assert len(traces) == 1


def test_the_tower_id_itself_still_refuses_a_comparison():
    distribution = strategy()
    with distribution.scope(), pytest.raises(TypeError, match=r"tf\.equal"):
        distribution.call_for_each_tower(
            lambda: tf.constant(1.0) if tf.contrib.distribute.get_tower_context().tower_id == 0 else tf.constant(2.0)
        )


def test_gradients_of_functions_are_the_towers_own():
    distribution = strategy()

    @tf2.function
    def loss(weight, x):
        return tf.reduce_sum(tf.tanh(weight * x))

    def tower():
        x = tf.cast(tower_index(), tf.float32) + 1.0
        (gradient,) = tf.gradients(loss(variable, x), variable)
        return gradient

    with distribution.scope():
        variable = tf.Variable(0.5)
        result = distribution.unwrap(distribution.call_for_each_tower(tower))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        x = np.arange(1.0, 5.0)
        np.testing.assert_allclose(session.run(result), x * (1 - np.tanh(0.5 * x) ** 2), rtol=1e-5)


def test_a_tape_inside_of_a_tower():
    distribution = strategy()

    @tf2.function
    def gradient(x):
        with tf2.GradientTape() as tape:
            y = variable * variable * x
        return tape.gradient(y, variable)

    with distribution.scope():
        variable = tf.Variable(3.0)
        result = distribution.unwrap(
            distribution.call_for_each_tower(lambda: gradient(tf.cast(tower_index(), tf.float32)))
        )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(result), [0.0, 6.0, 12.0, 18.0])
