"""``tf.random.Generator``: its state against the original's, its numbers wherever they are drawn."""

import jax
import numpy as np
import pytest

from tests.graph.later import cases, module, printed
from tests.spread import spread
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import types
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.random.stateless import Algorithm, stateless_normal
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.scopes import generator
from towerstrat.graph.scopes.generator import Generator
from towerstrat.graph.variables.variable_ops import global_variables_initializer

TF = module(
    random=module(Generator=Generator, Algorithm=Algorithm, create_rng_state=generator.create_rng_state),
    constant=constant,
    **{name: getattr(types, name) for name in ("float64", "int32", "uint32", "uint64")},
)


@spread(("expression", "original"), cases("generator"), every=5)
def test_against_the_original(expression, original):
    with mode.eager_mode():
        assert printed(expression, TF) == original


SEVERAL = (
    lambda g: [g.normal([3]), g.uniform([3], 0, 2**30, "int32"), g.make_seeds(3)],
    lambda g: [g.uniform([3]), g.truncated_normal([3]), g.uniform_full_int([3]), g.binomial([3], 1e6, 0.5)],
)


@spread("draws", SEVERAL, every=2)
def test_the_same_numbers_in_graphs_functions_and_eagerly(draws):
    g = Generator.from_seed(1234)
    session = Session()
    session.run(global_variables_initializer())
    in_graph = session.run(draws(g)) + session.run(draws(g))
    with mode.eager_mode():
        g = Generator.from_seed(1234)
        eagerly = [t.numpy() for t in draws(g) + draws(g)]
        g.reset_from_seed(1234)
        traced = function(lambda: draws(g))
        in_function = [t.numpy() for t in traced() + traced()]
    for x, y, z in zip(in_graph, eagerly, in_function, strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)
    assert not any(
        np.array_equal(x, y) for x, y in zip(eagerly[: len(eagerly) // 2], eagerly[len(eagerly) // 2 :], strict=True)
    )


def test_a_state_has_the_numbers_that_it_always_had():
    """A checkpoint of a generator goes on with these."""
    with mode.eager_mode():
        g = Generator.from_seed(1234)
        found = [g.uniform_full_int([2], "uint32").numpy().tolist() for _ in range(2)]
    assert found == [[3759151059, 730302606], [2305144407, 2618447845]]


def test_ranges_and_moments():
    with mode.eager_mode():
        g = Generator.from_seed([1, 2, 3])
        normal = g.normal([20000], 5.0, 2.0, "float64").numpy()
        np.testing.assert_allclose([normal.mean(), normal.std()], [5, 2], atol=0.05)
        assert np.abs(g.truncated_normal([1000], 1.0, 2.0).numpy() - 1).max() <= 4
        assert set(g.uniform([1000], -1, 2, "int64").numpy()) == {-1, 0, 1}
        assert set(g.uniform([1000], 7, 9, "uint32").numpy()) == {7, 8}


def test_seeds_and_generators_made_from_one_are_distinct():
    with mode.eager_mode():
        g = Generator.from_seed(1)
        seeds = g.make_seeds(3)
        found = [stateless_normal([4], seeds[:, i]).numpy() for i in range(3)]
        found += [other.normal([4]).numpy() for other in (*g.split(2), *g.split(2), g)]
        found += [Generator.from_seed(s).normal([4]).numpy() for s in (2, 2**64, -1)]
        assert len(np.unique(np.stack(found), axis=0)) == len(found)
        copy = Generator(g)
        np.testing.assert_array_equal(copy.normal([4]).numpy(), g.normal([4]).numpy())


def test_each_tower_draws_numbers_of_its_own():
    axis = Axis("tower", jax.devices()[:3])
    g = Generator.from_seed(3)
    with get_default_graph().under(axis):
        made = g.normal([2])
    session = Session()
    session.run(global_variables_initializer())
    values = session.run([all_reduce.select(made, axis, i) for i in range(3)])
    assert len(np.unique(np.stack(values), axis=0)) == 3
    np.testing.assert_array_equal(session.run(g.state), [3 + 2 * 256, 0, 0])


def test_the_global_generator(monkeypatch):
    monkeypatch.setattr(generator, "_GLOBAL", [])
    with mode.eager_mode():
        g = generator.get_global_generator()
        assert generator.get_global_generator() is g
        mine = Generator.from_seed(1)
        generator.set_global_generator(mine)
        assert generator.get_global_generator() is mine
        apart = [Generator.from_non_deterministic_state().state.numpy() for _ in range(2)]
        assert not np.array_equal(*apart)


def test_bad_input():
    with mode.eager_mode():
        with pytest.raises(ValueError, match="from_seed"):
            Generator()
        with pytest.raises(ValueError, match="got both"):
            Generator(Generator.from_seed(1), alg="philox")
        with pytest.raises(ValueError, match="maxval=None"):
            Generator.from_seed(1).uniform([2], dtype="int32")
