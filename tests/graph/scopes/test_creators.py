"""Variable creators: what they are given, and that scopes of a graph are the thread's own."""

import threading

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2

ARGUMENTS = [
    *("initial_value", "trainable", "collections", "validate_shape", "caching_device", "name", "variable_def", "dtype"),
    *("expected_shape", "import_scope", "constraint", "use_resource", "synchronization", "aggregation"),
]
"""The parameters of 1.12's tf.Variable."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.Variable(1.0),
        lambda: tf.get_variable("g", [1]),
        lambda: tf.get_variable("h", [2, 1], partitioner=tf.fixed_size_partitioner(2)),
        lambda: tf.layers.dense(tf.ones([1, 2]), 2),
        lambda: tf.metrics.mean(tf.ones([2])),
        lambda: tf.train.create_global_step(),
    ],
    ids=["Variable", "get_variable", "partitioned", "layer", "metric", "global_step"],
)
def test_a_creator_is_given_every_argument(make):
    seen = []

    def creator(next_creator, **kwargs):
        seen.append(sorted(kwargs))
        return next_creator(**kwargs)

    with tf.variable_creator_scope(creator):
        make()
    assert seen
    assert all(keys == sorted(ARGUMENTS) for keys in seen)


def test_defaults_are_the_originals_and_2_x_has_its_own():
    seen = []

    def creator(next_creator, **kwargs):
        seen.append(kwargs)
        return next_creator(**kwargs)

    with tf.variable_creator_scope(creator):
        tf.Variable(1.0, aggregation=None, name="a")
        tf2.Variable(1.0)
    first, second = seen
    given = {"initial_value": 1.0, "name": "a"}
    assert {k: v for k, v in first.items() if v is not None} == given | {
        "validate_shape": True,
        "synchronization": tf.VariableSynchronization.AUTO,
        "aggregation": tf.VariableAggregation.NONE,
    }
    missing = {"collections", "expected_shape", "use_resource"}
    assert set(second) == set(ARGUMENTS) - missing | {"shape", "experimental_enable_variable_lifting"}


def test_scopes_of_a_graph_are_the_threads_own():
    made = []
    graph = tf.get_default_graph()

    def creator(next_creator, **kwargs):
        made.append(threading.current_thread().name)
        return next_creator(**kwargs)

    def other():
        with graph.as_default():
            found.append((tf.get_variable_scope().name, tf.constant(1).name, tf.Variable(2.0).name))
            with tf.name_scope("mine"):
                entered.set()
                left.wait(60)
                found.append(tf.constant(1).name)

    found = []
    entered, left = threading.Event(), threading.Event()
    with tf.variable_creator_scope(creator), tf.variable_scope("vs"), tf.name_scope("ns"):
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(60)
        here = tf.constant(1).name
        tf.Variable(1.0)
    left.set()
    thread.join()
    assert found == [("", "Const:0", "Variable:0"), "mine/Const:0"]
    assert here == "vs/ns/Const:0"
    assert made == [threading.current_thread().name]
