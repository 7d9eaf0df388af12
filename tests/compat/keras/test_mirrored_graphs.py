"""Models of graphs on several mirrored towers: in ``scope()``, and by ``compile(distribute=...)``."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import keras_mirrored_cases as cases
from tests.spread import spread
from towerstrat.compat.keras.program_release import RELEASE

pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_mirrored.json").read_text())


@pytest.fixture(autouse=True)
def cleared():
    RELEASE.follow("1.15.5")
    tf.keras.backend.clear_session()
    yield
    RELEASE.follow(None)
    tf.keras.backend.clear_session()


@spread("name", sorted(GOLDEN), every=6)
def test_towers_train_as_those_of_1_15(name):
    case, _, way = name.partition(": ")
    found = cases.CASES[case](cases.Program(tf, way))
    assert set(found) == set(GOLDEN[name])
    for key, values in GOLDEN[name].items():
        np.testing.assert_allclose(found[key], values, rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("release", ["1.12.3", "1.15.5"])
def test_compile_takes_batches_of_one_tower(release):
    """Both releases: [0.86667, 0.36], of one element for both towers, which is what one device makes of it."""
    RELEASE.follow(release)
    x = np.linspace(-1, 1, 4).astype(np.float32).reshape(4, 1)
    data = tf.data.Dataset.from_tensors((x, 3 * x + 1)).repeat()
    found = []
    for distribute in ({}, {"distribute": tf.contrib.distribute.MirroredStrategy(devices=cases.DEVICES)}):
        start = tf.keras.initializers.Constant(0.3)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer=start, input_shape=(1,))])
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse", **distribute)
        model.fit(data, steps_per_epoch=2, verbose=0)
        found.append([float(w[..., 0].item()) for w in model.get_weights()])
    np.testing.assert_allclose(found, [[0.86667, 0.36]] * 2, rtol=1e-4)


def test_callbacks_see_the_weights_of_now(tmp_path):
    """1.12 and 1.15 showed none, or those of the beginning, and could not save them."""
    seen = []

    class Look(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(self.model.get_weights())

    model = cases.Program(tf, "compile, contrib").rows()
    data = tf.data.Dataset.from_tensor_slices((cases.X, cases.Y)).batch(4).repeat()
    saving = tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "{epoch}.h5"), save_weights_only=True)
    model.fit(data, steps_per_epoch=3, epochs=2, verbose=0, callbacks=[Look(), saving])
    for now, then in zip(model.get_weights(), seen[1], strict=True):
        np.testing.assert_array_equal(now, then)
    assert not np.array_equal(seen[0][0], seen[1][0])
    model.load_weights(str(tmp_path / "1.h5"))
    for now, then in zip(model.get_weights(), seen[0], strict=True):
        np.testing.assert_array_equal(now, then)


def test_what_models_on_towers_do_not_take():
    model = cases.Program(tf, "scope, core").rows()
    for name in ("train_on_batch", "test_on_batch", "predict_on_batch"):
        with pytest.raises(NotImplementedError, match=f"{name} is not supported .* steps=1"):
            getattr(model, name)(cases.X)
    batches = ((cases.X, cases.Y) for _ in range(2))
    with pytest.raises(NotImplementedError, match="takes numpy arrays and datasets, got <generator"):
        model.fit(batches, steps_per_epoch=2, verbose=0)
