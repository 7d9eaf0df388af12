"""What tests of towers share."""

import numpy as np

import towerstrat.compat.v1 as tf


def tpu(towers, steps_per_run=1):
    """A TPUStrategy of some towers on the virtual devices."""
    return tf.contrib.distribute.TPUStrategy(
        tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""), steps_per_run, num_cores=towers
    )


def run(fetches, feed_dict=None, session=None):
    """Fetches in a session of its own, variables initialized."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return sess.run(fetches, feed_dict)


def batches(*arrays, batch, repeat=True):
    """A dataset of batches of rows."""
    data = tf.data.Dataset.from_tensor_slices(tuple(np.asarray(a) for a in arrays))
    data = data.repeat() if repeat else data
    return data.batch(batch, drop_remainder=True)
