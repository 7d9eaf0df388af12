"""Rows of a table: writes that drop what is out of range, and sums of rows that repeat."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.rows import DENSE_BELOW, PADDING, CellRows, RowSum, repeated, sum_repeated, write_rows
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable
from towerstrat.training import optimizers

IDS = np.array([3, 1, 3, 7, 1, 3], np.int32)
VALUES = np.arange(12, dtype=np.float32).reshape(6, 2) + 1


@pytest.mark.parametrize("index", [-1, 4, PADDING])
@pytest.mark.parametrize("method", ["add", "set"])
def test_rows_out_of_range_are_dropped(index, method):
    table = jnp.ones((4, 2))
    written = write_rows(table, jnp.asarray([index, 2]), method, jnp.full((2, 2), 5.0))
    wanted = np.ones((4, 2))
    wanted[2] = 6 if method == "add" else 5
    np.testing.assert_array_equal(written, wanted)


@pytest.mark.parametrize("rows", [8, DENSE_BELOW * len(IDS)])
def test_a_sum_is_dense_where_the_table_is_small(rows):
    table = jnp.ones((rows, 2), jnp.float32)
    total = RowSum.of(table, jnp.asarray(VALUES), jnp.asarray(IDS))
    assert (total.indices is None) == (rows == 8)
    wanted = np.zeros((rows, 2), np.float32)
    np.add.at(wanted, IDS, VALUES)
    np.testing.assert_array_equal(total.added_to(table, lambda change: 2 * change), 1 + 2 * wanted)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_changes_of_rows_are_those_of_the_whole_table(kind):
    """Adding to rows rounds as adding to the table does."""
    dtype = as_dtype(kind).np
    table = jnp.asarray(np.random.RandomState(0).normal(size=(9, 2)), dtype)
    summed, ids = sum_repeated(jnp.asarray(VALUES / 7, dtype), jnp.asarray(IDS))
    dense = jnp.zeros_like(table).at[ids].add(summed, mode="drop")
    for method in ("add", "subtract"):
        by_rows, whole = CellRows(table, ids, distinct=True), CellRows(table)
        getattr(by_rows, method)(summed)
        getattr(whole, method)(dense)
        np.testing.assert_array_equal(by_rows.table, whole.table)
    by_rows.set(summed)
    np.testing.assert_array_equal(by_rows.table[3], summed[1])


def test_distinct_writes_say_so_to_the_compiler():
    table, (summed, ids) = jnp.ones((9, 2)), sum_repeated(jnp.asarray(VALUES), jnp.asarray(IDS))
    write = lambda distinct: lambda t: write_rows(t, ids, "set", summed, distinct=distinct)  # noqa: E731
    for distinct in (True, False):
        text = jax.jit(write(distinct)).lower(table).as_text()
        assert ("unique_indices = true" in text) is distinct
        assert ("indices_are_sorted = true" in text) is distinct


def test_rows_of_another_origin_stay_as_they_are():
    values, ids = constant(VALUES), constant(IDS)
    assert repeated(values, ids) == (values, ids)


@pytest.mark.parametrize("rows", [8, 400])
@pytest.mark.parametrize("kind", ["AdamOptimizer", "NadamOptimizer"])
def test_all_rows_move_however_the_rows_are_summed(kind, rows):
    """Small tables take a dense sum, large ones add row by row; both decay the moments of all rows."""
    start = np.random.RandomState(0).normal(size=(rows, 2)).astype(np.float32)
    table = Variable(start)
    grad = np.zeros_like(start)
    np.add.at(grad, IDS, VALUES)
    weights = table.sparse_read(constant(IDS))
    optimizer = getattr(optimizers, kind)(0.1, epsilon=1e-3)
    train = optimizer.minimize(reduce_sum(weights * VALUES))
    session = Session()
    session.run(global_variables_initializer())
    m = v = np.zeros_like(start)
    expected = start
    for step in (1, 2):
        session.run(train)
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad * grad
        direction = 0.1 * grad + 0.9 * m if kind == "NadamOptimizer" else m
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        expected = expected - rate * direction / (np.sqrt(v) + 1e-3)
    np.testing.assert_allclose(session.run(table), expected, rtol=1e-5, atol=1e-6)
