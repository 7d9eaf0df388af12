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


def loop(body, *starts, **options):
    """The variables, after three iterations, of a loop that counts them."""
    starts = [tf.constant(0), *starts]
    return tf.while_loop(lambda i, *_: i < 3, lambda i, *v: (i + 1, *body(*v)), starts, **options)[1:]


def beside(a, b):
    """Two variables of one loop: powers of ``a`` and of ``b``."""
    return loop(lambda p, q: (p * a, q * b), 1.0, 1.0)


def scanned(a, b):
    return tf.scan(lambda acc, x: (a, b), tf.zeros(5), initializer=(0.0, 0.0))


def mapped(a, b):
    return tf.map_fn(lambda x: (a * x, b + x), tf.ones(5), dtype=(tf.float32, tf.float32))


def folded(fold, a, b):
    return fold(lambda acc, x: (acc[0] + x * a, acc[1] + x * b), tf.ones(5), initializer=(0.0, 0.0))


def unrolled(a, b):
    cell = tf.nn.rnn_cell.BasicRNNCell(2, activation=lambda x: x)
    ones = tf.ones([1, 3, 2])
    output, state = tf.nn.dynamic_rnn(cell, ones * a, initial_state=tf.ones([1, 2]) * b)
    return tf.reduce_sum(output) * 0.0, tf.reduce_sum(state) * 0.0


def stopped(pair):
    return tf.reduce_sum(pair[0]) + tf.reduce_sum(tf.stop_gradient(pair[1]))


def product_and_stopped(factor, pair):
    return factor * pair[0] + tf.stop_gradient(pair[1])


# Of the gradients by a and b, both 2, what 1.12.3 and 1.15.5 give: a loop's variable with no gradient that leads to y
# through floats has zeros where another variable of the loop has a gradient. (Of "map_fn" they fail to run the zeros.)
ZEROS_OR_NONE = {
    "scan": (lambda a, b: stopped(scanned(a, b)), [5.0, 0.0]),
    "scan, the first alone": (lambda a, b: tf.reduce_sum(scanned(a, b)[0]), [5.0, None]),
    "scan, stopped": (lambda a, b: tf.stop_gradient(scanned(a, b)[1]), [None, None]),
    "scan, a capture": (lambda a, b: tf.scan(lambda s, x: s + tf.stop_gradient(b) * a, tf.zeros(2), 0.0), [6.0, None]),
    "map_fn": (lambda a, b: stopped(mapped(a, b)), [5.0, 0.0]),
    "map_fn, the first alone": (lambda a, b: mapped(a, b)[0], [5.0, None]),
    "foldl": (lambda a, b: stopped(folded(tf.foldl, a, b)), [5.0, 0.0]),
    "foldr": (lambda a, b: stopped(folded(tf.foldr, a, b)), [5.0, 0.0]),
    "foldl, the first alone": (lambda a, b: folded(tf.foldl, a, b)[0], [5.0, None]),
    "dynamic_rnn": (lambda a, b: stopped(unrolled(a, b)), [0.0, 0.0]),
    "while": (lambda a, b: stopped(beside(a, b)), [12.0, 0.0]),
    "while, the first alone": (lambda a, b: beside(a, b)[0], [12.0, None]),
    "while, starts": (lambda a, b: stopped(loop(lambda p, q: (p * a, q + 1.0), a * 1.0, b * 1.0)), [32.0, 0.0]),
    "while, a capture": (lambda a, b: loop(lambda p: [p * tf.stop_gradient(b) + a], 1.0)[0], [7.0, None]),
    "while, inside": (lambda a, b: loop(lambda p, q: (p * tf.stop_gradient(q) * a, q * b), 1.0, 1.0)[0], [96.0, 0.0]),
    "while, inside alone": (lambda a, b: loop(lambda p, q: (p * tf.stop_gradient(q), q * b), 1.0, 1.0)[0], [None, 0.0]),
    "while, integers": (lambda a, b: loop(lambda p, q: (p * a, q + tf.cast(b, tf.int32)), 1.0, 1)[0], [12.0, None]),
    "while, cast": (lambda a, b: beside(a, b)[0] + tf.cast(beside(a, b)[1] > 1.0, tf.float32), [12.0, None]),
    "while, back_prop": (lambda a, b: a + stopped(loop(lambda p: [p * b], 1.0, back_prop=False) * 2), [1.0, None]),
    "while in while": (lambda a, b: loop(lambda p: [product_and_stopped(p, beside(a, b))], 1.0)[0], [3936.0, 0.0]),
    "while in while, the first alone": (lambda a, b: loop(lambda p: [p * beside(a, b)[0]], 1.0)[0], [2304.0, None]),
    "while in cond": (lambda a, b: tf.cond(a > 1.0, lambda: stopped(beside(a, b)), lambda: 1.0), [12.0, 0.0]),
    "while after while": (
        lambda a, b: (lambda pair: loop(lambda p: [product_and_stopped(p, pair)], 1.0)[0])(beside(a, b)),
        [3936.0, 0.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("in_resource", [False, True])
def test_zeros_or_none(graph, in_resource):
    a, b = (tf.Variable(2.0, use_resource=in_resource) for _ in range(2))
    found = {name: tf.gradients(function(a, b), [a, b]) for name, (function, _) in ZEROS_OR_NONE.items()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([[g for g in pair if g is not None] for pair in found.values()])
    for (name, pair), given in zip(found.items(), values, strict=True):
        left = iter(given)
        assert [None if g is None else next(left) for g in pair] == ZEROS_OR_NONE[name][1], name
