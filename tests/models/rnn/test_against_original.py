"""Recurrent networks: values, gradients, names of variables, initial biases and shapes as the original has them."""

import numpy as np

import towerstrat.compat.v1 as tf
from tests.golden import goldens, rnn_cases
from tests.spread import spread

FACTS = goldens.facts("rnn")
ARRAYS = goldens.arrays("rnn")


def test_every_case_has_its_golden():
    assert sorted(rnn_cases.CASES) == sorted(FACTS)


@spread("key", list(rnn_cases.CASES))
def test_case(key):
    facts, arrays = rnn_cases.run(tf, rnn_cases.CASES[key])
    assert facts == FACTS[key]
    assert set(arrays) == {k[len(key) + 1 :] for k in ARRAYS if k.startswith(key + "/")}
    for part, found in arrays.items():
        golden = ARRAYS[f"{key}/{part}"]
        assert np.asarray(found).dtype == golden.dtype, part
        np.testing.assert_allclose(found, golden, rtol=2e-5, atol=2e-6, err_msg=part)
