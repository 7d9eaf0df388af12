"""What a run leaves unused of a branch or loop does not run: what 1.12.3 does, where each result is an operation.

Each program gives two results; the run asks for the first. What leads to the second alone would fail, or would be seen.
"""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import tpu


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counter(name):
    return tf.get_variable(name, initializer=0.0, use_resource=True)


def cond(x, other):
    return tf.cond(tf.placeholder_with_default(True, []), lambda: (x * 2.0, other()), lambda: (x, tf.zeros([2])))


def case(x, other):
    pred = tf.placeholder_with_default(True, [])
    return tf.case([(pred, lambda: (x * 2.0, other()))], lambda: (x, tf.zeros([2])))


def nested(x, other):
    pred = tf.placeholder_with_default(True, [])
    return tf.cond(pred, lambda: cond(x, other), lambda: (x, tf.zeros([2])))


def loop(x, other):
    step = lambda i, a, b: (i + 1, a + x, b + other())  # noqa: E731
    _, a, b = tf.while_loop(lambda i, a, b: i < 2, step, [0, tf.zeros([2]), tf.zeros([2])])
    return a, b


def loop_of_branch(x, other):
    def step(i, a):
        one, _ = cond(x, other)
        return i + 1, a + one / 2.0

    return tf.while_loop(lambda i, a: i < 2, step, [0, tf.zeros([2])])[1], x


def branch_of_loop(x, other):
    return tf.cond(tf.placeholder_with_default(True, []), lambda: loop(x, other), lambda: (x, x))


SHAPES = [cond, case, nested, loop, loop_of_branch, branch_of_loop]


def check(x):
    return tf.gather(x, tf.placeholder_with_default([7, 7], [2]))


def control(x):
    with tf.control_dependencies([tf.Assert(tf.reduce_sum(x) < 0.0, [x])]):
        return tf.identity(x)


def unfed(x):
    return tf.placeholder(tf.float32, [2])


def uninitialized(x):
    return tf.get_variable("uninitialized", [2], use_resource=True) + x


def of_python(x):
    def refuse(value):
        raise RuntimeError("called")

    found = tf.py_func(refuse, [x], tf.float32)
    found.set_shape([2])
    return found


OTHERS = [check, control, unfed, uninitialized, of_python]


@spread(("shape", "other"), itertools.product(SHAPES, OTHERS), every=3)
def test_what_no_fetch_needs_does_not_run(shape, other):
    x = tf.placeholder(tf.float32, [2])
    made = uninitialized(x) if other is uninitialized else unfed(x) if other is unfed else None
    wanted, rest = shape(x, lambda: other(x) if made is None else made * 1.0)
    feeds = {x: [1.0, 2.0]}
    with tf.Session() as sess:
        assert sess.run(wanted, feeds).tolist() == [2.0, 4.0]
        (gradient,) = tf.gradients(wanted, x)
        assert sess.run([wanted, gradient], feeds)[1].tolist() == [2.0, 2.0]
        if shape is not loop_of_branch:
            with pytest.raises((tf.errors.OpError, RuntimeError)):
                sess.run(rest, feeds)
            assert sess.run(wanted + rest, {**feeds, rest: [1.0, 1.0]}).tolist() == [3.0, 5.0]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda f: f.__name__)
def test_variables_of_what_no_fetch_needs_keep_their_values(shape):
    v, w = counter("v"), counter("w")
    x = tf.placeholder(tf.float32, [2])

    def written():
        with tf.control_dependencies([w.assign_add(1.0)]):
            return tf.identity(x)

    wanted, rest = shape(x + v.assign_add(1.0), written)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(wanted, {x: [1.0, 2.0]})
        assert sess.run([v, w]) == [1.0, 0.0]
        sess.run(wanted.op, {x: [1.0, 2.0]})
        assert sess.run([v, w]) == [2.0, 0.0]
        if shape is not loop_of_branch:
            sess.run(rest, {x: [1.0, 2.0]})
            assert sess.run(w) == (2.0 if "loop" in shape.__name__ else 1.0)


def test_random_numbers_that_no_fetch_needs_are_not_drawn():
    pred = tf.placeholder_with_default(True, [])
    draws = lambda: (tf.random_uniform([], seed=1), tf.random_uniform([], seed=2))  # noqa: E731
    one, two = tf.cond(pred, draws, lambda: (tf.constant(0.0), tf.constant(0.0)))
    with tf.Session() as sess:
        first = sess.run(two)
    with tf.Session() as sess:
        sess.run(one)
        assert sess.run(two) == first


@pytest.mark.parametrize("towers", [1, 2])
def test_a_step_runs_what_it_uses_of_its_branches_and_loops(towers):
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=0.0, aggregation=tf.VariableAggregation.MEAN)
        w = tf.get_variable("w", initializer=0.0, aggregation=tf.VariableAggregation.MEAN)
        iterator = tf.data.Dataset.from_tensor_slices(np.ones([8, 2], np.float32)).make_one_shot_iterator()

        def fn(context, x):
            def tower(x):
                pred = v < 100.0
                wrote = lambda: tf.reduce_sum(tf.gather(x, [9, 9])) + w  # noqa: E731
                one, _ = tf.cond(pred, lambda: (tf.reduce_sum(x), wrote()), lambda: (0.0, 0.0))
                _, two, _ = tf.while_loop(
                    lambda i, a, b: i < 3,
                    lambda i, a, b: (i + 1, a + one, b + wrote()),
                    [0, 0.0, 0.0],
                    maximum_iterations=3,
                )
                (gradient,) = tf.gradients(two, x)
                return v.assign_add(two + tf.reduce_sum(gradient))

            return strategy.group(strategy.call_for_each_tower(tower, x))

        context = strategy.run_steps_on_dataset(fn, iterator, 2)
        sess.run(v.initializer)
        sess.run(context.run_op)
        assert sess.run(v) == 2 * (6.0 + 6.0)
