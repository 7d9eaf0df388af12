"""Files of models that TensorFlow 1.12 has trained and saved, loaded by programs of 1.x; and ours, read again."""

import json
from pathlib import Path

import h5py
import pytest

import towerstrat.compat.v1 as tf
from tests.compat.keras.comparing import same
from tests.golden import keras_files_cases as cases
from tests.spread import spread

FOLDER = Path(__file__).parents[2] / "golden"
GOLDEN = json.loads((FOLDER / "keras_files.json").read_text())

FORMS = [(name, form) for name in cases.CASES for form in cases.forms(name) if (name, form) != ("recurrent", "saver")]


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # lr is the old name

OTHERWISE = {("nadam", "h5")}
"""Where training goes on as from a new optimizer: the weights are those of the file, the optimizer's state is not."""

STATES = ["adam", *(name for name in cases.CASES if name not in ("adam", "plain", "accuracy"))]
"""Models whose optimizers have a state; "plain" has none, "accuracy" is another that has Adam's."""


@pytest.fixture(autouse=True)
def cleared():
    yield
    tf.keras.backend.clear_session()


@spread(("name", "form"), FORMS, every=23)
def test_files_of_1_12(name, form):
    model = cases.load(tf, name, str(FOLDER / "keras" / "1.12" / name), form)
    found, wanted = cases.asked(model, name), GOLDEN[name]["loaded"][form]
    same(found["predictions"], wanted["predictions"], "predictions")
    if (name, form) not in OTHERWISE:
        same(found["then"]["losses"], wanted["then"]["losses"], "losses")


@pytest.mark.long
def test_names_of_variables_in_cells():
    """Those of 2.15: a ``Saver`` of 1.12 has ``both/backward_lstm/bias``."""
    with pytest.raises(tf.errors.NotFoundError, match="both/backward_lstm/lstm_cell/bias"):
        cases.load(tf, "recurrent", str(FOLDER / "keras" / "1.12" / "recurrent"), "saver")


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in cases.CASES if not name.startswith(("tf_", "nadam", "subclassed"))])
def test_ours_go_on(name, tmp_path):
    wanted = cases.save(tf, name, str(tmp_path))
    found = cases.asked(cases.load(tf, name, str(tmp_path), "h5"), name)
    same(found, wanted)


@spread("name", STATES, every=17)
def test_weights_have_the_state_of_the_optimizer(name, tmp_path):
    """Also where it is made after ``load_weights``, as training begins."""
    made = cases.make(tf, name)
    cases.train(made, name)
    made.save_weights(str(tmp_path / "weights"))
    wanted = cases.asked(made, name)
    same(cases.asked(cases.load(tf, name, str(tmp_path), "weights"), name), wanted)


def test_what_is_written_is_what_1_12_knows(tmp_path):
    """Arguments since 1.12 are left out, and names are those of that time."""
    cases.start(tf)
    keras = tf.keras
    given = keras.Input((4, 2))
    made = keras.layers.Conv1D(2, 2, kernel_initializer="he_normal", kernel_regularizer="l2")(given)
    model = keras.Model(given, keras.layers.Dense(1)(keras.layers.GlobalMaxPooling1D()(made)))
    model.compile(keras.optimizers.RMSprop(lr=0.5), "mse")
    model.save(str(tmp_path / "model.h5"))
    with h5py.File(tmp_path / "model.h5") as file:
        config = json.loads(file.attrs["model_config"])
        optimizer = json.loads(file.attrs["training_config"])["optimizer_config"]
    assert config["class_name"] == "Model"
    first, conv, pooling, _ = (each["config"] for each in config["config"]["layers"])
    assert "ragged" not in first
    assert "groups" not in conv
    assert not {"keepdims", "data_format"} & pooling.keys()
    assert conv["kernel_initializer"]["class_name"] == "VarianceScaling"
    assert conv["kernel_regularizer"]["class_name"] == "L1L2"
    assert optimizer["config"].keys() == {"lr", "rho", "decay", "epsilon"}
