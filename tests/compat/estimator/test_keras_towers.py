"""``model_to_estimator`` on towers that all get the same batch: each trains as one does (values of 1.12.3)."""

import tempfile

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.keras.program_release import RELEASE

pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(autouse=True)
def cleared():
    yield
    RELEASE.follow(None)
    tf.keras.backend.clear_session()


def batches():
    x = np.linspace(-1, 1, 4).astype(np.float32).reshape(4, 1)
    return tf.data.Dataset.from_tensors(({"x": x}, 3 * x + 1)).repeat()


def trained(optimizer, steps):
    strategy = tf.contrib.distribute.MirroredStrategy(devices=["/device:CPU:0", "/device:CPU:1"])
    inputs = tf.keras.layers.Input((1,), name="x")
    start = tf.keras.initializers.Constant(0.3)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, kernel_initializer=start, name="d")(inputs))
    model.compile(optimizer, "mse")
    config = tf.estimator.RunConfig(model_dir=tempfile.mkdtemp(), train_distribute=strategy)
    estimator = tf.keras.estimator.model_to_estimator(model, config=config)
    estimator.train(batches, steps=steps)
    return [float(np.ravel(estimator.get_variable_value(name))[0]) for name in ("d/kernel", "d/bias")]


def test_an_optimizer_of_tf_train():
    np.testing.assert_allclose(trained(tf.train.GradientDescentOptimizer(0.1), 3), [1.1037, 0.488], rtol=1e-5)


def test_an_optimizer_of_keras():
    RELEASE.follow("1.15.5")
    np.testing.assert_allclose(trained(tf.keras.optimizers.SGD(0.1), 3), [1.1037, 0.488], rtol=1e-5)


def test_an_optimizer_of_keras_in_a_program_of_1_12():
    RELEASE.follow("1.12.3")
    with pytest.raises(ValueError, match=r"Only TensorFlow native optimizers.*Got tf\.keras\.optimizers\.SGD"):
        trained(tf.keras.optimizers.SGD(0.1), 1)
