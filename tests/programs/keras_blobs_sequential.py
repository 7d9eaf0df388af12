"""Classify two-dimensional blobs with a Keras Sequential model, then reload the weights and check them."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

NUM_CLASSES = 4
BATCH_SIZE = 32
EPOCHS = 8


def load_data(num_per_class=120):
    rng = np.random.RandomState(42)
    centers = np.array([[2.0, 2.0], [-2.0, 2.0], [-2.0, -2.0], [2.0, -2.0]])
    xs, ys = [], []
    for label, center in enumerate(centers):
        xs.append(center + rng.normal(0.0, 1.1, (num_per_class, 2)))
        ys.append(np.full(num_per_class, label))
    x, y = np.concatenate(xs).astype("float32"), np.concatenate(ys)
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    split = int(0.8 * len(x))
    return (x[:split], y[:split]), (x[split:], y[split:])


def initial(shape, seed):
    return keras.initializers.Constant(np.random.RandomState(seed).normal(0.0, 0.4, shape))


def build_model():
    model = keras.models.Sequential()
    model.add(keras.layers.Dense(16, activation="relu", input_shape=(2,), kernel_initializer=initial((2, 16), 1)))
    model.add(keras.layers.BatchNormalization())
    model.add(keras.layers.Dense(16, kernel_initializer=initial((16, 16), 2)))
    model.add(keras.layers.Activation("tanh"))
    model.add(keras.layers.Dense(NUM_CLASSES, activation="softmax", kernel_initializer=initial((16, 4), 3)))
    model.compile(optimizer=keras.optimizers.RMSprop(lr=0.005), loss="categorical_crossentropy", metrics=["accuracy"])
    return model


(x_train, y_train), (x_test, y_test) = load_data()
y_train_cat = keras.utils.to_categorical(y_train, NUM_CLASSES)
y_test_cat = keras.utils.to_categorical(y_test, NUM_CLASSES)
print("x_train shape:", x_train.shape)
print(x_train.shape[0], "train samples")
print(x_test.shape[0], "test samples")

model = build_model()
print("parameters:", model.count_params())
history = model.fit(
    x_train,
    y_train_cat,
    batch_size=BATCH_SIZE,
    epochs=EPOCHS,
    shuffle=False,
    verbose=0,
    validation_data=(x_test, y_test_cat),
)
for epoch in range(EPOCHS):
    print(
        f"epoch {epoch + 1}: loss {history.history['loss'][epoch]:.5f} acc {history.history['acc'][epoch]:.5f} "
        f"val_loss {history.history['val_loss'][epoch]:.5f} val_acc {history.history['val_acc'][epoch]:.5f}"
    )

score = model.evaluate(x_test, y_test_cat, verbose=0)
print(f"Test loss: {score[0]:.5f}")
print(f"Test accuracy: {score[1]:.5f}")

model.save_weights("blobs.h5")
fresh = build_model()
before = fresh.evaluate(x_test, y_test_cat, verbose=0)
fresh.load_weights("blobs.h5")
after = fresh.evaluate(x_test, y_test_cat, verbose=0)
print(f"fresh model: {before[0]:.5f}, with loaded weights: {after[0]:.5f}")

model.save_weights("checkpoint/blobs")
print("latest:", tf.train.latest_checkpoint("checkpoint"))
classes = model.predict_classes(x_test[:12])
print("predicted", classes.tolist())
print("actual   ", y_test[:12].tolist())
confusion = np.zeros((NUM_CLASSES, NUM_CLASSES), int)
for truth, guess in zip(y_test, model.predict_classes(x_test)):
    confusion[truth, guess] += 1
print(confusion)
