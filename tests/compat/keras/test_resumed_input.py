"""A fit that was stopped goes on in its data where its BackupAndRestore has saved, to the bit."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.spread import spread

pytestmark = pytest.mark.usefixtures("later_behavior")

ROWS = np.random.RandomState(0).randn(96, 3).astype(np.float32)
EPOCHS, STEPS = 3, 12


class Stopped(Exception):
    pass


class Stops(tf.keras.callbacks.Callback):
    """Stops after so many batches, 0: never; evaluates before the first one, as the training does after each epoch."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def on_train_begin(self, logs=None):
        self.model.evaluate(ROWS, ROWS[:, :1], 8, verbose=0)

    def on_train_batch_end(self, batch, logs=None):
        self.batches -= 1
        if self.batches == 0:
            raise Stopped


def fit(given, freq, folder, batches=0):
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    kept = tf.keras.callbacks.BackupAndRestore(str(folder), save_freq=freq)
    length = STEPS if given == "endless" else None
    model.fit(
        data(given), epochs=EPOCHS, steps_per_epoch=length, verbose=0, callbacks=[kept, Stops(batches)],
        validation_data=data("data"),
    )  # fmt: skip
    return model.get_weights()


def data(given):
    whole = tf.data.Dataset.from_tensor_slices((ROWS, ROWS[:, :1])).shuffle(96, seed=5, reshuffle_each_iteration=False)
    return (whole.repeat() if given == "endless" else whole).batch(8)


@spread(
    ("given", "freq", "batches"),
    [("data", 5, 18), ("endless", "epoch", 30), ("endless", 7, 11), ("data", "epoch", 18)],
    every=2,
)
def test_goes_on(given, freq, batches, tmp_path):
    wanted = fit(given, freq, tmp_path / "whole")
    with pytest.raises(Stopped):
        fit(given, freq, tmp_path / "parts", batches)
    for found, each in zip(fit(given, freq, tmp_path / "parts"), wanted, strict=True):
        np.testing.assert_array_equal(found, each)
