"""Trains the convnet of digits.py with a training loop as programs of TensorFlow 2 write it.

    towerstrat run examples/digits_v2.py
    python examples/digits_v2.py --data digits.npz      # TensorFlow 2 itself

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`.
"""

import argparse
import time

import numpy as np
import tensorflow as tf

HELD_BACK = 360


def load_digits(path):
    """Returns ((images, labels) to train on, (images, labels) that are held back)."""
    if path:
        digits = np.load(path)
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


class Layer(tf.Module):
    """Weights and an offset."""

    def __init__(self, shape, name):
        super().__init__(name=name)
        self.weights = tf.Variable(tf.initializers.GlorotUniform()(shape), name="weights")
        self.offset = tf.Variable(tf.zeros(shape[-1:]), name="offset")


class Convnet(tf.Module):
    """Logits of the ten classes."""

    def __init__(self):
        super().__init__(name="convnet")
        self.conv1 = Layer([3, 3, 1, 32], "conv1")
        self.conv2 = Layer([3, 3, 32, 64], "conv2")
        self.hidden = Layer([4 * 4 * 64, 128], "hidden")
        self.logits = Layer([128, 10], "logits")

    def __call__(self, images, training):
        net = tf.nn.relu(tf.nn.conv2d(images, self.conv1.weights, 1, "SAME") + self.conv1.offset)
        net = tf.nn.relu(tf.nn.conv2d(net, self.conv2.weights, 1, "SAME") + self.conv2.offset)
        net = tf.nn.max_pool2d(net, 2, 2, "VALID")
        net = tf.reshape(net, [-1, 4 * 4 * 64])
        net = tf.nn.relu(net @ self.hidden.weights + self.hidden.offset)
        if training:
            net = tf.nn.dropout(net, rate=0.4)
        return net @ self.logits.weights + self.logits.offset


class Adam(tf.Module):
    """Adam, with a learning rate that falls."""

    def __init__(self, variables, learning_rate):
        super().__init__(name="adam")
        self.learning_rate = learning_rate
        self.step = tf.Variable(0, trainable=False, name="step")
        self.means = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self.squares = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]

    def apply(self, gradients, variables):
        self.step.assign_add(1)
        t = tf.cast(self.step, tf.float32)
        rate = self.learning_rate * 0.8 ** ((t - 1) / 50) * tf.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        for i, variable in enumerate(variables):
            mean, square = self.means[i], self.squares[i]
            mean.assign(0.9 * mean + 0.1 * gradients[i])
            square.assign(0.999 * square + 0.001 * gradients[i] ** 2)
            variable.assign_sub(rate * mean / (tf.sqrt(square) + 1e-8))


def right_answers(logits, labels):
    return tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file with the digits; default scikit-learn's")
    parser.add_argument("--batch_size", type=int, default=128, help="examples of one step")
    parser.add_argument("--steps", type=int, default=400, help="training steps")
    parser.add_argument("--learning_rate", type=float, default=2e-3, help="at the first step; it falls from there")
    parser.add_argument("--seed", type=int, default=1, help="of the initial values, the dropout and the order")
    flags = parser.parse_args()

    tf.random.set_seed(flags.seed)
    train_data, (test_images, test_labels) = load_digits(flags.data)
    model = Convnet()
    variables = model.trainable_variables
    optimizer = Adam(variables, flags.learning_rate)

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss, tf.reduce_mean(tf.cast(right_answers(logits, labels), tf.float32))

    @tf.function
    def count_right(images, labels):
        return tf.reduce_sum(tf.cast(right_answers(model(images, training=False), labels), tf.int32))

    dataset = tf.data.Dataset.from_tensor_slices(train_data)
    dataset = dataset.shuffle(len(train_data[0]), seed=flags.seed).repeat()
    dataset = dataset.batch(flags.batch_size, drop_remainder=True).take(flags.steps)

    print(f"Training on {len(train_data[0])} digits with TensorFlow {tf.__version__}.")
    start = time.time()
    for step, (images, labels) in enumerate(dataset, 1):
        loss, accuracy = train_step(images, labels)
        if step % 20 == 0:
            shown = f"step {step:4d}  loss {loss:.4f}  accuracy {accuracy:.3f}"
            print(f"{shown}  {20 * flags.batch_size / (time.time() - start):.0f} examples/s")
            start = time.time()
    right = int(count_right(test_images, test_labels))
    total = len(test_labels)
    print(f"held-back digits: {right} of {total} right, accuracy {right / total:.4f}")


if __name__ == "__main__":
    main()
