"""The second walk over the paths of a gradient: what rightly has none stays so, a flow that is dropped is an error."""

import logging

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.fuzz.routes import eager_mode
from towerstrat.errors import InternalError
from towerstrat.graph.ops.control import branches, while_loop
from towerstrat.graph.ops.gradients import gradients as engine
from towerstrat.graph.tapes import vectorized


@pytest.fixture
def graph():
    with tf.Graph().as_default():
        yield


@tf.custom_gradient
def without_gradient(a):
    return a * 1.0, lambda dy: None


def body_of(function):
    """A loop of two trips whose body adds what ``function`` makes."""
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * function()), [0, tf.constant(3.0)])[1]


RIGHTLY_NONE = {
    "the length of a loop": lambda w, x: tf.while_loop(
        lambda i, a: i < tf.cast(w, tf.int32), lambda i, a: (i + 1, a * 2.0), [0, x]
    )[1],
    "stop_gradient in a loop": lambda w, x: body_of(lambda: tf.stop_gradient(w)),
    "stop_gradient in a branch": lambda w, x: tf.cond(x > 1.0, lambda: tf.stop_gradient(w), lambda: x * 2.0),
    "a predicate": lambda w, x: tf.cond(w > 1.0, lambda: x * 1.0, lambda: x * 2.0),
    "py_func": lambda w, x: tf.py_func(lambda a: a, [w], tf.float32),
    "integers": lambda w, x: tf.scan(lambda a, b: a + b, tf.cast(tf.stack([w, x]), tf.int32)),
    "argmax": lambda w, x: tf.cast(tf.argmax(tf.stack([w, x])), tf.float32),
    "argmax in a map": lambda w, x: tf.map_fn(lambda e: tf.cast(tf.argmax(tf.stack([e, w])), tf.float32), tf.ones([3])),
    "a custom gradient": lambda w, x: without_gradient(w),
    "an assign": lambda w, x: tf.cond(x > 1.0, lambda: tf.assign(VARIABLE[0], tf.identity(w)) * 1.0, lambda: x),
    "no back_prop": lambda w, x: tf.while_loop(
        lambda i, a: i < 2, lambda i, a: (i + 1, a * w), [0, x], back_prop=False
    )[1],
    "the gradient of what is linear": lambda w, x: tf.gradients(x * 3.0 + w, x)[0],
    "stop_gradients": lambda w, x: tf.gradients(x * w * w, x, stop_gradients=[w])[0] * 0.0 + x,
}
VARIABLE: list[tf.Variable] = []


@pytest.mark.parametrize("name", RIGHTLY_NONE)
def test_none_stays_none(graph, name):
    VARIABLE[:] = [tf.get_variable("v", initializer=1.0, use_resource=True)]
    w = tf.get_variable("w", initializer=2.0, use_resource=True)
    (found,) = tf.gradients(RIGHTLY_NONE[name](w, tf.constant(3.0)), w)
    if name == "stop_gradients":
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(found) == 0.0
    else:
        assert found is None


def second(w, x):
    """Through a gradient: the derivative of ``2 w x`` by w."""
    return tf.gradients(w * x * x, x)[0]


FLOWS = {
    "loop, initial value": (
        lambda w, x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, w * 1.0])[1], while_loop
    ),
    "loop, captured": (lambda w, x: body_of(lambda: w), while_loop),
    "branch": (lambda w, x: tf.cond(x > 1.0, lambda: w * x, lambda: x), branches),
    "map, rows": (lambda w, x: tf2.vectorized_map(lambda e: e * x, w * tf.ones([3])), vectorized),
    "map, captured": (lambda w, x: tf2.vectorized_map(lambda e: e * w, tf.ones([3])), vectorized),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_that_a_structure_does_not_have(graph, name, monkeypatch):
    """The engine believes what a structural operation says of itself; the walk does not."""
    build, module = FLOWS[name]
    monkeypatch.setattr(module, "flows_of", lambda results, *_: tuple(frozenset() for _ in results))
    w = tf.get_variable("w", initializer=2.0, use_resource=True)
    y = build(w, tf.constant(3.0)) * w
    with pytest.raises(InternalError, match=r"(?s)with respect to w:0 .*test_gradient_check\.py.*please report it"):
        tf.gradients(y, w)


def test_a_flow_in_a_function(monkeypatch):
    with eager_mode():
        w = tf2.Variable(2.0)
        monkeypatch.setattr(branches, "flows_of", lambda results, *_: tuple(frozenset() for _ in results))

        @tf2.function
        def step(x):
            with tf2.GradientTape() as tape:
                y = tf2.cond(x > 1.0, lambda: w * x, lambda: x) + w
            return tape.gradient(y, w)

        with pytest.raises(InternalError, match="no gradient flows"):
            step(tf2.constant(3.0))


@pytest.mark.parametrize("build", [lambda w, x: tf.square(w * x), second], ids=["first", "second"])
def test_a_path_that_the_engine_does_not_find(graph, build, monkeypatch):
    found = engine.find_path

    def without_products(*args):
        path, active = found(*args)
        return path, {t for t in active if t.op.type not in ("Mul", "ReadVariableOp")}

    w = tf.get_variable("w", initializer=2.0, use_resource=True)
    y = build(w, tf.constant(3.0))
    monkeypatch.setattr(engine, "find_path", without_products)
    with pytest.raises(InternalError, match="would be wrong"):
        tf.gradients(y, w)


def test_a_warning_on_request(graph, monkeypatch, caplog):
    """With ``TOWERSTRAT_GRADIENT_CHECK=warn`` a program goes on without what is missing."""
    monkeypatch.setenv("TOWERSTRAT_GRADIENT_CHECK", "warn")
    monkeypatch.setattr(branches, "flows_of", lambda results, *_: tuple(frozenset() for _ in results))
    w = tf.get_variable("w", initializer=2.0, use_resource=True)
    y = tf.cond(tf.constant(True), lambda: w * 3.0, lambda: w) + w
    with caplog.at_level(logging.WARNING, "tensorflow"):
        (found,) = tf.gradients(y, w)
    assert "no gradient flows" in caplog.text
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(found) == 1.0
