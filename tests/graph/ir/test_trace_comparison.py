"""Whether what two positions have made is the same: values of attributes, functions, regions."""

import functools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.ir.trace_comparison import TraceComparison


class Thing:
    def __init__(self, number):
        self.number = number

    def method(self):
        return self.number


def alike(mine, other):
    assert TraceComparison()(mine, other) is TraceComparison()(other, mine)
    return TraceComparison()(mine, other)


SAME, THING = object(), Thing(1)


@pytest.mark.parametrize(
    ("mine", "other", "equal"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, False),
        (1, True, False),
        ("a", "a", True),
        (None, None, True),
        (None, 0, False),
        (SAME, SAME, True),
        (object(), object(), False),
        ([1, 2], [1, 2], True),
        ([1, 2], (1, 2), False),
        ((1, (2, [3])), (1, (2, [3])), True),
        ((1, 2), (1, 2, 3), False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, {1, 3}, False),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), True),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), False),
        (np.array([1.0]), np.array([1.0], np.float32), False),
        (np.array([1.0]), np.array([[1.0]]), False),
        (np.array([np.nan]), np.array([np.nan]), True),
        (np.array([0.0]), np.array([-0.0]), False),
        (np.array([b"a"], object), np.array([b"a"], object), True),
        (np.array([b"a"], object), np.array([b"b"], object), False),
        (np.float32(1), np.float32(1), True),
        (np.array(1), 1, False),
        (THING.method, THING.method, True),
        (THING.method, Thing(1).method, False),
        (tf.float32, tf.float32, True),
        (tf.float32, tf.float64, False),
        (tf.TensorShape([1, None]), tf.TensorShape([1, None]), True),
    ],
)
def test_values(mine, other, equal):
    assert alike(mine, other) is equal


def test_functions_are_their_code_and_what_they_hold():
    def adding(number, default=0):
        return lambda x, d=default: x + number + d

    assert alike(adding(1), adding(1))
    assert not alike(adding(1), adding(2))
    assert not alike(adding(1, 1), adding(1, 2))
    assert not alike(adding(1), lambda x: x + 1)
    assert not alike(functools.partial(adding, 1), functools.partial(adding, 2))


def test_functions_that_hold_themselves():
    def made(number):
        def again(n):
            return again(n - 1) if n else number

        return again

    assert alike(made(1), made(1))
    assert not alike(made(1), made(2))


def test_values_that_cannot_be_compared_are_not_the_same():
    class Odd:
        def __eq__(self, other):
            raise TypeError

        __hash__ = None

    assert not alike(Odd(), Odd())


def last_with_bodies():
    graph = tf.get_default_graph()
    return [op for op in graph.carried_out() if op.bodies and op.block is graph.root][-1]


def test_regions_are_their_operations_one_by_one():
    x, y = tf.constant([3.0]), tf.constant([4.0])
    positive = tf.reduce_sum(x) > 0

    def branches(first):
        tf.cond(positive, lambda: first(x), lambda: tf.identity(x))
        return last_with_bodies()

    one = branches(lambda v: tf.tanh(v) + 1.0)

    def same(other):
        return TraceComparison().attributes(one.attrs, other.attrs)

    assert same(one)
    assert same(branches(lambda v: tf.tanh(v) + 1.0))
    assert not same(branches(lambda v: tf.tanh(v) + 2.0))
    assert not same(branches(lambda v: tf.sin(v) + 1.0))
    assert not same(branches(lambda v: tf.tanh(y) + 1.0))
    assert not same(branches(lambda v: tf.tanh(tf.tanh(v) + 1.0)))


def test_regions_in_regions():
    x, zero = tf.constant(3.0), tf.constant(0)

    def loop(number):
        def body(i, v):
            return i + 1, tf.cond(v > number, lambda: v - 1, lambda: v * number)

        tf.while_loop(lambda i, _: i < 3, body, [zero, x])
        return last_with_bodies()

    assert TraceComparison().attributes(loop(2.0).attrs, loop(2.0).attrs)
    assert not TraceComparison().attributes(loop(2.0).attrs, loop(3.0).attrs)
