"""Sparse tensors against what TensorFlow 1.12 makes of the same programs."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden import sparse_cases
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "sparse.json").read_text())


def alike(found, wanted):
    if isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-6, nan_ok=True)
    elif isinstance(wanted, list | dict):
        assert len(found) == len(wanted)
        for key in wanted if isinstance(wanted, dict) else range(len(wanted)):
            alike(found[key], wanted[key])
    else:
        assert found == wanted


@pytest.mark.parametrize("case", sparse_cases.CASES, ids=lambda case: case.__name__)
def test_case(case):
    with tf.Session() as session:
        alike(json.loads(json.dumps(case(tf, session))), GOLDEN[case.__name__])


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_rows_are_combined_eagerly_and_in_functions(combiner):
    values = np.array(sparse_cases.TABLE)
    weights = np.array(sparse_cases.WEIGHTS[1], np.float32)[:, None]
    wanted = np.zeros((4, 3), np.float32)
    for example in (0, 1, 3):
        mine = [i for i, index in enumerate(sparse_cases.IDS[0]) if index[0] == example]
        w = weights[mine]
        size = {"sum": 1.0, "mean": w.sum(), "sqrtn": np.sqrt((w * w).sum())}[combiner]
        wanted[example] = (values[np.array(sparse_cases.IDS[1])[mine]] * w).sum(0) / size

    def look(table):
        ids, weights = tf.SparseTensor(*sparse_cases.IDS), tf.SparseTensor(*sparse_cases.WEIGHTS)
        return tf2.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner)

    with eager_mode():
        table = tf2.Variable(values)
        with tf2.GradientTape() as tape:
            rows = look(table)
        keep = [0, 1, 3]  # example 2 has no ids: 0 / 0
        np.testing.assert_allclose(rows.numpy()[keep], wanted[keep], rtol=1e-6)
        assert isinstance(tape.gradient(rows, table), tf.IndexedSlices)
        np.testing.assert_allclose(tf2.function(look)(table).numpy()[keep], wanted[keep], rtol=1e-6)
        with pytest.raises(RuntimeError, match="eager"):
            tf.sparse_placeholder(tf.float32)


def test_weights_need_a_table_of_known_rank():
    ids, weights = tf.SparseTensor(*sparse_cases.IDS), tf.SparseTensor(*sparse_cases.WEIGHTS)
    with pytest.raises(ValueError, match="known rank"):
        tf.nn.embedding_lookup_sparse(tf.placeholder(tf.float32), ids, weights)
