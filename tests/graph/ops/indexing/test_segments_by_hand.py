"""Segments against numpy, and their gradients against the derivatives by hand."""

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager.mode import eager_mode

ROWS = np.array([[1.5, -2.0], [0.5, 4.0], [-3.0, 0.25], [2.0, 1.0]], np.float32)
IDS = np.array([0, 0, 0, 2])
WEIGHTS = np.array([[1.0, 2.0], [5.0, 7.0], [-3.0, 0.5]], np.float32)


def test_products():
    """The derivative by a factor is the product of the others."""
    x = tf.placeholder(tf.float32, [4, 2])
    y = tf.segment_prod(x, IDS)
    with tf.Session() as session:
        found, slope = session.run([y, tf.gradients(tf.reduce_sum(y * WEIGHTS), x)[0]], {x: ROWS})
    wanted = np.stack([ROWS[:3].prod(0), [1.0, 1.0], ROWS[3]])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(slope, (wanted * WEIGHTS)[IDS] / ROWS, rtol=1e-6)


def test_sums_over_roots_of_counts():
    """The gradient is whole, as the original's, unless rows are asked for."""
    places = [3, 1, 0, 3]
    with eager_mode():
        x = tf2.constant(ROWS)
        with tf2.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf2.sparse.segment_sqrt_n(x, places, IDS)
            again = tf2.sparse.segment_sqrt_n(x, places, IDS, sparse_gradient=True)
        whole, rows = tape.gradient(y, x, WEIGHTS), tape.gradient(again, x, WEIGHTS)
    np.testing.assert_allclose(y, [ROWS[[3, 1, 0]].sum(0) / 3**0.5, [0.0, 0.0], ROWS[3]], rtol=1e-6)
    first, last = WEIGHTS[0] / np.float32(3**0.5), WEIGHTS[2]
    np.testing.assert_allclose(whole, [first, first, [0.0, 0.0], first + last], rtol=1e-6)
    np.testing.assert_array_equal(rows.indices, places)
    np.testing.assert_allclose(rows.values, [first, first, first, last], rtol=1e-6)
