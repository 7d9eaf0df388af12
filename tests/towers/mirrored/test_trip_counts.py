"""Loops whose number of iterations differs by tower, and depends on data, and their gradients."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from tests.spread import spread
from tests.towers.common import tpu
from tests.towers.mirrored.test_own_sizes import check, mirrored, together
from towerstrat.errors import UnsupportedError

LOOPS = {
    "a count": lambda h, i: tf1.while_loop(
        lambda k, _: k < tf.cast(h[0, 1] * 2.0, tf.int32), lambda k, z: (k + 1, 1.5 * z + h[1]), (0, h[0])
    )[1],
    "a condition": lambda h, i: tf1.while_loop(
        lambda z: tf.reduce_sum(z) < 50.0, lambda z: 1.5 * z + tf.abs(h[1]) + 1.0, (h[0],)
    ),
    "a loop in a loop": lambda h, i: tf1.while_loop(
        lambda z: tf.reduce_sum(z) < 50.0,
        lambda z: tf1.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: 2.0 * y + 1.0, (0.1 * z,)) + z,
        (h[0],),
    ),
    "in a branch": lambda h, i: tf.cond(
        h[0, 0] > 2.0,
        lambda: tf1.while_loop(lambda z: tf.reduce_sum(z) < 50.0, lambda z: 1.5 * z + 1.0, (h[0],)),
        lambda: h[1],
    ),
}
"""Of functions that all towers have alike."""

OWN = {
    "rows of its own": lambda h, i: tf1.while_loop(
        lambda z: tf.reduce_sum(z) < 50.0, lambda z: 1.5 * z + 1.0, (h[i:],)
    ),
    "a limit of its own": lambda h, i: tf1.while_loop(
        lambda z: tf.reduce_sum(z) < 50.0 * (i + 1), lambda z: 1.5 * z + 1.0, (h[0],)
    ),
}
"""Of functions in which a tower's number stands."""


@spread(("name", "strategy"), [(name, make) for name in LOOPS for make in (mirrored, tpu)], every=3)
def test_gradients_of_loops_that_end_apart(name, strategy):
    check(LOOPS[name], strategy(2), 2)


@spread(("name", "towers"), [(name, towers) for name in OWN for towers in (2, 3)], every=2)
def test_loops_of_a_towers_own(name, towers):
    check(OWN[name], mirrored(towers), towers)


def test_python_is_not_called_twice():
    def form(h, i):
        doubled = tf1.py_func(lambda x: 2 * x, [h], tf.float32)
        doubled.set_shape(h.shape)
        return LOOPS["a condition"](h + doubled, i)

    with pytest.raises(UnsupportedError, match=r"tf.py_func, created at .* would be called twice.*maximum_iterations"):
        together(form, mirrored(2))


@pytest.mark.usefixtures("later_behavior")
def test_training_in_a_function():
    """An uneven batch among them. The values are those of TensorFlow 2.15."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"])
    with strategy.scope():
        w = tf.Variable([1.5, 1.2])
        optimizer = tf.keras.optimizers.SGD(0.0001)

    def step(x):
        with tf.GradientTape() as tape:
            z, n = x * w, 0
            while tf.reduce_sum(z) < 100.0 and n < 40:
                z = z * w + 1.0
                n += 1
            loss = tf.reduce_sum(z)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    run = tf.function(lambda x: strategy.run(step, args=(x,)))
    rows = np.arange(14, dtype=np.float32).reshape(7, 2)
    data = tf.data.Dataset.from_tensor_slices(rows).batch(4)
    losses = [
        [float(loss) for loss in strategy.experimental_local_results(run(x))]
        for x in strategy.experimental_distribute_dataset(data)
    ]
    wanted = [[109.92695, 132.78334, 0.0], [115.73784, 100.48575, 117.59388]]
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    np.testing.assert_allclose(w.numpy(), [1.363818, 1.135102], rtol=1e-5)
