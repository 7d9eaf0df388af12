"""Evaluates a checkpoint on handwritten digits that were held back, and trains on from it where it is told to.

    towerstrat run examples/digits_checkpoint.py
    towerstrat run examples/digits_checkpoint.py --steps 100 --save /tmp/digits/model

The folder examples/digits_checkpoint was written by TensorFlow 1.12.3 itself, with this program:

    python3.6 examples/digits_checkpoint.py --checkpoint "" --steps 600 --save examples/digits_checkpoint/model \\
        --data digits.npz

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`.
"""

import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string(
    "checkpoint",
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits_checkpoint"),
    "The folder whose latest checkpoint is restored; empty to begin with new variables.",
)
flags.DEFINE_integer("steps", 0, "Steps to train before the evaluation.")
flags.DEFINE_string("save", None, "Where to save afterwards.")
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_integer("batch_size", 64, "Examples of one step.")
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


def convnet(images):
    """Logits of the ten classes."""
    net = tf.layers.conv2d(images, 8, 3, padding="same", activation=tf.nn.relu, name="conv")
    net = tf.layers.max_pooling2d(net, 2, 2, name="pool")
    net = tf.layers.flatten(net)
    net = tf.layers.dense(net, 32, activation=tf.nn.relu, name="hidden")
    return tf.layers.dense(net, 10, name="logits")


def main(unused_argv):
    (images, labels), (held_images, held_labels) = load_digits()
    tf.set_random_seed(1)
    image_batch = tf.placeholder(tf.float32, [None, 8, 8, 1])
    label_batch = tf.placeholder(tf.int32, [None])
    logits = convnet(image_batch)
    loss = tf.losses.sparse_softmax_cross_entropy(label_batch, logits)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(2e-3).minimize(loss, step)
    right = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), label_batch), tf.int32))
    saver = tf.train.Saver(tf.trainable_variables() + [step])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        if FLAGS.checkpoint:
            saver.restore(session, tf.train.latest_checkpoint(FLAGS.checkpoint))
        order = np.random.RandomState(1)
        for _ in range(FLAGS.steps):
            chosen = order.randint(len(images), size=FLAGS.batch_size)
            session.run(train, {image_batch: images[chosen], label_batch: labels[chosen]})
        held = {image_batch: held_images, label_batch: held_labels}
        print("after {} steps: loss {:.4f}, {} of {} held-back digits right".format(
            *session.run([step, loss, right], held), HELD_BACK))  # fmt: skip
        if FLAGS.save:
            print("saved", saver.save(session, FLAGS.save, step, write_meta_graph=False))


if __name__ == "__main__":
    tf.app.run()
