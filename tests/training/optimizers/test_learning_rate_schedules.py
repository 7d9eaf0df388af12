"""Learning-rate schedules against the original."""

import json
import pathlib

import numpy as np
import pytest

from tests.bounds import close
from tests.golden.schedule_cases import CASES, STEPS
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable
from towerstrat.training.optimizers import learning_rate_schedules

TERMS = 25
"""A quotient of steps, its power or cosine, and what these are multiplied with and added to."""
GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "golden" / "averages.json").read_text())["schedules"]


def rate_of(case, step, /, **changes):
    function, arguments = CASES[case]
    step = {"x": step} if function == "piecewise_constant" else {"global_step": step}
    return getattr(learning_rate_schedules, function)(**step, **{**arguments, **changes})


def test_the_original_agrees():
    step = placeholder("int64", [])
    rates = {name: rate_of(name, step) for name in CASES}
    assert all(r.dtype == "float32" and r.shape == [] for r in rates.values())
    session = Session()
    for i, s in enumerate(STEPS):
        for name, value in session.run(rates, {step: s}).items():
            close(value, GOLDEN[name][i], TERMS, max(GOLDEN[name]), f"{name} at step {s}")


def test_steps_of_every_kind_and_rates_of_float64():
    step = Variable(np.int32(7), trainable=False)
    rates = {}
    for name in CASES:
        wide = {"learning_rate": constant(0.1, "float64")} if "learning_rate" in CASES[name][1] else {}
        rates[name] = [rate_of(name, step), rate_of(name, 7), rate_of(name, step, **wide)]
        assert rates[name][2].dtype == ("float64" if wide else "float32")
    session = Session()
    session.run(global_variables_initializer())
    for name, values in session.run(rates).items():
        close(np.float32(values), [GOLDEN[name][STEPS.index(7)]] * 3, TERMS, max(GOLDEN[name]), name)


def test_stairs_and_ends_are_at_whole_periods():
    """41 times the rounded reciprocal of 41 is less than one; of other numbers it is more."""
    step = placeholder("int64", [])
    periods = [41, 47, 49, 55, 61, 82, 97, 107, 1000]
    stairs = [learning_rate_schedules.exponential_decay(1.0, step, n, 0.5, staircase=True) for n in periods]
    ends = [learning_rate_schedules.polynomial_decay(1.0, step, n, 0.0, power=0.5) for n in periods]
    session = Session()
    for i, n in enumerate(periods):
        assert session.run([stairs[i], ends[i]], {step: n}) == [0.5, 0.0]
        assert session.run(stairs[i], {step: n - 1}) == 1.0
        assert session.run(stairs[i], {step: 3 * n}) == 0.125


def test_tensors_as_arguments():
    step = placeholder("int64", [])
    rates = [
        rate_of("restarts_scaled", step, t_mul=constant(1.5), m_mul=constant(0.8), alpha=constant(0.1)),
        rate_of("restarts_equal", step, t_mul=constant(1.0)),
        rate_of("polynomial_cycle", step, decay_steps=constant(10), power=constant(2.0)),
        rate_of("exponential", step, decay_steps=constant(10), decay_rate=constant(0.9)),
    ]
    names = ["restarts_scaled", "restarts_equal", "polynomial_cycle", "exponential"]
    session = Session()
    for i, s in enumerate(STEPS[:10]):
        close(session.run(rates, {step: s}), [GOLDEN[n][i] for n in names], TERMS, max(max(GOLDEN[n]) for n in names))


def test_noise_is_drawn_anew_around_the_plain_schedule():
    step = placeholder("int64", [])
    arguments = {"learning_rate": 0.1, "global_step": step, "decay_steps": 30}
    plain = learning_rate_schedules.linear_cosine_decay(**arguments)
    noisy = learning_rate_schedules.noisy_linear_cosine_decay(**arguments, initial_variance=0.01)
    quiet = learning_rate_schedules.noisy_linear_cosine_decay(**arguments, initial_variance=0.0)
    session = Session()
    values = np.array([session.run([plain, noisy, quiet], {step: 3}) for _ in range(200)])
    np.testing.assert_allclose(values[:, 2], values[:, 0], rtol=1e-6)
    off = values[:, 1] - values[:, 0]
    assert len(set(off)) == 200
    expected = 0.1 * np.sqrt(0.01 / 4**0.55) * 0.5 * (1 + np.cos(np.pi * 0.1))
    assert 0.8 * expected < off.std() < 1.2 * expected
    assert abs(off.mean()) < 0.3 * expected


@pytest.mark.parametrize("name", [n for n in CASES if n != "piecewise"])
def test_the_step_is_required(name):
    with pytest.raises(ValueError, match="global_step"):
        rate_of(name, None)


@pytest.mark.parametrize(
    ("x", "boundaries", "values", "message"),
    [
        (1, [1, 2], [0.1, 0.2], "length of boundaries should be 1 less than the length of values: got 2.* and 2"),
        (1, [1.5], [0.1, 0.2], "Boundaries .*float32.* same dtype as x .*int32"),
        (1, [1], [0.1, 2], "Values must have elements all with the same dtype"),
    ],
)
def test_piecewise_refuses(x, boundaries, values, message):
    with pytest.raises(ValueError, match=message):
        learning_rate_schedules.piecewise_constant(x, boundaries, values)


def test_names():
    for name, scope in (
        ("exponential", "ExponentialDecay"),
        ("natural", "NaturalExpDecay"),
        ("inverse", "InverseTimeDecay"),
        ("polynomial", "PolynomialDecay"),
        ("restarts", "SGDRDecay"),
        ("linear_cosine", "LinearCosineDecay"),
    ):
        assert rate_of(name, 1).op.name == scope
        assert rate_of(name, 1, name="rate").op.name.startswith("rate")


def test_a_rate_has_a_gradient_by_its_step():
    """By the number of steps in a period too; at a whole number of periods and between two."""
    step, period = placeholder("float32", []), placeholder("float32", [])
    slopes = gradients(learning_rate_schedules.exponential_decay(0.1, step, period, 0.5), [step, period])
    session = Session()
    for s in (20.0, 23.0):
        found = session.run(slopes, {step: s, period: 10.0})
        by_step = 0.1 * 0.5 ** (s / 10) * np.log(0.5) / 10
        np.testing.assert_allclose(found, [by_step, -by_step * s / 10], rtol=1e-5)
