"""What is written into a TensorArray and read from it in each way, with gradients, against numpy."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

X = np.array([[1.0, -2.0, 0.5], [4.0, 3.0, -1.0]], np.float32)
WEIGHTS = np.array([[0.5, 4.0, -2.0], [2.0, -0.5, 1.5]], np.float32)


def array():
    return tf.TensorArray(tf.float32, size=2, clear_after_read=False)


WAYS = {
    "unstack, stack": (lambda x: array().unstack(x).stack(), lambda x: x),
    "write, read": (
        lambda x: tf.stack([(a := array().write(1, x[0]).write(0, x[1] * 2.0)).read(0), a.read(1)]),
        lambda x: np.stack([x[1] * 2.0, x[0]]),
    ),
    "scatter, gather": (lambda x: array().scatter([1, 0], x * 3.0).gather([0, 1]), lambda x: x[::-1] * 3.0),
    "split, concat": (lambda x: array().split(x, [1, 1]).concat() * 2.0, lambda x: x * 2.0),
    "identity": (lambda x: array().unstack(x).identity().stack() * 5.0, lambda x: x * 5.0),
    "size": (lambda x: x * tf.to_float(array().unstack(x).size()), lambda x: x * 2.0),
}
"""By name: ours and numpy's, both linear."""


@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients(way):
    ours, twin = WAYS[way]
    units = np.eye(X.size, dtype=np.float32).reshape(X.size, *X.shape)
    slopes = np.array([np.sum(twin(u) * WEIGHTS) for u in units]).reshape(X.shape)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, X.shape)
        y = ours(x)
        found = session.run([y, tf.gradients(y * WEIGHTS, x)[0]], {x: X})
    np.testing.assert_allclose(found[0], twin(X), rtol=1e-6)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-6)
