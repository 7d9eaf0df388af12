"""Fit a recurrent forecaster from a tf.data pipeline of windows, with a schedule and early stopping."""

import numpy as np
import tensorflow as tf

WINDOW = 16
BATCH_SIZE = 32


def series(n=600):
    rng = np.random.RandomState(9)
    t = np.arange(n, dtype=np.float32)
    return (np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(2 * np.pi * t / 7) + rng.normal(0, 0.05, n)).astype(np.float32)


def windowed_dataset(values, repeat=False):
    ds = tf.data.Dataset.from_tensor_slices(values)
    ds = ds.window(WINDOW + 1, shift=1, drop_remainder=True)
    ds = ds.flat_map(lambda window: window.batch(WINDOW + 1))
    ds = ds.map(lambda window: (window[:-1, tf.newaxis], window[-1:]), num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(BATCH_SIZE).cache()
    if repeat:
        ds = ds.repeat()
    return ds.prefetch(tf.data.AUTOTUNE)


def schedule(epoch, lr):
    if epoch < 3:
        return 0.01
    return float(lr * tf.math.exp(-0.1))


values = series()
split = 480
mean, std = values[:split].mean(), values[:split].std()
values = (values - mean) / std
train, valid = windowed_dataset(values[:split], repeat=True), windowed_dataset(values[split:])
for inputs, labels in valid.take(1):
    print("inputs", inputs.shape, "labels", labels.shape)
print(valid.element_spec)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv1D(8, 3, padding="causal", activation="relu", input_shape=(WINDOW, 1)),
        tf.keras.layers.GRU(12),
        tf.keras.layers.Dense(8, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
rng = np.random.RandomState(1)
model.set_weights([rng.normal(0, 0.3, w.shape) for w in model.get_weights()])
model.compile(loss=tf.keras.losses.Huber(), optimizer="adam", metrics=["mae", tf.keras.metrics.RootMeanSquaredError()])

rates = []
history = model.fit(
    train,
    epochs=20,
    steps_per_epoch=14,
    validation_data=valid,
    verbose=0,
    callbacks=[
        tf.keras.callbacks.LearningRateScheduler(schedule),
        tf.keras.callbacks.EarlyStopping(
            monitor="val_loss", min_delta=0.002, patience=2, restore_best_weights=True, verbose=0
        ),
        tf.keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: rates.append(float(model.optimizer.learning_rate.numpy()))
        ),
        tf.keras.callbacks.TerminateOnNaN(),
    ],
)
for epoch, (loss, val_loss, rate) in enumerate(zip(history.history["loss"], history.history["val_loss"], rates)):
    print(f"epoch {epoch + 1:2d}: loss {loss:.5f} val_loss {val_loss:.5f} lr {rate:.5f}")
print("stopped after", len(history.epoch), "epochs")

result = model.evaluate(valid, verbose=0, return_dict=True)
print({name: round(value, 5) for name, value in sorted(result.items())})
baseline = np.mean(np.abs(values[split + WINDOW :] - values[split + WINDOW - 1 : -1]))
print(f"naive forecast mae {baseline:.5f}")

window = list(values[split : split + WINDOW])
forecast = []
for _ in range(5):
    step = model.predict(np.array(window[-WINDOW:])[None, :, None], verbose=0)[0, 0]
    forecast.append(round(float(step), 5))
    window.append(step)
print("forecast", forecast)
