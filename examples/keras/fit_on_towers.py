"""Trains a small convnet on handwritten digits by `compile(distribute=...)` and `fit`, as programs did in 2018.

    towerstrat run --towers 8 examples/keras/fit_on_towers.py
    python3.6 examples/keras/fit_on_towers.py --strategy one_device --data digits.npz   # TensorFlow 1.12 itself

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`. With --weights a second start goes on with what the first one has saved.
"""

import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_enum("strategy", "tpu", ["tpu", "one_device", "mirrored", "none"], "How training is distributed.")
flags.DEFINE_string("tpu", "", "Address of the TPU; empty for the local machine.")
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_string("weights", None, "An .h5 file to read the weights from, where it is there, and to save them to.")
flags.DEFINE_integer("batch_size", 128, "Examples of one step, over all towers.")
flags.DEFINE_integer("steps_per_run", 5, "Steps on the device before it returns to the host.")
flags.DEFINE_integer("epochs", 8, "How long to train: passes of 50 steps.")
flags.DEFINE_float("learning_rate", 2e-3, "Of Adam.")
flags.DEFINE_integer("seed", 1, "Of the initial values, the dropout and the order of examples.")
FLAGS = flags.FLAGS

HELD_BACK = 360
STEPS = 50
layers = tf.keras.layers


def load_digits():
    """Returns ((images, labels) to train on, (images, labels) that are held back); the labels are one-hot."""
    if FLAGS.data:
        digits = np.load(FLAGS.data)
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn import datasets

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    images = images.astype(np.float32).reshape([-1, 8, 8, 1]) / 16
    labels = tf.keras.utils.to_categorical(labels, 10).astype(np.float32)
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[:HELD_BACK], order[HELD_BACK:]
    return (images[train], labels[train]), (images[test], labels[test])


def convnet():
    images = tf.keras.Input((8, 8, 1))
    net = layers.Conv2D(32, 3, padding="same", activation="relu")(images)
    net = layers.Conv2D(64, 3, padding="same", activation="relu")(net)
    net = layers.MaxPooling2D()(net)
    net = layers.Flatten()(net)
    net = layers.Dense(128, activation=tf.nn.relu)(net)
    net = layers.Dropout(0.4)(net)
    return tf.keras.Model(images, layers.Dense(10, activation="softmax")(net))


def make_strategy():
    if FLAGS.strategy == "none":
        return None
    if FLAGS.strategy == "one_device":
        return tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    if FLAGS.strategy == "mirrored":
        return tf.contrib.distribute.MirroredStrategy()
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu=FLAGS.tpu)
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=FLAGS.steps_per_run)


def main(_):
    tf.set_random_seed(FLAGS.seed)
    train, test = load_digits()
    strategy = make_strategy()
    towers = strategy.num_towers if strategy else 1

    model = convnet()
    if FLAGS.weights and os.path.exists(FLAGS.weights):
        model.load_weights(FLAGS.weights)
    model.compile(
        optimizer=tf.train.AdamOptimizer(FLAGS.learning_rate),
        loss="categorical_crossentropy",
        metrics=["categorical_accuracy"],
        distribute=strategy,
    )
    examples = tf.data.Dataset.from_tensor_slices(train).shuffle(len(train[0]), seed=FLAGS.seed).repeat()
    examples = examples.batch(FLAGS.batch_size // towers, drop_remainder=True)
    held_back = tf.data.Dataset.from_tensor_slices(test).repeat().batch(HELD_BACK // 8, drop_remainder=True)
    model.fit(examples, epochs=FLAGS.epochs, steps_per_epoch=STEPS, verbose=2)
    loss, _ = model.evaluate(held_back, steps=8, verbose=0)
    print(f"loss of the held-back digits: {loss:.3f}")
    if FLAGS.weights:
        model.save_weights(FLAGS.weights)

    reader = tf.keras.Model(model.inputs, model.outputs)
    right = int(np.sum(reader.predict(test[0]).argmax(axis=1) == test[1].argmax(axis=1)))
    print(f"held-back digits: {right} of {HELD_BACK} right, accuracy {float(right) / HELD_BACK:.4f}")


if __name__ == "__main__":
    tf.app.run()
