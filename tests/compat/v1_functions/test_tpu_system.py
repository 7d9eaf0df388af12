"""Programs that start the TPU system themselves run."""

import importlib

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import importer
from towerstrat.errors import UnknownSymbolError, UnsupportedError


def test_starting_gives_the_topology_and_stopping_nothing():
    start, stop = tf.contrib.tpu.initialize_system(), tf.contrib.tpu.shutdown_system()
    assert (start.op.name, stop.name) == ("ConfigureDistributedTPU", "ShutdownDistributedTPU")
    with tf.Session() as session:
        serialized, nothing = session.run([start, stop])
    assert nothing is None
    topology = tf.contrib.tpu.Topology(serialized)
    count = len(jax.devices())
    assert topology.mesh_shape.tolist() == ([count, 1, 1] if count % 2 else [count // 2, 1, 2])
    assignment = tf.contrib.tpu.device_assignment(serialized, num_replicas=count)
    assert assignment.num_replicas == count
    assert sorted(assignment.tpu_ordinal(replica) for replica in range(count)) == list(range(count))


def test_embedding_tables_are_refused():
    with pytest.raises(UnsupportedError, match="embedding_lookup"):
        tf.contrib.tpu.initialize_system(embedding_config=object())


def test_bfloat16_scope_keeps_variables_of_float32():
    with tf.contrib.tpu.bfloat16_scope():
        half = tf.get_variable("half", [2], tf.bfloat16, initializer=tf.ones_initializer())
        whole = tf.get_variable("whole", [2], initializer=tf.ones_initializer())
        with tf.variable_scope("inner"):
            dense = tf.layers.dense(tf.ones([1, 2], tf.bfloat16), 1, name="dense")
    assert half.dtype == dense.dtype == tf.bfloat16
    assert isinstance(whole, tf.Variable)
    assert {v.op.name: v.dtype for v in tf.global_variables()} == dict.fromkeys(
        ("half", "whole", "inner/dense/kernel", "inner/dense/bias"), tf.float32
    )
    assert tf.tpu.bfloat16_scope is tf.contrib.tpu.bfloat16_scope
    with tf.tpu.bfloat16_scope("named"):
        tf.get_variable("v", [], tf.bfloat16)
    assert tf.global_variables()[-1].op.name == "named/v"


@pytest.mark.parametrize("scope", [tf.contrib.tpu.bfloat16_scope, tf.tpu.bfloat16_scope])
def test_variables_of_a_bfloat16_scope_are_kept_in_float32(scope):
    with tf.variable_scope("outer"), scope():
        half = tf.get_variable("half", [2], tf.bfloat16, tf.constant_initializer(1.001))
        full = tf.get_variable("full", [2])
    assert (half.dtype, full.dtype) == (tf.bfloat16, tf.float32)
    kept = tf.global_variables()[0]
    assert kept.dtype == tf.float32
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(kept), np.full(2, 1.001, np.float32))
        np.testing.assert_array_equal(sess.run(half).astype(np.float32), [1.0, 1.0])


PATHS = {
    "contrib.tpu": "batch_parallel outside_compilation repeat replicate rewrite shard while_loop",
    "contrib.tpu.python.ops.tpu_ops": "all_to_all collective_permute cross_replica_sum",
    "contrib.tpu.python.tpu.datasets": "StreamingFilesDataset",
    "contrib.tpu.python.tpu.tpu": "core initialize_system outside_compilation rewrite rewrite_for_inference shard",
    "contrib.tpu.python.tpu.tpu_function": "check_function_argument_count get_tpu_context tpu_shard_context",
    "contrib.tpu.python.tpu.tpu_optimizer": "CrossShardOptimizer",
    "contrib.tpu.python.tpu.training_loop": "repeat while_loop",
    "python.tpu.ops.tpu_ops": "collective_permute cross_replica_sum",
    "python.tpu.tpu": "core replicate under_tpu_inference_context validate_inference_rewrite_for_variables",
    "python.tpu.training_loop": "repeat while_loop",
}


@pytest.mark.parametrize("path", PATHS)
def test_paths_of_the_time(path):
    with importer.names_installed():
        module = importlib.import_module(f"tensorflow.{path}")
        for name in PATHS[path].split():
            assert getattr(module, name).__module__.startswith("towerstrat."), name


@pytest.mark.parametrize(
    ("path", "name", "instead"),
    [
        ("contrib.tpu", "InfeedQueue", "tf.contrib.tpu.shard as inputs"),
        ("contrib.tpu", "outfeed_dequeue_tuple", "tf.contrib.tpu.shard joins those of all shards"),
        ("contrib.tpu.python.tpu.tpu_feed", "InfeedQueue", "tf.contrib.tpu.shard as inputs"),
        ("python.tpu.ops.tpu_ops", "infeed_dequeue", "tf.contrib.tpu.shard as inputs"),
    ],
)
def test_what_is_refused_by_name(path, name, instead):
    with importer.names_installed():
        found = getattr(importlib.import_module(f"tensorflow.{path}"), name)
        with pytest.raises(UnknownSymbolError, match=instead):
            found()


def test_bfloat16_scope_inside_of_a_computation():
    """Variables stay float32, whatever getters there are around and inside; gradients reach them."""

    def outer(getter, name, *args, **kwargs):
        return 2 * getter(name, *args, **kwargs)

    def computation(x):
        with tf.contrib.tpu.bfloat16_scope():
            w = tf.get_variable("w", [2], tf.bfloat16, tf.constant_initializer(1.001))
        loss = tf.reduce_sum(tf.cast(w, tf.float32) * x)
        return w, loss, tf.gradients(loss, tf.trainable_variables())[0]

    with tf.variable_scope("", custom_getter=outer):
        w, loss, gradient = tf.contrib.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
    (kept,) = tf.global_variables()
    assert (w.dtype, loss.dtype, kept.dtype) == (tf.bfloat16, tf.float32, tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(loss) == 6.0
        np.testing.assert_array_equal(session.run(gradient), [2.0, 4.0])
