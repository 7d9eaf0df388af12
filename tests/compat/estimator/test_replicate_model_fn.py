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


def test_predictions_of_towers_follow_one_another():
    """Rows of the first tower come before those of the second, whatever else the predictions' axes are."""

    def model_fn(features, labels, mode, params):
        wide = tf.concat([features, 10.0 * features], 1)
        return tf.estimator.EstimatorSpec(mode, predictions={"wide": wide})

    replicated = tf.contrib.estimator.replicate_model_fn(model_fn, devices=["/gpu:0", "/gpu:1"])
    rows = tf.constant([[1.0], [2.0], [3.0], [4.0]])
    spec = replicated(rows, None, tf.estimator.ModeKeys.PREDICT, {})
    with tf.Session() as session:
        found = session.run(spec.predictions["wide"])
    assert found.tolist() == [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]
