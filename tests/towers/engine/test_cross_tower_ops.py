"""Cross-tower operations: what reduces over towers, packs of values, and a program's own."""

import re

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import importer
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.mesh import Axis
from towerstrat.towers.engine.collective_all_reduce import CollectiveAllReduce, MultiWorkerAllReduce, choose_the_best

lib = tf.contrib.distribute
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN
TOWERS = 4


def strategy(ops=None, towers=TOWERS):
    return lib.MirroredStrategy([f"/cpu:{i}" for i in range(towers)], cross_tower_ops=ops)


def trained(distribution, layers=3):
    """Losses and weights of three steps of a small network, whose gradients the strategy reduces."""

    def model():
        k = lib.get_tower_context().tower_id
        h = tf.constant(np.arange(6).reshape(2, 3) * (k + 1.0), tf.float32)
        for i in range(layers):
            h = tf.layers.dense(h, 5, kernel_initializer=tf.constant_initializer(0.1 * (i + 1)), name=f"d{i}")
        loss = tf.reduce_mean(h**2) * 1e-3
        return loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)

    with tf.Graph().as_default(), distribution.scope():
        loss, step = distribution.call_for_each_tower(model)
        loss, step = distribution.reduce(MEAN, loss, "/cpu:0"), distribution.group(step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(3)]
            return losses, session.run(tf.trainable_variables())


