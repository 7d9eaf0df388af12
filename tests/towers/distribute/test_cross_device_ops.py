"""Cross-device operations of ``tf.distribute``: which there are, and a program's own."""

import numpy as np
import pytest

import towerstrat.compat.v1 as v1
import towerstrat.compat.v2 as tf
from towerstrat.compat import importer

REPLICAS = 2
pytestmark = pytest.mark.usefixtures("sizes_of_2x")


def strategy(ops):
    return tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(REPLICAS)], cross_device_ops=ops)


def trained(ops):
    distribution = strategy(ops)
    with distribution.scope():
        weights = [tf.Variable(np.full((3,), i + 1.0, np.float32)) for i in range(2)]
    x = distribution.experimental_distribute_values_from_function(
        lambda context: tf.constant([1.0, 2.0, 3.0]) * (context.replica_id_in_sync_group + 1)
    )

    @tf.function
    def step(x):
        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((weights[0] * x + weights[1]) ** 2)
            gradients = tape.gradient(loss, weights)
            summed = tf.distribute.get_replica_context().all_reduce("MEAN", gradients)
            for weight, gradient in zip(weights, summed, strict=True):
                weight.assign_sub(0.01 * gradient)
            return loss

        return distribution.reduce("SUM", distribution.run(replica, (x,)), axis=None)

    losses = [step(x).numpy() for _ in range(2)]
    return losses, [weight.numpy() for weight in weights]


class Own(tf.distribute.CrossDeviceOps):
    """A program's own, with the arguments of 2.x."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
        assert options.bytes_per_pack == 0
        self.calls.append(("reduce", reduce_op.name, len(per_replica_value.values)))
        total = tf.add_n(per_replica_value.values)
        mean = reduce_op == tf.distribute.ReduceOp.MEAN
        return self.broadcast(total / len(per_replica_value.values) if mean else total, destinations)

    def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
        self.calls.append(("batch", reduce_op.name, len(value_destination_pairs)))
        return [self.reduce_implementation(reduce_op, v, d, options) for v, d in value_destination_pairs]


def test_all_ways_train_alike():
    wanted = trained(None)
    assert wanted[0][1] < wanted[0][0]
    own = Own()
    for ops in (
        own,
        tf.distribute.ReductionToOneDevice(),
        tf.distribute.NcclAllReduce(num_packs=2),
        tf.distribute.HierarchicalCopyAllReduce(),
        v1.contrib.distribute.AllReduceCrossTowerOps(),
    ):
        losses, weights = trained(ops)
        np.testing.assert_allclose(losses, wanted[0], rtol=1e-6)
        np.testing.assert_allclose(weights, wanted[1], rtol=1e-6)
    of_weights = [("batch", "MEAN", 2), ("reduce", "MEAN", REPLICAS), ("reduce", "MEAN", REPLICAS)]
    assert own.calls[:4] == [*of_weights, ("reduce", "SUM", REPLICAS)]


def test_implementations_without_options_are_those_of_1_13():
    class Earlier(v1.distribute.CrossDeviceOps):
        def reduce_implementation(self, reduce_op, per_replica_value, destinations):
            return self.broadcast(tf.add_n(per_replica_value.values), destinations)

        def batch_reduce_implementation(self, reduce_op, value_destination_pairs):
            return [self.reduce_implementation(reduce_op, v, d) for v, d in value_destination_pairs]

    distribution = strategy(Earlier())
    value = distribution.experimental_distribute_values_from_function(
        lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
    )
    assert distribution.reduce("SUM", value, axis=None).numpy() == 3.0
    assert [v.numpy() for v in distribution.extended.batch_reduce_to("SUM", [(value, value)] * 2)[0].values] == [
        3.0,
        3.0,
    ]


def test_what_is_not_there_is_said():
    with pytest.raises(TypeError, match="Expected cross_device_ops to be"):
        strategy("nccl")
    base = tf.distribute.CrossDeviceOps()
    with pytest.raises(NotImplementedError, match="reduce_implementation method"):
        base.reduce(tf.distribute.ReduceOp.SUM, tf.constant(1.0), "/cpu:0")
    with pytest.raises(NotImplementedError, match="batch_reduce_implementation method"):
        base.batch_reduce(tf.distribute.ReduceOp.SUM, [(tf.constant(1.0), "/cpu:0")])
    with pytest.raises(ValueError, match="can not be empty"):
        base.broadcast(tf.constant(1.0), "")


def test_helpers_that_programs_import():
    with importer.names_installed():
        from tensorflow.python.distribute import cross_device_ops, cross_device_utils

        best = cross_device_ops.choose_the_best(["/gpu:0", "/gpu:1"])
        assert isinstance(best, tf.distribute.NcclAllReduce)
        assert isinstance(cross_device_ops.choose_the_best(["/cpu:0"]), tf.distribute.ReductionToOneDevice)
        assert not cross_device_utils.contains_indexed_slices([tf.constant(1.0)])
