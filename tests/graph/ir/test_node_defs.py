"""Messages of operations are kept: a graph that is written again makes those alone that have changed."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.ir import node_defs
from towerstrat.graph.ir.node_writer import node_defs as messages_of


@pytest.fixture
def counted(monkeypatch):
    """The operations whose messages are made, in order."""
    made = []

    def count(op, shapes):
        made.append(op)
        return messages_of(op, shapes)

    monkeypatch.setattr(node_defs, "node_defs", count)
    return made


def model(graph):
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        hidden = tf.layers.dense(x, 4, tf.nn.relu)
        loss = tf.reduce_mean(tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * 2.0), [0, hidden])[1])
        return x, tf.train.AdamOptimizer().minimize(loss)


def fresh(graph, shapes):
    return [node for op in graph.get_operations() for node in messages_of(op, shapes)]


def test_a_message_is_made_once(counted):
    graph = tf.Graph()
    model(graph)
    first = graph.as_graph_def(add_shapes=True)
    counted.clear()
    assert graph.as_graph_def(add_shapes=True) == first
    remade = {op.type for op in counted}
    assert remade <= node_defs.COMPUTED_TYPES | {"Gradients", "While"}  # they hold lists, which change in place
    assert len(counted) < len(graph.get_operations()) / 5


def shape(graph, x):
    x.set_shape([7, 3])


def control_input(graph, x):
    graph.get_operation_by_name("dense/MatMul").add_control_inputs([x.op])


def addition(graph, x):
    with graph.as_default(), tf.device("/cpu:0"):
        tf.identity(x, name="later")


@pytest.mark.parametrize("change", [shape, control_input, addition])
@pytest.mark.parametrize("shapes", [False, True])
def test_what_changed_is_written(change, shapes):
    graph = tf.Graph()
    x, _ = model(graph)
    before = graph.as_graph_def(add_shapes=shapes)
    change(graph, x)
    after = graph.as_graph_def(add_shapes=shapes)
    assert list(after.node) == fresh(graph, shapes)
    assert (after != before) == (shapes or change is not shape)


def test_a_message_that_a_caller_changes_is_not_kept():
    graph = tf.Graph()
    model(graph)
    for node in graph.as_graph_def().node:
        node.device = "/job:other"
    assert list(graph.as_graph_def().node) == fresh(graph, False)


def test_large_constants_are_not_held_twice(counted):
    with tf.Graph().as_default() as graph:
        large = tf.constant(np.zeros(100_000, np.float32)).op
        small = tf.constant(np.zeros(10, np.float32)).op
    first = graph.as_graph_def()
    counted.clear()
    assert graph.as_graph_def() == first
    assert large in counted
    assert small not in counted
