"""Rows of all towers summed as rows, or as a table of them: the numbers are the same, and sizes choose."""

import re

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import tpu
from tests.towers.mirrored.test_own_sizes import mirrored
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.variables import table_sums

IDS = np.array([[2, 2, 1, 6, 0], [1, 1, 4, 4, 6], [6, 6, 6, 6, 6], [0, 1, 2, 3, 4], [4, 4, 1, 1, 2], [6, 0, 6, 0, 1]])
ROWS = 9
"""Of the table. Rows 5, 7 and 8 are looked up by nobody, 3 in a later step only."""
SEPARATE, WHOLE = 0.0, np.inf


@pytest.fixture
def choose(monkeypatch):
    def chosen(up_to):
        monkeypatch.setattr(table_sums, "ADDED_UP_TO", up_to)
        monkeypatch.setattr(table_sums, "JOINED_UP_TO", up_to)

    return chosen


def start(dtype):
    return np.linspace(-1, 1, 2 * ROWS).reshape(ROWS, 2).astype(dtype.as_numpy_dtype)


def loss_of(table, ids):
    """Of two lookups, the second of which gives some rows gradients of zero."""
    first = tf.gather(table, ids)
    return tf.reduce_sum(tf.square(first)) + tf.reduce_sum(tf.nn.relu(tf.gather(table, ids[:2]) - 0.3))


def strategic(strategy, optimizer, dtype, index):
    with strategy.scope():
        table = tf.get_variable("table", initializer=start(dtype), use_resource=True)
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(IDS.astype(index)))
        iterator = data.make_initializable_iterator()
        train = strategy.call_for_each_tower(lambda ids: optimizer.minimize(loss_of(table, ids)), iterator.get_next())
        return table, strategy.group(train), iterator.initializer


def by_hand(towers, optimizer, dtype, index):
    table = tf.get_variable("table", initializer=start(dtype), use_resource=True)
    iterator = tf.data.Dataset.from_tensor_slices(IDS.astype(index)).batch(towers).make_initializable_iterator()
    ids, rows = iterator.get_next(), []
    for i in range(towers):
        with tf.device(f"/gpu:{i}"):
            ((gradient, _),) = optimizer.compute_gradients(loss_of(table, ids[i]), [table])
            rows.append(gradient)
    values = 0.5 * tf.concat([r.values for r in rows], 0) / (0.5 * towers)
    together = tf.IndexedSlices(values, tf.concat([r.indices for r in rows], 0))
    return table, optimizer.apply_gradients([(together, table)]), iterator.initializer


WAYS = {
    "Mirrored": lambda towers, *given: strategic(mirrored(towers), *given),
    "TPU": lambda towers, *given: strategic(tpu(towers), *given),
    "by hand": by_hand,
}
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0, 0.9, 1e-4),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05, 0.9, 0.5, 1e-3, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.05, l1_regularization_strength=1e-3),
    "lazy adam": lambda: tf.contrib.opt.LazyAdamOptimizer(0.05),
    "adamax": lambda: tf.contrib.opt.AdaMaxOptimizer(0.05),
    "proximal": lambda: tf.train.ProximalGradientDescentOptimizer(0.05, 1e-3),
    "proximal adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.05, l1_regularization_strength=1e-3),
    "adam": lambda: tf.train.AdamOptimizer(0.05),
    "nadam": lambda: tf.contrib.opt.NadamOptimizer(0.05),
    "momentum of v2": lambda: tf.contrib.optimizer_v2.MomentumOptimizer(0.1, 0.9),
}
KINDS = [(tf.float32, "int32"), (tf.float32, "int64"), (tf.bfloat16, "int32"), (tf.float64, "int32")]


def trained(way, towers, optimizer, kind):
    """The table and its slots after a step with the first rows of ids, and after one with the next."""
    with tf.Graph().as_default(), tf.Session() as sess:
        made = OPTIMIZERS[optimizer]()
        table, train, initializer = WAYS[way](towers, made, *kind)
        sess.run([tf.global_variables_initializer(), initializer])
        shown = [v for v in tf.global_variables() if v.shape == table.shape]
        found = []
        for _ in range(2):
            sess.run(train)
            found.append([v.astype(np.float64) for v in sess.run(shown)])
        return found


