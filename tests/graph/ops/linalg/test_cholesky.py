"""Cholesky factors of matrices that are not finite or not symmetric: what TensorFlow 1.12.3 and 1.15.5 give."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors

NAN, INF = np.nan, np.inf
FAILURE = "Cholesky decomposition was not successful"


def factor(matrix):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.cholesky(tf.placeholder_with_default(np.asarray(matrix), np.shape(matrix))))


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [
        ([[INF, 1.0], [1.0, 3.0]], [[INF, 0.0], [0.0, np.sqrt(3.0)]]),
        ([[4.0, 1.0], [1.0, INF]], [[2.0, 0.0], [0.5, INF]]),
        ([[NAN, 1.0], [1.0, 3.0]], [[NAN, 0.0], [NAN, NAN]]),
        ([[4.0, 1.0], [NAN, 3.0]], [[2.0, 0.0], [NAN, NAN]]),
        ([[4.0, 1.0], [1.0, NAN]], [[2.0, 0.0], [0.5, NAN]]),
        ([[NAN, 1.0], [1.0, -INF]], [[NAN, 0.0], [NAN, NAN]]),
    ],
)
def test_a_factor_has_what_is_not_finite(matrix, wanted):
    np.testing.assert_allclose(factor(matrix), wanted, rtol=1e-12)


@pytest.mark.parametrize("other", [9.0, NAN, INF])
def test_only_the_lower_part_is_read(other):
    np.testing.assert_allclose(factor([[4.0, other], [1.0, 3.0]]), [[2.0, 0.0], [0.5, np.sqrt(2.75)]], rtol=1e-12)


@pytest.mark.parametrize(
    "matrix", [[[4.0, 1.0], [INF, 3.0]], [[-INF, 1.0], [1.0, 3.0]], [[4.0, 1.0], [1.0, -INF]], [[1.0, 2.0], [2.0, 1.0]]]
)
def test_a_pivot_that_is_not_positive_is_an_error(matrix):
    good = [[4.0, 1.0], [1.0, NAN]]
    for given in (matrix, [good, matrix]):
        with pytest.raises(errors.InvalidArgumentError, match=FAILURE):
            factor(given)


def test_a_function_says_the_same():
    function = tf.function(tf.cholesky)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(function(tf.constant([[4.0, NAN], [1.0, NAN]])))
        np.testing.assert_allclose(found, [[2.0, 0.0], [0.5, NAN]])


def test_nothing_has_a_factor():
    assert factor(np.zeros([2, 0, 0])).shape == (2, 0, 0)


@pytest.mark.parametrize("mapped", [False, True], ids=["alone", "in a loop"])
def test_both_halves_share_the_gradient(mapped):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[4.0, 9.0], [1.0, 3.0]], tf.float64)
        y = tf.map_fn(tf.cholesky, x[tf.newaxis]) if mapped else tf.cholesky(x)
        first = tf.gradients(tf.reduce_sum(y), x)[0]
        found = session.run(first)
        np.testing.assert_allclose(found, [[0.20634446, 0.17462216], [0.17462216, 0.30151134]], rtol=1e-7)
        if not mapped:
            second = tf.gradients(tf.reduce_sum(first * [[1.0, 2.0], [3.0, 4.0]]), x)[0]
            wanted = [[-0.08889881, -0.16230465], [-0.16230465, -0.15418194]]
            np.testing.assert_allclose(session.run(second), wanted, rtol=1e-7)
