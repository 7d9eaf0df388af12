"""Callbacks and mixed precision of keras 2.15 against TensorFlow 2.15."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v2 as tf
from tests.compat.keras.comparing import same
from tests.golden import keras_callbacks_cases as callbacks
from tests.golden import keras_mixed_cases as mixed
from tests.spread import spread

FOLDER = Path(__file__).parents[2] / "golden"
GOLDEN = {name: json.loads((FOLDER / f"keras_{name}.json").read_text()) for name in ("callbacks", "mixed")}

pytestmark = [
    pytest.mark.usefixtures("later_behavior"),
    pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file"),
]


@spread(("table", "name"), callbacks.CASES, every=12)
def test_callbacks(table, name):
    same(callbacks.RUN[table](tf, name), GOLDEN["callbacks"][f"{table}.{name}"])


@spread(("table", "policy"), mixed.CASES, every=5)
def test_mixed_precision(table, policy):
    loose = 1e-5 if table != "training" or policy == "float32" else 2e-2
    same(mixed.RUN[table](tf, policy), GOLDEN["mixed"][f"{table}.{policy}"], loose=loose)
