"""Layers of ``tf.layers`` are layers of Keras, with the names and values that TensorFlow 1.12.3 gives."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.compat.keras.test_graph_against_original import compare
from tests.golden import keras_tf_layers_cases as cases
from tests.spread import spread

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "keras_tf_layers.json").read_text())


@pytest.fixture(autouse=True)
def cleared():
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


@pytest.mark.filterwarnings("ignore::UserWarning")
@spread("name", list(cases.CASES), every=4)
def test_case(name):
    compare(json.loads(json.dumps(cases.CASES[name](tf))), GOLDEN[name], name)
