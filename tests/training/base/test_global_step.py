"""The global step as hooks fetch it: what it was before the run, whatever the program does with it."""

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.training.base.global_step import GLOBAL_STEP_READ_KEY, get_or_create_global_step_read


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def steps_in(fetch, read, runs=3):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([fetch, read])[1] for _ in range(runs)]


def test_there_is_one_read_a_graph():
    assert get_or_create_global_step_read() is None
    step = tf.train.get_or_create_global_step()
    read = get_or_create_global_step_read()
    assert read is get_or_create_global_step_read()
    assert (read.name, read.dtype, read.shape.as_list()) == ("global_step/add:0", tf.int64, [])
    assert tf.get_collection(GLOBAL_STEP_READ_KEY) == [read]
    tf.add_to_collection(GLOBAL_STEP_READ_KEY, step)
    with pytest.raises(RuntimeError, match="multiple items in collection global_step_read_op_cache"):
        get_or_create_global_step_read()


def test_it_is_read_before_writes_that_were_made_before_and_after():
    step = tf.train.get_or_create_global_step()
    before = tf.group(step.assign_add(1), tf.cond(step >= 0, lambda: step.assign_add(1), lambda: tf.identity(step)))
    read = get_or_create_global_step_read()
    after = step.assign_add(2)
    assert steps_in(before, read) == [0, 2, 4]
    assert steps_in(after, read) == [0, 2, 4]
    assert steps_in([before, after], read) == [0, 4, 8]


def test_a_loop_counts_as_one_write():
    step = tf.train.get_or_create_global_step()

    def body(i):
        with tf.control_dependencies([step.assign_add(1)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 3, body, [0])
    assert steps_in(loop, get_or_create_global_step_read()) == [0, 3, 6]


def test_the_run_that_initializes_the_step_can_read_it():
    step = tf.train.get_or_create_global_step()
    increment = step.assign_add(1)
    read = get_or_create_global_step_read()
    with tf.Session() as session:
        assert session.run(read) == 0
        assert session.run([step.initializer, read])[1] == 0
        assert session.run([read, increment]) == [0, 1]


def test_a_tensor_can_be_the_step():
    tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.constant(7, name="steps"))
    read = get_or_create_global_step_read()
    assert read.name == "steps/add:0"
    assert steps_in(read, read, 1) == [7]


@pytest.mark.long
@pytest.mark.parametrize("iterations", [1, 3])
def test_a_step_loop_on_towers_counts_as_one_write(iterations):
    strategy = tf.contrib.distribute.TPUStrategy()
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=1.0)

        def one(x):
            return tf.train.GradientDescentOptimizer(0.1).minimize(w * tf.reduce_sum(x), global_step=step)

        data = strategy.distribute_dataset(
            lambda: tf.data.Dataset.from_tensors([1.0]).repeat().batch(8, drop_remainder=True)
        )
        iterator = data.make_initializable_iterator()
        loop = strategy.run_steps_on_dataset(
            lambda context, x: strategy.group(strategy.call_for_each_tower(one, x)), iterator, iterations=iterations
        )
        read = get_or_create_global_step_read()
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), iterator.initializer])
            found = [session.run([loop.run_op, read])[1] for _ in range(3)]
    assert found == [0, iterations, 2 * iterations]
