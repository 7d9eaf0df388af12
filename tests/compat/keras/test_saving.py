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


CASES = sorted(GOLDEN.keys() - {"preprocessing"}, key=lambda case: (case != "mlp", case))  # text fails here in models


@spread("case", CASES, every=9)
def test_files_of_the_original(case):
    name, _, legacy = case.partition("-")
    same_forms(cases.loaded(tf, name, str(FOLDER / "keras" / case), bool(legacy)), GOLDEN[case])


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_files_of_ours(case, tmp_path):
    name, _, legacy = case.partition("-")
    wanted = cases.save(tf, name, str(tmp_path), bool(legacy))
    same(wanted, GOLDEN[case], loose=2e-5)
    same_forms(cases.loaded(tf, name, str(tmp_path), bool(legacy)), wanted)


def test_lambda_layers_run_code_of_h5_files_and_not_of_keras_files(tmp_path):
    """As SECURITY.md says."""
    ran = tmp_path / "ran"
    code = lambda x, path=str(ran): (__import__("pathlib").Path(path).write_text("x"), x)[1]  # noqa: E731
    model = tf.keras.Sequential([tf.keras.layers.Lambda(code, input_shape=(3,))])
    for ending in ("h5", "keras"):
        model.save(str(tmp_path / f"model.{ending}"))
    ran.write_text("")
    with pytest.raises(ValueError, match="arbitrary code execution"):
        tf.keras.models.load_model(str(tmp_path / "model.keras"))
    assert not ran.read_text()
    tf.keras.models.load_model(str(tmp_path / "model.h5"))
    assert ran.read_text()
