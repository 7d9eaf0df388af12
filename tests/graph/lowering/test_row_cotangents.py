"""Gradients of row lookups inside of branches and loops: IndexedSlices that add up to the dense gradient."""

import itertools

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.spread import spread
from tests.towers.common import tpu
from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.lowering.input_checks import PADDING

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2) / 4 + 1


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as opened:
        yield opened


def read(table, rows):
    return tf.reduce_sum(table(rows) ** 2)


def branch(table, n):
    return tf.cond(n > 2, lambda: read(table, [0, 1, 0]), lambda: 3.0 * read(table, [[4]]))


def nested(table, n):
    return tf.cond(
        n > 2, lambda: tf.cond(n > 3, lambda: read(table, [5]), lambda: read(table, n)), lambda: tf.zeros([])
    )


def loop(table, n):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 1.5 + read(table, [i, 2])), [0, 0.0])[1]


def loop_into_an_array(table, n):
    """The shape of the array's elements depends on a number that is fed: an evaluation of the body finds it."""
    body = lambda i, array: (i + 1, array.write(i, table(tf.range(n) + i) ** 2))  # noqa: E731
    return tf.reduce_sum(tf.while_loop(lambda i, _: i < 3, body, [0, tf.TensorArray(tf.float32, 3)])[1].stack())


def loop_of_unknown_length(table, n):
    return tf.while_loop(lambda i, a: a < 20.0, lambda i, a: (i + 1, a * 1.5 + read(table, i)), [0, 1.0])[1]


def bounded(table, n):
    body = lambda i, a: (i + 1, a * 1.5 + read(table, [i, i]))  # noqa: E731
    return tf.while_loop(lambda i, a: a < 20.0, body, [0, 1.0], maximum_iterations=5)[1]


def branch_in_loop(table, n):
    body = lambda i, a: (i + 1, a * 1.5 + tf.cond(i < 1, lambda: read(table, 0), lambda: read(table, [i, 1])))  # noqa: E731
    return tf.while_loop(lambda i, a: i < n, body, [0, 0.0])[1]


def loop_in_loop(table, n):
    def outer(i, a):
        inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * 2.0 + read(table, [j])), [0, 0.0])
        return i + 1, a * 1.5 + inner[1]

    return tf.while_loop(lambda i, a: i < n, outer, [0, 0.0])[1]


def loop_of_growing_shape(table, n):
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    body = lambda i, a: (i + 1, tf.concat([a, table([i, 3]) ** 2], 0))  # noqa: E731
    return tf.reduce_sum(tf.while_loop(lambda i, a: i < 3, body, [0, tf.zeros([1, 2])], shapes)[1])


FORMS = (
    branch, nested, loop_into_an_array, loop, loop_of_unknown_length, bounded, branch_in_loop, loop_in_loop,
    loop_of_growing_shape,
)  # fmt: skip


@spread(("n", "form"), itertools.product((2, 3, 4), FORMS), every=11)
def test_rows_add_up_to_the_dense_gradient(session, form, n):
    table, number = tf.Variable(TABLE), tf.placeholder(tf.int32, [])
    (rows,) = tf.gradients(form(lambda i: tf.gather(table, i), number), table)
    (dense,) = tf.gradients(form(lambda i: tf.gather(table * 1.0, i), number), table)
    assert isinstance(rows, tf.IndexedSlices)
    assert isinstance(dense, tf.Tensor)
    session.run(table.initializer)
    slices, found, wanted = session.run([rows, tf.convert_to_tensor(rows), dense], {number: n})
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    skipped = slices.indices == PADDING
    assert not slices.values[skipped].any()
    assert set(slices.indices[~skipped]) == set(np.flatnonzero(wanted.any(1)))


def test_other_reads_inside_make_it_dense(session):
    table, flag = tf.Variable(TABLE), tf.placeholder(tf.bool, [])
    y = tf.cond(flag, lambda: tf.reduce_sum(tf.gather(table, [1])), lambda: tf.reduce_sum(table))
    (dense,) = tf.gradients(y, table)
    assert isinstance(dense, tf.Tensor)


