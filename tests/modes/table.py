"""The table of modes: what a program is drawn from, what of that cannot be together, and what it has to come to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.covering import Row, Rule, Table
from tests.modes.inputs import batches
from tests.modes.loops import ACCUMULATED, carry_out
from tests.modes.model import STEPS, Trained, training
from tests.modes.places import STRATEGIES
from tests.modes.structures import STRUCTURES

FACTORS: dict[str, tuple[str, ...]] = {
    "structure": tuple(STRUCTURES),
    "inner": ("plain", "cond", "while_initial", "vectorized_map", "read_after_write"),
    "strategy": tuple(STRATEGIES),
    "mode": ("graph", "function in graph", "eager", "function", "autograph"),
    "input": ("constant", "fed", "fed unknown", "one shot", "initializable", "distributed", "queue", "variable"),
    "loop": (
        "run by run", "several fetches", "run_steps_on_dataset", "monitored", "estimator", "loop in run",
        "over dataset", "accumulating", "saving",
    ),
}  # fmt: skip
ROUNDING = 1e-12
"""Of some thousand operations in float64, relative to the largest number."""
CONTRIB = tuple(name for name in STRATEGIES if name.startswith("contrib"))
LATER = tuple(name for name in STRATEGIES if name.startswith("2.x"))
GRAPHS = ("graph", "function in graph")
AT_ONCE = ("eager", "function", "autograph")


def _are(**values: str | tuple[str, ...]) -> Callable[[dict[str, str]], bool]:
    """Excludes rows that have one of some values of each of these factors."""
    sets = {name: (value,) if isinstance(value, str) else value for name, value in values.items()}
    return lambda row: all(row[name] in allowed for name, allowed in sets.items())


def _needs(loop: str, **values: tuple[str, ...]) -> Callable[[dict[str, str]], bool]:
    """Excludes rows of a loop that have none of some values of one of these factors."""
    return lambda row: row["loop"] == loop and any(row[name] not in ("", *needed) for name, needed in values.items())


RULES = (
    Rule(
        _are(strategy=CONTRIB, mode=("function", "autograph")),
        "strategies of 1.12 call functions in graphs: there was no tf.function around them",
    ),
    Rule(_are(input="distributed", strategy=("none", "by hand 2")), "a strategy distributes datasets"),
    Rule(
        _are(strategy=CONTRIB, input="distributed", loop="over dataset"),
        "datasets that strategies of 1.12 distribute have iterators, and no loop goes over them",
    ),
    Rule(_are(input="initializable", mode=AT_ONCE), "iterators that are initialized belong to sessions"),
    Rule(_are(input="fed unknown", mode="eager"), "an eager tensor has its shape"),
    Rule(
        lambda r: _are(strategy=LATER, input="distributed", mode=GRAPHS)(r) and r["loop"] not in ("", "over dataset"),
        "graphs do not iterate over the datasets that strategies of 2.x distribute; functions in them do",
    ),
    Rule(
        _are(structure="recompute_grad", inner="read_after_write"),
        "the gradient of a function that is computed again goes to trained variables alone, and s is none",
    ),
    Rule(_are(loop=("several fetches", "monitored", "estimator"), mode=AT_ONCE), "no session is outside of graphs"),
    Rule(
        _needs("run_steps_on_dataset", strategy=CONTRIB, mode=(*GRAPHS, "eager")),
        "a method of the strategies of 1.12 alone, which no tf.function was around",
    ),
    Rule(
        _needs("run_steps_on_dataset", input=("constant", "fed", "fed unknown", "distributed", "variable")),
        "it takes its input from the iterator that it is given; others in its body are on the host",
    ),
    Rule(
        lambda r: (
            r["mode"] == "autograph" and r["loop"] not in ("", "loop in run", "over dataset", "accumulating", "saving")
        ),
        "autograph is about loops of a function",
    ),
    Rule(_are(loop="over dataset", mode="graph"), "Python cannot go over the elements of a dataset in a graph"),
    Rule(
        _needs("over dataset", input=("one shot", "distributed")), "a loop over a dataset has that dataset as its input"
    ),
    Rule(_are(loop="estimator", strategy=LATER), "an Estimator of 1.x takes strategies of 1.x"),
    Rule(_are(loop="estimator", input=("fed", "fed unknown")), "an Estimator's input function makes its input"),
    Rule(
        lambda r: (
            _needs("estimator", input=("constant", "variable", "distributed"))(r)
            and r["strategy"] not in ("", "none", "by hand 2")
        ),
        "an Estimator with a strategy distributes the dataset of its input function",
    ),
)
TABLE = Table(FACTORS, RULES)
KNOWN: dict[str, str] = {}
"""Rows that are not right yet, and why. Tests want them to be wrong."""


def wanted(row: Row) -> Trained:
    """The result of the training of a row."""
    structure, inner, strategy, mode, kind, loop = row
    accumulates = ACCUMULATED if loop == "accumulating" else 1
    in_one_run = loop in ("run_steps_on_dataset", "loop in run") or mode == "autograph"
    given = batches(kind, STEPS * accumulates, STRATEGIES[strategy][2], not in_one_run)
    found = training((structure, (inner,)), given, accumulates)
    if loop == "estimator":
        found.losses = [[float(np.mean(towers))] for towers in found.losses]
    return found


def check(row: Row) -> None:
    """Runs the program of a row. Raises AssertionError where it differs from the arithmetic."""
    structure, inner, strategy, mode, kind, loop = row
    compare(carry_out((structure, (inner,)), strategy, mode, kind, loop), wanted(row))


def compare(found: Trained, formula: Trained) -> None:
    losses, expected = np.array(found.losses), np.array(formula.losses)
    assert losses.shape == expected.shape, f"losses of {losses.shape}, not {expected.shape}"
    expected = np.where(np.isnan(losses), np.nan, expected)
    assert not np.isnan(losses[-1]).any()
    _close("losses", losses, expected)
    assert set(found.values) == set(formula.values)
    for name, value in formula.values.items():
        if name in ("count", "step"):
            assert float(found.values[name]) == value, f"{name} is {found.values[name]}, not {value}"
        else:
            _close(name, found.values[name], value)


def _close(name: str, value: object, right: object) -> None:
    size = max(1.0, float(np.nanmax(np.abs(right))))
    np.testing.assert_allclose(value, right, rtol=0, atol=ROUNDING * size, err_msg=name)
