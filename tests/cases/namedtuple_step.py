# A named tuple is a tuple: its components are arguments of the step function of their own.
import collections
import sys

import tensorflow as tf

Pair = collections.namedtuple("Pair", "x y")
if "towerstrat" in sys.modules:
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = tf.contrib.distribute.TPUStrategy(resolver)
else:
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")


def dataset_fn():
    return tf.data.Dataset.from_tensors(0.0).map(lambda z: Pair(z + 1, z + 2)).repeat()


def step(context, x, y):
    added = strategy.call_for_each_tower(lambda x, y: x + y, x, y)
    context.set_last_step_output("sum", strategy.reduce(tf.VariableAggregation.MEAN, added, "/cpu:0"))
    return strategy.group(added)


with strategy.scope():
    iterator = strategy.distribute_dataset(dataset_fn).make_initializable_iterator()
    context = strategy.run_steps_on_dataset(step, iterator, 2, {"sum": tf.constant(0.0)})
with tf.Session() as sess:
    sess.run(iterator.initializer)
    print(sess.run([context.run_op, context.last_step_outputs["sum"]])[1])
