"""Trains a Keras model on handwritten digits by a loop of its own, as the page of TPUStrategy begins.

    towerstrat run --towers 8 examples/keras/loop.py
    python3 examples/keras/loop.py --strategy none --data digits.npz                    # TensorFlow 2.15 itself

The digits are scikit-learn's; where it is missing, --data names an .npz file with `images` (0 to 16) and `labels`.
"""

import argparse

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
    images = images.astype(np.float32).reshape([-1, 64]) / 16
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[:HELD_BACK], order[HELD_BACK:]
    return (images[train], labels[train]), (images[test], labels[test])


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
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch_size", type=int, default=96, help="examples of one step, over all devices")
    flags = parser.parse_args()

    tf.keras.utils.set_random_seed(1)
    train, held_back = load_digits(flags.data)
    distribution = strategy(flags.strategy)
    with distribution.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(128, activation="relu", input_shape=(64,)), tf.keras.layers.Dense(10)]
        )
        optimizer = tf.keras.optimizers.SGD(0.2, momentum=0.9)
        mean_loss = tf.keras.metrics.Mean()
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    def batches(data, size):
        return distribution.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data).batch(size))

    @tf.function
    def train_epoch(data):
        def step(images, labels):
            with tf.GradientTape() as tape:
                logits = model(images, training=True)
                losses = tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
                loss = tf.nn.compute_average_loss(losses, global_batch_size=flags.batch_size)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            mean_loss.update_state(losses)

        for images, labels in data:
            distribution.run(step, args=(images, labels))

    @tf.function
    def evaluate(data):
        for images, labels in data:
            distribution.run(lambda x, y: accuracy.update_state(y, model(x, training=False)), args=(images, labels))

    data = batches(train, flags.batch_size)
    for epoch in range(1, flags.epochs + 1):
        mean_loss.reset_state()
        train_epoch(data)
        print(f"epoch {epoch:2d}  loss {mean_loss.result():.4f}")
    evaluate(batches(held_back, 120))
    right = round(float(accuracy.result()) * HELD_BACK)
    print(f"held-back digits: {right} of {HELD_BACK} right, accuracy {right / HELD_BACK:.4f}")


if __name__ == "__main__":
    main()
