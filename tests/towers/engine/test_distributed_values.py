"""Per-device and mirrored values: reduce, batch_reduce, broadcast, unwrap, update, containers."""

import collections

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run, tpu
from towerstrat.graph.ir.device_names import canonical
from towerstrat.towers.engine import distributed_values

lib = tf.contrib.distribute
SUM, MEAN, FIRST = (
    tf.VariableAggregation.SUM,
    tf.VariableAggregation.MEAN,
    tf.VariableAggregation.ONLY_FIRST_TOWER,
)


@pytest.mark.parametrize("towers", [2, 3, 8])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.int16])
def test_reduce_gives_what_arithmetic_says(towers, dtype):
    strategy = tpu(towers)
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: tf.cast(10 + lib.get_tower_context().tower_id, dtype) * [1, 2])
        results = [strategy.reduce(a, value, value) for a in (SUM, MEAN, FIRST)]
        batch = strategy.batch_reduce(SUM, [(value, value), (value, "/cpu:0")])
    each = (10 + np.arange(towers))[:, None] * [1, 2]
    total, mean, first, *batched = run([*results, *batch])
    assert np.array_equal(total, each.sum(0))
    # The original divides: integers of 32 and 64 bits become float64, smaller ones float32.
    of_integers = np.float32 if dtype.size < 4 else np.float64
    assert mean.dtype == (of_integers if dtype.is_integer else dtype.as_numpy_dtype)
    assert np.allclose(mean, each.mean(0), rtol=1e-6)
    assert np.array_equal(first, [10, 20])
    assert all(np.array_equal(b, each.sum(0)) for b in batched)


@pytest.mark.parametrize(("how", "values", "indices"), [
    (SUM, [1.0, 2.0, 3.0], [4, 3, 2]), (MEAN, [1 / 3, 2 / 3, 1.0], [4, 3, 2]), (FIRST, [1.0], [4]),
], ids=["sum", "mean", "first"])  # fmt: skip
def test_reduce_of_rows_that_differ_by_tower(how, values, indices):
    """Tower i has i + 1 in row 4 - i: all rows one after the other, or those of the first tower in its places."""
    strategy = tpu(3)
    with strategy.scope():

        def rows():
            tower = lib.get_tower_context().tower_id
            return tf.IndexedSlices(tf.reshape(tf.to_float(tower) + 1.0, [1]), tf.reshape(4 - tower, [1]))

        found = strategy.reduce(how, strategy.call_for_each_tower(rows), "/cpu:0").get()
    got = run([found.values, found.indices])
    np.testing.assert_allclose(got[0], values, rtol=1e-6)
    np.testing.assert_array_equal(got[1], indices)


def test_a_constant_made_in_the_towers_is_per_device():
    strategy = tpu(4)
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: tf.constant(3.0))
        assert isinstance(value, distributed_values.PerDevice)
        assert run(strategy.reduce(SUM, value, "/cpu:0")) == 12.0


def test_names_of_devices_are_read_once_for_all_values(monkeypatch):
    """Not once for each value: a program may have hundreds of them, on thousands of devices."""
    read = []
    monkeypatch.setattr(distributed_values, "canonical", lambda name: read.append(name) or canonical(name))
    distributed_values._positions.cache_clear()
    strategy = tpu(8)
    with strategy.scope():
        found = strategy.call_for_each_tower(lambda: [tf.constant(i) for i in range(20)])
        assert [len(value.devices) for value in found] == [8] * 20
    assert len(read) == 8


def test_what_was_made_outside_or_by_merge_fn_stays_as_it_is():
    strategy = tpu(2)
    with strategy.scope():
        outside = tf.constant(1.0)
        kept, merged, text = strategy.call_for_each_tower(
            lambda: (outside, lib.get_tower_context().merge_call(lambda d: tf.constant(2.0)), "s")
        )
    assert kept is outside
    assert isinstance(merged, tf.Tensor)
    assert text == "s"


Pair = collections.namedtuple("Pair", "a b")


def test_structures_keep_their_types():
    strategy = tpu(2)
    with strategy.scope():
        result = strategy.call_for_each_tower(
            lambda: {"x": [tf.constant(1)], "y": Pair(tf.constant(2), (tf.constant(3),)), "n": None}
        )
    assert list(result) == ["x", "y", "n"]
    assert isinstance(result["x"], list)
    assert isinstance(result["y"], Pair)
    assert isinstance(result["y"].b, tuple)
    assert result["n"] is None
    assert all(isinstance(v, distributed_values.PerDevice) for v in (result["x"][0], result["y"].a, result["y"].b[0]))


