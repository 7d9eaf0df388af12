"""Shapes that a graph does not know are checked when it runs, as TensorFlow 1.12 does (its outcomes are kept here)."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread

ONES = [1, 1, 1, 1]


def full(*dims):
    return np.ones(dims, "float32")


def whole(*dims):
    return np.zeros(dims, "int32")


REFUSED = {
    "depthwise_conv2d": (lambda x, w: tf.nn.depthwise_conv2d(x, w, ONES, "SAME"), full(1, 4, 4, 4), full(2, 2, 2, 2)),
    "depthwise_of_more": (
        lambda x, w: tf.nn.depthwise_conv2d_native(x, w, ONES, "SAME"), full(1, 4, 4, 2), full(2, 2, 4, 1)
    ),
    "conv2d": (lambda x, w: tf.nn.conv2d(x, w, ONES, "SAME"), full(1, 4, 4, 3), full(2, 2, 2, 2)),
    "conv2d_backprop_input": (
        lambda w, g: tf.nn.conv2d_backprop_input([1, 4, 4, 2], w, g, ONES, "SAME"), full(2, 2, 2, 2), full(2, 4, 4, 2)
    ),
    "max_pool": (lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], ONES, "SAME"), full(4, 4, 3)),
    "bias_add": (tf.nn.bias_add, full(2, 3), full(1)),
    "bias_add_of_vector": (tf.nn.bias_add, full(3), full(3)),
    "sparse_softmax_cross_entropy": (
        lambda a, b: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=a, logits=b), whole(1), full(2, 3)
    ),
    "where": (lambda a, b: tf.where(a > 0, a, b), full(2, 3), full(1, 3)),
    "where_rows": (lambda c, a: tf.where(c > 0, a, a), full(1, 3), full(2, 3)),
    "tile": (lambda a: tf.tile(a, [2]), full(2, 3)),
    "gather": (lambda a: tf.gather(a, [0], axis=3), full(2, 3)),
    "scatter_nd": (lambda i, u: tf.scatter_nd(i, u, [4, 2]), whole(2, 1), full(1, 2)),
    "in_top_k": (lambda a, i: tf.nn.in_top_k(a, i, 1), full(2, 3), whole(1)),
    "cross": (tf.cross, full(2, 3), full(1, 3)),
    "argmax": (lambda v: tf.argmax(v, 3), full(2, 3)),
    "cumsum": (lambda v: tf.cumsum(v, 3), full(2, 3)),
    "unique": (lambda v: tf.unique(v)[0], full(2, 2)),
    "fill": (lambda v: tf.fill([2], v), full(1)),
    "matmul": (tf.matmul, full(2, 3), full(2, 3)),
}  # fmt: skip


def outcome(make, *arrays):
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(a.dtype) for a in arrays]
        return session.run(make(*fed), dict(zip(fed, arrays, strict=True)))


@spread("name", REFUSED, every=3)
def test_what_does_not_fit_is_refused(name):
    with pytest.raises(tf.errors.InvalidArgumentError):
        outcome(*REFUSED[name])


def test_the_message_names_shapes_and_line():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"are 4 and 2.*\[1, 4, 4, 4\].*\n.*\n.*test_shape_checks"):
        outcome(*REFUSED["depthwise_conv2d"])


def test_what_the_original_computes_is_computed():
    logistic = outcome(lambda a, b: tf.nn.sigmoid_cross_entropy_with_logits(labels=a, logits=b), full(1, 3), full(2, 3))
    np.testing.assert_allclose(logistic, np.full((2, 3), np.log1p(np.exp(-1.0))), rtol=1e-6)
    narrow = outcome(lambda x, w: tf.nn.conv2d(x, w, ONES, "VALID"), full(1, 2, 2, 2), full(3, 3, 2, 2))
    assert narrow.shape == (1, 0, 0, 2)


def test_the_gradient_of_what_does_not_fit_is_refused():
    def gradient(x, w):
        return tf.gradients(tf.nn.depthwise_conv2d(x, w, ONES, "SAME"), w)

    with pytest.raises(tf.errors.InvalidArgumentError, match="are 4 and 2"):
        outcome(gradient, full(1, 4, 4, 4), full(2, 2, 2, 2))
