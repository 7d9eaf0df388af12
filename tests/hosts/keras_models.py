"""``fit``, ``predict`` and files of Keras in several processes: prints numbers, which one process has too.

With ``ends``: what ``evaluate`` gives over pipelines of different lengths.
"""

import json
import os
import sys
import tempfile

import numpy as np

from towerstrat.compat import importer
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

ROWS = np.random.RandomState(0).rand(72, 3).astype(np.float32)
SUMS = ROWS.sum(1, keepdims=True)


def numbers(tf, strategy):
    """Losses, weights before and after they were saved, and predictions, of a model with batch normalization."""
    folder = COLLECTIVES.broadcast(tempfile.mkdtemp())
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        dense = tf.keras.layers.Dense
        model = tf.keras.Sequential([dense(4, input_shape=(3,)), tf.keras.layers.BatchNormalization(), dense(1)])
        model.compile("adam", "mse", steps_per_execution=2, metrics=["mae"])
    kept = tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, "kept.keras"))
    history = model.fit(ROWS, SUMS, batch_size=16, epochs=2, verbose=0, shuffle=False, callbacks=[kept]).history
    for name in ("whole.h5", "whole.keras"):
        model.save(os.path.join(folder, name))
    model.save_weights(os.path.join(folder, "weights"))
    again = [
        tf.keras.models.load_model(os.path.join(folder, name)) for name in ("whole.h5", "whole.keras", "kept.keras")
    ]
    read = [[float(np.sum(w)) for w in each.get_weights()] for each in (model, *again)]
    return [history, read, model.predict(ROWS, verbose=0).tolist(), model.evaluate(ROWS, SUMS, verbose=0)]


def ends(tf, strategy):
    """What ``evaluate`` gives over pipelines of the processes' own, of different lengths, and over all rows."""
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse", metrics=["mae"])
    own = slice(40, None) if PROCESSES.index else slice(40)
    data = tf.data.Dataset.from_tensor_slices((ROWS[own], SUMS[own])).filter(lambda x, y: True).batch(8)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return [model.evaluate(data.with_options(options), verbose=0), model.evaluate(ROWS, SUMS, verbose=0)]


def main(which):
    importer.install(2, None, lambda line: None)
    import tensorflow as tf

    tf.compat.v1.enable_v2_behavior()
    if which == "tpu":
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
    else:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(json.dumps((ends if which == "ends" else numbers)(tf, strategy)))


if __name__ == "__main__":
    main(sys.argv[1])
