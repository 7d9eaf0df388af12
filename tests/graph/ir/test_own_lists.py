"""Lists that public functions hand out are the caller's own: what a program does to them changes no graph."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.graph.three_ways_cases import FURTHER, of_names
from towerstrat.graph.eager.mode import eager_mode


def lists_in(value):
    """The lists and dictionaries of a structure, the innermost first."""
    if isinstance(value, dict):
        parts = list(value.values())
    else:
        parts = list(value) if isinstance(value, list | tuple) else []
    for part in parts:
        yield from lists_in(part)
    if isinstance(value, list | dict):
        yield value


def contents(graph):
    """Inputs, outputs and attributes of all operations; attributes that are containers by their length."""
    return [(op.name, op.inputs, tuple(op.outputs), sizes(op.attrs)) for op in graph.get_operations()]


def sizes(attrs):
    return {name: len(value) for name, value in attrs.items() if isinstance(value, list | tuple | dict)}


@pytest.mark.parametrize("source", [of_names, lambda: FURTHER], ids=["names", "further"])
def test_clearing_what_a_function_returned_changes_no_graph(source):
    cleared = 0
    for case in source():
        with tf.Graph().as_default() as graph:
            made = case.function(*(tf.constant(x) for x in case.inputs))
            before = contents(graph)
            for own in lists_in(made):
                own.clear()
                cleared += 1
            assert contents(graph) == before, case.name
    assert cleared


MAKERS = {
    "split": lambda tf, x: tf.split(x, 3),
    "split_sizes": lambda tf, x: tf.split(x, [1, 2]),
    "unstack": lambda tf, x: tf.unstack(x),
    "dynamic_partition": lambda tf, x: tf.dynamic_partition(x, [0, 1, 0], 2),
    "meshgrid": lambda tf, x: list(tf.meshgrid(x[:, 0], x[0])),
}


@pytest.mark.parametrize("name", MAKERS)
def test_entries_can_be_replaced(name):
    x = np.arange(6, dtype="float32").reshape(3, 2)

    def replaced(space, x):
        parts = MAKERS[name](space, x)
        for i in range(len(parts)):
            parts[i] = parts[i] - float(i + 1)
        return parts

    with tf.Graph().as_default(), tf.Session() as session:
        in_graph = session.run(replaced(tf, tf.constant(x)))
        plain = session.run(MAKERS[name](tf, tf.constant(x)))
    with eager_mode():
        eagerly = replaced(tf2, tf2.constant(x))
        in_function = tf2.function(lambda x: replaced(tf2, x))(tf2.constant(x))
    for i, before in enumerate(plain):
        for found in (in_graph[i], eagerly[i], in_function[i]):
            np.testing.assert_array_equal(found, before - float(i + 1))


def test_outputs_of_an_operation_are_a_copy():
    with tf.Graph().as_default():
        op = tf.split(tf.zeros([3, 2]), 3)[0].op
        op.outputs.clear()
        assert [t.value_index for t in op.outputs] == [0, 1, 2]
