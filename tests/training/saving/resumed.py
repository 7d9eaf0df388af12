"""A program that trains, saves after each loop, and goes on where its folder says: towers, dropout, random input.

Whoever kills it and starts it again finds the same end.
"""

import hashlib

import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices

STEPS = 3


def dataset():
    rng = np.random.RandomState(0)
    features = rng.randn(53, 3).astype(np.float32)
    data = (features, features @ np.float32([[1], [2], [3]]))
    noisy = tf.data.Dataset.from_tensor_slices(data).map(lambda x, y: (x + 0.01 * tf.random_normal([3]), y))
    return noisy.shuffle(20).repeat().batch(4, drop_remainder=True).prefetch(2)


def training(devices):
    """(what trains for some steps, the iterator's initializer, the number of loops that are done)."""
    strategy = tf.contrib.distribute.TPUStrategy(Devices(devices), steps_per_run=STEPS)
    with strategy.scope():
        weights = tf.get_variable("w", shape=[3, 1])
        optimizer = tf.train.AdamOptimizer(0.1)

        def step(context, features, labels):
            def tower(features, labels):
                error = tf.matmul(tf.nn.dropout(features, 0.5), weights) - labels
                return optimizer.apply_gradients(optimizer.compute_gradients(tf.reduce_mean(error**2)))

            return strategy.group(strategy.call_for_each_tower(tower, features, labels))

        iterator = strategy.distribute_dataset(dataset).make_initializable_iterator()
        loop = strategy.run_steps_on_dataset(step, iterator, STEPS)
        done = tf.get_variable("done", initializer=0, trainable=False)
        with tf.control_dependencies([loop.run_op]):
            return done.assign_add(1), iterator.initializer, done


def main(devices, folder, loops, same, begun=lambda: None):
    """Trains until so many loops are done; returns a digest of the variables and of a random number.

    Args:
      same: whether all checkpoints have one prefix.
      begun: called before each loop.
    """
    tf.set_random_seed(1)
    train, initializer, done = training(devices)
    saver = tf.train.Saver(max_to_keep=2)
    draw = tf.random_uniform([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        latest = tf.train.latest_checkpoint(folder)
        if latest:
            saver.restore(session, latest)
        session.run(initializer)
        while session.run(done) < loops:
            begun()
            session.run(train)
            session.run(draw)
            saver.save(session, f"{folder}/model", None if same else done, write_meta_graph=False)
        values = [*session.run(tf.global_variables()), session.run(draw)]
    return hashlib.sha256(b"".join(np.asarray(v).tobytes() for v in values)).hexdigest()
