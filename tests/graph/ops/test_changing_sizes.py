"""Lookups of ids whose number changes: by numpy, three ways, and by few programs."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.bounds import close
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.runtime.programs.device_program import Program

TABLE = (np.arange(60, dtype=np.float32).reshape(20, 3) * 37 % 20 - 9) / 4


def sparse(rows):
    """(indices, values, dense shape) of a list of ids for each example."""
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    shape = [len(rows), max(map(len, rows), default=0)]
    return (
        np.reshape(indices, (-1, 2)).astype(np.int64),
        np.array([i for row in rows for i in row], np.int64),
        np.array(shape, np.int64),
    )


def combined(rows, combiner, table=TABLE):
    """The rows of all examples up to the last that has an id."""
    while rows and not rows[-1]:
        rows = rows[:-1]
    found = np.zeros((len(rows), 3), np.float32)
    for i, row in enumerate(rows):
        size = {"sum": 1, "mean": max(len(row), 1), "sqrtn": np.sqrt(max(len(row), 1))}[combiner]
        found[i] = table[np.array(row, int)].sum(0) / size
    return found


def slope(rows, combiner):
    """The gradient, by the table, of the sum of all that is combined."""
    each = np.array([combined(rows, combiner, row) for row in np.eye(20, dtype=np.float32)[:, :, None].repeat(3, 2)])
    return each.sum((1,))


def same(found, wanted):
    close(np.asarray(found), wanted, 8, 8 * np.abs(TABLE).max())


ROWS = [[[1, 2], [], [7, 7, 0]], [[19], [1, 1], [2], [], []], [[], []], [[3, 1, 4, 1, 5], [9, 2, 6], [5, 3]]]


@spread("combiner", ["mean", "sum", "sqrtn"], every=3)
def test_in_graphs(combiner):
    ids = tf.sparse_placeholder(tf.int64, [None, None])
    table = tf.constant(TABLE)
    made = tf.nn.embedding_lookup_sparse(table, ids, None, combiner=combiner)
    fetches = [made, tf.convert_to_tensor(tf.gradients(made, table)[0])]
    with tf.Session() as session:
        for rows in ROWS:
            values, gradient = session.run(fetches, {ids: sparse(rows)})
            same(values, combined(rows, combiner))
            same(gradient, slope(rows, combiner))


@spread(("combiner", "rows"), [(c, rows) for c in ("mean", "sum", "sqrtn") for rows in ROWS], every=12)
def test_eagerly_and_in_functions(combiner, rows):
    def look(*parts):
        return tf.nn.embedding_lookup_sparse(table, tf.SparseTensor(*parts), None, combiner=combiner)

    with eager_mode():
        table = tf2.Variable(TABLE)
        kinds = [tf2.TensorSpec(shape, tf.int64) for shape in ([None, 2], [None], [2])]
        for function in (look, tf2.function(look, input_signature=kinds)):
            with tf2.GradientTape() as tape:
                made = function(*sparse(rows))
            same(made, combined(rows, combiner))
            same(tf2.convert_to_tensor(tape.gradient(made, table)), slope(rows, combiner))


@pytest.fixture
def programs(monkeypatch):
    """The programs traced so far."""
    found = []
    lowered = Program.lowered
    monkeypatch.setattr(Program, "lowered", lambda self, *args: [found.append(self), lowered(self, *args)][1])
    return found


def trained(lookup, sizes, programs):
    """How many programs were traced after steps with so many ids; checks the table after them.

    One is traced in vain: it finds that the number of examples has to be part of the program.
    """
    table = tf.get_variable("table", initializer=TABLE, use_resource=True)
    words = tf.placeholder(tf.string, [None])
    tokens = tf.string_split(words)
    ids = tf.SparseTensor(tokens.indices, tf.string_to_number(tokens.values, tf.int64), tokens.dense_shape)
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(lookup(table, ids)))
    wanted, counts = TABLE.copy(), []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        programs.clear()
        for size in sizes:
            rows = [[(size * 7 + i) % 20 for i in range(size - 1)], [size % 20]]
            session.run(step, {words: [" ".join(map(str, row)) for row in rows]})
            wanted -= slope(rows, "mean")
            counts.append(len(programs))
        same(session.run(table), wanted)
    return counts


def test_steps_use_one_program_for_sizes_up_to_a_power_of_two(programs):
    look = lambda table, ids: tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")  # noqa: E731
    assert trained(look, [2, 8, 5, 15, 4, 16], programs) == [2, 2, 2, 3, 3, 3]


def test_lookups_of_rows_without_ids_do_too(programs):
    assert trained(tf.nn.safe_embedding_lookup_sparse, [5, 3, 8, 2], programs) == [2, 2, 2, 2]


@pytest.mark.long
def test_tables_in_parts():
    rows = [[1, 5, 5], [], [19, 0, 2, 7]]
    parts = tf.get_variable("parts", initializer=tf.constant(TABLE), partitioner=tf.fixed_size_partitioner(3))
    ids = tf.sparse_placeholder(tf.int64, [None, None])
    made = tf.nn.embedding_lookup_sparse(parts, ids, None, "div", combiner="mean")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        same(session.run(made, {ids: sparse(rows)}), combined(rows, "mean"))


def test_what_is_wrong_with_ids():
    ids = tf.sparse_placeholder(tf.int64, [None, None])
    made = tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, None, combiner="sum")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not increasing"):
            session.run(made, {ids: ([[1, 0], [0, 0]], [1, 2], [2, 1])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="20"):
            session.run(made, {ids: ([[0, 0], [1, 0]], [1, 20], [2, 1])})
    with pytest.raises(TypeError, match="integer"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), tf.sparse_placeholder(tf.float32), None)


def test_a_value_is_split_by_sizes_that_are_tensors():
    count = tf.placeholder(tf.int32, [])
    with tf.Session() as sess:
        parts = sess.run(tf.split(tf.reshape(tf.range(8), [4, 2]), [count, 4 - count]), {count: 1})
    assert [part.tolist() for part in parts] == [[[0, 1]], [[2, 3], [4, 5], [6, 7]]]
