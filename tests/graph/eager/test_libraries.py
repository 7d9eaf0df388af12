"""What libraries ask eager tensors and variables."""

import pytest

import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode


@pytest.fixture(autouse=True)
def eagerly():
    with mode.eager_mode():
        yield


def test_an_eager_tensor_has_no_graph():
    x = tf.constant([1.0, 2.0])
    assert not hasattr(x, "graph")
    with pytest.raises(AttributeError, match="undefined when eager"):
        _ = x.graph
    seen = []
    tf.function(lambda x: seen.append(hasattr(x, "graph")))(x)
    assert seen == [True]
    x._mark = "set by a library"
    assert x._mark == "set by a library"


def test_an_eager_tensor_in_a_graph_is_refused_with_its_line():
    x = tf.constant([1.0, 2.0])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        with pytest.raises(RuntimeError, match="without building a function"):
            _ = tf.constant(1.0) + x
        with pytest.raises(ValueError, match="not an element of this graph"):
            session.run([tf.constant(1.0), x])


class Halved(tf.Variable):
    """Wraps a variable, as Keras does to cast it."""

    def __init__(self, variable):
        self.variable = variable

    def value(self):
        return self.variable.value() / 2.0


def test_a_class_derived_from_variable_wraps_one():
    wrapped = Halved(tf.Variable([2.0, 4.0]))
    assert isinstance(wrapped, tf.Variable)
    assert wrapped.value().numpy().tolist() == [1.0, 2.0]
    assert (wrapped + 1.0).numpy().tolist() == [2.0, 3.0]

    class Direct(tf.Variable):
        pass

    with pytest.raises(NotImplementedError, match="Direct is derived from tf.Variable"):
        Direct(1.0)
