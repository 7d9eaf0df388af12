"""Gradients that are taken outside of towers, by what single towers have."""

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