def same(found, wanted):
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class Own(lib.CrossTowerOps):
    """A program's own: it counts what it is asked for."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def _reduce(self, aggregation, per_device_value, destinations):
        self.calls.append(("reduce", aggregation, len(per_device_value.devices)))
        parts = [per_device_value.get(device) for device in per_device_value.devices]
        total = tf.add_n(parts)
        return self.broadcast(total / len(parts) if aggregation == MEAN else total, destinations)

    def _batch_reduce(self, aggregation, value_destination_pairs):
        self.calls.append(("batch", aggregation, len(value_destination_pairs)))
        return [self._reduce(aggregation, value, where) for value, where in value_destination_pairs]


WAYS = {
    "packs": lib.AllReduceCrossTowerOps(),
    "three packs": lib.AllReduceCrossTowerOps("hierarchical_copy", num_packs=3),
    "small ones": lib.AllReduceCrossTowerOps(num_packs=0, agg_small_grads_max_bytes=80),
    "one by one": lib.ReductionToOneDeviceCrossTowerOps(),
    "added by the program": lib.ReductionToOneDeviceCrossTowerOps(
        accumulation_fn=lambda parts: sum(parts[1:], parts[0])
    ),
    "several workers' way": MultiWorkerAllReduce(["/job:worker/task:0"], TOWERS, [("nccl", 2, 40), ("pscpu", 1, -1)]),
    "collective": CollectiveAllReduce(1, TOWERS, 2),
    "several workers' way, later": lib.MultiWorkerAllReduce(["/job:worker/task:0"], TOWERS),
    "later": lib.AllReduceCrossDeviceOps("nccl", 2),
}


def test_all_ways_train_alike():
    wanted = trained(strategy())
    assert wanted[0][2] < wanted[0][0]
    for ops in WAYS.values():
        same(trained(strategy(ops)), wanted)


def test_a_program_s_own_is_asked_for_every_reduction():
    own = Own()
    same(trained(strategy(own)), trained(strategy()))
    assert own.calls[0] == ("batch", SUM, 6)
    assert own.calls[1:] == [("reduce", SUM, TOWERS)] * 6 + [("reduce", MEAN, TOWERS)]
    own.calls.clear()
    trained(strategy(own, towers=1))
    assert own.calls == [("batch", SUM, 6)] + [("reduce", SUM, 1)] * 6


def test_assignments_and_local_variables_ask_it_too():
    own = Own()
    distribution = strategy(own)

    def towers():
        k = lib.get_tower_context().tower_id
        v = tf.get_variable("v", initializer=1.0, aggregation=MEAN)
        return v.assign_add(float(k))

    with tf.Graph().as_default(), distribution.scope():
        added = distribution.call_for_each_tower(towers)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(distribution.unwrap(added)) == [2.5] * TOWERS
    assert own.calls == [("reduce", MEAN, TOWERS)]


@pytest.mark.parametrize(
    ("ops", "operands"),
    [
        (None, 20),
        (lib.AllReduceCrossTowerOps(num_packs=0), 20),
        (lib.AllReduceCrossTowerOps(num_packs=1), 1),
        (lib.AllReduceCrossTowerOps(num_packs=4), 4),
        (lib.AllReduceCrossTowerOps(num_packs=0, agg_small_grads_max_bytes=200, agg_small_grads_max_group=4), 5),
    ],
)
def test_packs_are_fewer_operands_of_the_compiled_collective(ops, operands, monkeypatch):
    texts = []
    compile_ = jax.stages.Lowered.compile
    monkeypatch.setattr(
        jax.stages.Lowered, "compile", lambda self, *a, **k: texts.append(compile_(self, *a, **k)) or texts[-1]
    )
    monkeypatch.setattr(Axis, "sends_unfused", False)  # where they are, processes put together what they send
    trained(strategy(ops), layers=10)
    sums = re.findall(r"= (.*?) all-reduce\(", texts[-1].as_text())
    assert sum(len(re.findall(r"f32\[", line)) for line in sums) - 1 == operands  # one is the loss


def test_what_would_be_sent_apart_is_sent_together(monkeypatch):
    """One buffer of each type: gradients, the loss, counts, and whether the check of the labels has failed anywhere."""
    texts = []
    compile_ = jax.stages.Lowered.compile
    monkeypatch.setattr(
        jax.stages.Lowered, "compile", lambda self, *a, **k: texts.append(compile_(self, *a, **k)) or texts[-1]
    )

    def steps(labels):
        distribution = strategy()
        given = tf.placeholder(tf.int32, [TOWERS])

        def model():
            k = lib.get_tower_context().tower_id
            h = tf.layers.dense(tf.ones([1, 3]) * (k + 1.0), 5, kernel_initializer=tf.ones_initializer())
            loss = tf.losses.sparse_softmax_cross_entropy(given[k][tf.newaxis], h)
            count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), trainable=False, aggregation=SUM)
            mean = tf.get_variable("mean", [5], initializer=tf.zeros_initializer(), trainable=False, aggregation=MEAN)
            before = tf.group(count.assign_add(k + 1), mean.assign(tf.reduce_mean(h, 0)))
            return loss, before, tf.train.GradientDescentOptimizer(1.0).minimize(loss)

        with distribution.scope():
            loss, before, step = distribution.call_for_each_tower(model)
            fetches = [distribution.reduce(MEAN, loss, "/cpu:0"), distribution.group(before), distribution.group(step)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = [session.run(fetches, {given: labels})[0]]
            operands = re.findall(r"= (.*?) all-reduce\(", texts[-1].as_text())
            with pytest.raises(tf.errors.InvalidArgumentError, match="label value"):
                session.run(fetches, {given: [0, 1, 2, 5]})
            found.append(session.run(fetches, {given: labels})[0])
            return found, session.run(tf.global_variables()), operands

    monkeypatch.setattr(Axis, "sends_unfused", False)
    with tf.Graph().as_default():
        *wanted, many = steps([0, 1, 2, 3])
    monkeypatch.setattr(Axis, "sends_unfused", True)
    with tf.Graph().as_default():
        *found, few = steps([0, 1, 2, 3])
    same(found, wanted)
    assert "f32[3,5]" in " ".join(many)
    assert sorted(part.partition("{")[0] for part in few) == ["f32[27]", "s32[1]"]  # 15 + 5 + 5, the loss, the check


def test_rows_of_tables_are_concatenated():
    def towers(ops):
        distribution = strategy(ops, 2)

        def model():
            k = lib.get_tower_context().tower_id
            table = tf.get_variable("table", initializer=np.ones((4, 2), np.float32))
            loss = tf.reduce_sum(tf.gather(table, [k, 3]) * (k + 1.0))
            return tf.train.GradientDescentOptimizer(1.0).minimize(loss)

        with tf.Graph().as_default(), distribution.scope():
            step = distribution.group(distribution.call_for_each_tower(model))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(step)
                return session.run(tf.trainable_variables()[0]).tolist()

    wanted = [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [-0.5, -0.5]]  # the optimizer halves the loss
    for ops in (None, WAYS["packs"], WAYS["one by one"]):
        assert towers(ops) == wanted
    with pytest.raises(ValueError, match="IndexedSlices` are not supported"):
        towers(CollectiveAllReduce())


def test_destinations_and_values_are_checked():
    ops = WAYS["packs"]
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        with pytest.raises(ValueError, match="destinations can not be empty"):
            ops.broadcast(one, [])
        with pytest.raises(ValueError, match="destinations must be one of"):
            ops.broadcast(one, 3)
        with pytest.raises(ValueError, match="got the list"):
            ops.reduce(SUM, [one], "/cpu:0")
        with pytest.raises(ValueError, match="has no device"):
            ops.reduce(SUM, 3.0, "/cpu:0")
        with pytest.raises(ValueError, match="tuple of size 2"):
            ops.batch_reduce(SUM, [(one,)])
        with pytest.raises(ValueError, match="list or tuple"):
            ops.batch_reduce(SUM, one)
        with pytest.raises(NotImplementedError, match="_reduce method"):
            lib.CrossTowerOps().reduce(SUM, one, "/cpu:0")
        with pytest.raises(NotImplementedError, match="_batch_reduce method"):
            lib.CrossTowerOps().batch_reduce(SUM, [(one, "/cpu:0")])
        assert ops.broadcast(one, ["/cpu:0", "/cpu:1"]).devices == [
            f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)
        ]
    with pytest.raises(ValueError, match="num_packs from 0, got -1"):
        tf.distribute.NcclAllReduce(num_packs=-1)


def test_several_workers_are_refused():
    with pytest.raises(UnsupportedError, match="MultiWorkerAllReduce of 2 workers"):
        MultiWorkerAllReduce(["/job:worker/task:0", "/job:worker/task:1"], 1)
    with pytest.raises(UnsupportedError, match="CollectiveAllReduce of 2 workers"):
        CollectiveAllReduce(num_workers=2)
    with pytest.raises(ValueError, match="tuple is expected"):
        MultiWorkerAllReduce(["/job:worker/task:0"], 1, [["nccl"]])
    with pytest.raises(ValueError, match="algorithm, shards, limit"):
        MultiWorkerAllReduce(["/job:worker/task:0"], 1, ("nccl", 1, -1, 2))


def test_the_best_is_what_the_original_takes():
    assert isinstance(choose_the_best(["/gpu:0", "/device:GPU:1"]), lib.AllReduceCrossTowerOps)
    assert isinstance(choose_the_best(["/cpu:0"]), lib.ReductionToOneDeviceCrossTowerOps)


def test_helpers_that_programs_import():
    with importer.names_installed(), tf.Graph().as_default():
        from tensorflow.contrib.distribute.python import cross_tower_ops, cross_tower_utils

        assert cross_tower_ops.check_destinations("/cpu:0")
        assert not cross_tower_ops.check_destinations([])
        assert cross_tower_ops.get_devices_from("/gpu:1") == ["/job:localhost/replica:0/task:0/device:GPU:1"]
        slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([2, 1]))
        assert cross_tower_utils.contains_indexed_slices([tf.constant(1.0), slices])
        both = cross_tower_utils.aggregate_tensors_or_indexed_slices([slices, slices])
        half = cross_tower_utils.divide_by_n_tensors_or_indexed_slices(both, 2)
        with tf.Session() as session:
            assert session.run(half.values).tolist() == [[0.5], [0.5]]


def test_small_values_that_follow_each_other_are_packed_and_one_alone_is_not():
    small, large = tf.zeros([2]), tf.zeros([1000])
    ops = lib.AllReduceCrossTowerOps(num_packs=0, agg_small_grads_max_bytes=8, agg_small_grads_max_group=2)
    found = ops._groups([small, large, small, small, small, tf.zeros([1], tf.float64)])
    assert found == [([0], 0), ([1], 0), ([2, 3], 1), ([4], 0), ([5], 0)]
