"""Trains the convnet of digits.py on several replicas, with a training loop as programs of TensorFlow 2 write it.

    towerstrat run --towers 8 examples/digits_distributed.py

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
    parser.add_argument("--batch_size", type=int, default=128, help="examples of one step on all replicas together")
    parser.add_argument("--steps_per_call", type=int, default=20, help="steps of one call of the training function")
    parser.add_argument("--calls", type=int, default=20, help="calls of the training function")
    parser.add_argument("--learning_rate", type=float, default=2e-3, help="at the first step; it falls from there")
    parser.add_argument("--seed", type=int, default=1, help="of the initial values, the dropout and the order")
    flags = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    tf.random.set_seed(flags.seed)
    train_data, test_data = load_digits(flags.data)
    train = tf.data.Dataset.from_tensor_slices(train_data)
    train = train.shuffle(len(train_data[0]), seed=flags.seed).repeat().batch(flags.batch_size, drop_remainder=True)
    train = strategy.experimental_distribute_dataset(train)
    test = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(test_data).batch(100))

    with strategy.scope():
        model = Convnet()
        variables = model.trainable_variables
        optimizer = Adam(variables, flags.learning_rate)

    def train_step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=flags.batch_size)
        replica = tf.distribute.get_replica_context()
        gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, tape.gradient(loss, variables))
        optimizer.apply(gradients, variables)
        return loss, tf.cast(right_answers(logits, labels), tf.float32)

    def test_step(images, labels):
        return tf.cast(right_answers(model(images, training=False), labels), tf.int32)

    @tf.function
    def train_steps(iterator, steps):
        loss, accuracy = 0.0, 0.0
        for _ in tf.range(steps):
            losses, right = strategy.run(train_step, args=next(iterator))
            loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
            accuracy = strategy.reduce(tf.distribute.ReduceOp.MEAN, right, axis=0)
        return loss, accuracy

    @tf.function
    def count_right(dataset):
        total = tf.constant(0)
        for images, labels in dataset:
            right = strategy.run(test_step, args=(images, labels))
            total += strategy.reduce(tf.distribute.ReduceOp.SUM, right, axis=0)
        return total

    print(f"Training on {len(train_data[0])} digits with {strategy.num_replicas_in_sync} replicas.")
    iterator = iter(train)
    for call in range(1, flags.calls + 1):
        start = time.time()
        loss, accuracy = train_steps(iterator, tf.constant(flags.steps_per_call))
        shown = f"step {call * flags.steps_per_call:4d}  loss {loss:.4f}  accuracy {accuracy:.3f}"
        print(f"{shown}  {flags.steps_per_call * flags.batch_size / (time.time() - start):.0f} examples/s")
    right = int(count_right(test))
    total = len(test_data[0])
    print(f"held-back digits: {right} of {total} right, accuracy {right / total:.4f}")


if __name__ == "__main__":
    main()
