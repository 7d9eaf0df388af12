"""Variables with values: made, read, assigned, sliced, freed."""

import gc

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode
from towerstrat.graph.eager.context import context


@pytest.fixture(autouse=True)
def eager():
    with mode.eager_mode():
        yield


def test_what_it_says_of_itself():
    variable = tf.Variable([1.0, 2.0], name="q")
    assert variable.name == "q:0"
    assert variable.shape == [2]
    assert variable.dtype == tf.float32
    assert variable.trainable
    assert repr(variable) == ("<tf.Variable 'q:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>")
    assert repr(tf.Variable(1)) == "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=1>"
    with tf.name_scope("a"):
        assert tf.Variable(1.0, name="b").name == "a/b:0"


def test_both_classes_see_it():
    variable = tf.Variable(1.0)
    assert isinstance(variable, tf.Variable)
    assert isinstance(variable, tf1.Variable)
    assert not isinstance(tf.constant(1.0), tf.Variable)
    with tf.Graph().as_default():
        assert isinstance(tf1.Variable(1.0), tf.Variable)


def test_assignments_return_the_variable():
    variable = tf.Variable([1.0, 2.0])
    assert variable.assign([3.0, 4.0]) is variable
    np.testing.assert_array_equal(variable.assign_add([1.0, 1.0]).numpy(), [4, 5])
    np.testing.assert_array_equal(variable.assign_sub([1.0, 1.0]).numpy(), [3, 4])
    assert variable.assign([0.0, 0.0], read_value=False) is None
    np.testing.assert_array_equal(variable.numpy(), [0, 0])


def test_parts_can_be_assigned():
    variable = tf.Variable(np.zeros((3, 4), np.float32))
    variable[1].assign([1, 2, 3, 4])
    variable[:, 1:3].assign(7.0)
    variable[-1, ::2].assign([8.0, 9.0])
    wanted = np.zeros((3, 4))
    wanted[1] = [1, 2, 3, 4]
    wanted[:, 1:3] = 7
    wanted[-1, ::2] = [8, 9]
    np.testing.assert_array_equal(variable.numpy(), wanted)
    assert not hasattr(variable.value(), "assign")


def test_parts_in_a_graph():
    with tf.Graph().as_default():
        variable = tf1.Variable(np.zeros((3, 2), np.float32))
        place = tf1.placeholder(tf.int32, [])
        change = variable[place].assign([1.0, 2.0])
        with tf1.Session() as session:
            session.run(variable.initializer)
            np.testing.assert_array_equal(session.run(change, {place: 2}), [[0, 0], [0, 0], [1, 2]])


def test_rows_can_be_scattered():
    variable = tf.Variable(np.zeros((3, 2), np.float32))
    variable.scatter_add(tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([1, 1])))
    variable.scatter_nd_update([[0]], [[5.0, 6.0]])
    np.testing.assert_array_equal(variable.numpy(), [[5, 6], [3, 3], [0, 0]])


def test_values_that_do_not_fit():
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="incompatible"):
        variable.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="dtype float32"):
        variable.assign(tf.constant([1, 2]))
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    np.testing.assert_array_equal(variable.numpy(), [1, 2])


def test_the_shape_may_be_wider_than_the_first_value():
    variable = tf.Variable([1.0], shape=[None])
    variable.assign([1.0, 2.0, 3.0])
    assert variable.shape.as_list() == [None]
    assert variable.numpy().shape == (3,)
    with pytest.raises(ValueError, match="shape"):
        tf.Variable([1.0], shape=[2])


def test_operators_read_it():
    variable = tf.Variable([2.0, 3.0])
    np.testing.assert_array_equal((variable * 2 + 1).numpy(), [5, 7])
    np.testing.assert_array_equal((1 / variable).numpy(), np.float32([0.5, 1 / 3]))
    assert [float(x) for x in variable] == [2.0, 3.0]
    assert bool(tf.Variable(True))
    before = variable.read_value()
    variable.assign([0.0, 0.0])
    np.testing.assert_array_equal(before.numpy(), [2, 3])


def test_a_value_that_was_read_survives_the_program_that_takes_the_memory():
    variable = tf.Variable(tf.ones([100]))
    held = variable.value()
    double = tf.function(lambda: variable.assign(variable * 2.0))
    double()
    np.testing.assert_array_equal(held.numpy(), np.ones(100))
    held = variable.value()
    double()
    np.testing.assert_array_equal(held.numpy(), np.full(100, 2.0))
    np.testing.assert_array_equal(variable.numpy(), np.full(100, 4.0))


def test_a_value_assigned_from_a_tensor_is_not_shared():
    source = tf.random.normal([64])
    kept = source.numpy()
    variable = tf.Variable(tf.zeros([64]))
    variable.assign(source)
    tf.function(lambda: variable.assign_add(tf.ones([64])))()
    np.testing.assert_array_equal(source.numpy(), kept)


def test_memory_goes_with_the_variable():
    state = context().session.state
    variable = tf.Variable(tf.zeros([1000]))
    cell = variable.cell
    assert cell in state
    del variable
    gc.collect()
    assert cell not in state


def test_a_function_keeps_what_it_uses():
    function = tf.function(lambda variable=tf.Variable(3.0): variable + 1.0)
    made = {"variable": tf.Variable(5.0)}
    read = tf.function(lambda: made["variable"] + 1.0)
    assert float(read()) == 6.0
    made.clear()
    gc.collect()
    assert float(read()) == 6.0
    assert float(function()) == 4.0


def test_strings_and_booleans():
    assert tf.Variable("s").numpy() == b"s"
    assert repr(tf.Variable("s")) == "<tf.Variable 'Variable:0' shape=() dtype=string, numpy=b's'>"
    assert tf.Variable([True]).assign([False]).numpy().tolist() == [False]


def test_creators_see_eager_variables():
    seen = []

    def creator(next_creator, **kwargs):
        seen.append(kwargs["name"])
        return next_creator(**kwargs)

    with tf.variable_creator_scope(creator):
        variable = tf.Variable(1.0, name="v")
    assert seen == ["v"]
    assert float(variable) == 1.0
