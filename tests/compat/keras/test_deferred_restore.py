"""Layers that a model gets after a checkpoint was restored into it, by programs of 1.x and of 2.x."""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat.compat.keras.program_release import RELEASE


@pytest.fixture(autouse=True)
def as_2_x(later_behavior):
    yield
    RELEASE.follow(None)
    tf.keras.backend.clear_session()


@pytest.mark.parametrize(
    ("release", "wanted"), [("1.12.3", [1, 2, 3, 4, 5]), ("1.15.5", [1, 2, 3, 4, 5]), ("2.15.1", [0] * 5)]
)
def test_a_layer_that_is_added_after_a_call(tmp_path, release, wanted):
    RELEASE.follow(release)
    layers, x = tf.keras.layers, tf.constant([[1.0]])
    saved = tf.keras.Sequential([layers.Dense(4), layers.Dense(5)])
    saved(x)
    saved.layers[1].bias.assign([1.0, 2.0, 3.0, 4.0, 5.0])
    path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "c"))
    model = tf.keras.Sequential()
    tf.train.Checkpoint(model=model).restore(path).expect_partial()
    model.add(layers.Dense(4))
    model(x)
    model.add(layers.Dense(5))
    model(x)
    np.testing.assert_array_equal(model.layers[0].kernel, saved.layers[0].kernel)
    np.testing.assert_array_equal(model.layers[1].bias, wanted)
