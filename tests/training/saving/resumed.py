"""A program that trains, saves after each loop, and goes on where its folder says: towers, dropout, random input.

    python -m tests.training.saving.resumed FOLDER LOOPS [same]

It prints "done" and what it has come to. With "same" all checkpoints have one prefix. Whoever kills it and starts it
again finds the same end.
"""

import hashlib
import sys

import jax
import numpy as np

import towerstrat.compat.v1 as tf

STEPS = 3
TOWERS = 2


def dataset():
    rng = np.random.RandomState(0)
    features = rng.randn(53, 3).astype(np.float32)
    data = (features, features @ np.float32([[1], [2], [3]]))
    noisy = tf.data.Dataset.from_tensor_slices(data).map(lambda x, y: (x + 0.01 * tf.random_normal([3]), y))
    return noisy.shuffle(20).repeat().batch(4, drop_remainder=True).prefetch(2)


def training():
    """(what trains for some steps, the iterator's initializer, the number of loops that are done)."""
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=STEPS)
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


def main(folder, loops, same=False):
    tf.set_random_seed(1)
    train, initializer, done = training()
    saver = tf.train.Saver(max_to_keep=2)
    draw = tf.random_uniform([2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        latest = tf.train.latest_checkpoint(folder)
        if latest:
            saver.restore(session, latest)
        session.run(initializer)
        while (count := session.run(done)) < loops:
            print("loop", count, flush=True)
            session.run(train)
            saver.save(session, f"{folder}/model", None if same else done, write_meta_graph=False)
        values = session.run([tf.global_variables(), draw])
    values = [*values[0], values[1]]
    return hashlib.sha256(b"".join(np.asarray(v).tobytes() for v in values)).hexdigest()


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", TOWERS)
    print("done", main(sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["same"]))
