"""Files of models that TensorFlow 1.12 has trained and saved, loaded by programs of 1.x; and ours, read again."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.compat.keras.comparing import same
from tests.golden import keras_files_cases as cases
from tests.spread import spread

FOLDER = Path(__file__).parents[2] / "golden"
GOLDEN = json.loads((FOLDER / "keras_files.json").read_text())

FORMS = [(name, form) for name in cases.CASES for form in cases.forms(name)]


@pytest.fixture(autouse=True)
def cleared():
    yield
    tf.keras.backend.clear_session()


@pytest.mark.filterwarnings("ignore::UserWarning")
@spread(("name", "form"), FORMS, every=8)
def test_files_of_1_12(name, form):
    model = cases.load(tf, name, str(FOLDER / "keras" / "1.12" / name), form)
    found, wanted = cases.asked(model, name), GOLDEN[name]["loaded"][form]
    same(found["predictions"], wanted["predictions"], "predictions")
    same(found["then"]["losses"], wanted["then"]["losses"], "losses")
