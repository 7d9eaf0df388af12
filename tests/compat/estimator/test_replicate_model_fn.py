"""tf.contrib.estimator.replicate_model_fn and TowerOptimizer against TensorFlow 1.12."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.compat.estimator.test_against_original import same
from tests.golden import replicated_cases as cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "replicated.json").read_text())
ERRORS = [name for name in cases.CASES if name.startswith("error_")]


def test_every_case_has_its_golden():
    assert sorted(cases.CASES) == sorted(GOLDEN)


@spread("name", [name for name in cases.CASES if name not in ERRORS], every=4)
def test_case(name, tmp_path):
    same(json.loads(json.dumps(cases.run(tf, name, str(tmp_path)))), GOLDEN[name])


@pytest.mark.parametrize("name", ERRORS)
def test_error(name, tmp_path):
    assert cases.run(tf, name, str(tmp_path)) == GOLDEN[name]
