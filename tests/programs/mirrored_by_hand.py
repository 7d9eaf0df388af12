"""MirroredStrategy without an Estimator: distribute_dataset, call_for_each_tower, reduce, and a Saver."""

from __future__ import print_function

import numpy as np
import tensorflow as tf

NUM_TOWERS = 2
STEPS = 15

random = np.random.RandomState(5)
TRUE_W = np.array([[1.5], [-2.0], [0.5]], np.float32)
X = random.normal(size=(240, 3)).astype(np.float32)
Y = X.dot(TRUE_W) + 0.3 + random.normal(scale=0.05, size=(240, 1)).astype(np.float32)
KERNEL = random.normal(size=(3, 6)).astype(np.float32)


class Model(object):
    """Two layers, with statistics of the inputs that each tower keeps on its own."""

    def __init__(self):
        self.hidden = tf.layers.Dense(6, activation=tf.nn.tanh, kernel_initializer=tf.constant_initializer(KERNEL))
        self.out = tf.layers.Dense(1, kernel_initializer=tf.constant_initializer(0.25))

    def __call__(self, x):
        seen = tf.get_variable(
            "seen",
            [],
            initializer=tf.zeros_initializer(),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        count = seen.assign_add(tf.to_float(tf.shape(x)[0]))
        with tf.control_dependencies([count]):
            return self.out(self.hidden(x))


def input_fn():
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(len(X))


def main(_):
    distribution = tf.contrib.distribute.MirroredStrategy(["/cpu:%d" % i for i in range(NUM_TOWERS)])
    with distribution.scope():
        iterator = distribution.distribute_dataset(input_fn).make_one_shot_iterator()
        model = Model()
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.05)

        def tower_fn(inputs):
            # Every tower gets the whole data, and takes each NUM_TOWERS-th row of it.
            tower_id = tf.contrib.distribute.get_tower_context().tower_id
            x, y = [part[tower_id::NUM_TOWERS] for part in inputs]
            predictions = model(x)
            loss = tf.losses.mean_squared_error(y, predictions)
            # A loss of a tower is a part of the whole: gradients are added up by the optimizer.
            train_op = optimizer.minimize(loss / NUM_TOWERS, global_step=step)
            with tf.control_dependencies([train_op]):
                return tf.identity(loss), tf.reduce_max(tf.abs(y - predictions))

        losses, errors = distribution.call_for_each_tower(tower_fn, iterator.get_next())
        mean_loss = distribution.unwrap(
            distribution.reduce(tf.VariableAggregation.MEAN, losses, destinations="/cpu:0")
        )[0]
        worst = tf.reduce_max(tf.stack(distribution.unwrap(errors)))

        print("towers:", distribution.num_towers, "variables:", [v.name for v in tf.trainable_variables()])
        saver = tf.train.Saver()
        config = tf.ConfigProto(device_count={"CPU": NUM_TOWERS}, allow_soft_placement=True)
        with tf.Session(config=config) as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            for i in range(STEPS):
                loss, error = sess.run([mean_loss, worst])
                if i % 5 == 4:
                    print("step %d loss %.5f worst error %.5f" % (i + 1, loss, error))
            path = saver.save(sess, "./towers.ckpt", global_step=step)
            print("global step", sess.run(step))

    print("checkpoint", path)
    restore_and_evaluate(path)


def restore_and_evaluate(path):
    """The same model on one device, without a strategy."""
    with tf.Graph().as_default():
        model = Model()
        predictions = model(tf.constant(X))
        loss = tf.losses.mean_squared_error(Y, predictions)
        saver = tf.train.Saver(tf.trainable_variables() + [v for v in tf.global_variables() if "seen" in v.name])
        with tf.Session() as sess:
            saver.restore(sess, path)
            (seen,) = [v for v in tf.global_variables() if "seen" in v.name]
            print("rows that were seen: %.1f" % sess.run(seen))
            print("loss on all rows: %.5f" % sess.run(loss))


if __name__ == "__main__":
    tf.app.run()
