"""Variables of strings: in graphs, eagerly, in functions and beside towers. What graphs give is what 1.12 gave."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, UnsupportedError
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function


@pytest.fixture
def session():
    with tf.Session() as opened:
        yield opened


def start(session):
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])


def test_values_reads_and_assignments(session):
    v, w = tf.Variable("a"), tf.Variable(["x", "yy"])
    number = tf.Variable(1.0)
    copy = tf.Variable(v.initialized_value())
    assert (v.dtype, v.shape.as_list(), w.shape.as_list()) == (tf.string, [], [2])
    assert [n.decode() for n in session.run(tf.report_uninitialized_variables())] == [
        "Variable", "Variable_1", "Variable_2", "Variable_3"]  # fmt: skip
    start(session)
    assert session.run(tf.report_uninitialized_variables()).tolist() == []
    assert session.run([v, tf.identity(v), copy, number]) == [b"a", b"a", b"a", 1.0]
    found = session.run([number.assign_add(1.0), v.assign("b"), tf.equal(w, "x"), w[1], tf.gather(w, [1, 0])])
    assert [np.asarray(f).tolist() for f in found] == [2.0, b"b", [True, False], b"yy", [b"yy", b"x"]]
    assert session.run([v.read_value(), tf.shape(w)])[0] == b"b"
    assert session.run(w.assign(["1", "2"])).tolist() == [b"1", b"2"]
    assert session.run(tf.scatter_update(w, [1], ["3"])).tolist() == [b"1", b"3"]
    assert session.run(w.sparse_read([[1, 0]])).tolist() == [[b"3", b"1"]]


def test_feeds_and_loading(session):
    v, x = tf.Variable("a"), tf.placeholder(tf.string, [])
    later = v.assign(x)
    start(session)
    session.run(later, {x: "fed"})
    assert session.run(v) == b"fed"
    assert session.run(tf.identity(v), {v: "instead"}) == b"instead"
    v.load("loaded", session)
    assert session.run([v, tf.is_variable_initialized(v)]) == [b"loaded", True]
    with tf.Session() as other, pytest.raises(FailedPreconditionError, match="uninitialized value Variable"):
        other.run(tf.identity(v))


def test_get_variable_and_initializers(session):
    found = [
        tf.get_variable("a", [2], tf.string),
        tf.get_variable("b", [], tf.string, tf.constant_initializer("q")),
        tf.get_variable("c", initializer=["r", "s"]),
        tf.get_variable("d", [1], tf.string, tf.zeros_initializer()),
        tf.get_local_variable("e", initializer=tf.constant("t")),
    ]
    start(session)
    values = [np.asarray(x).tolist() for x in session.run(found)]
    assert values == [[b"", b""], b"q", [b"r", b"s"], [b""], b"t"]


def test_shapes_that_change(session):
    v = tf.Variable([], dtype=tf.string, validate_shape=False)
    session.run(v.initializer)
    assert session.run(v).tolist() == []
    assert session.run(tf.assign(v, ["a", "b"], validate_shape=False)).tolist() == [b"a", b"b"]
    w, x = tf.Variable(["a"]), tf.placeholder(tf.string)
    session.run(w.initializer)
    with pytest.raises(InvalidArgumentError, match=r"shape \(1,\), the assigned value \(2,\)"):
        session.run(w.assign(x), {x: ["a", "b"]})
    with pytest.raises(ValueError, match="incompatible"):
        w.assign(["a", "b"])
    with pytest.raises(InvalidArgumentError, match=r"\[1\] is not in \[0, 1\)"):
        session.run(tf.scatter_update(w, [1], ["c"]))
    assert session.run(w).tolist() == [b"a"]


def test_branches_loops_and_control_dependencies(session):
    v, on = tf.Variable("a"), tf.placeholder(tf.bool, [])
    choice = tf.cond(on, lambda: v.assign("yes").op, lambda: v.assign("no").op)
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([v.assign("before")]):
        y = x * 2.0
    longer = tf.py_func(lambda s: s + b"!", [v.read_value()], tf.string)
    longer.set_shape([])

    def body(i):
        once_more = tf.py_func(lambda s: s + b"!", [v.read_value()], tf.string)
        once_more.set_shape([])
        with tf.control_dependencies([v.assign(once_more)]):
            return i + 1

    start(session)
    for value, expected in ((True, b"yes"), (False, b"no")):
        session.run(choice, {on: value})
        assert session.run(v) == expected
    assert session.run(y, {x: 2.0}) == 4.0
    assert session.run(longer) == b"before!"
    session.run(tf.while_loop(lambda i: i < 3, body, [0]))
    assert session.run(v) == b"before!!!"


def test_an_optimizer_leaves_them_alone(session):
    v, w = tf.Variable("a"), tf.Variable(1.0)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(w * w, var_list=[w])
    assert tf.gradients(w * w, [v]) == [None]
    start(session)
    session.run(step)
    assert session.run([v, w]) == [b"a", 0.0]


def test_eagerly_and_in_functions():
    with mode.eager_mode():
        v = tf.Variable(["a", "b"])

        @function
        def swapped(x):
            old = v.read_value()
            v.assign(x)
            return old

        assert v.numpy().tolist() == [b"a", b"b"]
        assert swapped(tf.constant(["c", "d"])).numpy().tolist() == [b"a", b"b"]
        assert v.numpy().tolist() == [b"c", b"d"]
        v.assign(["e", "f"])
        assert v[1].numpy() == b"f"
        assert bool(tf.is_variable_initialized(v))
        assert function(lambda: v[0])().numpy() == b"e"


def test_what_is_refused_by_name(session):
    v = tf.Variable(["a"])
    with pytest.raises(UnsupportedError, match="AssignAddVariableOp is not there for variables of strings"):
        v.assign_add(["b"])


@pytest.mark.parametrize("towers", [1, 2])
def test_beside_towers_and_not_in_them(session, towers):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1, num_cores=towers)
    with strategy.scope():
        v = tf.get_variable("v", initializer="a")
        w = tf.get_variable("w", initializer=2.0)
        y = strategy.unwrap(strategy.call_for_each_tower(lambda: w * 2.0))
        start(session)
        session.run(strategy.update(v, lambda v: v.assign("b")))
        assert session.run([strategy.read_var(v), *y]) == [b"b", *[4.0] * towers]
        if towers > 1:
            with pytest.raises(UnsupportedError, match="Variable v inside a tower"):
                strategy.call_for_each_tower(lambda: tf.equal(v, "b"))
