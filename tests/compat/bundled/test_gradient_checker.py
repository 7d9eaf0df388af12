"""``tf.test.compute_gradient`` compares gradients with differences."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf


def test_a_jacobian():
    matrix = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with tf.Session():
        x = tf.placeholder(tf.float64, [2])
        y = tf.reshape(x, [1, 2]) @ tf.constant(matrix)
        for jacobian in tf.test.compute_gradient(x, [2], y, [1, 3]):
            np.testing.assert_allclose(jacobian, matrix, rtol=1e-9)
        assert tf.test.compute_gradient_error(x, [2], y, [1, 3], x_init_value=np.ones(2)) < 1e-9


def test_several_and_what_runs_first():
    with tf.Session():
        scale = tf.get_variable("scale", initializer=3.0)
        one, two, fed = tf.constant([1.0, 2.0]), tf.constant([[4.0]]), tf.placeholder(tf.float32)
        y = one * scale * fed + tf.square(two[0])
        (a, b), (c, d) = tf.test.compute_gradient(
            [one, two], [[2], [1, 1]], y, [2], x_init_value=[np.ones(2, np.float32), np.full([1, 1], 4, np.float32)],
            init_targets=[scale.initializer], extra_feed_dict={fed: 2.0}, delta=1e-2,
        )  # fmt: skip
        np.testing.assert_allclose(a, 6 * np.eye(2), rtol=1e-6)
        np.testing.assert_allclose(b, 6 * np.eye(2), rtol=1e-3)
        np.testing.assert_allclose([c, d], [[[8.0, 8.0]]] * 2, rtol=1e-3)


def test_rows_of_a_table():
    with tf.Session():
        table = tf.constant(np.ones([3, 2]))
        y = tf.gather(table, [2, 0, 2]) * 2.0
        for jacobian in tf.test.compute_gradient(table, [3, 2], y, [3, 2], np.ones([3, 2])):
            assert jacobian.shape == (6, 6)
            np.testing.assert_allclose(jacobian.sum(axis=1), [2, 2, 0, 0, 4, 4], atol=1e-9)


def test_complex_numbers_have_two_parts():
    with tf.Session():
        x = tf.placeholder(tf.complex128, [1])
        y = x * tf.constant([2.0 + 1.0j], tf.complex128)
        theoretical, numeric = tf.test.compute_gradient(x, [1], y, [1])
        np.testing.assert_allclose(numeric, [[2.0, 1.0], [-1.0, 2.0]], rtol=1e-6)
        np.testing.assert_allclose(theoretical, numeric, rtol=1e-6)


def test_a_wrong_gradient_is_found():
    @tf.custom_gradient
    def wrong(x):
        return x * 2.0, lambda dy: dy * 3.0

    with tf.Session():
        x = tf.constant([1.0, 2.0])
        assert abs(tf.test.compute_gradient_error(x, [2], wrong(x), [2]) - 1.0) < 1e-2


def test_nothing_to_compare():
    with tf.Session():
        x = tf.placeholder(tf.float32, [0])
        assert tf.test.compute_gradient_error(x, [0], x * 2.0, [0]) == 0.0


def test_what_is_wrong_is_said():
    x = tf.constant([1.0])
    with pytest.raises(RuntimeError, match="default session"):
        tf.test.compute_gradient(x, [1], x, [1])
    with tf.Session():
        with pytest.raises(ValueError, match=r"x_shape=\[1\], but x_init_value has the shape \[2\]"):
            tf.test.compute_gradient(x, [1], x * 2.0, [1], np.ones(2))
        with pytest.raises(ValueError, match="does not depend"):
            tf.test.compute_gradient(x, [1], tf.constant([1.0]), [1])
        with pytest.raises(TypeError, match="must have one of the types"):
            tf.test.compute_gradient(x, [1], tf.cast(x, tf.int32), [1])
