"""Trains a small convnet on handwritten digits with a tower strategy, as programs did in 2018.

    towerstrat run --towers 8 examples/digits.py
    python3.6 examples/digits.py --strategy one_device --data digits.npz      # TensorFlow 1.12 itself

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`.
"""

import time

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_enum("strategy", "tpu", ["tpu", "one_device"], "How training is distributed.")
flags.DEFINE_string("tpu", "", "Address of the TPU; empty for the local machine.")
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_integer("batch_size", 128, "Examples of one step, over all towers.")
flags.DEFINE_integer("steps_per_run", 20, "Steps on the device before it returns to the host.")
flags.DEFINE_integer("runs", 20, "How often the device runs.")
flags.DEFINE_float("learning_rate", 2e-3, "At the first step; it falls from there.")
flags.DEFINE_integer("seed", 1, "Of the initial values, the dropout and the order of examples.")
FLAGS = flags.FLAGS

HELD_BACK = 360


def load_digits():
    """Returns ((images, labels) to train on, (images, labels) that are held back)."""
    if FLAGS.data:
        digits = np.load(FLAGS.data)
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn import datasets

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    images = images.astype(np.float32).reshape([-1, 8, 8, 1]) / 16
    labels = labels.astype(np.int32)
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[:HELD_BACK], order[HELD_BACK:]
    return (images[train], labels[train]), (images[test], labels[test])


def convnet(images, training):
    """Logits of the ten classes."""
    with tf.variable_scope("convnet", reuse=tf.AUTO_REUSE):
        net = tf.layers.conv2d(images, 32, 3, padding="same", activation=tf.nn.relu, name="conv1")
        net = tf.layers.conv2d(net, 64, 3, padding="same", activation=tf.nn.relu, name="conv2")
        net = tf.layers.max_pooling2d(net, 2, 2, name="pool")
        net = tf.layers.flatten(net)
        net = tf.layers.dense(net, 128, activation=tf.nn.relu, name="hidden")
        net = tf.layers.dropout(net, 0.4, training=training)
        return tf.layers.dense(net, 10, name="logits")


def make_strategy():
    if FLAGS.strategy == "one_device":
        return tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu=FLAGS.tpu)
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=FLAGS.steps_per_run)


def train_steps(strategy, data):
    """Returns what runs `steps_per_run` steps of training, and what prepares its input."""

    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(data)
        dataset = dataset.shuffle(len(data[0]), seed=FLAGS.seed).repeat()
        return dataset.batch(FLAGS.batch_size // strategy.num_towers, drop_remainder=True)

    def tower_fn(images, labels):
        logits = convnet(images, training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(FLAGS.learning_rate, step, decay_steps=50, decay_rate=0.8)
        train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
        right = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels)
        return train_op, loss, tf.reduce_mean(tf.cast(right, tf.float32))

    def step_fn(ctx, images, labels):
        train_op, loss, accuracy = strategy.call_for_each_tower(tower_fn, images, labels, run_concurrently=False)
        ctx.set_last_step_output("accuracy", accuracy, tf.VariableAggregation.MEAN)
        ctx.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
        return strategy.group(train_op)

    iterator = strategy.distribute_dataset(input_fn).make_initializable_iterator()
    initial = {"accuracy": tf.constant(0.0), "loss": tf.constant(1e7)}
    ctx = strategy.run_steps_on_dataset(step_fn, iterator, iterations=FLAGS.steps_per_run, initial_loop_values=initial)
    return ctx, iterator.initializer


def evaluation(strategy, data):
    """Returns what counts the right answers on `data`, what prepares its input, and how many there are."""
    batch_size = len(data[0]) // strategy.num_towers

    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(data).repeat()
        return dataset.batch(batch_size, drop_remainder=True)

    def tower_fn(images, labels):
        answers = tf.argmax(convnet(images, training=False), axis=1, output_type=tf.int32)
        return tf.reduce_sum(tf.cast(tf.equal(answers, labels), tf.int32))

    def step_fn(ctx, images, labels):
        right = strategy.call_for_each_tower(tower_fn, images, labels)
        ctx.set_last_step_output("right", right, tf.VariableAggregation.SUM)
        return strategy.group(right)

    iterator = strategy.distribute_dataset(input_fn).make_initializable_iterator()
    ctx = strategy.run_steps_on_dataset(step_fn, iterator, iterations=1, initial_loop_values={"right": tf.constant(0)})
    return ctx, iterator.initializer, batch_size * strategy.num_towers


def main(_):
    tf.set_random_seed(FLAGS.seed)
    train_data, test_data = load_digits()
    strategy = make_strategy()
    with strategy.scope():
        training, train_input = train_steps(strategy, train_data)
        testing, test_input, num_tests = evaluation(strategy, test_data)

        with tf.Session() as sess:
            sess.run(strategy.initialize())
            sess.run([tf.global_variables_initializer(), train_input, test_input])
            print(f"Training on {len(train_data[0])} digits with {strategy.num_towers} towers.")
            for run in range(1, FLAGS.runs + 1):
                start = time.time()
                _, outputs = sess.run([training.run_op, training.last_step_outputs])
                rate = FLAGS.steps_per_run * FLAGS.batch_size / (time.time() - start)
                step = run * FLAGS.steps_per_run
                loss, accuracy = outputs["loss"], outputs["accuracy"]
                print(f"run {run:2d}  step {step:4d}  loss {loss:.4f}  accuracy {accuracy:.3f}  {rate:.0f} examples/s")
            _, outputs = sess.run([testing.run_op, testing.last_step_outputs])
            right = outputs["right"]
            print(f"held-back digits: {right} of {num_tests} right, accuracy {right / num_tests:.4f}")
            sess.run(strategy.finalize())


if __name__ == "__main__":
    tf.app.run()
