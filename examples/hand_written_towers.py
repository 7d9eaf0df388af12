"""Trains a small convnet on handwritten digits with towers that the program writes itself, in a loop over devices.

    towerstrat run --towers 2 examples/hand_written_towers.py
    python3.6 examples/hand_written_towers.py --data digits.npz      # TensorFlow 1.12 itself

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`.
"""

import time

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_integer("num_gpus", 2, "How many towers.")
flags.DEFINE_integer("batch_size", 128, "Examples of one step, over all towers.")
flags.DEFINE_integer("steps", 300, "How many steps.")
flags.DEFINE_float("learning_rate", 2e-3, "Adam's.")
flags.DEFINE_integer("seed", 1, "Of the initial values and the order of examples.")
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


def variable_on_cpu(name, shape, initializer):
    """Variables are kept once, where all towers can read them."""
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def layer(name, shape):
    """The weights and the offset of a layer."""
    weights = variable_on_cpu(name + "/weights", shape, tf.glorot_uniform_initializer())
    return weights, variable_on_cpu(name + "/offset", shape[-1:], tf.zeros_initializer())


def convnet(images):
    """Logits of the ten classes."""
    net = images
    for name, shape in (("conv1", [3, 3, 1, 32]), ("conv2", [3, 3, 32, 64])):
        kernel, offset = layer(name, shape)
        net = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(net, kernel, [1, 1, 1, 1], "SAME"), offset))
    net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    weights, offset = layer("hidden", [4 * 4 * 64, 128])
    net = tf.nn.relu(tf.matmul(tf.reshape(net, [-1, 4 * 4 * 64]), weights) + offset)
    weights, offset = layer("logits", [128, 10])
    return tf.matmul(net, weights) + offset


def tower_loss(scope, images, labels):
    """The loss of one tower, from what this tower has put into the collection of losses."""
    tf.losses.sparse_softmax_cross_entropy(labels, convnet(images), scope="cross_entropy")
    return tf.add_n(tf.get_collection(tf.GraphKeys.LOSSES, scope), name="total_loss")


def average_gradients(tower_grads):
    """For each variable the mean of the gradients of all towers.

    Args:
      tower_grads: for each tower a list of (gradient, variable).
    """
    averaged = []
    for grad_and_vars in zip(*tower_grads):  # noqa: B905 (Python 3.6)
        grads = [tf.expand_dims(grad, 0) for grad, _ in grad_and_vars]
        averaged.append((tf.reduce_mean(tf.concat(grads, 0), 0), grad_and_vars[0][1]))
    return averaged


def training(data):
    """Returns what runs one step, and its loss."""
    dataset = tf.data.Dataset.from_tensor_slices(data).shuffle(len(data[0]), seed=FLAGS.seed).repeat()
    images, labels = dataset.batch(FLAGS.batch_size, drop_remainder=True).make_one_shot_iterator().get_next()
    images, labels = tf.split(images, FLAGS.num_gpus), tf.split(labels, FLAGS.num_gpus)
    optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
    tower_grads, losses = [], []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(FLAGS.num_gpus):
            with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}") as scope:
                loss = tower_loss(scope, images[i], labels[i])
                tf.get_variable_scope().reuse_variables()
                tower_grads.append(optimizer.compute_gradients(loss))
                losses.append(loss)
    train_op = optimizer.apply_gradients(average_gradients(tower_grads), tf.train.get_or_create_global_step())
    return train_op, tf.add_n(losses) / FLAGS.num_gpus


def main(_):
    tf.set_random_seed(FLAGS.seed)
    train_data, test_data = load_digits()
    train_op, loss = training(train_data)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        images = tf.placeholder(tf.float32, [None, 8, 8, 1])
        answers = tf.argmax(convnet(images), axis=1)

    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
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