@spread(
    ("optimizer", "way", "towers", "kind"),
    [(o, w, n, k) for k in range(len(KINDS)) for w in WAYS for o in OPTIMIZERS for n in (2, 3)], every=17,
)  # fmt: skip
def test_both_forms_give_the_same_numbers(optimizer, way, towers, kind, choose, monkeypatch):
    if way == "by hand" and optimizer == "momentum of v2":
        pytest.skip("it wants a strategy's towers")
    monkeypatch.setattr(LIMITS, "towers_on_cpu", True)
    given = (way, towers, optimizer, KINDS[kind])
    choose(SEPARATE)
    wanted = trained(*given)
    choose(WHOLE)
    # Some ten numbers of about one are added up, in bfloat16 with 8 bits.
    tolerance = 10 * 2.0**-8 if KINDS[kind][0] is tf.bfloat16 else 1e-5
    for ours, theirs in zip(trained(*given), wanted, strict=True):
        for value, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("optimizer", "rows", "gathers"),
    [("sgd", 7, False), ("sgd", 8, True), ("adagrad", 20, False), ("adagrad", 21, True), ("adam", 20, False)],
)
def test_sizes_choose(optimizer, rows, gathers, monkeypatch):
    """2 towers look up 5 rows each: 7 are up to 0.75 of these, 20 up to 2."""
    programs = []
    compile_ = jax.stages.Lowered.compile
    monkeypatch.setattr(
        jax.stages.Lowered, "compile", lambda self, *a, **k: programs.append(compile_(self, *a, **k)) or programs[-1]
    )
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table = tf.get_variable("table", [rows, 2], use_resource=True)
        made = OPTIMIZERS[optimizer]()
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(IDS))
        iterator = data.make_initializable_iterator()
        train = strategy.call_for_each_tower(
            lambda ids: made.minimize(tf.reduce_sum(tf.square(tf.gather(table, ids)))), iterator.get_next()
        )
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(strategy.group(train))
        text = programs[-1].as_text()
    assert ("all-gather(" in text) == gathers
    assert len(re.findall(r" all-reduce\(", text)) <= 1


@pytest.mark.parametrize("up_to", [SEPARATE, WHOLE])
def test_rows_with_gradients_of_zero_move_and_others_do_not(up_to, choose):
    """What is looked up has its momentum, whatever its gradient is; nothing else has."""
    choose(up_to)
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=np.ones([4, 1], np.float32), use_resource=True)
        optimizer = tf.train.MomentumOptimizer(1.0, 0.5)
        data = strategy.distribute_dataset(
            lambda: tf.data.Dataset.from_tensor_slices(([[0, 1], [1, 2], [0, 3], [3, 3]], [2.0, 2.0, 0.0, 0.0]))
        )
        iterator = data.make_initializable_iterator()
        train = strategy.call_for_each_tower(
            lambda ids, by: optimizer.minimize(tf.reduce_sum(tf.gather(table, ids)) * by), *iterator.get_next()
        )
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(strategy.group(train))
        np.testing.assert_array_equal(sess.run(table).ravel(), [0, -1, 0, 1])
        sess.run(strategy.group(train))
        np.testing.assert_array_equal(sess.run(table).ravel(), [-0.5, -1, 0, 1])


def reduced(strategy, table, ids):
    """The gradient rows of a lookup in all towers, together: in a value of the table, which is no variable."""

    def tower(ids):
        value = table.read_value()
        return tf.gradients(tf.reduce_sum(tf.square(tf.gather(value, ids))), [value])[0]

    per_tower = strategy.call_for_each_tower(tower, ids)
    return strategy.unwrap(strategy.reduce(tf.VariableAggregation.SUM, per_tower, "/cpu:0"))[0]


def updated(strategy, optimizer, table, rows):
    """The update of a table, once for all towers, by rows that are reduced."""
    optimizer._create_slots([table])
    optimizer._prepare()
    hook = optimizer._resource_apply_sparse_duplicate_indices
    return strategy.group(strategy.update(table, lambda v: hook(rows.values, v, rows.indices)))


