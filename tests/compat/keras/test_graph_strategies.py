"""``compile(distribute=...)`` in graphs: towers train as one device does, with several steps per run too."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.keras_graph_cases import X, Y


def trained(strategy):
    """Metrics, evaluation and predictions; ``compile(distribute=...)`` takes batches of one tower."""
    keras = tf.keras
    keras.backend.clear_session()
    start = keras.initializers.Constant(0.1)
    layers = [
        keras.layers.Dense(8, activation="relu", input_shape=(3,), kernel_initializer=start),
        keras.layers.Dense(1, kernel_initializer=start),
    ]
    model = keras.Sequential(layers)
    model.compile(tf.train.GradientDescentOptimizer(0.05), "mse", metrics=["mae"], distribute=strategy)
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16 // strategy.num_towers, drop_remainder=True).repeat()
    history = model.fit(data, epochs=2, steps_per_epoch=4, verbose=0).history
    evaluated = model.evaluate(data, steps=4, verbose=0)
    return history["mean_absolute_error"], evaluated, model.predict(tf.data.Dataset.from_tensors(X), steps=1)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_towers_train_as_one_device_does():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("")
    one = trained(tf.contrib.distribute.OneDeviceStrategy("/cpu:0"))
    for several in (
        tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=2, num_cores=2),
        tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1, num_cores=8),
    ):
        for ours, theirs in zip(trained(several), one, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    tf.keras.backend.clear_session()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_loss_of_evaluate_is_that_of_all_rows():
    """Two steps of three rows for eight towers, five of which have none."""
    tf.keras.backend.clear_session()
    strategy = tf.contrib.distribute.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(""), num_cores=8)
    rows = np.float32([[1], [2], [3], [4], [5], [6]])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(1,))])
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse", metrics=["mse"])
    loss, error = model.evaluate(tf.data.Dataset.from_tensor_slices((rows, rows)).batch(3), steps=2, verbose=0)
    np.testing.assert_allclose([loss, error], np.mean(rows**2), rtol=1e-6)
    tf.keras.backend.clear_session()
