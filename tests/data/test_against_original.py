"""What datasets make, against what the original made of the same programs."""

import importlib.util
import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf

_GOLDEN = Path(__file__).parent.parent / "golden"
_spec = importlib.util.spec_from_file_location("data_cases", _GOLDEN / "data_cases.py")
data_cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(data_cases)
EXPECTED = json.loads((_GOLDEN / "data.json").read_text())

# What is more precise here than there, or an error of another kind.
DIFFERENT = {
    "slices_scalar": {"raises": "ValueError"},
    "zip_list": {"raises": "TypeError"},
}


def test_every_case_has_an_expectation():
    assert set(EXPECTED) == set(data_cases.CASES)


@pytest.mark.parametrize("name", sorted(data_cases.CASES))
def test_case(name):
    found = json.loads(json.dumps(data_cases.outcome(tf, data_cases.CASES[name])))
    assert found == {**EXPECTED[name], **DIFFERENT.get(name, {})}
