"""Ragged tensors against TensorFlow 2.15, eagerly, in functions and in graphs of sessions; and their gradients."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.golden.ragged_cases import CASES, decoded, evaluated, plain
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "ragged.json").read_text())


def outcome(make):
    try:
        return decoded(plain(make()))
    except Exception as error:
        return f"raises {type(error).__name__}"


def eagerly(case):
    with eager_mode():
        return evaluated(tf, case)


def in_function(case):
    with eager_mode():
        return tf.function(lambda: evaluated(tf, case))()


def in_graph(case):
    with tf1.Graph().as_default(), tf1.Session() as session:
        return session.run(evaluated(tf, case))


WAYS = {f.__name__: f for f in (eagerly, in_function, in_graph)}


@spread("case", CASES, every=9)
@pytest.mark.parametrize("way", WAYS)
def test_case(case, way):
    if way != "eagerly" and ("list" in case or "ragged_rank, N" in case):
        pytest.skip("what is no tensor")
    found, wanted = outcome(lambda: WAYS[way](case)), GOLDEN[case]
    if str(wanted).startswith("raises"):
        assert str(found).startswith("raises")
    else:
        assert found == wanted


def test_rows_go_through_tables_functions_and_branches():
    with eager_mode():
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
        )
        words = tf.ragged.constant([["a"], [], ["x", "b"]])
        assert table.lookup(words).to_list() == [[1], [], [-1, 2]]
        traces = []

        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
        def doubled(rows):
            traces.append(rows)
            return tf.cond(rows.nrows() > 1, lambda: rows * 2, lambda: rows)

        assert doubled(tf.ragged.constant([[1], [2, 3]])).to_list() == [[2], [4, 6]]
        assert doubled(tf.ragged.constant([[1, 2]])).to_list() == [[1, 2]]
        assert len(traces) == 1
        with pytest.raises(TypeError, match="to_tensor"):
            tf.convert_to_tensor(words)


def test_gradients_reach_flat_values():
    with eager_mode():
        values = tf.Variable([1.0, 2.0, 3.0, 4.0])
        with tf.GradientTape(persistent=True) as tape:
            rows = tf.RaggedTensor.from_row_lengths(values * 1.0, [1, 0, 3])
            padded = tf.reduce_sum(rows.to_tensor() * [[1.0, 2.0, 3.0]])
            squares = tf.reduce_sum(tf.square(tf.reduce_sum(rows, 1)))
            cut = tf.reduce_sum(rows[:, :2] * rows[:, :2])
        assert tape.gradient(padded, values).numpy().tolist() == [1, 1, 2, 3]
        assert tape.gradient(squares, values).numpy().tolist() == [2, 18, 18, 18]
        assert tape.gradient(cut, values).numpy().tolist() == [2, 4, 6, 0]


def test_ragged_placeholders_are_fed():
    rows = tf1.ragged.placeholder(tf1.int32, 1, [])
    value = tf1.ragged.constant_value([[1, 2], [], [3]])
    with tf1.Session() as session:
        found = session.run({"twice": rows * 2, "sum": tf1.reduce_sum(rows, 1)}, {rows: value})
    assert found["twice"].to_list() == [[2, 4], [], [6]]
    assert found["sum"].tolist() == [3, 0, 3]
    assert value.to_list() == [[1, 2], [], [3]]
    np.testing.assert_array_equal(value.row_splits, [0, 2, 2, 3])


def test_text_in_pipelines_becomes_rows_of_ids():
    words = tf1.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
    lines = tf1.data.Dataset.from_tensor_slices(["a b", "", "b c b"])

    def ids(line):
        rows = tf.strings.split([line])
        return words.lookup(rows.values), rows.row_lengths()[0]

    following = lines.map(ids).padded_batch(3, ([None], [])).make_initializable_iterator()
    batch = following.get_next()
    with tf1.Session() as session:
        session.run([tf1.tables_initializer(), following.initializer])
        found, lengths = session.run(batch)
    assert found.tolist() == [[0, 1, 0], [0, 0, 0], [1, 2, 1]]
    assert lengths.tolist() == [2, 0, 3]
