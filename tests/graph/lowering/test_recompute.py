"""``tf.recompute_grad`` and ``tf.vectorized_map`` in compiled programs, in graphs and in functions."""

import numpy as np
import pytest

from tests.bounds import close
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.linalg import products
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.tapes.custom_gradients import custom_gradient, grad_pass_through, recompute_grad
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.tapes.vectorized import vectorized_map
from towerstrat.graph.variables.variables import Variable

X = np.random.RandomState(0).randn(3, 4).astype(np.float32)


def block(x, w):
    return arithmetic.tanh(arithmetic.sin(products.matmul(arithmetic.tanh(x), w)))


def sines(step):
    """How many sines the compiled program of a function of x and w computes."""
    traced = function(step).get_concrete_function(constant(X), constant(X.T)).traced
    with eager_mode():
        traced([constant(X), constant(X.T)])
    (stage,) = [s for s in traced.plan().stages if hasattr(s, "compiled")]
    (program,) = stage.compiled.programs
    text = program.lowered([], [], [X, X.T.copy()]).compile().as_text()
    return text.count(" sine(")


def gradient_of(inner):
    def step(x, w):
        with GradientTape() as tape:
            tape.watch([x, w])
            y = reductions.reduce_sum(inner(x, w))
        return (y, *tape.gradient(y, [x, w]))

    return step


def test_the_forward_pass_is_computed_again_in_the_compiled_program():
    with eager_mode():
        kept = sines(gradient_of(block))
        again = sines(gradient_of(recompute_grad(block)))
    assert (kept, again) == (1, 2)


def test_what_runs_after_the_cotangent_is_computed_again():
    """A gradient function that computes under control dependencies, as ``tf.contrib.layers.recompute_grad`` does."""

    def recomputed(controls):
        @custom_gradient
        def computed(x, w):
            def grad(dy):
                with control_dependencies(controls(dy)), GradientTape() as tape:
                    tape.watch([x, w])
                    y = block(x, w)
                return tape.gradient(y, [x, w], dy)

            return block(x, w), grad

        return gradient_of(computed)

    with eager_mode():
        assert [sines(recomputed(controls)) for controls in (lambda dy: [], lambda dy: [dy])] == [1, 2]
        wanted = gradient_of(block)(constant(X), constant(X.T))
        found = function(recomputed(lambda dy: [dy]))(constant(X), constant(X.T))
        for one, other in zip(found, wanted, strict=True):
            close(one.numpy(), other.numpy(), 12 + 4 + 4, X.size)


def test_recomputing_changes_no_value():
    with eager_mode():
        x, w = constant(X), constant(X.T)
        plain = gradient_of(block)(x, w)
        for step in (gradient_of(recompute_grad(block)), function(gradient_of(recompute_grad(block)))):
            for found, wanted in zip(step(x, w), plain, strict=True):
                close(found.numpy(), wanted.numpy(), 12 + 4 + 4, X.size)
    x, w = constant(X), constant(X.T)
    y = recompute_grad(block)(x, w)
    for found, wanted in zip(Session().run([reductions.reduce_sum(y), *gradients(y, [x, w])]), plain, strict=True):
        close(found, wanted.numpy(), 12 + 4 + 4, X.size)


def test_recomputing_has_second_derivatives():
    def second(inner):
        def step(x):
            with GradientTape() as outer:
                outer.watch(x)
                with GradientTape() as tape:
                    tape.watch(x)
                    y = inner(x)
                g = tape.gradient(y, x)
            return outer.gradient(g, x)

        return step

    def cube(x):
        return x * x * x

    with eager_mode():
        x = constant([1.0, 2.0])
        for step in (second(recompute_grad(cube)), function(second(recompute_grad(cube)))):
            np.testing.assert_allclose(step(x).numpy(), [6.0, 12.0])


