"""``fit`` on several replicas gives the original's losses, metrics and weights, for every length of data."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.golden import keras_fit_cases as cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_fit.json").read_text())


@pytest.fixture(autouse=True)
def as_2_x(later_behavior):
    yield
    tf.keras.backend.clear_session()


def strategy(replicas):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    assignment = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=replicas)
    return tf.distribute.TPUStrategy(resolver, assignment)


@spread(("name", "replicas"), [(name, n) for name in ("convnet", "mlp", "recurrent") for n in (3, 8, 2, 1)], every=13)
def test_losses_of_50_steps(name, replicas):
    losses, weights = cases.losses(tf, strategy(replicas), name)
    theirs, theirs_weights = GOLDEN[str(replicas)]["losses"][name]
    # Each is the difference of two sums of up to 50 losses that are logged as means of 24 bits.
    np.testing.assert_allclose(losses, theirs, rtol=1e-5, atol=50 * 2 * 2**-23)
    for ours, other in zip(weights, theirs_weights, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-4, atol=2e-5)


@spread(("replicas", "length"), [(n, length) for n in (3, 8, 2, 1) for length in (23, *range(1, 23), 24)], every=97)
def test_every_length(replicas, length):
    found, theirs = cases.of_length(tf, strategy(replicas), length), GOLDEN[str(replicas)]["lengths"][str(length)]
    assert found["history"].keys() == theirs["history"].keys()
    for name, values in theirs["history"].items():
        np.testing.assert_allclose(found["history"][name], values, rtol=1e-5, err_msg=name)
    np.testing.assert_allclose(found["evaluated"], theirs["evaluated"], rtol=1e-5)
    np.testing.assert_allclose(found["predicted"], theirs["predicted"], rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("name", list(cases.MODELS))
def test_several_steps_per_execution_change_nothing(name):
    losses, weights = cases.losses(tf, strategy(2), name, steps_per_execution=10)
    one, one_weights = cases.losses(tf, strategy(2), name)
    # After each execution the mean of the losses so far is logged.
    np.testing.assert_allclose(losses, np.cumsum(one)[9::10] / np.arange(10, 51, 10), rtol=1e-5)
    for ours, other in zip(weights, one_weights, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-5, atol=1e-6)


def test_gradients_of_two_batches_are_applied_together():
    """tf.cond around apply_gradients in train_step: what 2.15.1 trains on one device; on replicas it refuses it."""

    class Accumulating(tf.keras.Model):
        def __init__(self):
            super().__init__()
            only_first = tf.VariableAggregation.ONLY_FIRST_REPLICA
            self.dense = tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(0.3))
            self.count = tf.Variable(0, trainable=False, dtype=tf.int32, aggregation=only_first)

        def call(self, x):
            return self.dense(x)

        def make_sums(self):
            of_replicas = {
                "synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.SUM,
            }  # fmt: skip
            self.sums = [tf.Variable(tf.zeros_like(v), trainable=False, **of_replicas) for v in self.dense.weights]

        def train_step(self, data):
            x, y = data
            self.count.assign_add(1)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.dense(x) - y) ** 2) / tf.distribute.get_strategy().num_replicas_in_sync
            for total, gradient in zip(self.sums, tape.gradient(loss, self.dense.weights), strict=True):
                total.assign_add(gradient / 2)

            def apply():
                gradients = [tf.convert_to_tensor(total) for total in self.sums]
                self.optimizer.apply_gradients(zip(gradients, self.dense.weights, strict=True))
                for total in self.sums:
                    total.assign(tf.zeros_like(total))
                return 1

            tf.cond(tf.equal(self.count % 2, 0), apply, lambda: 0)
            return {"loss": loss}

    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(16, 1)
    for strategy in (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])):
        with strategy.scope():
            model = Accumulating()
            model.build((None, 1))
            model.make_sums()
            model.compile(tf.keras.optimizers.SGD(0.1))
        model.fit(x, 3 * x + 1, batch_size=4, epochs=1, shuffle=False, verbose=0)
        kernel, bias = model.dense.get_weights()
        np.testing.assert_allclose([kernel.item(), bias.item()], [0.71003, 0.40722], rtol=1e-4)
