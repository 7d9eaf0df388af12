"""Gradients of Jacobians and of gradients that are taken inside of regions: as eager tapes give them, and by hand."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat.errors import UnsupportedError


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def looped(x, w):
    for _ in tf.range(2):
        x = tf.sin(x * w)
    return x


TARGETS = {
    "product": lambda x, w: x * x * w,
    "exponential": lambda x, w: tf.exp(x * w) * w,
    "loop": looped,
    "branch": lambda x, w: tf.cond(w > 0.0, lambda: x * x * w, lambda: x),
    "map": lambda x, w: tf.vectorized_map(lambda e: e * e * w, x),
    "called": lambda x, w: tf.function(lambda a: tf.sin(a * w))(x) * w,
}


@pytest.mark.parametrize("pfor", [True, False])
@pytest.mark.parametrize("name", TARGETS)
def test_first(name, pfor):
    w = tf.Variable(2.0)

    def work():
        x = tf.constant([0.5, 1.0])
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = TARGETS[name](x, w)
            penalty = tf.reduce_sum(inner.jacobian(y, x, experimental_use_pfor=pfor) ** 2)
        return outer.gradient(penalty, w)

    np.testing.assert_allclose(tf.function(work)(), work(), rtol=1e-5)


def test_by_hand():
    w = tf.Variable(2.0)

    @tf.function
    def work():
        x, other = tf.constant([1.0, 2.0]), tf.constant([1.0])
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch([x, other])
                y = x * w
            found, zeros = inner.jacobian(y, [x, other], unconnected_gradients="zero")
        return outer.gradient(found, w), outer.gradient(found, x) is None, outer.gradient(zeros, w) is None

    assert [np.asarray(v).item() for v in work()] == [2.0, True, True]  # d/dw of [[w, 0], [0, w]]


def test_batches_and_third_order():
    """y = x^3 w^2, row by row: the second derivative by x is 6 x w^2, and that by w is 12 x w."""
    w = tf.Variable(2.0)

    @tf.function
    def work():
        x = tf.constant([[1.0], [2.0]])
        with tf.GradientTape() as last:
            with tf.GradientTape() as middle:
                middle.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = x * x * x * w * w
                first = tf.reshape(inner.batch_jacobian(y, x), [2, 1])
            second = middle.batch_jacobian(first, x)
            total = tf.reduce_sum(second)
        return total, last.gradient(total, w)

    total, gradient = work()
    assert (float(total), float(gradient)) == (72.0, 72.0)


def test_in_loops():
    """A gradient inside of a loop that leads outside of it, differentiated: y = w x^3."""
    w = tf.Variable(2.0)

    @tf.function
    def work():
        x = tf.constant(3.0)
        with tf.GradientTape() as outer:
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = x * x * x * w
            total = tf.constant(0.0)
            for k in tf.range(3):
                total += inner.gradient(y, x) * tf.cast(k, tf.float32)
        return total, outer.gradient(total, w)

    assert [float(v) for v in work()] == [162.0, 81.0]  # 3 w x^2 (0 + 1 + 2)


def test_third_derivatives():
    """y = x^2 w v: by x, w and v it is 2 x; where the inner gradient uses a value before and after another one."""
    w, v = tf.Variable(2.0), tf.Variable(0.5)

    def work(before):
        x = tf.constant(1.5)
        with tf.GradientTape() as last:
            with tf.GradientTape() as middle:
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = x * x * v * w if before else x * x * w * v
                first = inner.gradient(y, x)
            second = middle.gradient(first, w)
        return last.gradient(second, v)

    for before in (True, False):
        assert float(work(before)) == float(tf.function(work)(before)) == 3.0


def test_an_assignment_in_between_is_refused():
    """The paths go through a loop that read the variable before it was assigned: its value then is gone."""
    w = tf.Variable(2.0)

    @tf.function
    def work():
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = looped(x, w)
            w.assign(3.0)
            found = tf.reduce_sum(inner.jacobian(y, x))
        return outer.gradient(found, w)

    with pytest.raises(UnsupportedError, match="assigned since"):
        work()