def test_second_derivatives_of_lookups_in_branches(session):
    table, flag = tf.Variable(TABLE), tf.placeholder(tf.bool, [])
    y = tf.cond(flag, lambda: tf.reduce_sum(tf.gather(table, [1]) ** 3), lambda: read(lambda i: tf.gather(table, i), 2))
    (rows,) = tf.gradients(y, table)
    (second,) = tf.gradients(tf.reduce_sum(rows.values), table)
    session.run(table.initializer)
    for taken, row, wanted in ((True, 1, 6 * TABLE[1]), (False, 2, np.full(2, 2.0))):
        found = session.run(tf.convert_to_tensor(second), {flag: taken})
        np.testing.assert_allclose(found[row], wanted, rtol=1e-6)
        assert not np.delete(found, row, 0).any()


@pytest.mark.parametrize("branch", [False, True])
def test_rows_of_complex_numbers_have_conjugate_gradients(session, branch):
    """Re(x c) = Re(x) Re(c) - Im(x) Im(c) has the slope Re(c) - i Im(c), the conjugate of c, in rows as in tensors."""
    table = tf.get_variable("table", initializer=np.array([1 + 1j, 2 - 1j, 3j], np.complex64), use_resource=True)
    factors = np.array([1 + 2j, 3 - 1j, 4j], np.complex64)
    flag = tf.placeholder_with_default(True, [])
    sum_of = lambda: tf.reduce_sum(tf.real(tf.gather(table, [2, 0, 2]) * factors))  # noqa: E731
    (rows,) = tf.gradients(tf.cond(flag, sum_of, lambda: 0.0) if branch else sum_of(), table)
    assert isinstance(rows, tf.IndexedSlices)
    session.run(table.initializer)
    values, indices, dense = session.run([rows.values, rows.indices, tf.convert_to_tensor(rows)])
    np.testing.assert_array_equal(indices, [2, 0, 2])
    np.testing.assert_array_equal(values, [1 - 2j, 3 + 1j, -4j])
    np.testing.assert_array_equal(dense, [3 + 1j, 0, 1 - 6j])


KINDS = {
    "coordinates of one number": (lambda x: tf.gather_nd(x, [[1], [2], [1]]), [0, 2, 1, 0, 0, 0], True),
    "coordinates of two numbers": (lambda x: tf.gather_nd(x, [[1, 0], [1, 1]]), [0, 1, 0, 0, 0, 0], False),
    "lists of coordinates": (lambda x: tf.gather_nd(x, [[[1], [2]]]), [0, 1, 1, 0, 0, 0], False),
    "rows of another type": (lambda x: tf.gather(tf.cast(x, tf.float64), [1, 2, 1]), [0, 2, 1, 0, 0, 0], True),
    "rows of sums": (lambda x: tf.gather(tf.add_n([x, -x, x]), [1, 3]), [0, 1, 0, 1, 0, 0], True),
    "rows of a value": (lambda x: tf.gather(tf.identity(x), [1, 3]), [0, 1, 0, 1, 0, 0], True),
    "rows of a product": (lambda x: tf.gather(x * 2.0, [1, 3]), [0, 2, 0, 2, 0, 0], False),
    "sums of rows": (lambda x: tf.sparse_segment_sum(x, [1, 2, 1], [0, 0, 1]), [0, 2, 1, 0, 0, 0], False),
    "means of rows": (lambda x: tf.sparse_segment_mean(x, [1, 2], [0, 0]), [0, 0.5, 0.5, 0, 0, 0], False),
}
"""What takes rows: ours, the gradient of its sum by each row of the table, and whether 1.12 and 2.15 give rows."""


@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_of_the_originals_kinds(session, name):
    take, by_row, rows = KINDS[name]
    table = tf.get_variable("table", initializer=TABLE, use_resource=True)
    slope = tf.gradients(tf.reduce_sum(take(table)), table)[0]
    assert isinstance(slope, tf.IndexedSlices) == rows
    session.run(table.initializer)
    np.testing.assert_array_equal(session.run(tf.convert_to_tensor(slope)), np.transpose([by_row, by_row]))


@pytest.mark.parametrize("name", KINDS)
def test_eager_gradients_are_of_the_originals_kinds(name):
    take, by_row, rows = KINDS[name]
    with eager_mode():
        table = tf2.Variable(TABLE)
        with tf2.GradientTape() as tape:
            total = tf2.reduce_sum(take(table))
        slope = tape.gradient(total, table)
        assert isinstance(slope, tf.IndexedSlices) == rows
        np.testing.assert_array_equal(tf2.convert_to_tensor(slope), np.transpose([by_row, by_row]))


