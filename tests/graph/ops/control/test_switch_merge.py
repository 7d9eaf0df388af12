"""``control_flow_ops.switch`` and ``merge``: the pattern by which image pipelines pick a random distortion."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors
from towerstrat.graph.ops.control.switch_merge import add_merge, add_switch


def picked(x, function, count, number):
    return add_merge([function(add_switch(x, tf.equal(number, i))[1], i) for i in range(count)])


def test_only_the_chosen_branch_runs_and_has_a_gradient():
    x, number = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    count = tf.Variable(0.0)

    def function(x, i):
        if i == 0:
            return tf.log(x)
        with tf.control_dependencies([count.assign_add(tf.reduce_sum(x))]):
            return x * 3.0

    y, index = picked(x, function, 2, number)
    slope = tf.gradients(y, x)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i, value, gradient, counted in ((0, 0.0, 1.0, 0.0), (1, 3.0, 3.0, 2.0)):
            found = session.run([y, index, slope], {x: np.ones(2), number: i})
            np.testing.assert_allclose(found[0], [value] * 2)
            np.testing.assert_allclose(found[2], [gradient] * 2)
            assert found[1] == i
            assert session.run(count) == counted
        # log(0) has no finite gradient: the branch that does not run gives none.
        np.testing.assert_array_equal(session.run(slope, {x: np.zeros(2), number: 1}), [3.0, 3.0])
        with pytest.raises(errors.InvalidArgumentError, match="None of conditions"):
            session.run(y, {x: np.ones(2), number: 2})


def test_both_sides_of_one_switch_and_one_inside_another():
    x = tf.placeholder(tf.float32, [])
    low, high = add_switch(x, x > 0.0)
    small, large = add_switch(high, x > 10.0)
    y, index = add_merge([low - 1.0, small + 1.0, large * 2.0])
    with tf.Session() as session:
        found = [session.run([y, index], {x: value}) for value in (-1.0, 5.0, 20.0)]
    assert found == [[-2.0, 0], [6.0, 1], [40.0, 2]]


def test_in_the_function_of_a_dataset():
    def function(i):
        return picked(tf.ones([2]), lambda x, j: x * j, 3, tf.cast(i, tf.int32))[0]

    element = tf.data.Dataset.range(3).map(function).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(element).tolist() for _ in range(3)] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]


def test_what_has_no_value_is_refused_by_name():
    x = tf.placeholder(tf.float32, [])
    low, _ = add_switch(x, x > 0.0)
    with tf.Session() as session, pytest.raises(errors.UnsupportedError, match="control_flow_ops.merge"):
        session.run(low + 1.0, {x: 1.0})
    with pytest.raises(ValueError, match="not computed from a result of control_flow_ops.switch"):
        add_merge([low, x])
    with pytest.raises(ValueError, match="is None"):
        add_merge([low, None])
