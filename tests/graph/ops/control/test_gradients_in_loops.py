"""Gradients that are taken inside of loops and branches, over loops whose length only the run knows."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.fuzz.routes import eager_mode
from towerstrat.graph.runtime.programs.compilation_log import CompilationLog


@pytest.fixture
def graph():
    with tf.Graph().as_default():
        yield


def power(base, count):
    """``base ** count`` by a loop."""
    return tf.while_loop(lambda j, v: j < count, lambda j, v: (j + 1, v * base), [0, tf.constant(1.0)])[1]


def slope(base, count):
    return tf.gradients(power(base, count), base)[0]


def test_in_a_loop(graph):
    """Inner loops of one length, and of another in each iteration."""
    n, x = tf.placeholder(tf.int32, []), tf.constant(2.0)
    same = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + slope(x, n)), [0, 0.0])[1]
    other = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + slope(x, n + i)), [0, 0.0])[1]
    with tf.Session() as session:
        for count in (0, 3, 5):
            wanted = [count * 2.0 ** (count - 1), *((count + i) * 2.0 ** (count + i - 1) for i in (1, 2))]
            assert session.run([same, other], {n: count}) == [3 * wanted[0], sum(wanted)]


def test_the_loop_is_one_program(graph, monkeypatch):
    """A second run of another length within the same power of two compiles nothing."""
    n = tf.placeholder(tf.int32, [])
    found = tf.map_fn(lambda e: slope(e, n), tf.constant([1.0, 2.0, 3.0]))
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found, {n: 3}), [3.0, 12.0, 27.0])
        noted = []
        monkeypatch.setattr(CompilationLog, "note", lambda *_: noted.append(1))
        np.testing.assert_allclose(session.run(found, {n: 4}), [4.0, 32.0, 108.0])
    assert not noted


def test_in_a_branch(graph):
    n, x = tf.placeholder(tf.int32, []), tf.constant(2.0)
    found = tf.cond(n > 0, lambda: slope(x, n), lambda: -1.0)
    with tf.Session() as session:
        assert [session.run(found, {n: k}) for k in (0, 1, 3)] == [-1.0, 1.0, 12.0]


def test_in_a_loop_whose_end_a_gradient_decides(graph):
    """No run without derivatives can count such a loop: the host carries it out."""
    n, start = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [])
    steps, found = tf.while_loop(lambda i, w: w > 1.5, lambda i, w: (i + 1, w - slope(w, n) / 64), [0, start])
    limit = tf.placeholder(tf.float32, [])
    reached = lambda w: tf.while_loop(lambda v: v < limit, lambda v: v * w, [tf.constant(1.0)])  # noqa: E731
    _, other = tf.while_loop(
        lambda i, w: w > 1.5, lambda i, w: (i + 1, w - tf.gradients(reached(w), w)[0] / 64), [0, start]
    )

    def by_hand(count_of):
        w, count = np.float32(2.0), 0
        while w > 1.5:
            k = count_of(w)
            w, count = np.float32(w - k * w ** (k - 1) / 64), count + 1
        return [count, w]

    def length(w):
        v, k = np.float32(1), 0
        while v < 9:
            v, k = v * w, k + 1
        return k

    with tf.Session() as session:
        for count in (2, 3):
            np.testing.assert_allclose(
                session.run([steps, found], {n: count, start: 2.0}), by_hand(lambda _, k=count: k)
            )
        np.testing.assert_allclose(session.run(other, {limit: 9.0, start: 2.0}), by_hand(length)[1], rtol=1e-6)


def test_in_a_loop_that_writes_a_variable(graph):
    n, w = tf.placeholder(tf.int32, []), tf.Variable(2.0, use_resource=True)

    def body(i):
        step = slope(w.read_value(), n) / 64
        with tf.control_dependencies([w.assign_sub(step)]):
            return i + 1

    done = tf.while_loop(lambda i: i < 2, body, [0])
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(done, {n: 3})
        first = 2.0 - 12.0 / 64
        assert session.run(w) == np.float32(first - 3 * first**2 / 64)


def test_in_a_function():
    with eager_mode():

        @tf2.function
        def total(x, n):
            found = tf.constant(0.0)
            for _ in tf.range(3):
                found += slope(x, n)
            return found

        assert [total(tf.constant(2.0), tf.constant(k)).numpy() for k in (1, 3)] == [3.0, 36.0]


@pytest.mark.parametrize("of_data", [False, True])
def test_a_condition_prints_each_time_it_is_evaluated_in_a_differentiated_loop(of_data, capfd):
    x = tf.constant(0.5)

    def test(i, a):
        with tf.control_dependencies([tf.Print(i, [], "asked")]):
            return tf.less(tf.identity(i), 2) if not of_data else tf.logical_and(tf.identity(i) < 2, a > -1.0)

    y = tf.while_loop(test, lambda i, a: (i + 1, a * 0.5), [tf.constant(0), x])[1]
    with tf.Session() as session:
        assert session.run([y, tf.gradients(y, x)[0]]) == [0.125, 0.25]
    assert capfd.readouterr().err.count("asked") == 3
