"""Files of models of 2.x with what the program defines itself: those of the original, and ours read again."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v2 as tf
from tests.compat.keras.comparing import same
from tests.golden import keras_custom_cases as cases
from tests.spread import spread

FOLDER = Path(__file__).parents[2] / "golden"
GOLDEN = json.loads((FOLDER / "keras_custom.json").read_text())

pytestmark = [
    pytest.mark.usefixtures("later_behavior"),
    pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file"),
]


@spread(("name", "form"), cases.CASES_OF_FORMS, every=11)
def test_files_of_the_original(name, form):
    same(cases.loaded(tf, name, str(FOLDER / "keras" / "custom" / name), form), GOLDEN[name]["loaded"][form])


@pytest.mark.long
@pytest.mark.parametrize("name", list(cases.CASES))
def test_files_of_ours(name, tmp_path):
    same(cases.save(tf, name, str(tmp_path)), GOLDEN[name]["saved"])
    same({form: cases.loaded(tf, name, str(tmp_path), form) for form in cases.forms(name)}, GOLDEN[name]["loaded"])


def test_what_nothing_names():
    assert cases.refused(tf, str(FOLDER / "keras" / "custom" / "named")) == GOLDEN["refused"]
