"""``tf.estimator`` against TensorFlow 1.12: calls of hooks, results, weights, checkpoints, log lines, events."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import estimator_cases as cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "estimator.json").read_text())
OURS = re.compile(r"Going on with the run of |One step per return ")
"""How lines begin that ours alone logs."""


def same(ours, theirs, where=""):
    """Numbers are close, all else is equal."""
    if isinstance(theirs, dict):
        assert sorted(ours) == sorted(theirs), where
        for key, value in theirs.items():
            same(ours[key], value, f"{where}.{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), (where, ours, theirs)
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same(one, other, f"{where}[{i}]")
    elif isinstance(theirs, float) and isinstance(ours, float):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6, err_msg=where)
    else:
        assert ours == theirs, where


def without_ours(value):
    """A result without the log lines that ours alone has."""
    if isinstance(value, dict):
        return {key: without_ours(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_ours(each) for each in value if not (isinstance(each, str) and OURS.match(each))]
    return value


@spread("program", cases.PROGRAMS, every=7, ids=lambda program: program.__name__)
def test_programs(program, tmp_path):
    found = json.loads(json.dumps(program(tf, str(tmp_path))))
    same(without_ours(found), GOLDEN[program.__name__])


LONGER = {"config_replace"}
"""Errors that list the properties of a ``RunConfig``: that of the package has some more at the end."""


@pytest.mark.parametrize("name", cases.REFUSED)
def test_errors(name):
    (kind, message), (expected, said) = cases.refusal(tf, name), GOLDEN["refusals"][name]
    assert kind == expected
    assert message.startswith(said.rstrip("].")) if name in LONGER else message == said


@pytest.mark.parametrize("name", cases.INPUTS)
def test_batches_of_arrays(name):
    same(cases.batches(tf, **cases.INPUTS[name]), GOLDEN["batches"][name])


def test_shuffled_batches_have_all_rows():
    assert cases.shuffled_rows(tf, batch_size=3, num_epochs=2) == GOLDEN["shuffled"]
