"""Complex numbers mean the same as constants and fed, also at infinities, zeros of both signs and branch cuts."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

PARTS = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
NUMBERS = np.array([complex(a, b) for a in PARTS for b in PARTS], np.complex64)
UNARY = [tf.exp, tf.log, tf.sqrt, tf.rsqrt, tf.reciprocal, tf.tanh, tf.sigmoid, tf.abs, tf.square, tf.sin]
BINARY = [tf.divide, tf.multiply, tf.subtract, tf.pow]


def both_ways(function, *values):
    with tf.Graph().as_default(), tf.Session() as session:
        constant = session.run(function(*[tf.constant(v) for v in values]))
        fed = [tf.placeholder(v.dtype, v.shape) for v in values]
        return constant, session.run(function(*fed), dict(zip(fed, values, strict=True)))


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_of_one_number(function):
    constant, fed = both_ways(function, NUMBERS)
    np.testing.assert_allclose(constant, fed, rtol=1e-5)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_of_two_numbers(function):
    constant, fed = both_ways(function, *np.meshgrid(NUMBERS, NUMBERS))
    np.testing.assert_allclose(constant, fed, rtol=1e-5)


def test_a_finite_number_by_an_infinite_one_is_zero():
    # As the original's, one element at a time; in larger arrays its answer is 0 or NaN by the element's place.
    infinite = np.array([complex(np.nan, -np.inf), complex(np.inf, np.nan), complex(np.inf, np.inf)], np.complex64)
    for found in both_ways(tf.divide, np.full(3, 2 + 1j, np.complex64), infinite):
        np.testing.assert_array_equal(found, 0)