def table_and_rows(strategy):
    """A table, an iterator over ids, and the rows of its gradient, reduced over the towers."""
    table = tf.get_variable("table", initializer=start(tf.float32), use_resource=True)
    data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(IDS))
    iterator = data.make_initializable_iterator()
    return table, iterator, reduced(strategy, table, iterator.get_next())


def test_whoever_looks_at_the_rows_sees_those_of_all_towers(choose):
    choose(WHOLE)
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table, iterator, rows = table_and_rows(strategy)
        train = updated(strategy, tf.train.AdagradOptimizer(0.1), table, rows)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        before = sess.run(table)
        found, count, _ = sess.run([rows, tf.shape(rows.values)[0], train])
        np.testing.assert_array_equal(found.indices, IDS[:2].ravel())
        np.testing.assert_allclose(found.values, 2 * before[IDS[:2].ravel()])
        assert count == 10
        # Fed rows are those that are fed.
        before = sess.run(table)
        sess.run(train, {rows.values: np.ones((1, 2)), rows.indices: [8]})
        assert (sess.run(table) != before).any(1).tolist() == [False] * 8 + [True]


def test_rows_of_a_programs_own_are_still_checked(choose):
    choose(WHOLE)
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=start(tf.float32), use_resource=True)
        optimizer = tf.train.AdagradOptimizer(0.1)
        ids = tf.placeholder(tf.int32, [2])

        def tower():
            return optimizer.apply_gradients([(tf.IndexedSlices(tf.ones([2, 2]), ids), table)])

        train = strategy.group(strategy.call_for_each_tower(tower))
        sess.run(tf.global_variables_initializer())
        before = sess.run(table)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"9 is not in \[0, 9\)"):
            sess.run(train, {ids: [1, 9]})
        np.testing.assert_array_equal(sess.run(table), before)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
def test_nothing_changes_where_a_check_fails(optimizer, choose):
    choose(WHOLE)
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=start(tf.float32), use_resource=True)
        made = OPTIMIZERS[optimizer]()
        ids = tf.placeholder(tf.int32, [3])
        train = strategy.group(strategy.call_for_each_tower(lambda: made.minimize(loss_of(table, ids))))
        sess.run(tf.global_variables_initializer())
        sess.run(train, {ids: [1, 1, 2]})
        before = sess.run(tf.global_variables())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"9 is not in \[0, 9\)"):
            sess.run(train, {ids: [1, 9, 2]})
        for value, expected in zip(sess.run(tf.global_variables()), before, strict=True):
            np.testing.assert_array_equal(value, expected)


def test_computed_indices_are_still_checked(choose):
    """Three times the indices of lookups are none that a lookup has checked."""
    choose(WHOLE)
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=np.zeros([9, 2], np.float32), use_resource=True)
        data = strategy.distribute_dataset(
            lambda: tf.data.Dataset.from_tensor_slices([[2, 1, 0], [0, 0, 2], [3, 0, 1], [2, 1, 1]])
        )
        iterator = data.make_initializable_iterator()
        rows = reduced(strategy, table, iterator.get_next())
        tripled = tf.IndexedSlices(tf.ones_like(rows.values), rows.indices * 3, rows.dense_shape)
        train = updated(strategy, tf.train.AdagradOptimizer(0.1), table, tripled)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(train)
        assert np.flatnonzero(sess.run(table)[:, 0]).tolist() == [0, 3, 6]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"9 is not in \[0, 9\)"):
            sess.run(train)


def trained_where_finite():
    """The table after two steps, each of which a condition allows."""
    strategy = mirrored(2)
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table, iterator, rows = table_and_rows(strategy)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        finite = tf.reduce_all(tf.is_finite(rows.values))
        train = tf.cond(finite, lambda: updated(strategy, optimizer, table, rows), tf.no_op)
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        for _ in range(2):
            sess.run(train)
        return sess.run(table)


def test_an_update_that_a_condition_chooses(choose):
    choose(SEPARATE)
    wanted = trained_where_finite()
    assert (wanted != start(tf.float32)).any()
    choose(WHOLE)
    np.testing.assert_allclose(trained_where_finite(), wanted, rtol=1e-6)
