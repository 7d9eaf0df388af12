"""Activations, initializers, regularizers and constraints of ``tf.keras`` against TensorFlow 2.15.

Random values are ours: of them the mean, the deviation and the ends are compared, as far as 60,000 draws fix them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.golden import keras_parts_cases as cases
from tests.spread import spread
from towerstrat.compat.names.keras_modules import available

pytestmark = [
    pytest.mark.skipif(not available(), reason="keras 2.15 is not installed"), pytest.mark.usefixtures("eagerly")
]  # fmt: skip
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_parts.json").read_text())
DRAWN = [f"initializers/{name}" for name in cases.INITIALIZERS if name not in cases.FIXED]


def found_and_wanted(name):
    facts, values = cases.run(tf, *name.split("/"))
    assert facts == GOLDEN[name][0]
    return values, [np.array(value, dtype) for dtype, value in GOLDEN[name][1]]


@spread("name", [name for name in GOLDEN if name not in DRAWN], every=13)
def test_values(name):
    for one, other in zip(*found_and_wanted(name), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@spread("name", DRAWN, every=13)
def test_distributions(name):
    (ends, products, repeated), (theirs, their_products, their_repeated) = found_and_wanted(name)
    deviation = theirs[1]
    # The mean of n draws is off by deviation / sqrt(n); the ends of normal ones by parts of a deviation.
    bounds = np.array([0.03, 0.02, 1.0, 1.0, 0.1]) * deviation
    assert np.all(np.abs(ends - theirs) < bounds + 1e-6)
    np.testing.assert_allclose(products, their_products, rtol=0.05)
    np.testing.assert_array_equal(repeated, their_repeated)
