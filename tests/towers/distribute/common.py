"""What tests of the later surface share."""

import towerstrat.compat.v2 as tf


def strategy(replicas, kind=tf.distribute.TPUStrategy):
    """A TPUStrategy of some replicas, one on each of the first virtual devices."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    return kind(resolver, tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=replicas))


def replica_id():
    """The number of the replica that asks."""
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def parts(strategy, value):
    """What each replica has, as Python numbers or lists."""
    return [part.numpy().tolist() for part in strategy.experimental_local_results(value)]


def steps(strategy, data, most=8):
    """What each replica gets of each element."""
    found = []
    for element in data:
        found.append(parts(strategy, element))
        if len(found) == most:
            break
    return found
