"""Layers of ``tf.keras`` against TensorFlow 2.15: eagerly, in a function, and in a functional model.

Floats are within 1e-5 of the largest number of a result. Where a result is 0 but for rounding, such as the gradient of
a bias that a softmax takes no notice of, the bound is 1e-6.
"""

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from tests.golden import goldens
from tests.golden import keras_layers_cases as cases
from tests.spread import spread
from towerstrat.compat.names.keras_modules import available

pytestmark = [
    pytest.mark.skipif(not available(), reason="keras 2.15 is not installed"), pytest.mark.usefixtures("eagerly")
]  # fmt: skip
FACTS = goldens.facts("keras_layers")
NAMES = list(cases.CASES)
FUNCTIONAL = [name for name in NAMES if cases.CASES[name].functional]


@pytest.fixture(scope="module")
def arrays():
    found = {}
    for key, value in goldens.arrays("keras_layers").items():
        name = goldens.owner_of(key, FACTS)
        found.setdefault(name, {})[key.removeprefix(f"{name}/")] = value
    return found


def same(name, found, wanted):
    assert sorted(found) == sorted(wanted), name
    for key, value in wanted.items():
        one = found[key] if found[key].dtype != object else found[key].astype("S")
        assert (one.shape, one.dtype) == (value.shape, value.dtype), (name, key)
        if value.dtype.kind != "f":
            np.testing.assert_array_equal(one, value, err_msg=f"{name} {key}")
            continue
        size = np.max(np.abs(value), initial=0)
        np.testing.assert_allclose(one, value, rtol=0, atol=max(1e-5 * size, 1e-6), err_msg=f"{name} {key}")


def compare(name, mode, arrays):
    facts, values = cases.run(tf, cases.CASES[name], mode)
    wanted = {key: value for key, value in FACTS[name].items() if key in facts}
    assert facts == wanted
    same(name, values, arrays[name])


@spread("name", NAMES, every=127)
def test_eager(name, arrays):
    compare(name, "eager", arrays)


@spread("name", NAMES[1:], every=181)
def test_function(name, arrays):
    refused = FACTS[name]["in function"]
    if refused:
        # The package asks a tensor for its truth value there, in code that is not converted.
        with pytest.raises(TypeError) as raised:
            cases.run(tf, cases.CASES[name], "function")
        assert type(raised.value).__name__ == refused
    else:
        compare(name, "function", arrays)


@spread("name", FUNCTIONAL[2:], every=181)
def test_functional(name, arrays):
    compare(name, "functional", arrays)


@spread("name", NAMES[3:], every=127)
def test_described(name):
    facts = cases.described(tf, cases.CASES[name])
    assert facts == {key: FACTS[name][key] for key in facts}
    assert {"shape", "mask", "counted"} <= set(facts)


def test_each_layer_has_a_case():
    abstract = {"AbstractRNNCell", "DenseFeatures", "InputLayer", "InputSpec", "Layer", "StackedRNNCells", "Wrapper"}
    made = {getattr(tf.keras.layers, name.partition("/")[0], None) for name in NAMES}
    kinds = {
        name: value
        for name, value in vars(tf.keras.layers).items()
        if isinstance(value, type) and name not in abstract and value not in made
    }
    assert not kinds
