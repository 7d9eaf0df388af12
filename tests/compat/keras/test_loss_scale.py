"""``LossScaleOptimizer`` on several mirrored replicas: the numbers are those of TensorFlow 2.15.1 on virtual CPUs."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf

pytestmark = [pytest.mark.usefixtures("later_behavior")]
EACH = [(0.85, 8.0), (0.85, 4.0), (0.55, 4.0), (0.55, 2.0), (0.475, 2.0), (0.325, 2.0)]
LAST = {
    2: [(0.85, 8.0), (0.85, 4.0), (0.465, 4.0), (0.465, 2.0), (0.0185, 2.0), (-0.5333, 2.0)],
    3: [(0.8, 8.0), (0.8, 4.0), (0.32, 4.0), (0.32, 2.0), (-0.262, 2.0), (-0.9858, 2.0)],
}


def trained(make, replicas, last=False, function=True, **options):
    """The variable and the scale after each of six steps, two of which overflow: on each replica, or on the last."""
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    with strategy.scope():
        weight, bias = tf.Variable(1.0), tf.Variable([0.5, -0.5])
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(make(), initial_scale=8.0, **options)

    def step(x):
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        if last:
            x = tf.where(tf.equal(number, replicas - 1), x, 1.0)
        with tf.GradientTape() as tape:
            loss = (weight * x * (number + 1) + tf.reduce_sum(bias) * x) / replicas
            loss = optimizer.get_scaled_loss(loss)
        gradients = optimizer.get_unscaled_gradients(tape.gradient(loss, [weight, bias]))
        optimizer.apply_gradients(zip(gradients, [weight, bias], strict=True))

    def run(x):
        strategy.run(step, (x,))

    run = tf.function(run) if function else run
    found = []
    for x in (1.0, np.inf, 2.0, np.nan, 0.5, 1.0):
        run(tf.constant(x))
        found.append((float(weight.numpy()), float(optimizer.loss_scale.numpy())))
    assert int(optimizer.iterations.numpy()) == 6
    return found


@pytest.mark.parametrize("function", [True, pytest.param(False, marks=pytest.mark.long)])
def test_steps_that_overflow_are_left_out(function):
    found = trained(lambda: tf.keras.optimizers.SGD(0.1), 2, function=function)
    np.testing.assert_allclose(found, EACH, rtol=1e-5)


@pytest.mark.parametrize("replicas", [2, pytest.param(3, marks=pytest.mark.long)])
def test_one_replica_that_overflows_decides_for_all(replicas):
    found = trained(lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), replicas, last=True)
    np.testing.assert_allclose(found, LAST[replicas], atol=1e-4)


@pytest.mark.long
def test_the_scale_grows():
    found = trained(lambda: tf.keras.optimizers.SGD(0.1), 2, dynamic_growth_steps=2)
    np.testing.assert_allclose(found, [*EACH[:-1], (0.325, 4.0)], rtol=1e-5)


@pytest.mark.parametrize("function", [True, pytest.param(False, marks=pytest.mark.long)])
def test_optimizers_of_the_old_kind(function):
    found = trained(lambda: tf.keras.optimizers.legacy.Adam(0.1), 2, function=function)
    wanted = [(0.9, 8.0), (0.9, 4.0), (0.8171, 4.0), (0.8171, 2.0), (0.7431, 2.0), (0.6637, 2.0)]
    np.testing.assert_allclose(found, wanted, atol=2e-4)
