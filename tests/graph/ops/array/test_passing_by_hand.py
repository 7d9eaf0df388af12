"""What passes numbers on, or puts them elsewhere: the same numbers, and the gradient of each at its place."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.ops.building.op_builder import add_op

X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
WEIGHTS = np.random.RandomState(1).randn(12).astype(np.float32)

PASSING = {
    "ConjugateTranspose": (lambda x: tf.real(tf.transpose(tf.complex(x, 2.0 * x), conjugate=True)), lambda x: x.T),
    "DenseOfIndexedSlices": (
        lambda x: tf.convert_to_tensor(tf.IndexedSlices(x, tf.constant([2, 0, 1]), tf.constant([3, 4]))),
        lambda x: x[[1, 2, 0]]),
    "GuaranteeConst": (tf.guarantee_const, lambda x: x),
    "OptimizationBarrier": (lambda x: add_op("OptimizationBarrier", [x]), lambda x: x),
    "PlaceholderIdentity": (lambda x: add_op("PlaceholderIdentity", [x]), lambda x: x),
    "PlaceholderWithDefault": (lambda x: tf.placeholder_with_default(x, [None, 4]), lambda x: x),
    "Snapshot": (lambda x: add_op("Snapshot", [x]), lambda x: x),
    "SumOfOne": (lambda x: add_op("SumOfOne", [x[None]], {"axis": (0,), "keepdims": False}), lambda x: x),
    "XlaSharding": (lambda x: add_op("XlaSharding", [x], {"parts": None, "_logical_device": 0}), lambda x: x),
}  # fmt: skip
"""By type: ours, and where numpy puts the numbers."""


@pytest.mark.parametrize("type", PASSING)
def test_numbers_and_gradients_keep_their_places(type):
    passed, places = PASSING[type]
    wanted = places(X)
    sources = places(np.arange(X.size).reshape(X.shape)).ravel()
    x = tf.placeholder(tf.float32, X.shape)
    y = passed(x)
    assert type in {op.type for op in tf.get_default_graph().get_operations()}
    slope = tf.gradients(tf.reduce_sum(tf.reshape(y, [-1]) * WEIGHTS), x)[0]
    with tf.Session() as session:
        value, found = session.run([y, slope], {x: X})
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(found.ravel()[sources], WEIGHTS)


def test_a_prevented_gradient_leaves_the_value():
    x = tf.placeholder(tf.float32, X.shape)
    y = add_op("PreventGradient", [x])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y, {x: X}), X)


def test_matrices_of_a_rank_that_is_not_known_are_transposed():
    x = tf.placeholder(tf.float32)
    y = tf.matrix_transpose(x)
    with tf.Session() as session:
        for shape in ((3, 4), (2, 3, 2)):
            np.testing.assert_array_equal(session.run(y, {x: X.reshape(shape)}), np.swapaxes(X.reshape(shape), -1, -2))
