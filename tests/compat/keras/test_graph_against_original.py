"""Programs of 1.x with ``tf.keras`` compute what the original computes, in graphs and sessions."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import keras_graph_cases as cases
from tests.spread import spread
from towerstrat.compat.keras.program_release import RELEASE

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_graph.json").read_text())


@pytest.fixture(autouse=True)
def cleared(monkeypatch):
    """The values are those of the last Keras of 1.x: what weights divide by was another number in 1.12."""
    monkeypatch.setattr(RELEASE, "version", (1, 15))
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def compare(ours, theirs, place):
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), place
        for key, value in theirs.items():
            compare(ours[key], value, f"{place}.{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), place
        for i, value in enumerate(theirs):
            compare(ours[i], value, f"{place}[{i}]")
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6, err_msg=place)
    else:
        assert ours == theirs, place


@pytest.mark.filterwarnings("ignore::UserWarning")
@spread("name", list(cases.CASES), every=5)
def test_case(name):
    compare(cases.CASES[name](tf), GOLDEN[name], name)
