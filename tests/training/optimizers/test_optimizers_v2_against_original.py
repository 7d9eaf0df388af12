"""tf.contrib.optimizer_v2 and learning_rate_decay_v2 give the original's values, names, checkpoints and errors."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import optimizers_v2_cases as cases
from tests.spread import spread
from tests.towers.common import tpu
from towerstrat.graph.eager import mode
from towerstrat.training.optimizers import learning_rate_schedules_v2

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "optimizers_v2.json").read_text())
SIDE = cases.Side(tf, learning_rate_schedules_v2, lambda: tpu(2), None)


def test_every_case_has_its_golden():
    assert sorted(cases.CASES) == sorted(GOLDEN)


def compare(found, wanted, where=""):
    """Equal, numbers within what float32 leaves."""
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), where
        for key, value in wanted.items():
            compare(found[key], value, f"{where}/{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, value in enumerate(wanted):
            compare(found[i], value, f"{where}[{i}]")
    elif isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6, err_msg=where)
    else:
        assert found == wanted, where


def said(text):
    """What a message of the original begins with: its first sentence, without the types in a set's order."""
    return text.split(", expected")[0].split(". ")[0].removesuffix(".")


ERRORS = [name for name in cases.CASES if name.startswith("error_")]


def found(name):
    with mode.eager_mode() if name in cases.EAGER else mode.graph_mode():
        return json.loads(json.dumps(cases.run(SIDE, name)))


@spread("name", [name for name in cases.CASES if name not in ERRORS])
def test_case(name):
    compare(found(name), GOLDEN[name])


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    error, text = found(name)
    assert error == GOLDEN[name][0]
    assert text.startswith(said(GOLDEN[name][1]))
