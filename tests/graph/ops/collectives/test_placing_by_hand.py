"""What is brought to positions of an axis, and back from them: values and gradients by hand, on three positions."""

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives import all_reduce, exchanges

X = np.array([1.5, -2.0, 0.5], np.float32)
WEIGHTS = np.array([1.0, 3.0, -2.0], np.float32)
EACH = np.array([1.0, 2.0, 3.0], np.float32)
"""What a position multiplies its value with."""

PLACED = {
    "Divide": (lambda x, axis: all_reduce.divide(x, axis, 0), [X[:1], X[1:2], X[2:]], EACH * WEIGHTS.sum()),
    "FromPositions": (
        lambda x, axis: all_reduce.distribute([x, x * 2.0, x * 4.0], axis), [X, 2 * X, 4 * X], (1 + 4 + 12) * WEIGHTS),
    "GroupSum": (
        lambda x, axis: exchanges.group_sum(x * positions(axis), axis, ((0, 1, 2),)), [6 * X] * 3, 6 * 6 * WEIGHTS),
    "OwnOfPositions": (
        lambda x, axis: all_reduce.own_of([x * 2.0, x[:1], x * 4.0], axis), [2 * X, X[:1], 4 * X],
        (2 + 12) * WEIGHTS + [2 * WEIGHTS.sum(), 0, 0]),
    "Spread": (lambda x, axis: all_reduce.pcast_varying(x, axis), [X, X, X], (1 + 2 + 3) * WEIGHTS),
}  # fmt: skip
"""By type: what brings a vector to the positions, what each of them has, and the gradient of the weighted sum."""

COMBINED = {
    "AllConcat": (lambda x, axis: all_reduce.all_concat(x, axis), np.ravel([X, 2 * X, 3 * X]), 6 * WEIGHTS),
    "SelectPosition": (lambda x, axis: all_reduce.select(x, axis, 1), 2 * X, 2 * WEIGHTS),
}  # fmt: skip
"""By type: what combines what the positions made of a vector, the result, and its gradient."""


@pytest.fixture
def axis():
    return Axis("tower", jax.devices()[:3])


def positions(axis):
    return tf.cast(all_reduce.position(axis), tf.float32) + 1.0


def checked(type, values, total, x, wanted, slope):
    assert type in {op.type for op in tf.get_default_graph().get_operations()}
    with tf.Session() as session:
        found = session.run([values, tf.gradients(total, x)[0]], {x: X})
    for one, other in zip(found[0], wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(found[1], slope, rtol=1e-6)


@pytest.mark.parametrize("type", PLACED)
def test_what_positions_have(type, axis):
    bring, wanted, slope = PLACED[type]
    x = tf.placeholder(tf.float32, [3])
    with tf.get_default_graph().under(axis):
        y = bring(x, axis)
        total = all_reduce.all_reduce(tf.reduce_sum(y * WEIGHTS) * positions(axis), axis, "sum")
    checked(type, [all_reduce.select(y, axis, i) for i in range(3)], total, x, wanted, slope)


@pytest.mark.parametrize("type", COMBINED)
def test_what_is_combined(type, axis):
    combine, wanted, slope = COMBINED[type]
    x = tf.placeholder(tf.float32, [3])
    with tf.get_default_graph().under(axis):
        y = combine(x * positions(axis), axis)
    total = tf.reduce_sum(tf.reshape(y, [-1, 3]) * WEIGHTS)
    checked(type, [y], total, x, [wanted], slope)
