"""Trains with contrib's TPUStrategy: steps_per_run steps on the device before the host hears of it."""

from __future__ import absolute_import, division, print_function

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("tpu", "", "Name of the TPU.")
flags.DEFINE_integer("steps_per_run", 5, "Steps of one run of the device.")
flags.DEFINE_integer("runs", 4, "Runs.")
flags.DEFINE_integer("batch_size", 32, "Global batch size.")
FLAGS = flags.FLAGS


def make_waves(count, seed):
    """Sequences of three kinds of waves."""
    random = np.random.RandomState(seed)
    labels = random.randint(3, size=count)
    time = np.arange(16)
    images = np.sin(time[None, :] * (labels[:, None] + 1) * 0.5 + random.uniform(0, 1, size=(count, 1)))
    images += random.normal(scale=0.1, size=images.shape)
    return images.astype(np.float32)[..., None], labels.astype(np.int32)


class Model(object):
    def __init__(self, seed):
        random = np.random.RandomState(seed)
        self.conv_kernel = random.normal(scale=0.3, size=(5, 1, 8)).astype(np.float32)
        self.dense_kernel = random.normal(scale=0.2, size=(96, 3)).astype(np.float32)

    def __call__(self, x):
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            x = tf.layers.conv1d(
                x, 8, 5, activation=tf.nn.relu, kernel_initializer=tf.constant_initializer(self.conv_kernel)
            )
            x = tf.reshape(x, [-1, 96])
            return tf.layers.dense(x, 3, kernel_initializer=tf.constant_initializer(self.dense_kernel))


def main(_):
    train, test = make_waves(640, seed=0), make_waves(128, seed=1)
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu=FLAGS.tpu)
    distribution = tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=FLAGS.steps_per_run)
    model = Model(seed=2)

    def input_fn():
        batch_size = FLAGS.batch_size // distribution.num_towers
        return tf.data.Dataset.from_tensor_slices(train).repeat().batch(batch_size, drop_remainder=True)

    def tower_fn(images, labels):
        logits = model(images)
        loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
        global_step = tf.train.get_or_create_global_step()
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)
        train_op = optimizer.minimize(loss, global_step=global_step)
        correct = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels), tf.float32))
        return train_op, loss, correct

    def step_fn(ctx, images, labels):
        train_op, loss, correct = distribution.call_for_each_tower(tower_fn, images, labels)
        ctx.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
        ctx.set_last_step_output("correct", correct, tf.VariableAggregation.SUM)
        return distribution.group(train_op)

    with distribution.scope():
        iterator = distribution.distribute_dataset(input_fn).make_initializable_iterator()
        initial = {"loss": tf.constant(1e7), "correct": tf.constant(0.0)}
        ctx = distribution.run_steps_on_dataset(
            step_fn, iterator, iterations=FLAGS.steps_per_run, initial_loop_values=initial
        )
        saver = tf.train.Saver(tf.trainable_variables())
        with tf.Session(resolver.get_master()) as sess:
            sess.run(distribution.initialize())
            sess.run([tf.global_variables_initializer(), iterator.initializer])
            for run in range(FLAGS.runs):
                _, outputs = sess.run([ctx.run_op, ctx.last_step_outputs])
                step = (run + 1) * FLAGS.steps_per_run
                print("step %d loss %.5f correct %d" % (step, outputs["loss"], outputs["correct"]))
            saver.save(sess, "./tpu.ckpt")
            sess.run(distribution.finalize())

    # Evaluation on the host, from the checkpoint.
    with tf.Graph().as_default(), tf.Session() as sess:
        logits = model(tf.constant(test[0]))
        tf.train.Saver().restore(sess, "./tpu.ckpt")
        accuracy = tf.reduce_mean(tf.to_float(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), test[1])))
        print("accuracy %.5f largest logit %.5f" % tuple(sess.run([accuracy, tf.reduce_max(logits)])))


if __name__ == "__main__":
    tf.app.run()
