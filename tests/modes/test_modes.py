"""Training programs whose structure, strategy, mode, input and loop meet in pairs, against arithmetic on one device."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.graph.gradients.formulas import CLOSE, STEP
from tests.modes import table
from tests.modes.model import (
    BATCHES,
    VARIABLES,
    Numbers,
    formula,
    loss_and_gradients,
    reads_back,
    trainable,
    writes_inside,
)
from tests.modes.structures import STRUCTURES
from tests.modes.table import KNOWN, TABLE
from tests.rows import difference
from towerstrat.graph.runtime.programs.limits import LIMITS


@pytest.fixture(autouse=True)
def _values_alone(monkeypatch):
    """Two compiled loops over one body may differ where a structure has a loop inside: ``test_loop_bodies.py``."""
    monkeypatch.setattr(LIMITS, "compare_loops", False)


def surprise(row):
    """In a line what is not known of a row: that it differs, or that one that differed does no more."""
    problem, reason = difference(table.check, row), KNOWN.get(TABLE.name_of(row))
    if reason is None:
        return problem
    return "" if problem else f"is right, and is no longer a known difference: {reason}"


@pytest.mark.parametrize("row", TABLE.pairs, ids=TABLE.name_of)
def test_pairs_of_values(row):
    assert surprise(row) == ""


@pytest.mark.long
@pytest.mark.parametrize("structure", STRUCTURES)
def test_triples_of_values(structure):
    rows = [row for row in TABLE.triples if row[0] == structure]
    found = {TABLE.name_of(row): surprise(row) for row in rows}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_the_table_has_all_pairs_and_says_what_there_is_not():
    found, every = TABLE.counts(TABLE.pairs, 2)
    assert found == every > 1200
    assert len(TABLE.pairs) <= 230
    left_out = TABLE.left_out()
    assert all(left_out.values())
    assert len(left_out) <= 50


@pytest.mark.long
def test_the_table_has_all_triples():
    found, every = TABLE.counts(TABLE.pairs + TABLE.triples, 3)
    assert found == every > 10000


class Traced(Numbers):
    """The arithmetic on values of JAX."""

    sin = staticmethod(jnp.sin)
    constant = staticmethod(jnp.asarray)

    def jacobian(self, f, x):
        f(x)
        count, found = self.count, jax.jacobian(f)(x)
        self.count = count
        return found

    def read_back(self, value):
        return self.s + jax.lax.stop_gradient(value - self.s)

    def average(self, mean):
        self.moving = self.moving - jax.lax.stop_gradient(self.moving - mean) * 0.5

    def rsqrt(self, x):
        return jax.lax.rsqrt(x)

    def call_python(self, f, x):
        return jax.lax.stop_gradient(jnp.cos(x))


@pytest.mark.parametrize("inner", table.FACTORS["inner"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_arithmetic_is_that_of_jax(structure, inner):
    nest, batch = (structure, (inner,)), BATCHES[0, 0]
    loss, gradients, kit = loss_and_gradients(nest, VARIABLES, VARIABLES["moving"], batch)
    with jax.enable_x64(True):

        def total(given):
            values = {**VARIABLES, **given}
            traced = Traced(values["w"], values["s"], values["table"], values["moving"], counts=writes_inside(nest))
            return formula(nest, traced, values["v"], batch), (traced.moving, traced.count)

        names = [*trainable(nest), *(["s"] if reads_back(nest) else [])]
        given = {name: jnp.asarray(VARIABLES[name]) for name in names}
        (value, (moving, count)), derivatives = jax.value_and_grad(total, has_aux=True)(given)
        found = {name: np.asarray(derivative) for name, derivative in derivatives.items()}
    found["v"] = found["v"] + found.pop("s", 0.0)
    np.testing.assert_allclose(loss, value, rtol=1e-12)
    np.testing.assert_allclose(kit.moving, moving, rtol=1e-12)
    assert kit.count == count
    for name, gradient in found.items():
        np.testing.assert_allclose(gradients[name], gradient, rtol=0, atol=1e-12 * max(1.0, np.abs(gradient).max()))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_arithmetic_is_that_of_differences(structure):
    """By ``w``, of which each reading takes part."""
    nest, batch = (structure, ("plain",)), BATCHES[0, 0]
    _, gradients, kit = loss_and_gradients(nest, VARIABLES, VARIABLES["moving"], batch)

    def total(step):
        numbers = Numbers(VARIABLES["w"] + step, VARIABLES["s"], VARIABLES["table"], VARIABLES["moving"], kit.frozen)
        return formula(nest, numbers, VARIABLES["v"], batch)

    near = (8 * (total(STEP) - total(-STEP)) - (total(2 * STEP) - total(-2 * STEP))) / (12 * STEP)
    np.testing.assert_allclose(gradients["w"], near, rtol=0, atol=CLOSE * max(1.0, abs(near)))


@pytest.mark.parametrize("inner", ["plain", "read_after_write"])
def test_towers_that_get_one_batch_train_as_one_device(inner):
    """The arithmetic itself: the mean of equal gradients is each of them."""
    nest, batches = ("while_initial", (inner,)), list(BATCHES[:3, 0])
    one = table.training(nest, [[b] for b in batches])
    three = table.training(nest, [[b] * 3 for b in batches])
    np.testing.assert_allclose(three.losses, np.repeat(one.losses, 3, 1), rtol=1e-12)
    np.testing.assert_allclose(three.values["w"], one.values["w"], rtol=1e-12)
    assert (three.values["count"], three.values["step"]) == (3 * one.values["count"], one.values["step"])