def test_recomputing_nothing_is_kept_eagerly():
    """The tape holds one record for the whole block."""
    with eager_mode():
        x, w = constant(X), constant(X.T)
        with GradientTape() as tape:
            tape.watch([x, w])
            recompute_grad(block)(x, w)
        assert len(tape._records) == 1


def test_python_values_reach_a_recomputed_function_as_they_are():
    seen = []

    @recompute_grad
    def scaled(x, training, *, by=1.0):
        seen.append((training, by))
        return x * by

    with eager_mode():
        x = constant(3.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = scaled(x, True, by=2.0)
        assert float(tape.gradient(y, x)) == 2.0
    assert seen == [(True, 2.0), (True, 2.0)]


def test_a_gradient_function_that_wants_variables_gets_those_of_its_function():
    v = Variable(2.0, name="v")

    @custom_gradient
    def times(x):
        def grad(dy, variables=None):
            assert variables == [v]
            return dy * v, [dy * 100.0]

        return x * v, grad

    x = constant(3.0)
    found = gradients(times(x), [x, v])
    session = Session()
    session.run(v.initializer)
    assert session.run(found) == [2.0, 100.0]


def test_passing_gradients_through_several_arguments():
    with eager_mode():
        x, y = constant(2.0), constant(3.0)
        with GradientTape() as tape:
            tape.watch([x, y])
            a, b = grad_pass_through(lambda p, q: (arithmetic.floor(p), arithmetic.floor(q)))(x, y)
            z = a * b
        assert [float(g) for g in tape.gradient(z, [x, y])] == [3.0, 2.0]


# ---- vectorized_map ----------------------------------------------------------------------------------------------


def rows_of(x):
    return np.array([np.outer(r, r).sum(0) for r in x], np.float32)


def outer_sum(row):
    return reductions.reduce_sum(arrays.expand_dims(row, 0) * arrays.expand_dims(row, 1), 0)


def test_rows_at_once_in_a_graph():
    x = placeholder("float32", [None, 4])
    y = vectorized_map(outer_sum, x)
    assert y.shape.as_list() == [None, 4]
    assert y.op.type == "VectorizedMap"
    (g,) = gradients(y, x)
    for feed in (X, X[:1], X[:0]):
        value, gradient = Session().run([y, g], {x: feed})
        close(value, rows_of(feed).reshape(-1, 4), 4 + 1, np.abs(X).sum() ** 2)
        total = feed.sum(1, keepdims=True)
        close(gradient, total + np.repeat(total, 4, 1), 4 + 4 + 1, 2 * np.abs(X).sum())


def test_rows_at_once_read_variables():
    with eager_mode():
        v = Variable(np.float32(2.0))
        with GradientTape() as tape:
            y = vectorized_map(lambda r: r * v, constant(X))
        np.testing.assert_allclose(y.numpy(), X * 2)
        close(tape.gradient(y, v).numpy(), X.sum(), X.size, np.abs(X).sum())


def test_rows_that_draw_are_computed_one_by_one():
    with eager_mode():
        drawn = vectorized_map(lambda r: r + stateful.random_uniform([]), constant(np.zeros(5, np.float32))).numpy()
        assert len(set(drawn.tolist())) == 5
        with pytest.raises(ValueError, match="fallback_to_while_loop"):
            vectorized_map(
                lambda r: r + stateful.random_uniform([]), constant([1.0, 2.0]), fallback_to_while_loop=False
            )


def test_rows_that_assign_are_computed_one_by_one():
    with eager_mode():
        v = Variable(np.float32(0.0))
        found = vectorized_map(lambda r: arrays.identity(v.assign_add(r)), constant([1.0, 2.0, 3.0]))
        np.testing.assert_allclose(found.numpy(), [1.0, 3.0, 6.0])
        assert v.numpy() == 6.0


def test_rows_of_several_sizes_are_refused():
    with pytest.raises(ValueError, match="first dimensions"):
        vectorized_map(lambda t: t[0] + t[1], (constant([1.0, 2.0]), constant([1.0, 2.0, 3.0])))
