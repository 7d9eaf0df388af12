"""The paths of the inside of 1.8 to 1.15 that programs with strategies import from."""

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import importer

PATHS = {
    "contrib.data.python.ops.batching": "map_and_batch",
    "contrib.data.python.ops.interleave_ops": "parallel_interleave",
    "contrib.data.python.ops.shuffle_ops": "shuffle_and_repeat",
    "contrib.distribute.python.cross_tower_ops": "AllReduceCrossTowerOps",
    "contrib.distribute.python.one_device_strategy": "OneDeviceStrategy",
    "contrib.distribute.python.tpu_strategy": "TPUStrategy initialize_tpu_system",
    "contrib.tpu.python.tpu.bfloat16": "bfloat16_scope",
    "python.data.experimental.ops.optimization": "AUTOTUNE",
    "python.distribute.cross_device_ops": "AllReduceCrossDeviceOps ReductionToOneDevice",
    "python.distribute.distribute_lib": "DistributionStrategy ReplicaContext UpdateContext get_loss_reduction",
    "python.distribute.distribution_strategy_context": "get_replica_context get_strategy get_tower_context",
    "python.distribute.one_device_strategy": "OneDeviceStrategy OneDeviceStrategyV1",
    "python.distribute.reduce_util": "ReduceOp",
    "python.distribute.step_fn": "StandardSingleLossStep",
    "python.distribute.tpu_strategy": "TPUStrategy TPUStrategyV1",
    "python.distribute.values": "DistributedValues Mirrored PerReplica regroup",
    "python.tpu.tpu_optimizer": "CrossShardOptimizer",
}


@pytest.mark.parametrize("path", PATHS)
def test_paths(path):
    with importer.names_installed():
        for name in PATHS[path].split():
            found = {}
            exec(f"from tensorflow.{path} import {name}", found)
            assert found[name] is not None


def test_devices_by_their_whole_names():
    with importer.names_installed():
        from tensorflow.python.distribute import device_util

    assert device_util.current() == ""
    assert device_util.canonicalize("/gpu:1") == "/replica:0/task:0/device:GPU:1"
    assert (
        device_util.canonicalize("/cpu:0", default="/job:worker/task:2") == "/job:worker/replica:0/task:2/device:CPU:0"
    )
    with tf.device("/job:worker/gpu:3"):
        assert device_util.current() == "/job:worker/device:GPU:3"
        assert device_util.resolve("/task:1") == "/job:worker/replica:0/task:1/device:GPU:3"
    with tf.contrib.eager.GradientTape(), tf.Graph().as_default():
        assert device_util.resolve(None) == "/replica:0/task:0/device:CPU:0"
