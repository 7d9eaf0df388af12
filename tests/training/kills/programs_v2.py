"""Programs of Keras that fit a drawn model, and go on where their folder says."""

import os

import towerstrat.compat.v2 as tf
from tests.training.kills.drawn import BATCH, IDS, LABELS, ROWS, STEPS, TOWERS

EPOCHS = 3
keras = tf.keras


def dataset(model):
    whole = tf.data.Dataset.from_tensor_slices(((ROWS, IDS), LABELS)).take(STEPS // EPOCHS * BATCH)
    if model.input == "filtered":
        whole = whole.shuffle(50, seed=2).filter(lambda x, y: x[0][0] > -1.0).repeat()
    elif model.input in ("mapped", "parallel"):
        noisy = lambda x, y: ((x[0] + 0.1 * tf.random.normal([16], seed=3), x[1]), y)  # noqa: E731
        whole = whole.shuffle(97).map(noisy, 2 if model.input == "parallel" else None)
    elif model.input == "cached":
        whole = whole.cache().shuffle(64)
    else:
        whole = whole.shuffle(203)
    return whole.batch(BATCH).prefetch(2)


def made(model):
    features, ids = keras.Input([16]), keras.Input([4], dtype=tf.int32)
    layers = keras.layers
    h = features
    for layer in model.layers:
        if layer == "dense":
            h = layers.Dense(12, "relu")(layers.Flatten()(h))
        elif layer == "conv":
            h = layers.Conv2D(3, 3, padding="same", activation="tanh")(grid(h, 4, 4, 1))
        elif layer == "norm":
            h = layers.BatchNormalization(momentum=0.8)(h)
        elif layer == "dropout":
            h = layers.Dropout(0.3)(h)
        elif layer == "rnn":
            h = layers.GRU(5)(grid(h, 4, 4))
        elif layer == "embedding":
            h = layers.Concatenate()([layers.Flatten()(h), layers.Flatten()(layers.Embedding(30, 3)(ids))])
        else:
            h = layers.GaussianNoise(0.05)(h)
    whole = keras.Model([features, ids], layers.Dense(2)(layers.Flatten()(h)))
    rate = keras.optimizers.schedules.ExponentialDecay(0.02, 10, 0.9) if model.decay else 0.02
    optimizer = {
        "adam": keras.optimizers.Adam,
        "momentum": lambda rate: keras.optimizers.SGD(rate, 0.9),
        "adagrad": keras.optimizers.Adagrad,
        "rmsprop": keras.optimizers.RMSprop,
        "descent": keras.optimizers.SGD,
    }[model.optimizer](rate)
    return whole, optimizer


def grid(h, *dims):
    return keras.layers.Reshape(dims)(keras.layers.Dense(16)(keras.layers.Flatten()(h)))


def fit(folder, model, life, begun, strategy=None):
    class Telling(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            begun()

    # Keras counts executions within an epoch from where the last one began.
    freq, per_execution = ("epoch", model.per_run) if model.seed % 2 else (life.save, 1)
    keras.utils.set_random_seed(model.seed)
    with (strategy or tf.distribute.get_strategy()).scope():
        whole, optimizer = made(model)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        whole.compile(optimizer, loss, steps_per_execution=per_execution)
    kept = keras.callbacks.BackupAndRestore(os.path.join(folder, "backup"), save_freq=freq, delete_checkpoint=False)
    given = {"x": dataset(model), "steps_per_epoch": STEPS // EPOCHS if model.input == "filtered" else None}
    if model.input == "generator":
        rows = STEPS // EPOCHS * BATCH
        given = {"x": [ROWS[:rows], IDS[:rows]], "y": LABELS[:rows], "batch_size": BATCH}
    whole.fit(**given, epochs=EPOCHS, verbose=0, callbacks=[kept, Telling()])
    with whole.distribute_strategy.scope():
        whole.optimizer.build(whole.trainable_variables)  # A life that had no step left restores it here.
    of_model = {v.name: v.numpy() for v in whole.variables}
    return of_model | {f"of the optimizer {i}": v.numpy() for i, v in enumerate(whole.optimizer.variables)}


def mirrored_fit(folder, model, life, begun):
    return fit(folder, model, life, begun, tf.distribute.MirroredStrategy([f"cpu:{i}" for i in range(TOWERS)]))


keras.Model, keras.layers.Dense, keras.optimizers.Adam  # noqa: B018  (They are imported once for all lives.)

WAYS = {"keras": fit, "mirrored_keras": mirrored_fit}
