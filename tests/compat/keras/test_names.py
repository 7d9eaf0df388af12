"""Where ``tf.keras`` is, and what functions are called that Keras makes layers of."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.running import names_without_keras
from towerstrat import errors
from towerstrat.compat import importer
from towerstrat.compat.keras.package_loader import KERAS
from towerstrat.compat.names import keras_modules as keras
from towerstrat.compat.names import missing_names, public_names
from towerstrat.compat.program.name_resolution import Resolver, Status
from towerstrat.compat.utilities import exports

GOLDEN = Path(__file__).parents[2] / "golden"
ONE_OF_TWO = {"assert_integer", "assert_shapes", "assert_type", "case", "scalar_mul", "set_random_seed"}
"""One function here has the name of 2.x in both namespaces; the original has two."""
OF_1_X = {
    "all_candidate_sampler", "clip_by_norm", "clip_by_value", "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler", "space_to_batch", "substr", "swish", "transpose_image"}  # fmt: skip
"""Functions of 1.x that 2.x has by another name, or with other arguments."""


def test_canonical_names_are_those_of_the_original():
    """By them saved models name the functions in them."""
    wrong = {}
    wanted = json.loads((GOLDEN / "keras_names.json").read_text())
    for api, mount in ((1, "compat.v1."), (2, "")):
        for name, value in public_names.names(api).items():
            place = f"{mount}{name.removeprefix('tf.')}"
            if inspect.isfunction(value) and hasattr(value, "_tf_api_names") and place in wanted:
                found = exports.get_canonical_name_for_symbol(value, add_prefix_to_v1_names=True)
                if found != wanted[place]:
                    wrong[place] = found
    assert {name.rpartition(".")[2] for name in wrong} == ONE_OF_TWO | OF_1_X
    assert all(name.startswith("compat.v1.") for name in wrong)
    assert len(wanted) > 900


def test_modules_in_which_names_went_are_known():
    missing = {
        (1, f"keras{name.removeprefix('tf.keras').rpartition('.')[0]}")
        for name in missing_names.original_names(1)
        if name.startswith("tf.keras.") and not keras.Served("keras", 1, importer.later).has(name.split(".")[2:])
    }
    assert {place for place in missing if KERAS.has(f"{keras.PUBLIC[1]}{place[1].removeprefix('keras')}")} | {
        (1, "keras")} == keras.CHANGED  # fmt: skip
    assert all(keras.Served("keras", 2, importer.later).has(name.split(".")[2:])
               for name in missing_names.original_names(2) if name.startswith("tf.keras."))  # fmt: skip


def test_check_knows_the_names_without_loading_the_package():
    code = (
        "import sys\nfrom towerstrat.compat.program.name_resolution import Resolver\n"
        "for api in (1, 2):\n    resolver = Resolver(api)\n"
        "    for name in ('keras.layers.Dense', 'python.keras.backend.get_uid', 'keras.layers.Densely'):\n"
        "        print(resolver.verdict('tf.' + name).status.value)\n"
        "assert 'keras' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["works", "works", "unknown"] * 2


PLACES = """
import sys
import tensorflow as tf
assert not [name for name in sys.modules if name.partition(".")[0] == "keras"]
import keras
import tensorflow.keras.layers
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential
from tensorflow.python.keras import backend as K
from tensorflow.python.keras.layers import Dense
from tensorflow.python.keras.layers.recurrent import LSTM
from tensorflow.python.keras.engine.base_layer import Layer
from tensorflow.compat.v1.keras import layers as first
from tensorflow.compat.v2.keras import layers as second
assert layers.Dense is Dense is first.Dense is second.Dense is keras.layers.Dense is tf.keras.layers.Dense
assert issubclass(Dense, Layer) and LSTM is layers.LSTM and K.get_uid and K.epsilon is tf.keras.backend.epsilon
"""
FIRST = """
from tensorflow.contrib import keras as contrib
from tensorflow.contrib.keras.python.keras.layers import Conv2D
from tensorflow.keras.wrappers.scikit_learn import KerasClassifier
assert contrib.layers.Conv2D is Conv2D and keras.backend.set_session
try:
    KerasClassifier()
except AttributeError as error:
    print(error)
"""


@pytest.mark.parametrize(("api", "program", "said"), [
    (1, PLACES + FIRST, "tf.keras.wrappers.scikit_learn.KerasClassifier is a name of TensorFlow 1.12"),
    pytest.param(2, PLACES + "print(tf.losses is tf.keras.losses)", "True", marks=pytest.mark.long),
])  # fmt: skip
def test_places(tmp_path, api, program, said):
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "towerstrat", "run", "--api", str(api), "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.startswith(said), done.stderr
    assert done.stderr.count(f"import keras is the package keras 2.15 with the names of {api}.x") == 1


@pytest.mark.long
def test_library_mode():
    code = (
        "from towerstrat.compat.v2.keras.layers import Dense\nfrom towerstrat.compat.v1.keras import layers\n"
        "import towerstrat.compat.v2 as tf\nassert Dense is layers.Dense is tf.keras.layers.Dense"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package():
    names = names_without_keras()
    with pytest.raises(
        errors.UnknownSymbolError, match=r"pip install 'towerstrat\[keras\]'; beside .*TOWERSTRAT_KERAS"
    ):
        names.keras.layers.Dense(1)
    assert callable(names.keras.datasets.mnist.load_data)


def test_another_keras_was_imported_before(tmp_path):
    (tmp_path / "keras.py").write_text("__version__ = '3.1'")
    folder = KERAS._folder
    code = (
        "import keras, towerstrat.compat.v2 as tf\ntry:\n    tf.keras\nexcept ImportError as error:\n    print(error)"
    )
    environment = os.environ | {"TOWERSTRAT_KERAS": str(Path(folder).parent), "PYTHONPATH": os.pathsep.join(
        [str(tmp_path), str(Path(keras.__file__).parents[3])])}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert "was imported by that name before" in done.stdout, done.stderr


def test_a_name_of_the_package_that_is_misspelt():
    assert Resolver(2).verdict("tf.keras.layers.Densely").status is Status.UNKNOWN
