"""Datasets, iterators and loops of 2.x, against what TensorFlow 2.15 made of the same programs."""

import importlib.util
import json
from pathlib import Path

import pytest

import towerstrat.compat.v2 as tf

pytestmark = pytest.mark.usefixtures("later_behavior")

_GOLDEN = Path(__file__).parent.parent / "golden"
_spec = importlib.util.spec_from_file_location("data_v2_cases", _GOLDEN / "data_v2_cases.py")
data_cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(data_cases)
EXPECTED = json.loads((_GOLDEN / "data_v2.json").read_text())
# What is known here and not there.
DIFFERENT = {
    "bucket_drop": {"spec": "TensorSpec(shape=(2, None), dtype=tf.int32, name=None)"},
    "map_legacy": {"number": 5},
}


def test_every_case_has_an_expectation():
    assert set(EXPECTED) == set(data_cases.CASES)


@pytest.mark.parametrize("name", sorted(data_cases.CASES))
def test_case(name):
    found = json.loads(json.dumps(data_cases.outcome(tf, data_cases.CASES[name])))
    wanted = EXPECTED[name]
    assert found == ({**wanted, **DIFFERENT[name]} if name in DIFFERENT else wanted)
