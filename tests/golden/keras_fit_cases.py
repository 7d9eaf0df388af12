"""``fit`` of small models on several replicas: run by the original (2.15, MirroredStrategy) and by the tests."""

import numpy as np

REPLICAS = (1, 2, 3, 8)
STEPS, BATCH = 50, 24
LENGTHS = tuple(range(1, 25))
"""Rows of data sets whose global batches have 8: one to three batches."""


def weights(model):
    """The same weights wherever the model is made: statistics of batches at rest, small numbers elsewhere."""
    found = []
    for i, variable in enumerate(model.weights):
        if "variance" in variable.name or "gamma" in variable.name:
            found.append(np.ones(variable.shape, np.float32))
        elif "moving" in variable.name:
            found.append(np.zeros(variable.shape, np.float32))
        else:
            drawn = np.random.RandomState(i).standard_normal(tuple(variable.shape))
            found.append((0.3 * drawn).astype(np.float32))
    return found


def mlp(keras):
    return keras.Sequential(
        [keras.layers.Dense(16, activation="tanh", input_shape=(6,)), keras.layers.Dropout(0.0), keras.layers.Dense(4)]
    )


def convnet(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu", input_shape=(6, 6, 2)), layers.BatchNormalization(),
            layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.0), layers.Dense(4, kernel_regularizer="l2"),
        ],
    )  # fmt: skip


def recurrent(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Masking(0.0, input_shape=(5, 3)), layers.LSTM(6, return_sequences=True), layers.GRU(5),
            layers.Dense(4),
        ],
    )  # fmt: skip


MODELS = {
    "mlp": (mlp, (6,), "sgd"), "convnet": (convnet, (6, 6, 2), "adam"), "recurrent": (recurrent, (5, 3), "rmsprop"),
}  # fmt: skip


def rows(shape, count):
    """Data of one seed: the rows of a shorter set are the first ones of a longer."""
    state = np.random.RandomState(7)
    x = state.standard_normal((STEPS * BATCH, *shape)).astype(np.float32)
    if len(shape) == 2:  # sequences of several lengths
        ends = state.randint(1, shape[0] + 1, len(x))
        x[np.arange(shape[0])[None] >= ends[:, None]] = 0.0
    return x[:count], state.randint(0, 4, len(x))[:count]


def compiled(tf, name, **options):
    """A model of ``MODELS``, with a loss, metrics and its optimizer."""
    keras = tf.keras
    model = MODELS[name][0](keras)
    model.set_weights(weights(model))
    optimizer = {"sgd": keras.optimizers.SGD(0.05), "adam": keras.optimizers.Adam(0.003),
                 "rmsprop": keras.optimizers.RMSprop(0.003)}[MODELS[name][2]]  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = ["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2, name="top_2")]
    model.compile(optimizer, loss, metrics=metrics, **options)
    return model


def losses(tf, strategy, name, **options):
    """The loss of each of 50 steps, or with several per execution the means that are logged; some weights after it."""
    with strategy.scope():
        model = compiled(tf, name, **options)
    means = []
    note = tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: means.append(float(logs["loss"])))
    x, y = rows(MODELS[name][1], STEPS * BATCH)
    model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=[note])
    if len(means) == STEPS:
        means = np.diff(np.arange(1, STEPS + 1) * means, prepend=0.0).tolist()
    return means, [w.astype(float).ravel()[:8].tolist() for w in model.get_weights()]


def of_length(tf, strategy, length, name="mlp"):
    """Two epochs over so many rows in batches of 8, then evaluation and predictions."""
    with strategy.scope():
        model = compiled(tf, name)
    x, y = rows(MODELS[name][1], length)
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    return {
        "history": {key: [float(v) for v in values] for key, values in sorted(history.items())},
        "evaluated": [float(v) for v in model.evaluate(x, y, batch_size=8, verbose=0)],
        "predicted": float(np.abs(model.predict(x, batch_size=8, verbose=0)).sum()),
    }
