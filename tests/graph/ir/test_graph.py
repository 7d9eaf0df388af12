"""Graphs, operations, tensors: names, scopes, collections, dependencies, errors with the user's line."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.eager.mode import eager_mode


def test_names_are_the_originals():
    a = tf.constant(1.0)
    b = tf.constant(2.0)
    c = a + b
    with tf.name_scope("s"):
        d = tf.multiply(a, b, name="prod")
        with tf.name_scope("t"):
            e = a * b
    with tf.name_scope("s"):
        f = tf.identity(a)
    with tf.name_scope("s/"):
        g = tf.identity(a)
    assert [t.name for t in (a, b, c, d, e, f, g)] == [
        "Const:0", "Const_1:0", "add:0", "s/prod:0", "s/t/mul:0", "s_1/Identity:0", "s/Identity:0",
    ]  # fmt: skip
    assert (c.op.name, c.op.type, c.device) == ("add", "Add", "")
    assert tf.get_default_graph().unique_name("CONST") == "CONST_2"


def test_scopes_that_are_entered_again():
    """Names of 1.12.3, which reads a slash at the end as: take this name as it is."""
    names = []
    for _ in range(2):
        with tf.name_scope("a/") as scope:
            names += [scope, tf.constant(1.0, name="c").op.name, tf.constant(1.0).op.name]
            with tf.name_scope("b") as inner, tf.name_scope("a/b/"):
                names += [inner, tf.constant(1.0, name="c").op.name]
    with tf.name_scope("a") as scope:
        names += [scope, tf.constant(1.0, name="c").op.name]
    assert names == [
        "a/", "a/c", "a/Const", "a/b/", "a/b/c", "a/", "a/c_1", "a/Const_1", "a/b_1/", "a/b/c_1", "a/", "a/c_2",
    ]  # fmt: skip
    one = tf.constant(1.0)
    assert tf.identity(one, name="a/d/").op.name == "a/d"
    for taken in ("a/c", "a/d"):
        with pytest.raises(ValueError, match=f"Duplicate node name in graph: '{taken}' .created at"):
            tf.identity(one, name=f"{taken}/")


def test_lookup_by_name():
    graph = tf.get_default_graph()
    a = tf.constant(1.0, name="a")
    assert graph.get_tensor_by_name("a:0") is a
    assert graph.get_operation_by_name("a") is a.op
    assert graph.get_operations() == [a.op]
    for call, name, error in (
        (graph.get_tensor_by_name, "b:0", KeyError),
        (graph.get_tensor_by_name, "a:1", KeyError),
        (graph.get_tensor_by_name, "a", ValueError),
        (graph.get_operation_by_name, "a:0", ValueError),
        (graph.get_operation_by_name, "b", KeyError),
        (graph.get_operation_by_name, 3, TypeError),
    ):
        with pytest.raises(error):
            call(name)


def test_consumers_shapes_and_set_shape():
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.identity(x)
    assert x.consumers() == [y.op]
    assert x.shape.as_list() == [None, 3]
    assert x.get_shape().ndims == 2
    x.set_shape([4, None])
    assert x.shape == tf.TensorShape([4, 3])
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([5, 3])
    assert tf.placeholder(tf.int32).shape.ndims is None


def test_collections_with_scope():
    graph = tf.get_default_graph()
    with tf.name_scope("one"):
        a = tf.constant(1, name="a")
    b = tf.constant(2, name="b")
    tf.add_to_collection("k", a)
    graph.add_to_collections(["k", "l"], b)
    assert tf.get_collection("k") == [a, b]
    assert tf.get_collection("k", "one") == [a]
    graph.get_collection_ref("k").remove(a)
    assert tf.get_collection("k") == [b]
    graph.clear_collection("k")
    assert tf.get_collection("k") == []
    assert tf.get_collection("nothing") == []


def test_control_dependencies_order_effects():
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v + 0.0
        with tf.control_dependencies(None):
            free = tf.constant(1.0)
    assert free.op.control_inputs == []
    read = after.op.inputs[0].op
    assert [op.type for op in read.control_inputs] == ["AssignVariableOp"]
    assert after.op.control_inputs == []  # what it reads comes after the assignment already
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(after) == 5.0


def test_a_control_input_added_later_from_a_newer_operation_is_followed():
    v = tf.Variable(1.0)
    read = tf.identity(v)
    newer = v.assign(7.0)
    read.op.inputs[0].op._add_control_input(newer.op)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(read) == 7.0


def test_a_cycle_names_its_operations():
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="b")
    a.op._add_control_input(b.op)
    with tf.Session() as sess, pytest.raises(ValueError, match="form a cycle through: .*a.*created at.*test_graph.py"):
        sess.run(b)


def test_effects_follow_the_order_of_creation():
    v = tf.Variable(0.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run([v.assign_add(1.0), v + 0.0]) == [1.0, 1.0]
        assert sess.run([v + 0.0, v.assign_add(1.0), v]) == [1.0, 2.0, 2.0]


def test_graphs_do_not_mix():
    a = tf.constant(1.0)
    with tf.Graph().as_default() as other:
        assert tf.get_default_graph() is other
        with pytest.raises(ValueError, match="belongs to another graph") as error:
            tf.identity(a)
        assert str(error.value).count("test_graph.py") == 2
    assert tf.get_default_graph() is a.graph


def test_a_finalized_graph_refuses():
    graph = tf.get_default_graph()
    graph.finalize()
    assert graph.finalized
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)
    with pytest.raises(RuntimeError, match="finalized"):
        tf.add_to_collection("k", 1)


def test_reset_default_graph():
    old = tf.get_default_graph()
    tf.reset_default_graph()
    assert tf.get_default_graph() is not old
    with tf.Graph().as_default(), pytest.raises(AssertionError):
        tf.reset_default_graph()


def test_python_uses_that_cannot_be_are_refused():
    x = tf.placeholder(tf.float32, [2])
    for use in (bool, list, len, np.asarray):
        with pytest.raises((TypeError, NotImplementedError), match="Placeholder"):
            use(x)
    assert (x == x) is True
    assert x in {x: 1}


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: tf.constant(1.0) + tf.constant(1), TypeError, "float32 .*int32"),
        (lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])), ValueError, "MatMul"),
        (lambda: tf.zeros([2]) + tf.zeros([3]), ValueError, "Incompatible shapes"),
        (lambda: tf.reshape(tf.zeros([6]), [4, 2]), ValueError, "Reshape"),
        (lambda: tf.Variable(1.0).assign(tf.constant(1)), (TypeError, ValueError), "int32"),
        (lambda: tf.Variable(tf.zeros([2])).assign(tf.zeros([3])), ValueError, "incompatible"),
    ],
)
def test_mistakes_are_found_while_building_with_the_users_line(build, error, message):
    with pytest.raises(error, match=message) as caught:
        build()
    if isinstance(caught.value, ValueError) and "cast" not in str(caught.value):
        assert "test_graph.py" in str(caught.value)


def test_devices_are_recorded_and_merged():
    with tf.device("/job:worker/task:1"):
        a = tf.constant(1)
        with tf.device("/gpu:2"):
            b = tf.constant(1)
        with tf.device(None):
            c = tf.constant(1)
        with tf.device(lambda op: "/cpu:0"):
            d = tf.constant(1)
    assert a.device == "/job:worker/task:1"
    assert str(a) == 'Tensor("Const:0", shape=(), dtype=int32, device=/job:worker/task:1)'
    assert str(c) == 'Tensor("Const_2:0", shape=(), dtype=int32)'
    assert b.device == "/job:worker/task:1/device:GPU:2"
    assert c.device == ""
    assert d.device == "/job:worker/task:1/device:CPU:0"
    with tf.colocate_with(b):
        assert tf.constant(1).device == b.device


def test_node_def_and_attributes():
    a = tf.constant(1.0, name="a")
    with tf.control_dependencies([tf.constant(2.0, name="c")]):
        b = tf.identity(a, name="b")
    assert b.op.node_def.input == ["a", "^c"]
    assert a.op.get_attr("dtype") == tf.float32
    with pytest.raises(ValueError, match="has no attribute 'nothing'"):
        a.op.get_attr("nothing")


def test_programs_set_attributes_of_their_own():
    tensor, variable = tf.constant(1.0), tf.Variable(2.0)
    for thing in (tensor, tensor.op, variable, variable.value()):
        thing._keras_history = ("layer", 0)
        assert thing._keras_history == ("layer", 0)
    assert not hasattr(tf.constant(1.0), "_keras_history")
    with eager_mode():
        value = tf.constant(1.0)
        value._keras_mask = None
        assert value._keras_mask is None


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_an_object_that_gives_an_array_becomes_a_tensor_of_its_type(dtype):
    class Column:
        dtype = np.dtype("int64")

        def __array__(self, dtype=None, copy=None):
            return np.array([1, 0], kind)

    kind = dtype
    for convert in (tf.convert_to_tensor, tf.constant):
        found = convert(Column())
        assert found.dtype == kind
        assert tf.Session().run(found).tolist() == [1, 0]
    assert tf.convert_to_tensor(Column(), tf.float64).dtype == tf.float64
