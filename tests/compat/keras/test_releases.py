"""``tf.keras`` computes as the release does that the program was written for."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import keras_releases_cases as cases
from tests.spread import spread
from towerstrat.compat.importer import names_installed
from towerstrat.compat.keras.program_release import RELEASE

pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning")]
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_releases.json").read_text())


@pytest.fixture(autouse=True)
def cleared():
    tf.keras.backend.clear_session()
    yield
    RELEASE.follow(None)
    tf.keras.backend.clear_session()


@spread(("release", "name"), [(release, name) for release in sorted(GOLDEN) for name in GOLDEN[release]], every=3)
def test_losses(release, name):
    RELEASE.follow(release)
    found = {**cases.CASES, **cases.EARLIER}[name](tf)
    # Sums of a few hundred float32 products, three epochs of them.
    np.testing.assert_allclose(found, GOLDEN[release][name], rtol=1e-4)


def test_a_library_divides_by_weights_as_1_12():
    found = cases.CASES["weights of rows"](tf)
    np.testing.assert_allclose(found, GOLDEN["1.12.3"]["weights of rows"], rtol=1e-4)


def test_weights_that_are_all_zero():
    RELEASE.follow("1.12.3")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    assert model.train_on_batch(cases.ROWS, cases.SUMS, sample_weight=0 * cases.WEIGHTS) == 0


@pytest.mark.parametrize(("release", "rate"), [("1.12.3", 1.0), ("1.15.5", 0.001)])
def test_the_rate_of_adadelta(release, rate):
    RELEASE.follow(release)
    make = tf.keras.optimizers.Adadelta
    rates = [made.get_config()["learning_rate"] for made in (make(), make(lr=0.5), make(0.5), make(learning_rate=0.5))]
    np.testing.assert_allclose(rates, [rate, 0.5, 0.5, 0.5])


def test_names_that_are_installed_for_a_while_leave_the_release_as_it_was():
    RELEASE.follow("1.15.5")
    with names_installed():
        assert RELEASE.version == (1, 12)
    assert RELEASE.version == (1, 15)
