"""The towers add up a value and each goes on with the sum: ``merge_call``, as the 1.12 reference page shows it.

towerstrat run --towers 8 examples/merge_call.py         prints [55, 56, 57, 58, 59, 60, 61, 62]
"""

import tensorflow as tf

distribution = tf.contrib.distribute.TPUStrategy(
    tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""), steps_per_run=1
)


def merge_fn(distribution, three_plus_tower_id):
    """Called once, in cross-tower context: the sum of the values of all towers."""
    return sum(distribution.unwrap(three_plus_tower_id))


def fn(three):
    """Called for each tower, in tower context."""
    tower_ctx = tf.contrib.distribute.get_tower_context()
    v = three + tower_ctx.tower_id
    s = tower_ctx.merge_call(merge_fn, v)
    return s + v


with distribution.scope():
    merged_results = distribution.call_for_each_tower(fn, tf.constant(3))
    results = distribution.unwrap(merged_results)

with tf.Session() as sess:
    sess.run(distribution.initialize())
    print([int(value) for value in sess.run(results)])
    sess.run(distribution.finalize())
