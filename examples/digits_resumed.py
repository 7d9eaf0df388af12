"""Trains on handwritten digits, saves on the way, and goes on where it stopped.

    towerstrat run --towers 8 examples/digits_resumed.py --folder /tmp/digits --stop_after 3
    towerstrat run --towers 8 examples/digits_resumed.py --folder /tmp/digits
    python3.6 examples/digits_resumed.py --strategy one_device --data digits.npz --folder /tmp/digits  # TensorFlow 1.12

The second command goes on where the first one stopped or was killed. The original goes on with the weights alone: its
input and its dropout begin anew. towerstrat goes on with all of it: the last line, a checksum of the weights, is that
of a run that never stopped.

The digits are scikit-learn's. Where it is missing, --data names an .npz file with the arrays `images` (0 to 16) and
`labels`.
"""

import os
import zlib

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_enum("strategy", "tpu", ["tpu", "one_device"], "How training is distributed.")
flags.DEFINE_string("tpu", "", "Address of the TPU; empty for the local machine.")
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_string("folder", None, "Where checkpoints are.")
flags.DEFINE_integer("batch_size", 64, "Examples of one step, over all towers.")
flags.DEFINE_integer("steps_per_run", 5, "Steps on the device before it returns to the host.")
flags.DEFINE_integer("runs", 8, "How often the device runs, over all starts of the program.")
flags.DEFINE_integer("stop_after", 0, "Stops after so many runs of this start; 0: goes on to the end.")
flags.mark_flag_as_required("folder")
FLAGS = flags.FLAGS


def load_digits():
    if FLAGS.data:
        digits = np.load(FLAGS.data)
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn import datasets

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    return images.astype(np.float32).reshape([-1, 64]) / 16, labels.astype(np.int32)


def make_strategy():
    if FLAGS.strategy == "one_device":
        return tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu=FLAGS.tpu)
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=FLAGS.steps_per_run)


def train_steps(strategy):
    """Returns what runs `steps_per_run` steps of training, and what prepares its input."""
    data = load_digits()

    def noisy(image, label):
        return image + tf.random_normal([64], stddev=0.1), label

    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(data).map(noisy).shuffle(500).repeat()
        return dataset.batch(FLAGS.batch_size // strategy.num_towers, drop_remainder=True).prefetch(2)

    def tower_fn(images, labels):
        hidden = tf.layers.dense(images, 64, activation=tf.nn.relu, name="hidden")
        logits = tf.layers.dense(tf.layers.dropout(hidden, 0.4, training=True), 10, name="logits")
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        return tf.train.AdamOptimizer(2e-3).minimize(loss, tf.train.get_or_create_global_step()), loss

    def step_fn(ctx, images, labels):
        train_op, loss = strategy.call_for_each_tower(tower_fn, images, labels, run_concurrently=False)
        ctx.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
        return strategy.group(train_op)

    iterator = strategy.distribute_dataset(input_fn).make_initializable_iterator()
    initial = {"loss": tf.constant(1e7)}
    ctx = strategy.run_steps_on_dataset(step_fn, iterator, iterations=FLAGS.steps_per_run, initial_loop_values=initial)
    return ctx, iterator.initializer


def main(_):
    tf.set_random_seed(1)
    strategy = make_strategy()
    with strategy.scope():
        training, train_input = train_steps(strategy)
        saver = tf.train.Saver()

        with tf.Session() as sess:
            sess.run(strategy.initialize())
            latest = tf.train.latest_checkpoint(FLAGS.folder)
            if latest:
                saver.restore(sess, latest)
            else:
                sess.run(tf.global_variables_initializer())
            sess.run(train_input)
            first = sess.run(tf.train.get_global_step()) // FLAGS.steps_per_run
            last = min(FLAGS.runs, first + FLAGS.stop_after) if FLAGS.stop_after else FLAGS.runs
            for run in range(first, last):
                _, outputs = sess.run([training.run_op, training.last_step_outputs])
                print(f"run {run + 1}  loss {outputs['loss']:.4f}")
                saver.save(sess, os.path.join(FLAGS.folder, "model"), tf.train.get_global_step())
            weights = b"".join(value.tobytes() for value in sess.run(tf.trainable_variables()))
            print(f"weights {zlib.crc32(weights):08x} after {last} runs")
            sess.run(strategy.finalize())


if __name__ == "__main__":
    tf.app.run()
