"""What users of the original complained about most."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.bounds import close
from tests.towers.distribute.common import strategy

pytestmark = pytest.mark.usefixtures("later_behavior")


def accumulating(distribution, every):
    """(the function that trains on all batches of a dataset, the weights): gradients are applied now and then."""
    with distribution.scope():
        weights = tf.Variable([1.0, 2.0])
        step = tf.Variable(0, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        on_read = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.SUM}
        sums = tf.Variable([0.0, 0.0], trainable=False, **on_read)
        optimizer = tf1.train.GradientDescentOptimizer(0.1)

    def accumulate(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.reduce_sum((batch * weights) ** 2, axis=1))
        sums.assign_add(tape.gradient(loss, weights))
        step.assign_add(1)
        if step % every == 0:
            optimizer.apply_gradients([(sums / float(every), weights)])
            sums.assign(tf.zeros(2))

    @tf.function
    def train(batches):
        for batch in batches:
            distribution.run(accumulate, args=(batch,))

    return train, weights


@pytest.mark.parametrize("replicas", [1, 4])
def test_gradients_are_applied_inside_of_a_condition(replicas):
    """Where the condition is the same on all replicas: the step's number is."""
    data = np.arange(64.0, dtype=np.float32).reshape(8, 4, 2) / 10
    distribution = strategy(replicas)
    train, weights = accumulating(distribution, 4)
    train(distribution.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data)))
    wanted, sums = np.array([1.0, 2.0]), np.zeros(2)
    for number, batch in enumerate(data, 1):
        parts = batch.reshape(replicas, -1, 2)
        sums += sum(2 * np.mean(part**2, axis=0) * wanted for part in parts)
        if number % 4 == 0:
            wanted, sums = wanted - 0.1 * sums / 4, np.zeros(2)
    close(weights.numpy(), wanted, 8 * (4 + 4), 2.0)


def test_a_condition_that_may_differ_between_replicas_is_refused_with_its_line():
    distribution = strategy(2)
    with distribution.scope():
        weights = tf.Variable(1.0)
        optimizer = tf1.train.GradientDescentOptimizer(0.1)

    def step():
        if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:
            optimizer.apply_gradients([(tf.constant(1.0), weights)])

    with pytest.raises(RuntimeError, match=r"differ between replicas(.|\n)*test_complaints\.py"):
        tf.function(lambda: distribution.run(step))()
    assert weights.numpy() == 1.0


def test_the_end_of_the_data_with_uneven_batches_neither_hangs_nor_aborts():
    distribution = strategy(4)
    data = distribution.experimental_distribute_dataset(tf.data.Dataset.range(13).batch(6))

    @tf.function
    def total(iterator, steps):
        found = tf.constant(0, tf.int64)
        for _ in tf.range(steps):
            found += distribution.reduce("SUM", distribution.run(lambda x: x, args=(next(iterator),)), axis=0)
        return found

    assert total(iter(data), 3) == 78
    iterator = iter(data)
    with pytest.raises(tf.errors.OutOfRangeError, match="3 of 5"):
        total(iterator, 5)
    with pytest.raises(tf.errors.OutOfRangeError, match="0 of 5"):
        total(iterator, 5)


def test_functions_that_run_as_they_are_written_run_on_every_replica():
    distribution = strategy(3)
    step = tf.function(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group + 1)
    tf.config.run_functions_eagerly(True)
    try:
        assert distribution.reduce("SUM", distribution.run(step), axis=None) == 6
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("replicas", [1, 4])
def test_a_check_that_fails_on_one_replica_ends_the_loop_and_the_steps_before_count(replicas):
    distribution = strategy(replicas)
    with distribution.scope():
        total = tf.Variable(0.0)

    def step(x):
        tf.debugging.assert_less(x, 21.0, message="too large")
        total.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_sum(x)))

    @tf.function
    def train(data):
        for x in data:
            distribution.run(step, args=(x,))

    numbers = tf.data.Dataset.from_tensor_slices(np.arange(32.0, dtype=np.float32)).batch(4, drop_remainder=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too large(.|\n)*test_complaints\.py"):
        train(distribution.experimental_distribute_dataset(numbers))
    assert total.numpy() == sum(range(20))
