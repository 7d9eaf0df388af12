"""Losses, metrics, optimizers and schedules of keras 2.15 against TensorFlow 2.15."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v2 as tf
from tests.compat.keras.comparing import same
from tests.golden import keras_objects_cases as cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_objects.json").read_text())
COUNTS_TRACES = ("optimizer", "new.nadam")
"""It does something else in functions, see the script that wrote the goldens."""
pytestmark = [
    pytest.mark.usefixtures("later_behavior"),
    pytest.mark.filterwarnings("ignore:The `lr` argument is deprecated"),
]
CASES = cases.CASES


@spread(("table", "name"), CASES, every=11)
def test_eagerly(table, name):
    tf.keras.backend.clear_session()
    same(cases.RUN[table](tf, name), GOLDEN[f"{table}.{name}"])


@pytest.mark.filterwarnings("ignore:.*lr. argument is deprecated")
@spread(("table", "name"), CASES[5:] + CASES[:5], every=23)
def test_in_functions(table, name):
    tf.keras.backend.clear_session()
    expected = GOLDEN[f"{table}.{name}.function" if (table, name) == COUNTS_TRACES else f"{table}.{name}"]
    tf.keras.backend.clear_session()
    same(cases.RUN[table](tf, name, tf.function), expected)
