"""Gradients that are taken outside of towers, by what single towers have."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf


@pytest.fixture
def towers():
    """The strategy, a variable and what the two towers have of x = 3 w, x * x and x ** 3 by a loop."""
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=2)
        with strategy.scope():
            w = tf.get_variable("w", initializer=2.0)

            def fn():
                x = w * 3.0
                cube = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x])[1]
                return x, x * x, cube, tf.nn.embedding_lookup(tf.stack([x, x]), [1])

            results = [strategy.unwrap(r) for r in strategy.call_for_each_tower(fn)]
            yield results


def values(*tensors):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(list(tensors))


def test_by_what_a_tower_has(towers):
    xs, squares, cubes, _ = towers
    found = [tf.gradients(y, x)[0] for ys in (squares, cubes) for y, x in zip(ys, xs, strict=True)]
    assert values(*found) == [12.0, 12.0, 108.0, 108.0]


def test_of_what_both_towers_have(towers):
    """Each tower's own share: the other's is a constant here."""
    xs, squares, _, _ = towers
    total = 5.0 * squares[0] + 7.0 * squares[1]
    assert values(*tf.gradients(total, [xs[1], xs[0]])) == [84.0, 60.0]


def test_through_a_use_outside(towers):
    """By way of the tower and directly."""
    xs, squares, _, _ = towers
    assert values(*tf.gradients(squares[1] * xs[1], xs[1])) == [108.0]


def test_of_rows(towers):
    xs, _, _, rows = towers
    assert values(*tf.gradients(rows[0] * 4.0, xs[0])) == [4.0]


def test_a_second_gradient(towers):
    xs, _, cubes, _ = towers
    (first,) = tf.gradients(cubes[1], xs[1])
    assert values(*tf.gradients(first, xs[1])) == [36.0]


X = np.array([-0.875, -0.25])
SLOPE = np.cos(X) + 2.0 * np.cos(2.0 * X)
SECOND = 2.0 * SLOPE * (-np.sin(X) - 4.0 * np.sin(2.0 * X))
THIRD = 2.0 * ((np.sin(X) + 4.0 * np.sin(2.0 * X)) ** 2 - SLOPE * (np.cos(X) + 8.0 * np.cos(2.0 * X)))


def number():
    return tf.cast(tf.contrib.distribute.get_tower_context().tower_id, tf.float64) + 1.0


@pytest.fixture
def sums():
    """The strategy, x, what the towers have of it, and the sum of sin(x) + sin(2 x) over both towers."""
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=2)
        with strategy.scope():
            x = tf.identity(tf.constant(X))

            def fn(x):
                own = x * number()
                return own, tf.reduce_sum(tf.sin(own))

            owns, parts = strategy.call_for_each_tower(fn, x)
            yield strategy, x, owns, tf.add_n(list(strategy.unwrap(parts)))


def test_gradients_of_gradients_of_the_whole(sums):
    _, x, _, total = sums
    first = tf.gradients(total, x)[0]
    second = tf.gradients(tf.square(first), x)[0]
    third = tf.gradients(second, x)[0]
    np.testing.assert_allclose(values(first, second, third), [SLOPE, SECOND, THIRD], rtol=1e-13)


def test_gradients_of_what_towers_make_of_a_gradient_of_the_whole(sums):
    strategy, x, _, total = sums
    first = tf.gradients(total, x)[0]
    parts = strategy.call_for_each_tower(lambda g: tf.reduce_sum(g * g * number()), first)
    found = tf.gradients(tf.add_n(list(strategy.unwrap(parts))), x)[0]
    np.testing.assert_allclose(values(found)[0], 3.0 * SECOND, rtol=1e-13)


@pytest.mark.parametrize("together", [True, False])
def test_a_tower_s_gradient_of_a_gradient_of_the_whole(sums, together):
    """By what all towers share, of which each uses what others made, and by what is its own."""
    strategy, x, owns, total = sums
    first = tf.gradients(total, x)[0]

    def fn(first, x, own):
        y = tf.reduce_sum(first * first * number())
        return tf.gradients(y, [x, own]) if together else [*tf.gradients(y, x), *tf.gradients(y, own)]

    found = values(*(v for result in strategy.call_for_each_tower(fn, first, x, owns) for v in strategy.unwrap(result)))
    of_own = [-2.0 * SLOPE * k * k * np.sin(k * X) for k in (1.0, 2.0)]
    np.testing.assert_allclose(found, [SECOND, 2.0 * SECOND, *of_own], rtol=1e-13)
