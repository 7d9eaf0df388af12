"""Rules of optimizers that go two ways, and those of Keras, against the same in numpy: whole variables, and rows."""

import numpy as np
import pytest

from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable
from towerstrat.training.optimizers.adam import ADAM, LAZY_ADAM, NadamOptimizer
from towerstrat.training.optimizers.add_sign import ADD_SIGN
from towerstrat.training.optimizers.keras_updates import ADAGRAD_V2, AMSGRAD, KERAS_MOMENTUM
from towerstrat.training.optimizers.lars import LARSOptimizer
from towerstrat.training.optimizers.momentum import MOMENTUM

START = np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], np.float32)
SLOT = np.array([[0.5, 0.75], [0.25, 1.0], [2.0, 0.5]], np.float32)
GRADIENT = np.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], np.float32)
ROWS = [2, 0]


def momentum(var, slot, gradient, rate, decay, use_nesterov):
    slot = decay * slot + gradient
    return var - rate * (gradient + decay * slot if use_nesterov else slot), slot


def keras_momentum(var, slot, gradient, rate, decay, use_nesterov):
    slot = decay * slot - rate * gradient
    return var + (decay * slot - rate * gradient if use_nesterov else slot), slot


def adagrad(var, slot, gradient, rate, epsilon, update_slots):
    slot = slot + gradient**2 if update_slots else slot
    return var - rate * gradient / (np.sqrt(slot) + epsilon), slot


def adam(var, m, v, gradient, power1, power2, rate, beta1, beta2, epsilon, use_nesterov):
    rate = rate * np.sqrt(1 - power2) / (1 - power1)
    m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
    ahead = beta1 * m + (1 - beta1) * gradient if use_nesterov else m
    return var - rate * ahead / (np.sqrt(v) + epsilon), m, v


def amsgrad(var, m, v, largest, gradient, power1, power2, rate, beta1, beta2, epsilon):
    rate = rate * np.sqrt(1 - power2) / (1 - power1)
    m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
    largest = np.maximum(largest, v)
    return var - rate * m / (np.sqrt(largest) + epsilon), m, v, largest


def add_sign(var, m, gradient, rate, alpha, sign_decay, beta):
    m = beta * m + (1 - beta) * gradient
    return var - rate * (alpha + sign_decay * np.sign(gradient) * np.sign(m)) * gradient, m


MOMENTS = (0.729, 0.81, 0.125, 0.9, 0.9, 0.01)
RULES = {
    "momentum": (MOMENTUM, momentum, (0.125, 0.75), "use_nesterov"),
    "keras_momentum": (KERAS_MOMENTUM, keras_momentum, (0.125, 0.75), "use_nesterov"),
    "adagrad": (ADAGRAD_V2, adagrad, (0.125, 0.01), "update_slots"),
    "adam": (ADAM, adam, MOMENTS, "use_nesterov"),
    "lazy_adam": (LAZY_ADAM, adam, MOMENTS, "use_nesterov"),
    "amsgrad": (AMSGRAD, amsgrad, MOMENTS, None),
    "add_sign": (ADD_SIGN, add_sign, (0.125, 0.75, 0.5, 0.75), None),
}
"""By name: the rule, its twin, its scalars, and the attribute that says which way it goes."""
WAYS = [(name, way) for name, (*_, way) in RULES.items() for way in ((False, True) if way else (None,))]


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize(("name", "value"), WAYS)
def test_one_step(name, value, by_rows):
    rule, twin, scalars, way = RULES[name]
    how = {} if way is None else {way: value}
    start = [START, *[SLOT] * (len(rule.cells) - 1)]
    cells = [Variable(part) for part in start]
    gradient = constant(GRADIENT[ROWS] if by_rows else GRADIENT)
    op = rule.apply(cells, [constant(x) for x in scalars], gradient, constant(ROWS) if by_rows else None, **how)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(op)
        found = session.run(cells)
    wanted = twin(*start, GRADIENT, *scalars, **how)
    if (
        by_rows
    ):  # Of the other rows Adam's and AddSign's moments decay too, as in the original; those of the others stay.
        decays = name in ("adam", "add_sign")
        rest = twin(*start, np.zeros_like(GRADIENT), *scalars, **how) if decays else start
        wanted = [np.where(np.isin(range(3), ROWS)[:, None], w, r) for w, r in zip(wanted, rest, strict=True)]
    for part, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(part, expected, rtol=2e-6)


def after_two_steps(optimizer, gradient):
    var = Variable(START)
    step = optimizer.apply_gradients([(gradient, var)])
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(step)
        session.run(step)
        return session.run(var)


def test_rows_of_nadam_are_the_same_gradient_as_a_dense_one():
    dense = np.zeros_like(GRADIENT)
    dense[ROWS] = GRADIENT[ROWS]
    var, m, v, power1, power2 = START, 0.0, 0.0, 0.9, 0.999
    for _ in range(2):
        var, m, v = adam(var, m, v, dense, power1, power2, 0.1, 0.9, 0.999, 1e-8, use_nesterov=True)
        power1, power2 = power1 * 0.9, power2 * 0.999
    for gradient in (constant(dense), IndexedSlices(constant(GRADIENT[ROWS]), constant(ROWS), constant([3, 2]))):
        np.testing.assert_allclose(after_two_steps(NadamOptimizer(0.1), gradient), var, rtol=3e-5)


def test_rows_of_lars_have_the_plain_rate():
    found = after_two_steps(LARSOptimizer(0.1, 0.9), IndexedSlices(constant(GRADIENT[ROWS]), constant(ROWS)))
    wanted = START.copy()
    wanted[ROWS] -= 0.1 * (1.0 + 1.9) * GRADIENT[ROWS]
    np.testing.assert_allclose(found, wanted, rtol=2e-6)
