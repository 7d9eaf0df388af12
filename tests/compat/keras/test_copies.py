"""Copies of compiled models (``clone_model``, configs, JSON, ``copy``, ``pickle``) as TensorFlow 2.15.1 makes them."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf2
from tests.compat.keras.comparing import same
from tests.golden import keras_copies_cases as cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_copies.json").read_text())


@pytest.mark.usefixtures("later_behavior")
@spread(("name", "way", "compiled"), cases.CASES[6:] + cases.CASES[:6], every=17)
def test_of_2(name, way, compiled):
    same(cases.found(tf2, name, way, compiled), GOLDEN["2.x"][f"{name}-{way}-{compiled}"])


@spread(("name", "way", "compiled"), cases.CASES, every=17)
def test_of_1(name, way, compiled):
    """2.15 makes copies by files in these, for which it calls ``numpy`` of variables: in graphs they have none."""
    found, wanted = cases.found(tf1, name, way, compiled), GOLDEN["1.x"][f"{name}-{way}-{compiled}"]
    if "error" in wanted:
        assert found == {"error": "AttributeError"}, wanted
    else:
        same(found, wanted)
    tf1.keras.backend.clear_session()