def test_rows_of_a_default_are_rows(session):
    x = tf.constant(TABLE)
    (slope,) = tf.gradients(tf.gather(tf.placeholder_with_default(x, [None, 2]), [1]), x)
    np.testing.assert_array_equal(session.run(slope.indices), [1])


def test_lookups_in_tensors_are_rows(session):
    x, ids = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    (rows,) = tf.gradients(tf.gather(x, ids) ** 2, x)
    assert isinstance(rows, tf.IndexedSlices)
    (mixed,) = tf.gradients(tf.reduce_sum(tf.gather(x, ids)) + tf.reduce_sum(x), x)
    (along,) = tf.gradients(tf.gather(x, ids, axis=1), x)
    assert not any(isinstance(g, tf.IndexedSlices) for g in (mixed, along))
    found, dense = session.run([rows, tf.convert_to_tensor(rows)], {x: TABLE, ids: [1, 3, 1]})
    np.testing.assert_array_equal(found.indices, [1, 3, 1])
    np.testing.assert_allclose(found.values, 2 * TABLE[[1, 3, 1]])
    np.testing.assert_array_equal(found.dense_shape, [6, 2])
    np.testing.assert_allclose(dense, np.array([0, 4, 0, 2, 0, 0])[:, None] * TABLE)


def lookups(read, x, ids):
    taken = lambda: tf.reduce_sum(read(ids), 0)  # noqa: E731
    first = tf.cond(tf.reduce_sum(x) > 9.0, taken, lambda: read(ids[0] + 1) * 2.0)
    _, second = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + read(ids[i])), [0, tf.zeros([2])])
    return tf.reduce_mean((first + second - x) ** 2)


def trained(optimizer, towers, dense=False):
    """The table after two runs of two steps on towers of which some take either branch."""
    with tf.Graph().as_default(), tf.Session() as session:
        strategy = tpu(towers)
        with strategy.scope():
            table = tf.get_variable("table", initializer=tf.constant(TABLE))
            data = (np.arange(16, dtype=np.float32).reshape(-1, 2), np.arange(16).reshape(-1, 2) % 4)
            dataset = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(data).repeat())
            iterator = dataset.make_initializable_iterator()

            def tower(x, ids):
                whole = table * 1.0 if dense else table
                return optimizer().minimize(lookups(lambda rows: tf.gather(whole, rows), x, ids))

            def step(context, x, ids):
                return strategy.group(strategy.call_for_each_tower(tower, x, ids))

            context = strategy.run_steps_on_dataset(step, iterator, iterations=2)
        session.run([tf.global_variables_initializer(), iterator.initializer])
        for _ in range(2):
            session.run(context.run_op)
        return session.run(table)


AS_DENSE = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
}
BY_ROW = {
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
}


@spread(("name", "towers"), itertools.product(AS_DENSE, (2, 1)), every=7)
def test_updates_by_rows_are_those_of_the_dense_gradient(name, towers):
    found, wanted = (trained(AS_DENSE[name], towers, dense) for dense in (False, True))
    assert not np.array_equal(found, TABLE)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@spread(("name", "towers"), itertools.product(BY_ROW, (2, 1)), every=7)
def test_updates_leave_the_rows_that_no_branch_reads(name, towers):
    found = trained(BY_ROW[name], towers)
    assert (found[:4] != TABLE[:4]).all()
    np.testing.assert_array_equal(found[5], TABLE[5])


@pytest.mark.parametrize("branch", [False, True])
def test_a_gradient_of_all_towers_sums_their_rows(session, branch):
    strategy = tpu(2)
    with strategy.scope():
        table = tf.get_variable("table", initializer=tf.constant(TABLE))

        def tower():
            place = tf.contrib.distribute.get_tower_context().tower_id
            lookup = lambda: read(lambda i: tf.gather(table, i), [place, 3])  # noqa: E731
            return tf.cond(tf.reduce_sum(table) > 0.0, lookup, lambda: 0.0) if branch else lookup()

        losses = strategy.call_for_each_tower(tower)
        (gradient,) = tf.gradients(strategy.reduce(tf.VariableAggregation.SUM, losses, "/cpu:0"), table)
    session.run(tf.global_variables_initializer())
    wanted = 2 * TABLE * np.array([1, 1, 0, 2, 0, 0])[:, None]
    np.testing.assert_allclose(session.run(tf.convert_to_tensor(gradient)), wanted)
