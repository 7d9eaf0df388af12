"""Layers, losses and metrics: values, gradients, names and collections as the original has them."""

import numpy as np

import towerstrat.compat.v1 as tf
from tests.golden import goldens, layer_cases
from tests.spread import spread

FACTS = goldens.facts("layers")
ARRAYS = goldens.arrays("layers")
SINGLE_OPERATIONS = {
    "LAYERS/conv2d_dilated": "one operation; the original goes through space_to_batch",
    "LAYERS/conv3d_transpose": "the bias needs no reshape",
    "METRICS/average_precision_at_k": "a division that knows 0, no cond",
    "METRICS/average_precision_at_k_weighted": "a division that knows 0, no cond",
}
"""Cases whose last operation has another name than the original's, and why."""
KEYS = [f"{group}/{name}" for group in ("LAYERS", "LOSSES", "METRICS") for name in getattr(layer_cases, group)]


def test_every_case_has_its_golden():
    assert sorted(KEYS) == sorted(FACTS)


@spread("key", KEYS)
def test_case(key):
    group, name = key.split("/")
    facts, arrays = layer_cases.run(tf, getattr(layer_cases, group)[name])
    wanted = FACTS[key]
    for kind, names in wanted["collections"].items():
        assert facts["collections"][kind] == names, kind
    if key not in SINGLE_OPERATIONS:
        assert facts["names"] == wanted["names"]
    assert facts["updates"] == wanted["updates"]
    assert facts["shapes"] == wanted["shapes"]
    expected = {k[len(key) + 1 :] for k in ARRAYS if k.startswith(key + "/")}
    assert set(arrays) == expected
    for part in expected:
        golden = ARRAYS[f"{key}/{part}"]
        assert np.asarray(arrays[part]).dtype == golden.dtype, part
        np.testing.assert_allclose(arrays[part], golden, rtol=2e-5, atol=2e-5, err_msg=part)