def test_reduced_values_are_mirrored_on_exactly_the_destinations():
    strategy = tpu(3)
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: tf.constant(1.0))
        everywhere = strategy.reduce(SUM, value, value)
        there = strategy.reduce(SUM, value, "/device:CPU:0")
        two = strategy.reduce(SUM, value, strategy.worker_devices[:2])
        var = tf.get_variable("v", initializer=0.0)
        at_var = strategy.reduce(SUM, value, var)
        assert everywhere.devices == strategy.worker_devices == at_var.devices
        assert there.devices == ["/job:localhost/replica:0/task:0/device:CPU:0"]
        assert two.devices == strategy.worker_devices[:2]
        for bad in ([], ()):
            with pytest.raises(ValueError, match="destinations can not be empty"):
                strategy.reduce(SUM, value, bad)
        with pytest.raises(ValueError, match="destinations must be one of"):
            strategy.reduce(SUM, value, 3.5)
        with pytest.raises(ValueError, match="reducing it again"):
            strategy.reduce(SUM, everywhere, everywhere)
        with pytest.raises(ValueError, match="aggregation"):
            strategy.reduce(tf.VariableAggregation.NONE, value, value)


def test_reduce_of_plain_values():
    strategy = tpu(2)
    with strategy.scope():
        assert strategy.reduce(SUM, 0, "/cpu:0") == 0
        assert strategy.reduce(MEAN, 5.0, "/cpu:0") == 5.0
        with pytest.raises(ValueError, match="A non-DistributedValues value 5.0 cannot be reduced"):
            strategy.reduce(SUM, 5.0, "/cpu:0")


def test_mirrored_values_are_used_as_tensors():
    strategy = tpu(2)
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: tf.constant([1.0, 2.0]))
        total = strategy.reduce(SUM, value, value)
        assert (total.dtype, total.shape.as_list()) == (tf.float32, [2])
        got = run([total, total + 1.0, 2.0 * total, tf.reduce_sum(total), total[0], -total])
    assert [np.asarray(g).tolist() for g in got] == [[2, 4], [3, 5], [4, 8], 6, 2, [-2, -4]]


def test_indexed_slices_are_reduced_row_by_row():
    strategy = tpu(2)
    with strategy.scope():
        table = tf.get_variable("t", initializer=np.arange(6.0).reshape(3, 2))

        def fn():
            ids = tf.stack([lib.get_tower_context().tower_id, 2])
            return tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(table, ids)), table)[0]

        slices = strategy.call_for_each_tower(fn)
        total = strategy.reduce(SUM, slices, table)
        mean = strategy.reduce(MEAN, slices, table)
        dense = [tf.convert_to_tensor(total), tf.convert_to_tensor(mean)]
    total_rows, mean_rows = run(dense)
    assert total_rows.tolist() == [[1, 1], [1, 1], [2, 2]]
    assert mean_rows.tolist() == [[0.5, 0.5], [0.5, 0.5], [1, 1]]


def test_broadcast_mirrors_a_tensor():
    strategy = tpu(2)
    with strategy.scope():
        result = strategy.broadcast(tf.constant(4.0))
        assert result.devices == strategy.worker_devices
        assert strategy.broadcast(tf.constant(1.0), "/cpu:0").devices[0].endswith("CPU:0")
        back = strategy.call_for_each_tower(lambda x: x + lib.get_tower_context().tower_id, result)
        assert run(strategy.unwrap(back)) == [4.0, 5.0]


def test_get_and_unwrap_by_device():
    strategy = tpu(2)
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: lib.get_tower_context().tower_id + 1)
        first, second = strategy.worker_devices
        assert run([value.get(second), value.get(first)]) == [2, 1]
        assert value.on_device(first)
        with pytest.raises(ValueError, match="Device .*TPU:9 not found in"):
            value.get("/device:TPU:9")
        with pytest.raises(ValueError, match="has a value on every device"):
            value.get()
        with pytest.raises(TypeError, match="is no single tensor"):
            tf.convert_to_tensor(value)
        assert strategy.unwrap(5) == [5]
        assert run(value) == [1, 2]


def test_user_made_per_device_values_reach_their_towers():
    strategy = tpu(2)
    with strategy.scope():
        devices = strategy.worker_devices
        value = distributed_values.PerDevice({d: tf.constant(float(i)) for i, d in enumerate(devices)})
        result = strategy.call_for_each_tower(lambda x: 10 * x, value)
        assert run(strategy.unwrap(result)) == [0.0, 10.0]


def test_regroup():
    one, two = tf.constant(1), tf.constant(2)
    shared = object()
    result = distributed_values.regroup({"/cpu:0": [one, shared], "/cpu:1": [two, shared]})
    assert isinstance(result[0], distributed_values.PerDevice)
    assert result[0].get("/cpu:1") is two
    assert result[1] is shared
    with pytest.raises(ValueError, match="different structures"):
        distributed_values.regroup({"/cpu:0": [one], "/cpu:1": [one, two]})


