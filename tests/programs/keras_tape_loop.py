"""A small convnet on drawn shapes, trained with GradientTape; a second run resumes from the checkpoints."""

import numpy as np
import tensorflow as tf

EPOCHS = 3
BATCH = 16


def draw(kind, rng):
    """A 12x12 image of a filled square, a cross or a horizontal bar."""
    image = rng.normal(0.0, 0.15, (12, 12))
    row, column = rng.randint(1, 6, size=2)
    if kind == 0:
        image[row : row + 5, column : column + 5] += 1.0
    elif kind == 1:
        image[row + 2, column : column + 5] += 1.0
        image[row : row + 5, column + 2] += 1.0
    else:
        image[row : row + 2, column : column + 5] += 1.0
    return image


def make_split(n, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 3, n)
    images = np.stack([draw(kind, rng) for kind in labels])[..., None]
    return images.astype("float32"), labels.astype("int64")


def make_model():
    inputs = tf.keras.Input((12, 12, 1))
    x = tf.keras.layers.Conv2D(8, 3, activation="relu")(inputs)
    x = tf.keras.layers.MaxPooling2D()(x)
    x = tf.keras.layers.Conv2D(16, 3, activation="relu")(x)
    x = tf.keras.layers.Flatten()(x)
    outputs = tf.keras.layers.Dense(3)(x)
    model = tf.keras.Model(inputs, outputs)
    rng = np.random.RandomState(3)
    model.set_weights([rng.normal(0, 0.15, w.shape) for w in model.get_weights()])
    return model


train_images, train_labels = make_split(192, 0)
test_images, test_labels = make_split(64, 1)
train_ds = tf.data.Dataset.from_tensor_slices((train_images, train_labels)).batch(BATCH)
test_ds = tf.data.Dataset.from_tensor_slices((test_images, test_labels)).batch(BATCH)

loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = tf.keras.metrics.Mean(name="train_loss")
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
test_loss = tf.keras.metrics.Mean(name="test_loss")
test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")


def train_step(model, optimizer, images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = loss_object(labels, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    train_loss.update_state(loss)
    train_accuracy.update_state(labels, logits)
    return norm


def run(epochs):
    model = make_model()
    optimizer = tf.keras.optimizers.Adam(learning_rate=3e-3)
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0), optimizer=optimizer, model=model)
    manager = tf.train.CheckpointManager(checkpoint, "./tf_ckpts", max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)
    if manager.latest_checkpoint:
        print(f"Restored from {manager.latest_checkpoint}, step {int(checkpoint.step)}")
    else:
        print("Initializing from scratch.")
    for epoch in range(epochs):
        for metric in (train_loss, train_accuracy, test_loss, test_accuracy):
            metric.reset_state()
        for images, labels in train_ds:
            norm = train_step(model, optimizer, images, labels)
            checkpoint.step.assign_add(1)
        for images, labels in test_ds:
            logits = model(images, training=False)
            test_loss.update_state(loss_object(labels, logits))
            test_accuracy.update_state(labels, logits)
        path = manager.save()
        print(
            f"Epoch {epoch + 1}, Loss: {train_loss.result():.5f}, Accuracy: {100 * train_accuracy.result():.2f}, "
            f"Test Loss: {test_loss.result():.5f}, Test Accuracy: {100 * test_accuracy.result():.2f}, "
            f"last norm {norm.numpy():.5f}, saved {path}"
        )
    return model, manager


run(EPOCHS)
model, manager = run(2)
print([path.split("/")[-1] for path in manager.checkpoints])
print("predictions", tf.argmax(model(test_images[:10]), axis=1).numpy(), "labels", test_labels[:10])
