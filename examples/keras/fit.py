"""Trains a small convnet on handwritten digits by Keras' `fit`, with callbacks, on every device.

    towerstrat run --towers 8 examples/keras/fit.py --folder /tmp/digits
    python3 examples/keras/fit.py --strategy none --data digits.npz                     # TensorFlow 2.15 itself

Its folder has the model of the best epoch, the events that TensorBoard shows, and a state: where a run was killed, a
second start goes on. The digits are scikit-learn's; where it is missing, --data names an .npz file.
"""

import argparse
import os
import tempfile

import numpy as np
import tensorflow as tf

HELD_BACK = 360
layers = tf.keras.layers


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
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[:HELD_BACK], order[HELD_BACK:]
    return (images[train], labels[train]), (images[test], labels[test])


def convnet():
    images = tf.keras.Input((8, 8, 1))
    net = layers.Conv2D(32, 3, padding="same", activation="relu")(images)
    net = layers.BatchNormalization(momentum=0.9)(net)
    net = layers.MaxPooling2D()(net)
    net = layers.Conv2D(64, 3, padding="same", activation="relu")(net)
    net = layers.Flatten()(net)
    net = layers.Dropout(0.4)(net)
    return tf.keras.Model(images, layers.Dense(10)(net))


def strategy(name):
    if name == "none":
        return tf.distribute.get_strategy()
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--strategy", choices=["tpu", "none"], default="tpu", help="how training is distributed")
    parser.add_argument("--data", help="an .npz file with the digits; default scikit-learn's")
    parser.add_argument("--folder", default=tempfile.mkdtemp(), help="where checkpoints and events are written")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch_size", type=int, default=128, help="examples of one step, over all devices")
    parser.add_argument("--steps_per_execution", type=int, default=4, help="steps before control returns to Python")
    flags = parser.parse_args()

    tf.keras.utils.set_random_seed(1)
    (images, labels), held_back = load_digits(flags.data)
    with strategy(flags.strategy).scope():
        model = convnet()
        model.compile(
            tf.keras.optimizers.Adam(2e-3),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            steps_per_execution=flags.steps_per_execution,
        )
    best = os.path.join(flags.folder, "best.keras")
    callbacks = [
        tf.keras.callbacks.ModelCheckpoint(best, monitor="val_accuracy", save_best_only=True),
        tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=2, verbose=1),
        tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=6, verbose=1),
        tf.keras.callbacks.TensorBoard(os.path.join(flags.folder, "events"), histogram_freq=1),
        tf.keras.callbacks.BackupAndRestore(os.path.join(flags.folder, "backup")),
    ]
    model.fit(
        images,
        labels,
        batch_size=flags.batch_size,
        epochs=flags.epochs,
        validation_data=held_back,
        callbacks=callbacks,
        verbose=2,
    )
    classes = tf.keras.models.load_model(best).predict(held_back[0], verbose=0).argmax(axis=1)
    right = int(np.sum(classes == held_back[1]))
    print(f"held-back digits: {right} of {len(classes)} right, accuracy {right / len(classes):.4f}")


if __name__ == "__main__":
    main()
