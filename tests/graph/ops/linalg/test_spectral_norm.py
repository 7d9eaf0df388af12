"""The largest singular value against numpy, and its gradient: the outer product of the singular vectors."""

import numpy as np

import towerstrat.compat.v1 as tf


def test_values_and_gradients():
    matrices = np.random.RandomState(0).randn(3, 2, 4).astype(np.float32)
    left, values, right = np.linalg.svd(np.moveaxis(matrices, 1, 2), full_matrices=False)
    x = tf.placeholder(tf.float32, matrices.shape)
    norms = tf.norm(x, ord=2, axis=[2, 1])
    weights = np.array([1.0, -2.0, 3.0], np.float32)
    with tf.Session() as session:
        found, slope = session.run([norms, tf.gradients(tf.reduce_sum(norms * weights), x)[0]], {x: matrices})
    np.testing.assert_allclose(found, values[:, 0], rtol=1e-5)
    wanted = weights[:, None, None] * left[:, None, :, 0] * right[:, 0, :, None]
    np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-5)
