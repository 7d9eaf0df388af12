"""The state between runs: nothing shared, nothing lost, and failed runs change nothing."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu

SUM = tf.VariableAggregation.SUM


def copying_run(a, b):
    """An operation that sets b to a, run operation by operation: it comes after a mask."""
    x = tf.placeholder_with_default([1.0, -1.0], [None])
    with tf.control_dependencies([tf.boolean_mask(x, x > 0)]):
        return b.assign(a)


def test_a_variable_copied_by_an_uncompiled_run_is_its_own():
    a = tf.get_variable("a", initializer=np.arange(100.0))
    b = tf.get_variable("b", initializer=np.zeros(100))
    copied, more = copying_run(a, b), a.assign_add(np.ones(100))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(copied)
        sess.run(more)
        assert sess.run([a, b])[0][1] == 2
        assert sess.run(b)[1] == 1


def test_copied_variables_go_to_towers_one_by_one():
    a = tf.get_variable("a", initializer=np.arange(100.0))
    b = tf.get_variable("b", initializer=np.zeros(100))
    strategy = tpu(2)
    with strategy.scope():
        ones = strategy.call_for_each_tower(lambda: tf.ones([100], tf.float64))
        total = strategy.reduce(SUM, ones, "/cpu:0")
        both = tf.group(a.assign_add(total), b.assign_add(total))
    copied = copying_run(a, b)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(copied)
        sess.run(both)
        sess.run(both)
        assert [v[1] for v in sess.run([a, b])] == [5, 5]


def test_a_variable_moves_between_any_number_of_towers():
    eight, two = tpu(8), tpu(2)
    with eight.scope():
        v = tf.get_variable("v", initializer=np.ones(4), aggregation=SUM)
        more = eight.group(eight.call_for_each_tower(lambda: v.assign_add(tf.ones([4], tf.float64))))
    with two.scope():
        twice = two.reduce(SUM, two.call_for_each_tower(lambda: tf.identity(v)), "/cpu:0")
    w = tf.get_variable("w", initializer=np.array([-20.0, 0.0, 0.0, 20.0]))
    positive = tf.boolean_mask(v + w, v + w > 0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for start in (1, 3):
            v.load(np.full(4, float(start)), sess)
            sess.run([more, w.assign_add(np.zeros(4))])
            assert sess.run(v + 0.0).tolist() == [start + 8] * 4
            assert sess.run(twice).tolist() == [2 * (start + 8)] * 4
            assert sess.run(positive).tolist() == [start + 8, start + 8, start + 28]


def test_a_failed_check_undoes_an_assignment_of_another_shape():
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable([0.0, 0.0], validate_shape=False)
    with tf.control_dependencies([tf.Assert(x[0] > 0, [x])]):
        longer = tf.assign(v, tf.identity(x), validate_shape=False)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(longer, {x: [1, 2, 3]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            sess.run(longer, {x: [-1, 2, 3, 4]})
        assert sess.run(v).tolist() == [1, 2, 3]


def test_a_failed_check_initializes_nothing():
    v = tf.get_variable("v", initializer=1.0)
    x = tf.placeholder(tf.float32, [])
    checked = tf.Assert(x > 0, [x])
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run([v.initializer, checked], {x: -1.0})
        assert sess.run(tf.report_uninitialized_variables()).tolist() == [b"v"]
        sess.run([v.initializer, checked], {x: 1.0})
        assert sess.run(v) == 1
