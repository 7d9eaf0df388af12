"""Results that the original gives names to."""

import numpy as np

import towerstrat.compat.v1 as tf


def test_results_have_the_originals_field_names():
    unique = tf.unique([7, 7, 3])
    counted = tf.unique_with_counts([7, 7, 3])
    rest = tf.setdiff1d([1, 2, 3], [2])
    factors = tf.qr([[2.0, 0.0], [0.0, 1.0]])
    with tf.Session() as sess:
        y, idx, count, out, q_r = sess.run([unique.y, counted.idx, counted.count, rest.out, factors.q @ factors.r])
        fetched = sess.run(unique)
    assert [y.tolist(), idx.tolist(), count.tolist(), out.tolist()] == [[7, 3], [0, 0, 1], [2, 1], [1, 3]]
    assert type(fetched) is type(unique)
    np.testing.assert_allclose(q_r, [[2.0, 0.0], [0.0, 1.0]], atol=1e-6)
