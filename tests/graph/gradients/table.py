"""The table of gradients: its factors, what of them cannot be together, and its rows.

A row is a program: a structure around another, differentiated once or twice, in one way, on the towers of a strategy.
"""

from __future__ import annotations

import numpy as np

from tests.covering import Row, Rule, Table
from tests.golden.gradient_structures_cases import STRUCTURES, reads_back
from tests.graph.gradients.formulas import Wanted, wanted
from tests.graph.gradients.strategies import STRATEGIES
from tests.graph.gradients.ways import WAYS, Found, Task

FACTORS: dict[str, tuple[str, ...]] = {
    "outer": tuple(name for name in STRUCTURES if name != "plain"),
    "inner": (
        "plain", "while_initial", "while_arrays", "cond", "vectorized_map", "jacobian", "custom_gradient",
        "function_once", "read_after_write",
    ),
    "strategy": tuple(STRATEGIES),
    "way": tuple(WAYS),
    "order": ("first", "second"),
    "towers": ("1", "2"),
    "writes": ("none", "counted"),
}  # fmt: skip
"""Values by factor. The inner structures have an operation of their own each; the others are made of these, and are
inside of all in ``nested``."""
ROUNDING = 1e-12
"""Of some hundred operations in float64, relative to the largest number in a row."""


CONTRIB = ("contrib Mirrored", "contrib TPU")
RULES = (
    Rule(lambda r: r["strategy"] == "none" and r["towers"] == "2", "one device has no second tower"),
    Rule(
        lambda r: r["way"] == "eager" and r["strategy"].endswith("TPU"),
        "TPU strategies refuse to run eagerly by name, as the originals do",
    ),
    Rule(
        lambda r: r["way"] == "function" and r["strategy"] in CONTRIB,
        "strategies of 1.12 call functions in graphs ('function in graph'): there was no tf.function around them",
    ),
    Rule(
        lambda r: r["way"] == "steps" and r["strategy"] not in ("", *CONTRIB),
        "run_steps_on_dataset is a method of the strategies of 1.12 alone",
    ),
)


TABLE = Table(FACTORS, RULES)


def nested() -> list[Row]:
    """All structures around all structures that are no inner ones of the table."""
    others = [name for name in FACTORS["outer"] if name not in FACTORS["inner"]]
    places = [("2.x Mirrored", "function"), ("contrib Mirrored", "graph"), ("contrib TPU", "graph")]
    return [
        (outer, inner, *places[(i + j) % 3], "second", "2", ("none", "counted")[j % 2])
        for i, outer in enumerate(FACTORS["outer"])
        for j, inner in enumerate(others)
    ]


def check(row: Row) -> None:
    """Runs the program of a row. Raises AssertionError where it differs from the formula, in values or in writes."""
    outer, inner, strategy, way, order, towers, writes = row
    task = Task((outer, (inner,)), 1 if order == "first" else 2, writes == "counted")
    compare(task, WAYS[way](task, strategy, int(towers)), wanted(task.nest, int(towers)))


def compare(task: Task, found: Found, formula: Wanted) -> None:
    """Raises AssertionError where a program differs from its formula."""
    sources = ("x", "w", "s")[: 3 if reads_back(task.nest) else 2]
    labels = ["y", *(f"d{y}/d{x}" for y in ("y", "squares") for x in sources)]
    for tower, (values, right) in enumerate(zip(found.towers, formula.towers, strict=True)):
        size = max(1.0, *(float(np.max(np.abs(number))) for number in right))
        for label, value, number in zip(labels, values, right, strict=False):
            what = f"{label} on tower {tower}"
            assert value is not None, f"{what} is None, not {number}"
            np.testing.assert_allclose(value, number, rtol=0, atol=ROUNDING * size, err_msg=what)
    writes = formula.writes * len(found.towers) * found.runs if task.writes else 0
    assert found.writes == writes, f"it wrote {found.writes} times, not {writes}"
