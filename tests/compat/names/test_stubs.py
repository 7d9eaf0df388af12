"""Names of the original that are not here: they can be mentioned in any way, and using them says what to do."""

import abc
import copy
import dataclasses
import functools
import importlib
import inspect
import operator
import pickle
import typing

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf2
from tests.compat.running import names_without_keras, said, towerstrat
from tests.spread import spread
from towerstrat import errors
from towerstrat.compat import importer
from towerstrat.compat.names.namespace import Namespace
from towerstrat.compat.names.stubs import MissingName
from towerstrat.compat.program.name_resolution import Resolver, Status

MODEL, TRAIN = tf1.contrib.learn.Estimator, tf1.contrib.learn.ModeKeys.TRAIN
SAID = pytest.raises(errors.UnknownSymbolError, match="that towerstrat does not have")


@pytest.fixture
def program(tmp_path):
    """Runs a program of a file; its exit status, output, and the last line of its errors."""

    def run(text, *options):
        (tmp_path / "program.py").write_text(text)
        code, output, error = towerstrat("run", *options, str(tmp_path / "program.py"))
        return code, output, error

    return run


@pytest.fixture(scope="module")
def without_keras():
    return names_without_keras()


WHOLE = """
import abc
import tensorflow as tf
import tensorflow.contrib.tensor_forest as forests
from tensorflow.contrib.learn import Trainable
from tensorflow.contrib.learn.python.learn.estimators import estimator
from tensorflow.contrib.crf.python.ops import crf as inside
from tensorflow.contrib.crf import *

KINDS = {"forest": forests.python.tensor_forest.RandomForestGraphs, "crf": crf_log_likelihood}

class Model(tf.contrib.learn.Estimator, metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def call(self, x): ...

class Of(Model):
    def __init__(self):
        super().__init__(name="of")
    def call(self, x): return x

@tf.contrib.framework.experimental
def reached(x):
    return x

@tf.contrib.learn.make_export_strategy(
    "name"
)
class Registered: pass

def step(x, mode=tf.contrib.learn.ModeKeys.TRAIN):
    if isinstance(x, (tf.contrib.learn.Estimator, Trainable)):
        return x()
    return "training" if mode == tf.contrib.learn.ModeKeys.TRAIN else "else"

with tf.Session() as session:
    print(step(1), session.run(tf.constant(2.0)))
"""


def test_a_program_that_mentions_corners_runs(program):
    assert program(WHOLE)[:2] == (0, "training 2.0\n")


@pytest.mark.long
def test_what_is_missing_is_said_once(tmp_path):
    (tmp_path / "helper.py").write_text(
        "import tensorflow as tf\nSAVER = tf.saved_model.Builder\nMODEL = tf.contrib.learn.Estimator\n"
    )
    (tmp_path / "program.py").write_text(
        "import helper\nimport tensorflow as tf\nimport tensorflow.contrib.learn\nprint(tf.nn.relu.__name__)\n"
        "MODES = tf.contrib.learn.ModeKeys.TRAIN, tf.foo.bar if False else None\n"
        "try:\n    tf.contrib.crf\nexcept AttributeError:\n    pass\n"
    )
    code, output, error = said("run", "program.py", folder=tmp_path)
    assert (code, output) == (0, "relu\n")
    assert error.splitlines()[1:] == [
        "towerstrat: 3 names that it mentions are missing (tf.contrib.learn.ModeKeys.TRAIN, tf.saved_model.Builder, "
        "tf.contrib.learn.Estimator); `towerstrat check program.py` lists all"
    ]
    (tmp_path / "program.py").write_text("import tensorflow as tf\nSAVER = tf.saved_model.Builder\n")
    _, _, error = said("run", "--api", "1", "program.py", folder=tmp_path)
    assert (
        "1 name that it mentions is missing (tf.saved_model.Builder); `towerstrat check --api 1 program.py` lists all"
        in error
    )
    (tmp_path / "program.py").write_text("import tensorflow as tf\nRELU = tf.nn.relu\n")
    assert "missing" not in said("run", "program.py", folder=tmp_path)[2]


@spread("use", [
    "Of()", "tf.contrib.learn.Estimator()", "KINDS['crf'](1)", "reached(3)", "Registered()",
    "inside.crf_decode(None, None, None)",
    "tf.convert_to_tensor(tf.contrib.learn.infer)",
    "list(Trainable)", "estimator.BaseEstimator(None)",
    "step(1, mode='train')",
], every=3)  # fmt: skip
def test_a_use_is_an_error_at_its_line(program, use):
    code, _, error = program(f"{WHOLE}\n{use}  # here\n")
    assert code == 1
    assert "# here" in error
    assert error.splitlines()[-1].startswith("towerstrat.errors.UnknownSymbolError: t")


