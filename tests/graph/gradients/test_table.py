"""Gradients through structural operations, on every strategy and in every way, against formulas without structure."""

import json
import pathlib

import numpy as np
import pytest

from tests.golden.gradient_structures_cases import STRUCTURES
from tests.graph.gradients import table
from tests.graph.gradients.formulas import formula, wanted
from tests.graph.gradients.table import TABLE
from tests.graph.gradients.ways import Task, in_graph, in_steps
from tests.graph.three_ways import within
from tests.rows import difference
from towerstrat.graph.ir import op_registry

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "golden" / "gradient_structures.json").read_text())


@pytest.mark.parametrize("row", TABLE.pairs, ids=TABLE.name_of)
def test_pairs_of_values(row):
    table.check(row)


@pytest.mark.long
@pytest.mark.parametrize("outer", table.FACTORS["outer"])
def test_triples_of_values(outer):
    _none_differs([row for row in TABLE.triples if row[0] == outer])


@pytest.mark.long
@pytest.mark.parametrize("outer", table.FACTORS["outer"])
def test_all_structures_around_all(outer):
    _none_differs([row for row in table.nested() if row[0] == outer])


@pytest.mark.long
@pytest.mark.parametrize("outer", ["foldr", "scan", "while_initial"])
def test_loops_that_write_where_towers_differ(outer):
    """What a loop's writes ask of earlier checks was made in the trace of its body, and used outside."""
    table.check(TABLE.named(f"{outer}-vectorized_map-contrib_Mirrored-graph-second-2-counted"))


def _none_differs(rows):
    found = {TABLE.name_of(row): difference(table.check, row) for row in rows}
    assert not {name: problem for name, problem in found.items() if problem}


@pytest.mark.parametrize("way", GOLDEN)
def test_formulas_are_what_the_originals_compute(way):
    """Values, gradients, and how often a structure writes. What the originals refuse is not among it."""
    assert len(GOLDEN[way]) > 70
    for name, found in GOLDEN[way].items():
        outer, inner = name.split("-")
        expected = wanted((outer, (inner,)), 1)
        numbers = [float(np.sum(part)) for part in expected.towers[0][: len(found) - 1]]
        np.testing.assert_allclose(found, [*numbers, expected.writes], rtol=0, atol=1e-9, err_msg=name)


def test_the_table_has_all_pairs_and_says_what_there_is_not():
    found, every = TABLE.counts(TABLE.pairs, 2)
    assert found == every > 800
    assert len(TABLE.pairs) <= 200
    left_out = TABLE.left_out()
    assert len(left_out) == 9
    assert all(left_out.values())
    assert {rule.reason for rules in left_out.values() for rule in rules} == {rule.reason for rule in table.RULES}


@pytest.mark.long
def test_the_table_has_all_triples():
    found, every = TABLE.counts(TABLE.pairs + TABLE.triples, 3)
    assert found == every > 6000


def test_an_operation_type_with_bodies_is_in_a_row():
    """Those that hold regions, or are executed or narrowed as what has regions is."""
    definitions = map(op_registry.lookup, op_registry.types())
    with_bodies = {d.type for d in definitions if "bodies" in d.hidden or d.unroll or d.narrow}
    built = set()
    for name in STRUCTURES:
        task = Task((name,), 1, writes=False)
        way, strategy = (in_steps, "contrib TPU") if name == "plain" else (in_graph, "none")
        built |= {op.type for op in within(way(task, strategy, 1).graph.root) if op.bodies}
    assert with_bodies == built, "a type with bodies needs a structure of tests/golden/gradient_structures_cases.py"


def test_loops_that_end_by_themselves_keep_what_is_the_same_on_all_towers():
    """The place of a branch that is taken, in a loop whose condition JAX takes for one that differs."""
    task = Task(("read_after_write", ("while_one_trip", ("case",))), 2, writes=False, x=(0.25, -0.375))
    table.compare(task, in_graph(task, "contrib Mirrored", 2), formula(task.nest, 2, task.x))
