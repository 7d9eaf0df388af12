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
