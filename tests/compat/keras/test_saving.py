"""Models that keras 2.15 under TensorFlow has trained and saved, loaded here; and what is saved here, read again."""

import json
from pathlib import Path

import pytest

import towerstrat.compat.v2 as tf
from tests.compat.keras.comparing import same
from tests.golden import keras_saving_cases as cases
from tests.spread import spread

FOLDER = Path(__file__).parents[2] / "golden"
GOLDEN = json.loads((FOLDER / "keras_saving.json").read_text())

pytestmark = [
    pytest.mark.usefixtures("later_behavior"),
    pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file"),
]


def same_forms(found, wanted):
    for form, value in found.items():
        same(value, {key: wanted[key] for key in value}, form, loose=2e-5)


@spread("case", GOLDEN, every=9)
def test_files_of_the_original(case):
    name, _, legacy = case.partition("-")
    same_forms(cases.loaded(tf, name, str(FOLDER / "keras" / case), bool(legacy)), GOLDEN[case])


@pytest.mark.long
@pytest.mark.parametrize("case", GOLDEN)
def test_files_of_ours(case, tmp_path):
    name, _, legacy = case.partition("-")
    wanted = cases.save(tf, name, str(tmp_path), bool(legacy))
    same(wanted, GOLDEN[case], loose=2e-5)
    same_forms(cases.loaded(tf, name, str(tmp_path), bool(legacy)), wanted)
