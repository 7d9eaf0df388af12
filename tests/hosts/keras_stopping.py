"""Fits a model of Keras, which goes on from a BackupAndRestore of an earlier run; writes when training ends.

keras_stopping.py FOLDER SAVE_FREQ EXECUTION
"""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from towerstrat.hosts.process_index import PROCESSES

EPOCHS, STEPS = 30, 60


class Telling(tf.keras.callbacks.Callback):
    """Says that training is well under way, and after which step it ends."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            (self.folder / f"begun-{PROCESSES.index}").touch()

    def on_train_end(self, logs=None):
        (self.folder / f"ended-{PROCESSES.index}").write_text(str(int(self.model.optimizer.iterations.numpy())))


def main(folder, save_freq, execution):
    folder = Path(folder)
    rows = np.random.RandomState(0).rand(8, 3).astype(np.float32)
    # All batches are alike.
    rows = np.tile(rows, [STEPS, 1])
    tf.keras.utils.set_random_seed(1)
    with tf.distribute.MultiWorkerMirroredStrategy().scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(64, "tanh", input_shape=(3,)), tf.keras.layers.Dense(1)])
        model.compile("adam", "mse", steps_per_execution=int(execution))
    kept = tf.keras.callbacks.BackupAndRestore(
        str(folder / "backup"), save_freq=save_freq if save_freq == "epoch" else int(save_freq)
    )
    model.fit(
        rows, rows.sum(1), batch_size=8, epochs=EPOCHS, verbose=0, shuffle=False, callbacks=[kept, Telling(folder)],
        validation_data=(rows[:80], rows[:80].sum(1)), validation_batch_size=8,
    )  # fmt: skip
    np.save(folder / f"weights-{PROCESSES.index}.npy", np.concatenate([each.ravel() for each in model.get_weights()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
