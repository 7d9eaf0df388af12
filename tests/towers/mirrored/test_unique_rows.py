"""``tf.unique`` of values that a program computes, in towers: where rows for them are all that is made of it."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from tests.towers.common import tpu
from tests.towers.mirrored.test_own_sizes import mirrored
from towerstrat.errors import UnsupportedError

IDS = np.array([[2, 2, 1, 3, 0], [1, 1, 4, 4, 4], [3, 3, 3, 3, 3], [0, 1, 2, 3, 4]])
TABLE = np.arange(15, dtype=np.float32).reshape(5, 3) / 10


def looked_up(table, ids):
    different, places = tf.unique(ids)
    return tf.gather(tf.gather(table, different) * 2.0, places)


def summed(table, ids):
    different, places = tf.unique(ids)
    return tf.gather(tf.unsorted_segment_sum(tf.gather(table, ids) * 1.5, places, tf.shape(different)[0]), places)


def centered(table, ids):
    """The gradient of a center loss, by how often each class comes."""
    _, places, counts = tf.unique_with_counts(ids)
    return (tf.gather(table, ids) - 1.0) / tf.expand_dims(tf.cast(1 + tf.gather(counts, places), tf.float32), 1)


def computed_table(table, ids):
    different, places = tf.unique(tf.cast(ids, tf.int32))
    return tf.gather(tf.square(tf.gather(tf.tanh(table), different)) - 1.0, places)


def logarithms(table, different, places):
    return tf.gather(tf.log(tf.gather(table, different)), places)


FORMS = {f.__name__: f for f in (looked_up, summed, centered, computed_table)}


def with_gradient(form, table, ids):
    y = form(table, ids)
    return y, tf.convert_to_tensor(tf.gradients(tf.reduce_sum(y * y), table)[0])


def towers(form, strategy, fetch=lambda y: y):
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=TABLE, use_resource=True)
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(IDS))
        iterator = data.make_initializable_iterator()
        results = strategy.call_for_each_tower(lambda ids: fetch(form(table, ids)), iterator.get_next())
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        return sess.run([list(strategy.unwrap(each)) for each in results])


@spread(("name", "strategy", "count"), [(n, s, c) for n in FORMS for s in (mirrored, tpu) for c in (2, 3)], every=3)
def test_towers_get_what_each_gets_alone(name, strategy, count):
    found = towers(lambda table, ids: with_gradient(FORMS[name], table, ids), strategy(count))
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=TABLE, use_resource=True)
        wanted = [with_gradient(FORMS[name], table, tf.constant(ids)) for ids in IDS[:count]]
        sess.run(tf.global_variables_initializer())
        wanted = sess.run(wanted)
    for ours, theirs in zip(zip(*found, strict=True), wanted, strict=True):
        for value, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def train_by_own_sums(strategy, rows):
    """The table after a step of an optimizer that sums repeated rows; it writes them by a function of their indices."""

    class Own(tf.train.GradientDescentOptimizer):
        def _apply_sparse_duplicate_indices(self, grad, var):
            return self._own(grad.values, grad.indices, var)

        def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
            return self._own(grad, indices, handle)

        def _own(self, values, indices, var):
            different, places = tf.unique(indices)
            total = tf.unsorted_segment_sum(values, places, tf.shape(different)[0])
            change = 0.1 * total / (tf.sqrt(tf.gather(var, different) + 2.0) + 1.0)
            return var.scatter_sub(tf.IndexedSlices(change, rows(different)))

    made = strategy(2)
    with tf.Graph().as_default(), made.scope(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=TABLE, use_resource=True)
        data = made.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(IDS))
        iterator = data.make_initializable_iterator()

        def tower(ids):
            return Own(1.0).minimize(tf.reduce_sum(tf.gather(table, ids)))

        train = made.group(made.call_for_each_tower(tower, iterator.get_next()))
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        sess.run(train)
        return sess.run(table)


@pytest.mark.parametrize("strategy", [mirrored, tpu])
@pytest.mark.parametrize("indices", [lambda d: d, lambda d: tf.identity(tf.cast(d, tf.int64))], ids=["own", "cast"])
def test_an_optimizer_of_a_programs_own(strategy, indices):
    """The rows of all towers came together before it sums them."""
    table = train_by_own_sums(strategy, indices)
    counts = np.bincount(IDS[:2].ravel(), minlength=5)[:, None] / 2  # losses are divided by the number of towers
    np.testing.assert_allclose(table, TABLE - 0.1 * counts / (np.sqrt(TABLE + 2.0) + 1.0), rtol=1e-5)


@pytest.mark.parametrize("strategy", [mirrored, tpu])
@pytest.mark.parametrize(
    "form",
    [
        lambda table, ids: tf.size(tf.unique(ids)[0]),
        lambda table, ids: tf.unique(ids)[0],
        lambda table, ids: tf.reduce_sum(tf.gather(table, tf.unique(ids)[0])),
        lambda table, ids: tf.unique(tf.to_float(ids))[1],
        lambda table, ids: tf.gradients(
            tf.gather(tf.log(tf.gather(table, tf.unique(ids)[0])), tf.unique(ids)[1]), table
        ),
        lambda table, ids: tf.cond(table[0, 0] > 1.0, lambda: tf.unique(ids)[0], lambda: ids),
    ],
    ids=["size", "itself", "sum", "floats", "derivatives that are not finite", "in a branch"],
)
def test_their_number_is_not_known(form, strategy):
    with pytest.raises(UnsupportedError, match="has a result whose shape depends on values"):
        towers(form, strategy(2), lambda y: y if isinstance(y, list) else [y])


@pytest.mark.parametrize(
    "indices",
    [lambda d: tf.minimum(d, 4), lambda d: tf.floormod(d, 5), lambda d: tf.where(d < 5, d, 4 * tf.ones_like(d))],
    ids=["minimum", "floormod", "where"],
)
def test_rows_that_are_left_over_are_not_brought_into_range(indices):
    """Computed indices would write what pads the unique values to rows of the table."""
    with pytest.raises(UnsupportedError, match="has a result whose shape depends on values"):
        train_by_own_sums(mirrored, indices)
