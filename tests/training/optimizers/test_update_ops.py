"""The operations below the optimizers: sums of repeated rows, and what an update refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.rows import PADDING
from towerstrat.graph.variables.table_sums import deduplicate
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable
from towerstrat.training.optimizers.momentum import MOMENTUM


@given(st.lists(st.integers(0, 6), max_size=9), st.sampled_from(["int32", "int64"]))
def test_repeated_rows_are_summed(indices, kind):
    values = np.arange(1.0, 2 * len(indices) + 1, dtype=np.float32).reshape(len(indices), 2)
    with Graph().as_default():
        rows, ids = placeholder("float32", [None, 2]), placeholder(kind, [None])
        summed, unique = deduplicate(rows, ids)
        assert (summed.dtype, unique.dtype) == (rows.dtype, ids.dtype)
        got, left = Session().run([summed, unique], {rows: values, ids: np.array(indices, kind)})
    assert got.shape == values.shape
    assert left.dtype == kind
    distinct = sorted(set(indices))
    assert left[: len(distinct)].tolist() == distinct
    assert all(index > PADDING - len(indices) for index in left[len(distinct) :]), "past the end of every table"
    assert np.all(np.diff(left) > 0), "they ascend, and none comes twice"
    for index, row in zip(left, got, strict=True):
        expected = values[np.array(indices) == index].sum(axis=0) if index in distinct else [0, 0]
        np.testing.assert_array_equal(row, expected)


def test_left_over_rows_change_nothing():
    table, slot = Variable(np.ones((2, 1), np.float32)), Variable(np.ones((2, 1), np.float32))
    values, indices = deduplicate(constant([[1.0], [1.0], [1.0]]), constant([1, 1, 1]))
    op = MOMENTUM.apply([table, slot], [constant(1.0), constant(0.5)], values, indices, use_nesterov=False)
    session = Session()
    session.run(global_variables_initializer())
    session.run(op)
    np.testing.assert_array_equal(session.run(table), [[1.0], [1.0 - 3.5]])
    np.testing.assert_array_equal(session.run(slot), [[1.0], [3.5]])


def test_an_update_reads_and_writes_all_its_cells():
    variable, slot = Variable([1.0]), Variable([1.0])
    op = MOMENTUM.apply([variable, slot], [constant(1.0), constant(0.5)], constant([1.0]), use_nesterov=False)
    assert op.reads == op.writes == (variable.cell, slot.cell)
    assert op.outputs == []


@pytest.mark.parametrize(
    ("slot", "grad", "indices", "error", "message"),
    [
        ([1.0], [[1.0]], None, ValueError, r"slot accum \(Variable_1\) to be like variable Variable, float32\(1, 1\)"),
        (np.ones((1, 1)), [[1.0]], None, ValueError, r"got float64\(1, 1\)"),
        ([[1.0]], [[1.0]], [[0]], ValueError, "indices to be a vector of integers"),
        ([[1.0]], [[1.0]], [0.5], ValueError, "indices to be a vector of integers"),
        ([[1.0]], [[1.0]], [0, 0], ValueError, r"gradient of shape \(2, 1\) for variable Variable, got \(1, 1\)"),
    ],
)
def test_refused(slot, grad, indices, error, message):
    variables = [Variable([[1.0]]), Variable(slot)]
    rows = None if indices is None else constant(indices)
    with pytest.raises(error, match=message):
        MOMENTUM.apply(variables, [constant(1.0), constant(0.5)], constant(grad), rows, use_nesterov=False)


def test_a_gradient_of_unknown_shape_is_checked_when_it_runs():
    w, slot = Variable([1.0, 2.0]), Variable([0.0, 0.0])
    grad = placeholder("float32", None)
    op = MOMENTUM.apply([w, slot], [constant(1.0), constant(0.5)], grad, use_nesterov=False)
    session = Session()
    session.run(global_variables_initializer())
    with pytest.raises(Exception, match=r"gradient has shape \(3,\)"):
        session.run(op, {grad: [1.0, 2.0, 3.0]})
    session.run(op, {grad: [1.0, 2.0]})
    np.testing.assert_array_equal(session.run(w), [0.0, 0.0])