def test_update_refuses_per_device_values():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        value = strategy.call_for_each_tower(lambda: tf.constant(1.0))
        with pytest.raises(TypeError, match="Expected value to be mirrored across towers"):
            strategy.update(v, lambda a, b: a.assign(b), value)
        with pytest.raises(TypeError, match="Expected value to be mirrored across towers"):
            strategy.update_non_slot(strategy.non_slot_devices([v]), lambda b: b, value)


def test_update_and_update_non_slot():
    strategy = tpu(2)
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        value = strategy.call_for_each_tower(lambda: lib.get_tower_context().tower_id + 1.0)
        mean = strategy.reduce(MEAN, value, v)
        merged = strategy.update(v, lambda a, b: a.assign_add(b), mean)
        listed = strategy.update(v, lambda a, b: a.assign_add(b), mean, grouped=False)
        assert isinstance(listed, list)
        assert len(listed) == 2
        devices = strategy.non_slot_devices([v])
        assert strategy.update_non_slot(devices, lambda x: x + 1, 4) == 5
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(merged) == 2.5
            sess.run(listed)
            assert sess.run(v) == 4.0
            assert sess.run(strategy.unwrap(v)) == [4.0, 4.0]


def test_map():
    strategy = tpu(2)
    with strategy.scope():
        out = strategy.map([1.0, 2.0, 4.0], lambda m, k: tf.constant(m) * k, 3.0)
        assert run([strategy.reduce(SUM, out, "/cpu:0"), strategy.reduce(MEAN, out, "/cpu:0")]) == [21.0, 7.0]


def test_a_mirrored_value_of_rows_can_be_fetched():
    strategy = tpu(2)
    with strategy.scope():
        table = tf.get_variable("table", initializer=np.ones((3, 2)))
        rows = strategy.call_for_each_tower(lambda: tf.gradients(tf.reduce_sum(tf.gather(table, [1])), [table])[0])
        total = strategy.reduce(SUM, rows, table)
    fetched = run(total)
    assert fetched.indices.tolist() == [1, 1]
    assert fetched.values.tolist() == [[1, 1], [1, 1]]


def test_outside_of_a_strategy_the_part_on_the_current_device_is_meant():
    one, two = tf.constant(1), tf.constant(2)
    value = distributed_values.DistributedValues({"/cpu:0": one, "/gpu:0": two})
    assert value.get() is one
    with tf.device("/gpu:0"):
        assert value.get() is two
    with tf.device(lambda op: "/gpu:0"):
        assert value.get() is two
    with tf.device("/cpu:3"), pytest.raises(ValueError, match="CPU:3 not found"):
        value.get()


class Checked(collections.namedtuple("Checked", "loss extra")):
    """A namedtuple that accepts tensors only, as EstimatorSpec does."""

    def __new__(cls, loss, extra=None):
        if not isinstance(loss, tf.Tensor):
            raise TypeError(f"loss must be a tensor, got {loss!r}")
        return super().__new__(cls, loss, extra)


@pytest.mark.parametrize("towers", [1, 2])
def test_structures_leave_the_towers_as_they_are(towers):
    """A namedtuple's own __new__ is not called again, and keys of dictionaries need not sort."""
    strategy = tpu(towers)
    with strategy.scope():
        result = strategy.call_for_each_tower(
            lambda: Checked(tf.constant(2.0), {"a": tf.constant(1.0), 3: [tf.constant(4.0), "text"]})
        )
        assert isinstance(result, Checked)
        assert list(result.extra) == ["a", 3]
        assert result.extra[3][1] == "text"
        assert run(strategy.unwrap(result.loss)) == [2.0] * towers
        assert run(strategy.unwrap(result.extra[3][0])) == [4.0] * towers
        v = tf.get_variable("v", initializer=1.0)
        updated = strategy.update(v, lambda v: Checked(v.assign_add(1.0)))
        assert isinstance(updated, Checked)
        assert run(updated.loss) == 2.0


@pytest.mark.parametrize("towers", [1, 2, 3])
@pytest.mark.parametrize("how", [SUM, MEAN, FIRST])
def test_a_towers_part_of_an_input_is_merged_like_what_it_makes(towers, how):
    strategy = tpu(towers)
    data = np.arange(1.0, 1.0 + 2 * towers).reshape(towers, 2)
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=np.zeros(2))
        dataset = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensor_slices(data).repeat())
        x = dataset.make_one_shot_iterator().get_next()

        def tower(x):
            def merge(distribution, x):
                combined = distribution.reduce(how, x, destinations=v)
                return distribution.update(v, lambda v, c: v.assign(c), combined)

            return lib.get_tower_context().merge_call(merge, x)

        stored = strategy.call_for_each_tower(tower, x)
        sess.run(tf.global_variables_initializer())
        sess.run(strategy.unwrap(stored))
        wanted = {SUM: data.sum(0), MEAN: data.mean(0), FIRST: data[0]}[how]
        assert np.allclose(sess.run(v), wanted)