class Derived(MODEL):
    pass


class OfAnyMetaclass(tf1.contrib.learn.Trainable, metaclass=type("Metaclass", (abc.ABCMeta,), {})):
    pass


class After(tuple, MODEL):
    __slots__ = ()


@pytest.mark.parametrize("use", [
    MODEL, Derived, OfAnyMetaclass, After, functools.partial(MODEL, 1), MODEL.from_config, tf1.saved_model.Builder,
    lambda: bool(MODEL), lambda: len(MODEL), lambda: list(MODEL), lambda: MODEL[0], lambda: MODEL + 1,
    lambda: 1 + MODEL, lambda: MODEL < 1, lambda: float(MODEL), lambda: np.asarray(MODEL), lambda: TRAIN == "train",
    lambda: "train" in (TRAIN,), lambda: tf1.constant(MODEL), lambda: tf1.convert_to_tensor(MODEL),
    lambda: tf1.add(1.0, MODEL), lambda: tf1.Session().run([tf1.zeros([]), MODEL]),
    lambda: tf1.contrib.learn.NotFittedError(),
], ids=range(23))  # fmt: skip
def test_uses(use):
    with tf1.Graph().as_default(), SAID:
        use()


BELOW = [
    ("layers.Dense", "keras.layers.Layer keras.layers.Dense"),
    ("layers.SeparableConv2D", "keras.layers.Layer keras.layers.SeparableConv2D keras.layers.SeparableConvolution2D"),
    ("layers.Conv2DTranspose", "keras.layers.Layer keras.layers.Conv2D keras.layers.Conv2DTranspose"),
    ("layers.MaxPooling1D", "keras.layers.Layer keras.layers.MaxPooling1D keras.layers.MaxPool1D"),
    ("nn.rnn_cell.GRUCell", "keras.layers.Layer"),
    ("contrib.rnn.LSTMBlockCell", "keras.layers.Layer"),
    ("zeros_initializer", "keras.initializers.Initializer keras.initializers.zeros keras.initializers.Zeros"),
    ("uniform_unit_scaling_initializer", "keras.initializers.Initializer"),
]
"""Classes with missing ones that they derive from in TensorFlow 1.12."""
MISSING = {name for _, names in BELOW for name in names.split()} | {
    "keras.Model",
    "keras.layers.Conv1D",
    "keras.layers.GRU",
    "keras.optimizers.Optimizer",
    "estimator.DNNClassifier",
}


@pytest.mark.parametrize(("name", "above"), BELOW)
def test_instances_are_those_of_missing_classes_that_they_derive_from_in_the_original(without_keras, name, above):
    kind = operator.attrgetter(name)(tf1)
    instance = object.__new__(kind)
    for missing in MISSING:
        corner = operator.attrgetter(missing)(without_keras)
        assert isinstance(instance, corner) == issubclass(kind, corner) == (missing in above.split()), missing


def test_initializers_of_2_x_are_those_of_keras(without_keras):
    kinds = without_keras.compat.v2.keras.initializers
    assert isinstance(tf2.initializers.HeNormal(), (kinds.HeNormal, kinds.he_normal))
    assert isinstance(tf2.initializers.HeNormal(), kinds.Initializer)
    assert not isinstance(tf2.initializers.HeNormal(), kinds.HeUniform)
    assert isinstance(tf1.layers.Dense(2), without_keras.compat.v2.keras.layers.Dense)


def test_as_an_element_type_it_is_refused_by_name():
    with pytest.raises(TypeError, match="which towerstrat does not have"):
        tf1.cast(1.0, MODEL)


def test_classes_and_instances():
    assert issubclass(Derived, MODEL)
    assert not issubclass(int, MODEL)
    assert not issubclass(Derived, tf1.saved_model.Builder)
    assert not isinstance(3, MODEL)
    assert not isinstance(3, (str, MODEL))
    assert inspect.isclass(MODEL)
    assert issubclass(MODEL, object)
    assert not inspect.isclass(tf1.contrib.layers.fully_connected)

    @functools.singledispatch
    def kind(value):
        return "any"

    kind.register(MODEL)(lambda value: "model")
    assert kind(3) == "any"


def test_comparisons():
    assert TRAIN == tf1.contrib.learn.ModeKeys.TRAIN
    assert TRAIN != tf1.contrib.learn.ModeKeys.EVAL
    assert TRAIN is not None
    assert (TRAIN == None) is False  # noqa: E711 - as programs write it
    assert {TRAIN: 1}[tf1.contrib.learn.ModeKeys.TRAIN] == 1
    assert TRAIN in (None, TRAIN)


