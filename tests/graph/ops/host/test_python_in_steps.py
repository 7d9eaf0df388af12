"""``tf.py_func`` in the step loop of one device, which is one program as that of towers is."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf


def _loop(call):
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    v = tf.Variable(1.0)
    with strategy.scope():
        iterator = strategy.distribute_dataset(
            lambda: tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(1)
        ).make_one_shot_iterator()
        context = strategy.run_steps_on_dataset(lambda ctx, x: v.assign_add(tf.reduce_sum(call(x))).op, iterator, 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(context.run_op)
        return session.run(v)


def _of_shape(function, x):
    found = tf.py_func(function, [x], tf.float32)
    found.set_shape([1])
    return found


def test_each_step_calls_it():
    seen = []

    def function(x):
        seen.append(x.tolist())
        return x * np.float32(2)

    assert _loop(lambda x: _of_shape(function, x)) == 13.0
    assert seen == [[1.0], [2.0], [3.0]]


def test_its_exception_ends_the_run():
    def function(x):
        raise ValueError("no more")

    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: no more"):
        _loop(lambda x: _of_shape(function, x))


def test_a_result_without_a_shape_is_refused():
    with pytest.raises(NotImplementedError, match=r"call set_shape\(\) on them"):
        _loop(lambda x: tf.py_func(lambda v: v, [x], tf.float32))
