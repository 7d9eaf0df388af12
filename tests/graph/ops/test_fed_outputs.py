"""Gradients of solvers, decompositions and others in terms of outputs: an output that is fed counts.

Where a formula uses outputs alone, feeding those of another input gives the gradient at that input.
"""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread

DRAWS = np.random.RandomState(0)
A = DRAWS.rand(2, 3, 3) + 2 * np.eye(3)
SYMMETRIC = A @ A.swapaxes(1, 2)
OTHER = SYMMETRIC + np.eye(3)
RIGHT = DRAWS.rand(2, 3, 2)
TALL = DRAWS.rand(2, 4, 3)


@pytest.fixture
def graph():
    with tf.Graph().as_default():
        yield


def weighted(outputs):
    """A number that depends on every output, each element with a weight of its own."""
    return tf.add_n([tf.reduce_sum(y * tf.cos(tf.cumsum(tf.ones_like(y), 1))) for y in outputs])


def gradients(function, inputs, outputs=None):
    """Gradients of ``weighted`` at inputs, where other outputs are fed."""
    places = [tf.placeholder(tf.float64, x.shape) for x in inputs]
    ys = function(*places)
    ys = list(ys) if isinstance(ys, list | tuple) else [ys]
    feeds = {**dict(zip(places, inputs, strict=True)), **dict(zip(ys, outputs or (), strict=False))}
    with tf.Session() as session:
        return session.run([ys, tf.gradients(weighted(ys), places)], feeds)


@pytest.mark.parametrize(
    ("function", "one", "other"),
    [
        (tf.cholesky, SYMMETRIC, OTHER),
        (tf.matrix_inverse, A, OTHER),
        (tf.qr, TALL, TALL + 1.0),
        (tf.qr, A, OTHER),
        (lambda x: tf.qr(x, full_matrices=True), A, OTHER),
        (tf.self_adjoint_eig, SYMMETRIC, OTHER),
        (tf.svd, TALL, TALL + np.eye(4, 3)),
        (lambda x: tf.svd(x, full_matrices=True), TALL.swapaxes(1, 2), TALL.swapaxes(1, 2) + np.eye(3, 4)),
    ],
    ids=["cholesky", "inverse", "tall qr", "qr", "full qr", "eig", "tall svd", "wide svd"],
)
def test_formulas_of_outputs_alone(graph, function, one, other):
    outputs, wanted = gradients(function, [other])
    _, found = gradients(function, [one], outputs)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@spread(("half", "adjoint"), itertools.product([None, "lower", "upper"], [False, True]), every=5)
def test_solutions(graph, adjoint, half):
    """What a fed solution solves is another right side."""

    def solve(a, b):
        if half is None:
            return tf.matrix_solve(a, b, adjoint=adjoint)
        return tf.matrix_triangular_solve(a, b, lower=half == "lower", adjoint=adjoint)

    used = A if half is None else np.tril(A) if half == "lower" else np.triu(A)
    used = used.swapaxes(1, 2) if adjoint else used
    fed = RIGHT * 1.5 + 0.25
    _, found = gradients(solve, [A, RIGHT], [fed])
    _, wanted = gradients(solve, [A, used @ fed])
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


def test_singular_vectors_of_far_more_rows_than_columns(graph):
    u = tf.svd(tf.placeholder(tf.float64, [5, 3], name="tall"), full_matrices=True)[1]
    (g,) = tf.gradients(u, u.op.inputs[0])
    with tf.Session() as session, pytest.raises(NotImplementedError, match=r"abs\(m - n\) > 1 .* m = 5 and n = 3"):
        session.run(g, {u.op.inputs[0]: np.ones([5, 3])})


def test_places_of_the_largest(graph):
    x = tf.placeholder(tf.float32, [2, 3])
    values, indices = tf.nn.top_k(x, 2)
    (g,) = tf.gradients(values, x, tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    with tf.Session() as session:
        found = session.run(g, {x: [[1.0, 2.0, 3.0]] * 2, indices: [[0, 1], [2, 0]]})
    assert found.tolist() == [[1.0, 2.0, 0.0], [4.0, 0.0, 3.0]]


def test_local_response_normalization(graph):
    """The formula is a term of the input less one that is linear in the output."""
    x = np.asarray(DRAWS.rand(1, 2, 2, 5), np.float32)
    place = tf.placeholder(tf.float32, x.shape)
    y = tf.nn.local_response_normalization(place, 1, 1.5, 0.5, 0.75)
    (g,) = tf.gradients(y, place)
    with tf.Session() as session:
        value, plain = session.run([y, g], {place: x})
        found = session.run(g, {place: x, y: 3 * value})
    np.testing.assert_allclose(found, 3 * plain - 2 * value / x, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_second_derivatives(graph):
    """Of a function of a scalar, by a difference quotient of the first ones."""
    t = tf.placeholder(tf.float64, [])
    moved = tf.constant(SYMMETRIC) + t * tf.constant(OTHER / 3)
    for outputs in (
        [tf.cholesky(moved)], tf.qr(moved + TALL[:, :3]), [tf.matrix_solve(moved, RIGHT)],
        [tf.matrix_triangular_solve(moved, RIGHT, lower=False, adjoint=True)], tf.self_adjoint_eig(moved),
        tf.svd(moved), [tf.matrix_determinant(moved)[:, None]],
    ):  # fmt: skip
        (first,) = tf.gradients(weighted(list(outputs)), t)
        (second,) = tf.gradients(first, t)
        with tf.Session() as session:
            apart = session.run(first, {t: 0.5 + 1e-6}) - session.run(first, {t: 0.5 - 1e-6})
            np.testing.assert_allclose(session.run(second, {t: 0.5}), apart / 2e-6, rtol=1e-5, atol=1e-8)
