"""The later operation of projected images against the earlier one, which the original's values are compared with."""

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2

X = np.random.RandomState(0).rand(2, 3, 4, 3).astype(np.float32)
WEIGHTS = np.random.RandomState(1).randn(2, 3, 4, 3).astype(np.float32)
TURN = [[1.1, 0.2, -0.5, 0.1, 0.9, 0.25, 0.01, 0.02]]


def test_what_is_outside_is_filled():
    x = tf.placeholder(tf.float32, X.shape)
    later = tf2.raw_ops.ImageProjectiveTransformV3(
        images=x, transforms=TURN, output_shape=[3, 4], fill_value=0.5, interpolation="BILINEAR"
    )
    earlier = tf.contrib.image.transform(x, TURN[0], "BILINEAR")
    inside = tf.contrib.image.transform(tf.ones_like(x), TURN[0], "BILINEAR")
    slopes = [tf.gradients(tf.reduce_sum(y * WEIGHTS), x)[0] for y in (later, earlier)]
    with tf.Session() as session:
        (found, slope), (wanted, wanted_slope) = session.run(
            [[later, slopes[0]], [earlier + 0.5 * (1.0 - inside), slopes[1]]], {x: X}
        )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-5, atol=1e-6)
