"""Gradients through structural operations, on every strategy and in every way, against formulas without structure."""

import pytest

import towerstrat.compat.v1 as tf
from tests.golden.gradient_structures_cases import STRUCTURES
from tests.graph.gradients import table
from tests.graph.gradients.__main__ import difference
from tests.graph.gradients.covering import combinations, covered
from tests.graph.gradients.ways import Task, in_graph, in_steps
from tests.graph.three_ways import within
from towerstrat.graph.ir import registry

FACTORS = list(table.FACTORS.values())


@pytest.mark.parametrize("row", table.pairs(), ids=table.name_of)
def test_pairs_of_values(row):
    table.check(row)


@pytest.mark.long
@pytest.mark.parametrize("outer", table.FACTORS["outer"])
def test_triples_of_values(outer):
    _none_differs([row for row in table.triples() if row[0] == outer])


@pytest.mark.long
@pytest.mark.parametrize("outer", table.FACTORS["outer"])
def test_all_structures_around_all(outer):
    _none_differs([row for row in table.nested() if row[0] == outer])


def _none_differs(rows):
    found = {table.name_of(row): difference(row) for row in rows}
    assert not {name: problem for name, problem in found.items() if problem}


def counts(rows, strength):
    """How many combinations of values the rows have, of how many there are."""
    every = set(combinations(FACTORS, strength, table.allowed))
    return len(every & {c for row in rows for c in covered(row, strength)}), len(every)
