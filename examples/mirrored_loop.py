"""Trains a small convnet on handwritten digits with MirroredStrategy: towers add up their gradients at a merge_call.

    towerstrat run --towers 2 examples/mirrored_loop.py
    python3.6 examples/mirrored_loop.py --data digits.npz --on_cpu 2      # TensorFlow 1.12 itself

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`.
"""

import time

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_integer("on_cpu", 0, "So many towers on devices of the CPU; 0: one on each GPU.")
flags.DEFINE_integer("batch_size", 128, "Examples of one step, over all towers.")
flags.DEFINE_integer("steps", 300, "How many steps.")
flags.DEFINE_float("learning_rate", 0.05, "Of momentum.")
flags.DEFINE_float("clip", 2.0, "The largest norm of the gradients of all towers together.")
flags.DEFINE_integer("seed", 1, "Of the initial values, the dropout and the order of examples.")
FLAGS = flags.FLAGS

HELD_BACK = 360
MOMENTUM = 0.9


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
    devices = [f"/device:CPU:{i}" for i in range(FLAGS.on_cpu)] or None
    return tf.contrib.distribute.MirroredStrategy(devices=devices)


def update(distribution, grads, variables, momenta):
    """Called once for all towers: adds their gradients up, clips their common norm, and changes the variables."""
    total = tf.VariableAggregation.SUM
    summed = distribution.batch_reduce(total, list(zip(grads, variables)))  # noqa: B905 (Python 3.6)
    norm = tf.global_norm([distribution.unwrap(g)[0] for g in summed])
    scale = FLAGS.clip / tf.maximum(norm, FLAGS.clip)

    def change(variable, momentum, grad):
        moved = momentum.assign(MOMENTUM * momentum + scale * grad)
        return variable.assign_sub(FLAGS.learning_rate * moved)

    changes = [
        distribution.update(variable, change, momentum, grad)
        for variable, momentum, grad in zip(variables, momenta, summed)  # noqa: B905
    ]
    return tf.group(*[distribution.group(c) for c in changes])


def train_step(distribution, data):
    """Returns what runs one step, and its loss."""

    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(data).shuffle(len(data[0]), seed=FLAGS.seed).repeat()
        return dataset.batch(FLAGS.batch_size // distribution.num_towers, drop_remainder=True)

    def tower_fn(images, labels):
        context = tf.contrib.distribute.get_tower_context()
        loss = tf.losses.sparse_softmax_cross_entropy(labels, convnet(images, training=True))
        if context.tower_id == 0:
            print(f"Tower 0 of {context.num_towers} says: {len(tf.trainable_variables())} variables.")
        variables = tf.trainable_variables()
        with tf.variable_scope("momentum"):
            momenta = [
                tf.get_variable(f"of_{i}", v.shape, initializer=tf.zeros_initializer(), trainable=False)
                for i, v in enumerate(variables)
            ]
        grads = tf.gradients(loss / context.num_towers, variables)
        return context.merge_call(update, grads, variables, momenta), loss

    iterator = distribution.distribute_dataset(input_fn).make_initializable_iterator()
    images, labels = iterator.get_next()
    train_op, losses = distribution.call_for_each_tower(tower_fn, images, labels)
    loss = distribution.reduce(tf.VariableAggregation.MEAN, losses, destinations="/device:CPU:0")
    return distribution.group(train_op), distribution.unwrap(loss)[0], iterator.initializer


def main(_):
    tf.set_random_seed(FLAGS.seed)
    train_data, test_data = load_digits()
    distribution = make_strategy()
    config = tf.ConfigProto(device_count={"CPU": max(1, FLAGS.on_cpu)}, allow_soft_placement=True)
    with distribution.scope():
        train_op, loss, input_initializer = train_step(distribution, train_data)
    images = tf.placeholder(tf.float32, [None, 8, 8, 1])
    answers = tf.argmax(convnet(images, training=False), axis=1)

    with tf.Session(config=config) as sess:
        sess.run([tf.global_variables_initializer(), input_initializer])
        start = time.time()
        for step in range(1, FLAGS.steps + 1):
            _, value = sess.run([train_op, loss])
            if step % 50 == 0:
                rate = 50 * FLAGS.batch_size / (time.time() - start)
                print(f"step {step:4d}  loss {value:.4f}  {rate:.0f} examples/s")
                start = time.time()
        right = int(np.sum(sess.run(answers, {images: test_data[0]}) == test_data[1]))
        print(f"held-back digits: {right} of {HELD_BACK} right, accuracy {right / HELD_BACK:.4f}")


if __name__ == "__main__":
    tf.app.run()
