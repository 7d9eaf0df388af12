"""Gradients through a placeholder with a default that a branch or a loop makes."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

VALUE = np.array([[0.5, 1.0], [1.5, 2.0]])


def _branch(f):
    return tf.cond(tf.placeholder_with_default(True, []), f, lambda: tf.constant(0.0, tf.float64))


def _loop(f):
    return tf.while_loop(lambda k, y: k < 3, lambda k, y: (k + 1, y + f()), [0, tf.constant(0.0, tf.float64)])[1]


@pytest.mark.parametrize(("region", "times"), [(_branch, 1), (_loop, 3)])
@pytest.mark.parametrize("rows", [False, True])
def test_they_reach_the_default(region, times, rows):
    w = tf.Variable(VALUE, use_resource=True)

    def f():
        x = tf.placeholder_with_default(w, [2, 2])
        return tf.reduce_sum((tf.gather(x, [1, 1]) if rows else x) ** 2)

    first = tf.convert_to_tensor(tf.gradients(region(f), w)[0])
    second = tf.gradients(first**2, w)[0]
    counts = times * (np.array([[0.0], [2.0]]) if rows else np.ones((2, 1)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([first, tf.convert_to_tensor(second)])
    np.testing.assert_allclose(found, [2 * counts * VALUE, 8 * counts**2 * VALUE])
