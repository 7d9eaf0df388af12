"""``import tensorflow`` in this process."""

import importlib
import sys

import pytest

import towerstrat.compat.v1 as v1
import towerstrat.compat.v2 as v2
from towerstrat.compat import importer


@pytest.fixture
def installed():
    with importer.names_installed():
        yield
    assert importer.installed() is None
    assert not [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]


@pytest.fixture
def second():
    with importer.names_installed(2):
        yield


def run(code):
    scope = {}
    exec(code, scope)
    return scope


def test_objects_are_those_of_the_namespace(installed):
    tf = run("import tensorflow as tf")["tf"]
    assert tf.Session is v1.Session
    assert tf.nn.relu is v1.nn.relu
    assert repr(tf) == "<module 'tensorflow' (towerstrat)>"


@pytest.mark.parametrize(
    ("code", "name", "public"),
    [
        ("from tensorflow import nn as x", "relu", "nn.relu"),
        ("import tensorflow.contrib.distribute as x", "TPUStrategy", "contrib.distribute.TPUStrategy"),
        ("from tensorflow.contrib import distribute as x", "get_tower_context", "contrib.distribute.get_tower_context"),
        ("import tensorflow.compat.v1 as x", "Variable", "Variable"),
        ("import tensorflow.compat.v1.nn as x", "relu", "nn.relu"),
        ("from tensorflow.python.framework import ops as x", "Graph", "Graph"),
        ("from tensorflow.python.framework import dtypes as x", "float32", "float32"),
        ("from tensorflow.python.ops import array_ops as x", "reshape", "reshape"),
        ("from tensorflow.python.ops import array_ops as x", "space_to_depth", "space_to_depth"),
        ("from tensorflow.python.ops import init_ops as x", "zeros_initializer", "zeros_initializer"),
        ("from tensorflow.python.ops import init_ops as x", "Zeros", "initializers.zeros"),
        ("from tensorflow.python.ops.losses import losses_impl as x", "Reduction", "losses.Reduction"),
        ("from tensorflow.python.training import distribute as x", "TowerContext", "contrib.distribute.TowerContext"),
        ("from tensorflow.contrib.distribute.python import tpu_strategy as x", "TPUStrategy",
         "contrib.distribute.TPUStrategy"),
        ("from tensorflow.python.layers import core as x", "Dense", "layers.Dense"),
        ("from tensorflow.python.platform import tf_logging as x", "info", "logging.info"),
        ("from tensorflow.core.protobuf import config_pb2 as x", "ConfigProto", "ConfigProto"),
    ],
)  # fmt: skip
def test_paths(installed, code, name, public):
    expected = v1
    for part in public.split("."):
        expected = getattr(expected, part)
    assert getattr(run(code)["x"], name) is expected


def test_one_module_whatever_its_name(installed):
    scope = run("import tensorflow as a\nimport tensorflow.compat.v1 as b\nfrom tensorflow.compat import v1 as c")
    assert scope["a"] is scope["b"] is scope["c"]
    assert scope["a"].__spec__.name == "tensorflow"


def test_names_of_the_inside_are_no_public_names(installed):
    tf = run("import tensorflow.python.ops.math_ops\nimport tensorflow as tf")["tf"]
    assert tf.python.ops.math_ops.add is tf.add
    assert "python" not in vars(v1)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import tensorflow.kera", "Neither towerstrat nor TensorFlow 1.12 has the name tf.kera"),
        ("import tensorflow.compat.v2.kera", "has the name tf.compat.v2.kera"),
        ("import tensorflow.keras.layer", "has the name tf.keras.layer"),
        ("from tensorflow.keras.layers import Densely", "cannot import name 'Densely'"),
        ("from tensorflow import Sesion", "tf.Session"),
        ("import tensorflow.Session", "tf.Session"),
        ("import tensorflow.python.ops.nonsense", "tensorflow.python.ops.nonsense is inside TensorFlow"),
        ("from tensorflow.python.ops.array_ops import relux", "inside TensorFlow"),
        ("from tensorflow.python.ops.rnn import relux", "inside TensorFlow"),
        ("import tensorflow.compiler.nonsense", "has the name tf.compiler.nonsense"),
    ],
)
def test_a_name_that_no_original_has_is_an_import_error_with_the_way_out(installed, code, message):
    with pytest.raises(ImportError, match=message):
        run(code)


