"""Keras fit on two logical devices with MirroredStrategy: checkpoint callback, learning rate decay, evaluate."""

import os

import numpy as np
import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
print("Number of devices:", strategy.num_replicas_in_sync)

BATCH_SIZE_PER_REPLICA = 16
BATCH_SIZE = BATCH_SIZE_PER_REPLICA * strategy.num_replicas_in_sync
CHECKPOINTS = "./training_checkpoints"


def stripes(n, seed):
    """Images with stripes across, down or aslant."""
    rng = np.random.RandomState(seed)
    row, column = np.mgrid[0:10, 0:10]
    labels = rng.randint(0, 3, n)
    phase = rng.uniform(0, 2 * np.pi, n)
    images = [np.sin([row, column, row + column][kind] * 1.2 + p) for kind, p in zip(labels, phase)]
    images = np.stack(images) + rng.normal(0, 0.4, (n, 10, 10))
    return ((images + 2) * 60).clip(0, 255).astype(np.uint8)[..., None], labels.astype(np.int64)


def scale(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


def decay(epoch):
    if epoch < 2:
        return 1e-2
    elif epoch < 4:
        return 3e-3
    else:
        return 1e-3


def make_model():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, use_bias=False, input_shape=(10, 10, 1)),
            tf.keras.layers.BatchNormalization(momentum=0.9),
            tf.keras.layers.ReLU(),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dense(3),
        ]
    )


def compiled():
    with strategy.scope():
        model = make_model()
        model.compile(
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            optimizer=tf.keras.optimizers.Adam(),
            metrics=["accuracy"],
        )
    return model


class PrintLR(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(
            f"Learning rate for epoch {epoch + 1} is {float(self.model.optimizer.lr.numpy()):.5f}, "
            f"loss {logs['loss']:.5f}, accuracy {logs['accuracy']:.5f}"
        )


train_dataset = tf.data.Dataset.from_tensor_slices(stripes(320, 0)).map(scale).cache().batch(BATCH_SIZE)
eval_dataset = tf.data.Dataset.from_tensor_slices(stripes(96, 1)).map(scale).batch(BATCH_SIZE)

model = compiled()
rng = np.random.RandomState(4)
model.set_weights([rng.normal(0, 0.15, w.shape) if w.ndim > 1 else w for w in model.get_weights()])
model.fit(
    train_dataset,
    epochs=6,
    verbose=0,
    callbacks=[
        tf.keras.callbacks.ModelCheckpoint(os.path.join(CHECKPOINTS, "ckpt_{epoch}"), save_weights_only=True),
        tf.keras.callbacks.LearningRateScheduler(decay),
        PrintLR(),
    ],
)
print(sorted(name for name in os.listdir(CHECKPOINTS) if name.endswith(".index")))

loss, accuracy = model.evaluate(eval_dataset, verbose=0)
print(f"Eval loss: {loss:.5f}, eval accuracy: {accuracy:.5f}")

restored = compiled()
restored.load_weights(tf.train.latest_checkpoint(CHECKPOINTS)).expect_partial()
loss, accuracy = restored.evaluate(eval_dataset, verbose=0)
print(f"Restored: {loss:.5f}, {accuracy:.5f}")

alone = make_model()
alone.load_weights(os.path.join(CHECKPOINTS, "ckpt_3")).expect_partial()
logits = alone.predict(eval_dataset, verbose=0)
labels = np.concatenate([label.numpy() for _, label in eval_dataset])
print(f"without a strategy, after epoch 3: {np.mean(logits.argmax(axis=1) == labels):.5f}", np.round(logits[0], 5))
