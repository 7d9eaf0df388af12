"""Branches and loops in functions of datasets that only the host can carry out: on strings, with Python functions."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.data.common import elements

WORDS = ["a", "bb", "ccc"]


def words():
    return tf.data.Dataset.from_tensor_slices(WORDS)


def doubled(x):
    """Twice a scalar, by Python."""
    found = tf.py_func(lambda v: v * 2, [x], x.dtype)
    found.set_shape([])
    return found


def repeated(word, count):
    return tf.while_loop(lambda i, _: i < count, lambda i, s: (i + 1, s + word), [0, tf.constant("")])[1]


def backwards(text):
    """The words of a text from the last to the first, without spaces."""
    parts = tf.string_split([text]).values
    return tf.while_loop(lambda i, _: i < tf.size(parts), lambda i, s: (i + 1, parts[i] + s), [0, tf.constant("")])[1]


def signed(word):
    """A loop around a branch, in a branch."""
    step = lambda i, s: (i + 1, tf.cond(i > 0, lambda: s + "1", lambda: s + "0"))  # noqa: E731
    return tf.cond(tf.equal(word, "a"), lambda: word, lambda: tf.while_loop(lambda i, _: i < 2, step, [0, word])[1])


CASES = {
    "a branch": (
        lambda: words().map(lambda s: tf.cond(tf.equal(s, "bb"), lambda: s + "X", lambda: s)),
        ["a", "bbX", "ccc"],
    ),
    "of a number": (
        lambda: tf.data.Dataset.range(3).map(
            lambda i: tf.cond(i > 1, lambda: tf.as_string(i), lambda: tf.constant("small"))
        ),
        ["small", "small", "2"],
    ),
    "to a number": (
        lambda: words().map(lambda s: tf.cond(tf.equal(s, "bb"), lambda: 1.0, lambda: 2.0)),
        [2.0, 1.0, 2.0],
    ),
    "case": (
        lambda: words().map(
            lambda s: tf.case(
                [(tf.equal(s, "a"), lambda: tf.constant("first")), (tf.equal(s, "bb"), lambda: tf.constant("second"))],
                default=lambda: tf.constant("none"),
            )
        ),
        ["first", "second", "none"],
    ),
    "a loop": (lambda: words().map(lambda s: repeated(s, tf.strings.length(s))), ["a", "bbbb", "ccccccccc"]),
    "a bounded loop": (
        lambda: words().map(lambda s: tf.while_loop(lambda t: True, lambda t: t + s, [s], maximum_iterations=2)),
        ["aaa", "bbbbbb", "ccccccccc"],
    ),
    "over parts": (lambda: tf.data.Dataset.from_tensor_slices(["a b", "c d e"]).map(backwards), ["ba", "edc"]),
    "nested": (lambda: words().map(signed), ["a", "bb01", "ccc01"]),
    "filter": (
        lambda: words().filter(
            lambda s: tf.cond(tf.equal(s, "a"), lambda: True, lambda: tf.equal(tf.strings.length(s), 3))
        ),
        ["a", "ccc"],
    ),
    "flat_map": (
        lambda: words().flat_map(
            lambda s: tf.data.Dataset.from_tensors(tf.cond(tf.equal(s, "a"), lambda: s, lambda: s + s))
        ),
        ["a", "bbbb", "cccccc"],
    ),
    "Python in a branch": (
        lambda: tf.data.Dataset.range(3).map(lambda i: tf.cond(i > 0, lambda: doubled(i), lambda: i)),
        [0, 2, 4],
    ),
    "Python in a loop": (
        lambda: tf.data.Dataset.range(4).map(
            lambda n: tf.while_loop(
                lambda i, _: i < n,
                lambda i, a: (i + 1, doubled(a)),
                [tf.constant(0, tf.int64), tf.constant(1, tf.int64)],
            )[1]
        ),
        [1, 2, 4, 8],
    ),
    "Python in map_fn": (
        lambda: tf.data.Dataset.from_tensors(np.arange(3)).map(lambda v: tf.reduce_sum(tf.map_fn(doubled, v))),
        [6],
    ),
    "after one": (
        lambda: words().map(lambda s: tf.strings.length(tf.cond(tf.equal(s, "bb"), lambda: s + s, lambda: s)) * 2),
        [2, 8, 6],
    ),
}


def found(make):
    with tf.Graph().as_default():
        return [v.decode() if isinstance(v, bytes) else v for v in elements(make())]


@pytest.mark.parametrize("name", CASES)
def test_the_host_carries_it_out(name):
    make, wanted = CASES[name]
    assert found(make) == wanted


def test_draws_inside_of_a_loop_differ_and_repeat():
    def drawn(word):
        more = lambda i, s: (i + 1, s + tf.as_string(tf.random_uniform([], 0, 10, tf.int32)))  # noqa: E731
        return tf.while_loop(lambda i, _: i < 8, more, [0, word])[1]

    first, again = found(lambda: words().map(drawn)), found(lambda: words().map(drawn))
    assert first == again
    assert len({text.lstrip("abc") for text in first}) == 3
    assert len(set(first[0])) > 2


def test_errors_name_the_line():
    with pytest.raises(tf.errors.InvalidArgumentError, match="test_flow_in_functions"):
        found(lambda: words().map(lambda s: tf.cond(tf.equal(s, "bb"), lambda: tf.string_to_number(s), lambda: 0.0)))
