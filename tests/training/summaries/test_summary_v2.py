"""Summaries of 2.x: what they write, eagerly and in functions."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v2 as tf
from tests.golden.summaries_v2_cases import CASES, outcome
from tests.training.summaries.test_summary import pixels
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "summaries_v2.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_events_are_those_of_the_original(name, tmp_path):
    with eager_mode():
        found = outcome(tf, name, str(tmp_path), pixels)
    assert json.loads(json.dumps(found)) == GOLDEN[name]
