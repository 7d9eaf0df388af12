"""What can be logged: tensors and variables in any form, given by name or themselves."""

import pytest

import towerstrat.compat.v1 as tf


def logged(make, caplog):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step().assign_add(1)
        hook = tf.train.LoggingTensorHook(make(), every_n_iter=1)
        caplog.clear()
        with caplog.at_level("INFO", logger="tensorflow"), tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(step)
    return caplog.messages[-1]


def variable():
    tf.get_variable("w", initializer=2.0)
    return ["w"]


@pytest.mark.parametrize(("make", "line"), [
    (variable, "w = 2.0"),
    (lambda: (name for name in variable()), "w = 2.0"),
    (lambda: {"w": tf.get_variable("w", initializer=2.0), "a": tf.no_op()}, "a = None, w = 2.0"),
    (lambda: {"x": tf.SparseTensor([[0]], [1.5], [2])}, "values=array([1.5]"),
    (lambda: {"x": tf.constant("text"), "y": tf.constant([1, 2])}, "x = b'text', y = [1 2]"),
], ids=["name", "generator", "variable", "sparse", "text"])  # fmt: skip
def test_values_of_all_kinds(make, line, caplog):
    assert line in logged(make, caplog)


def test_tensors_of_another_graph_and_what_is_none(caplog):
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    for given in (foreign, 3.0):
        with pytest.raises(ValueError, match="should have graph attribute that is equal to current graph"):
            logged(lambda given=given: [given], caplog)
    with pytest.raises(KeyError, match="nowhere:0"):
        logged(lambda: ["nowhere"], caplog)
