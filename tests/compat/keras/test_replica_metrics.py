"""What a replica asks of metrics is one value for all: nothing adds it up again."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf

X = np.random.RandomState(0).rand(8, 4).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 2).astype(np.float32)


@pytest.fixture(autouse=True)
def as_2_x(later_behavior):
    yield
    tf.keras.backend.clear_session()


def model(strategy):
    with strategy.scope():
        start = tf.keras.initializers.Constant(0.3)
        inputs = tf.keras.Input((4,))
        outputs = {
            name: tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=start, name=name)(inputs) for name in "ab"
        }
        made = tf.keras.Model(inputs, outputs)
        loss = {"a": "binary_crossentropy", "b": tf.keras.losses.MeanSquaredError()}
        made.compile("sgd", loss, metrics={"a": ["accuracy"], "b": ["mae"]})
    return made


@pytest.mark.parametrize("method", ["train_on_batch", "test_on_batch"])
def test_batches_of_two_replicas_give_what_one_gives(method):
    two = model(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
    one = model(tf.distribute.OneDeviceStrategy("CPU:0"))
    targets = {"a": Y, "b": 1 - Y}
    for reset in (True, False):
        ours = getattr(two, method)(X, targets, reset_metrics=reset, return_dict=True)
        wanted = getattr(one, method)(X, targets, reset_metrics=reset, return_dict=True)
        assert ours.keys() == wanted.keys()
        np.testing.assert_allclose(list(ours.values()), list(wanted.values()), rtol=1e-5)
    ours, wanted = two.predict_on_batch(X), one.predict_on_batch(X)
    for name in "ab":
        np.testing.assert_allclose(ours[name], wanted[name], rtol=1e-5)
