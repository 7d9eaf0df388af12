"""``tf.keras`` computes as the release does that the program was written for; values are those of 1.12.3 and 1.15.5."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.keras.release import RELEASE

pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]
X = np.random.RandomState(0).rand(12, 5, 3).astype(np.float32)
ROWS = X[:, 0]
SUMS = ROWS.sum(1, keepdims=True)
LABELS = (SUMS > 1.5).astype(np.float32)
WEIGHTS = np.linspace(0, 1, 12).astype(np.float32)


@pytest.fixture(autouse=True)
def cleared():
    tf.keras.backend.clear_session()
    yield
    RELEASE.follow(None)
    tf.keras.backend.clear_session()


def dense(loss="binary_crossentropy", optimizer=None):
    layers, start = tf.keras.layers, tf.keras.initializers.Constant(0.3)
    activation = "sigmoid" if loss == "binary_crossentropy" else None
    model = tf.keras.Sequential([layers.Dense(1, activation, kernel_initializer=start, input_shape=(3,))])
    model.compile(optimizer or tf.train.GradientDescentOptimizer(0.1), loss)
    return model


def losses(model, x=ROWS, y=LABELS, **weights):
    return model.fit(x, y, batch_size=5, epochs=3, shuffle=False, verbose=0, **weights).history["loss"]


@pytest.mark.parametrize(
    ("release", "sample", "of_classes", "both"),
    [
        ("1.12.3", [0.744298, 0.708649, 0.681040], [0.654806, 0.650944, 0.648267], [0.744298, 0.708649, 0.681040]),
        ("1.15.5", [0.357461, 0.349202, 0.342304], [1.035679, 1.032204, 1.028577], [0.527555, 0.527511, 0.527404]),
    ],
)
def test_weights(release, sample, of_classes, both):
    RELEASE.follow(release)
    classes = {0: 1.0, 1: 3.0}
    np.testing.assert_allclose(losses(dense(), sample_weight=WEIGHTS), sample, rtol=1e-5)
    np.testing.assert_allclose(losses(dense(), class_weight=classes), of_classes, rtol=1e-5)
    np.testing.assert_allclose(losses(dense(), sample_weight=WEIGHTS, class_weight=classes), both, rtol=1e-5)


@pytest.mark.parametrize(
    ("release", "wanted", "weighted"),
    [
        ("1.12.3", [0.048665, 0.044762, 0.042482], [0.048400, 0.044579, 0.042340]),
        ("1.15.5", [0.034154, 0.031960, 0.030562], [0.020377, 0.018947, 0.017992]),
        ("2.15.1", [0.048665, 0.044762, 0.042482], [0.028473, 0.025878, 0.024386]),
    ],
)
def test_masks(release, wanted, weighted):
    RELEASE.follow(release)
    x = X.copy()
    x[::2, 2:] = 0
    start = tf.keras.initializers.Constant(0.3)

    def model():
        dense = tf.keras.layers.Dense(2, kernel_initializer=start)
        layers = tf.keras.layers
        made = tf.keras.Sequential([layers.Masking(0.0, input_shape=(5, 3)), layers.TimeDistributed(dense)])
        made.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        return made

    np.testing.assert_allclose(losses(model(), x, X[:, :, :2]), wanted, rtol=3e-5)
    np.testing.assert_allclose(losses(model(), x, X[:, :, :2], sample_weight=WEIGHTS), weighted, rtol=3e-5)


def test_weights_that_are_all_zero():
    RELEASE.follow("1.12.3")
    assert dense("mse").train_on_batch(ROWS, SUMS, sample_weight=0 * WEIGHTS) == 0


@pytest.mark.parametrize(
    ("release", "wanted"),
    [("1.12.3", [0.943164, 0.859859, 0.808736]), ("1.15.5", [0.973637, 0.965075, 0.959448])],
)
def test_defaults_of_adagrad(release, wanted):
    RELEASE.follow(release)
    np.testing.assert_allclose(losses(dense("mse", tf.keras.optimizers.Adagrad()), y=SUMS), wanted, rtol=1e-5)


@pytest.mark.parametrize(("release", "rate"), [("1.12.3", 1.0), ("1.15.5", 0.001)])
def test_defaults_of_adadelta(release, rate):
    RELEASE.follow(release)
    assert tf.keras.optimizers.Adadelta().get_config()["learning_rate"] == rate
    assert tf.keras.optimizers.Adadelta(lr=0.5).get_config()["learning_rate"] == 0.5
    assert tf.keras.optimizers.Adadelta(0.5).get_config()["learning_rate"] == 0.5


@pytest.mark.parametrize(
    ("release", "wanted"), [("1.12.3", [0.223108, 0.159129, 0.108350]), ("1.15.5", [0.054189, 0.048340, 0.043835])]
)
def test_pictures(release, wanted):
    RELEASE.follow(release)
    x = np.random.RandomState(1).rand(12, 4, 6, 3).astype(np.float32)

    def model():
        start = tf.keras.initializers.Constant(0.3)
        made = tf.keras.Sequential([tf.keras.layers.Conv2D(1, 1, kernel_initializer=start, input_shape=(4, 6, 3))])
        made.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        return made

    np.testing.assert_allclose(losses(model(), x, x[..., :1]), wanted, rtol=1e-5)
    if release == "1.12.3":
        weighted = losses(model(), x, x[..., :1], sample_weight=WEIGHTS)
        np.testing.assert_allclose(weighted, [0.053932, 0.048084, 0.043595], rtol=2e-5)
