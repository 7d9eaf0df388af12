"""Programs that start the TPU system themselves run."""

import jax
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.errors import UnsupportedError


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