def test_annotations():
    def annotated(a: MODEL, b: typing.Optional[MODEL] = None, c: "MODEL | None" = None) -> int | MODEL:  # noqa: UP045
        return 0

    hints = typing.get_type_hints(annotated)
    assert hints["a"] is MODEL
    assert hints["c"] == hints["b"] == typing.Optional[MODEL]  # noqa: UP045
    assert str(inspect.signature(annotated)).startswith("(a: ")
    fields = dataclasses.make_dataclass("Fields", [("model", MODEL, MODEL)])
    assert fields().model is MODEL


def test_copies_are_the_corner_itself():
    for corner in (MODEL, TRAIN, tf1.saved_model.Builder):
        assert pickle.loads(pickle.dumps(corner)) is corner
        assert copy.deepcopy([corner])[0] is corner


def test_those_who_look_at_objects():
    assert not hasattr(MODEL, "__wrapped__")
    assert not hasattr(MODEL, "dtype")
    assert not hasattr(MODEL, "_fields")
    assert (MODEL.__name__, MODEL.__module__) == ("Estimator", "tensorflow.contrib.learn")
    assert repr(MODEL) == "<tf.contrib.learn.Estimator, which towerstrat does not have>"
    assert str(inspect.signature(MODEL)).startswith("(*args")
    assert not [name for name, value in inspect.getmembers(tf1) if isinstance(value, MissingName)]


def test_errors_can_be_caught():
    with pytest.raises(ValueError, match="own"):
        try:
            raise ValueError("own")
        except tf1.contrib.learn.NotFittedError:
            pytest.fail("another error")


def test_a_decorator_that_is_reached_leaves_the_name_of_what_it_decorates():
    @tf1.contrib.framework.experimental
    def function(x):
        """Its docstring."""

    @tf1.contrib.learn.make_export_strategy(1)
    class Kind:
        pass

    assert (function.__name__, function.__doc__) == ("function", "Its docstring.")
    assert isinstance(Kind, type)
    for made in (function, Kind):
        with SAID:
            made(1)
    with SAID:
        tf1.contrib.framework.experimental(function)


@pytest.mark.parametrize(("api", "there", "not_there"), [
    (1, "keras estimator.DNNClassifier contrib.crf train.Server contrib.slim.nets keras.layers.Dense",
     "kera keras.layers.Densely random.set_seed contrib.crfs train.Savior"),
    (2, "keras.Model compat.v1.train.Server keras.layers.Dense lookup",
     "contrib placeholder keras.contrib train.Server"),
])  # fmt: skip
def test_what_is_there_is_what_an_original_has(api, there, not_there):
    def has(tree, name):
        for part in name.split("."):
            if not hasattr(tree, part):
                return False
            tree = getattr(tree, part)
        return True

    with importer.names_installed(api):
        tf = importlib.import_module("tensorflow")
        for name in there.split():
            assert has(tf, name), name
        for name in not_there.split():
            assert not has(tf, name), name


def test_all_names_of_a_module_can_be_imported():
    scope = {}
    with importer.names_installed():
        exec("from tensorflow.contrib.learn import *\nfrom tensorflow.nn import *", scope)
    assert isinstance(scope["Estimator"], MissingName)
    assert scope["relu"] is tf1.nn.relu
    assert isinstance(scope["rnn_cell"], Namespace)


@pytest.mark.parametrize(("api", "path", "name", "public"), [
    (1, "framework.sparse_tensor", "SparseTensor", "SparseTensor"),
    (1, "eager.backprop", "GradientTape", "GradientTape"),
    (1, "ops.gen_math_ops", "acos", "acos"), (1, "framework.function", "Defun", None),
    (2, "eager.def_function", "function", "function"), (2, "ops.numpy_ops.np_math_ops", "abs", None),
])  # fmt: skip
def test_modules_of_the_inside_have_what_is_here_in_public(api, path, name, public):
    with importer.names_installed(api):
        tf = importlib.import_module("tensorflow")
        found = getattr(importlib.import_module(f"tensorflow.python.{path}"), name)
        assert isinstance(found, MissingName) if public is None else found is getattr(tf, public)


def test_check_knows_the_names_of_the_inside():
    resolver = Resolver(1)
    status = {name: resolver.verdict(f"tf.python.{name}").status for name in (
        "framework.sparse_tensor.SparseTensor", "keras.engine.network.Network", "ops.rnn.nothing",
        "ops.nothing.x")}  # fmt: skip
    assert list(status.values()) == [Status.WORKS, Status.MISSING, Status.UNKNOWN, Status.UNKNOWN]
