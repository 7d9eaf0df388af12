"""``tf.py_function`` and ``tf.numpy_function``: eagerly, in sessions and in functions."""

import jax
import numpy as np
import pytest

from tests.graph.later import cases, module, printed
from towerstrat.errors import InvalidArgumentError, UnknownError, UnsupportedError
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import types
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array.arrays import ones
from towerstrat.graph.ops.control.branches import cond
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.host.python_calls import numpy_function, py_func
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.tapes.py_function import py_function

TF = module(
    py_function=py_function, numpy_function=numpy_function, constant=constant, ones=ones,
    executing_eagerly=mode.executing_eagerly, function=function,
    **{name: getattr(types, name) for name in ("float32", "float64", "int32", "int64", "string")}, bool=types.bool_,
)  # fmt: skip


@pytest.mark.parametrize(("expression", "original"), cases("python"))
def test_against_the_original(expression, original):
    with mode.eager_mode():
        assert printed(expression, TF) == original


def test_in_a_session():
    x = placeholder("float32", [None])
    seen = []

    def double(value):
        seen.append(type(value).__name__)
        return value * 2.0, value.shape[0]

    y, n = py_function(double, [x], ["float32", "int32"])
    found = Session().run([y + 1.0, n], {x: [1.0, 2.0]})
    np.testing.assert_array_equal(found[0], [3, 5])
    assert found[1] == 2
    assert seen == ["EagerTensor"]
    assert y.dims is None


def cube(x, scale):
    return x * x * x * scale, x + 0.0


@pytest.mark.parametrize("graph", [False, True])
def test_gradients(graph):
    def run(x, scale):
        with GradientTape() as tape:
            tape.watch([x, scale])
            y = py_function(cube, [x * 1.0, scale], ["float32", "float32"])[0]
            z = y * 2.0
        return tape.gradient(z, [x, scale])

    with mode.eager_mode():
        call = function(run, autograph=False) if graph else run
        found = call(constant([1.0, 2.0]), constant(10.0))
        np.testing.assert_allclose(found[0].numpy(), [60, 240])
        np.testing.assert_allclose(found[1].numpy(), 18)


def test_gradients_in_a_session():
    x = placeholder("float32", [])
    y = py_function(lambda v: v * v if float(v) > 0 else -v, [x], "float32")
    grad = gradients(y * 3.0, x)[0]
    assert [Session().run(grad, {x: v}) for v in (2.0, -2.0)] == [12, -3]


def test_python_without_state_in_a_session():
    doubled = py_func(lambda v: v * np.float32(2), [constant([1.0, 2.0])], types.float32, stateful=False)
    assert doubled.op.type == "PyFuncStateless"
    assert Session().run(doubled).tolist() == [2.0, 4.0]


def test_a_function_under_a_tape():
    square = function(lambda x: py_function(lambda v: v * v, [x], "float32"), autograph=False)
    with mode.eager_mode(), GradientTape() as tape:
        x = constant(3.0)
        tape.watch(x)
        y = square(x) * 2.0
    with mode.eager_mode():
        assert float(tape.gradient(y, x)) == 12


def test_errors():
    x = placeholder("float32", [])
    with pytest.raises(UnknownError, match=r"ZeroDivisionError[\s\S]*test_py_function.py"):
        Session().run(py_function(lambda v: 1 / 0, [x], "float32"), {x: 1.0})
    with pytest.raises(InvalidArgumentError, match="returned 2 values, but expects to see 1"):
        Session().run(py_function(lambda v: (v, v), [x], ["float32"]), {x: 1.0})
    towers = get_default_graph().under(Axis("tower", jax.devices()[:2]))
    with towers, pytest.raises(UnsupportedError, match=r"tf\.py_function inside"):
        py_function(lambda v: v, [x], "float32")


def test_in_a_branch():
    x = placeholder("float32", [])
    y = cond(x > 0.0, lambda: py_function(lambda v: v * 2.0, [x], "float32"), lambda: x)
    assert [Session().run(y, {x: v}) for v in (2.0, -2.0)] == [4.0, -2.0]