def test_a_missing_name_inside_names_the_public_one(installed):
    scope = run("from tensorflow.python.framework import dtypes as x")
    with pytest.raises(AttributeError, match=r"dtypes\.relu is inside TensorFlow and not here\. Use tf\.nn\.relu"):
        _ = scope["x"].relu


def test_a_tensorflow_that_is_installed_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "tensorflow.py").write_text("raise AssertionError('the other one')")
    monkeypatch.syspath_prepend(tmp_path)
    with importer.names_installed():
        assert importlib.import_module("tensorflow").Session is v1.Session


def test_a_tensorflow_that_was_imported_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", type(sys)("tensorflow"))
    with pytest.raises(RuntimeError, match="already imported"):
        importer.install()
    assert importer.installed() is None


def test_installing_twice_is_installing_once(installed):
    importer.install()
    assert sum(isinstance(f, importer.Finder) for f in sys.meta_path) == 1


def test_the_names_of_2_x(second):
    scope = run(
        "import tensorflow as tf\nimport tensorflow.compat.v2 as v2\nimport tensorflow.compat.v1 as v1\n"
        "import tensorflow.math as math\nfrom tensorflow.compat.v1 import train"
    )
    tf = scope["tf"]
    assert tf is scope["v2"] is tf.compat.v2
    assert tf.compat.v1 is scope["v1"]
    assert scope["v1"].compat.v2 is tf
    assert tf.reduce_sum is v2.reduce_sum is not v1.reduce_sum
    assert scope["v1"].reduce_sum is v1.reduce_sum
    assert scope["math"].reduce_std is v2.math.reduce_std
    assert scope["train"].AdamOptimizer is v1.train.AdamOptimizer
    assert run("from tensorflow.python.framework import ops as x")["x"].Graph is v1.Graph
    assert run("from tensorflow.python.ops import math_ops as x")["x"].reduce_sum is v2.reduce_sum
    assert run("from tensorflow.python.training import adam as x")["x"].AdamOptimizer is v1.train.AdamOptimizer


def test_2_x_below_1_x(installed):
    scope = run("import tensorflow as tf\nimport tensorflow.compat.v2.nn as nn\nfrom tensorflow.compat import v2")
    assert scope["v2"] is scope["tf"].compat.v2
    assert scope["nn"] is scope["v2"].nn
    assert scope["nn"].gelu is v2.nn.gelu
    assert scope["v2"].__name__ == "tensorflow.compat.v2"


def test_the_trees_reach_each_other_without_end(installed):
    scope = run("import tensorflow.compat.v1.compat.v2.compat.v1.nn as a\nimport tensorflow.nn as b")
    assert scope["a"] is scope["b"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import tensorflow.contrib.distribute", "tf.contrib .*--api 1"),
        ("import tensorflow.contrib.distribute.python.values", "tf.contrib .*--api 1"),
        ("from tensorflow import placeholder", "tf.compat.v1.placeholder"),
        ("import tensorflow.compat.v1.kera", r"has the name tf\.compat\.v1\.kera"),
        ("import tensorflow.compat.v2.kera", r"has the name tf\.kera"),
        ("import tensorflow.python.keras.engine.network", "network is inside TensorFlow"),
    ],
)
def test_a_name_that_2_x_does_not_have(second, code, message):
    with pytest.raises(ImportError, match=message):
        run(code)


def test_one_set_of_names_at_a_time(second):
    importer.install(2)
    with pytest.raises(RuntimeError, match=r"2\.x already"):
        importer.install(1)
