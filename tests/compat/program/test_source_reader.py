"""What a file mentions of tensorflow is found by reading it."""

import textwrap

import pytest

from towerstrat.compat.program.program_files import Files

TF = "import tensorflow as tf\n"


@pytest.fixture
def read(tmp_path):
    """A source as it was read, with other files beside it."""

    def run(source, **others):
        for name, text in {**others, "file": source}.items():
            path = tmp_path.joinpath(*name.split("__in__")[::-1]).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return Files().source(tmp_path / "file.py")

    return run


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (TF + "tf.nn.relu(tf.zeros([2]))", ["tf.nn.relu", "tf.zeros"]),
        ("import tensorflow\ntensorflow.nn.relu", ["tf.nn.relu"]),
        ("import tensorflow.contrib.slim as slim\nslim.conv2d", ["tf.contrib.slim", "tf.contrib.slim.conv2d"]),
        ("from tensorflow.python.framework import ops\nops.Graph", [
            "tf.python.framework.ops", "tf.python.framework.ops.Graph"]),
        ("from tensorflow import layers, nn as n\nn.relu", ["tf.layers", "tf.nn", "tf.nn.relu"]),
        ("import tensorflow.compat.v1 as tf\ntf.Session", ["tf.compat.v1", "tf.compat.v1.Session"]),
        (TF + "layers = tf.layers\nlayers.dense", ["tf.layers", "tf.layers.dense"]),
        (TF + "a, b = tf.nn, tf.layers\na.relu, b.dense", ["tf.nn", "tf.layers", "tf.nn.relu", "tf.layers.dense"]),
        (TF + "o: object = tf.nn\no.relu", ["tf.nn", "tf.nn.relu"]),
        (TF + "tf.train.AdamOptimizer(0.1).minimize(tf.losses.x)", ["tf.train.AdamOptimizer", "tf.losses.x"]),
        (TF + "tf.app.flags.FLAGS.batch", ["tf.app.flags.FLAGS.batch"]),
        (TF + "def f(x: tf.Tensor = tf.zeros([1])) -> tf.DType: pass", ["tf.Tensor", "tf.zeros", "tf.DType"]),
        (TF + "@tf.function\ndef f(): pass", ["tf.function"]),
        (TF + "class A(tf.Module): x = tf.nn\n", ["tf.Module", "tf.nn"]),
        ("from tensorflow.contrib.slim import *", ["tf.contrib.slim"]),
        ("try:\n  import tensorflow.compat.v1 as tf\nexcept ImportError:\n  import tensorflow as tf\ntf.Session",
         ["tf.compat.v1", "tf.compat.v1.Session"]),
    ],
)  # fmt: skip
def test_names_are_followed_from_where_they_are_bound(read, source, names):
    assert [mention.name for mention in read(source).mentions] == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f():\n  import tensorflow as tf\n  tf.nn\ntf.layers", ["tf.nn"]),
        (TF + "def f(tf): tf.nn", []),
        (TF + "def f():\n  layers.dense\nlayers = tf.layers", ["tf.layers.dense", "tf.layers"]),
        (TF + "def f():\n  nn = tf.nn\n  return lambda: nn.relu\nnn = 1\nnn.relu", ["tf.nn", "tf.nn.relu"]),
        (TF + "class A:\n  nn = tf.nn\n  y = nn.relu\n  def f(self): return nn.elu", ["tf.nn", "tf.nn.relu"]),
        (TF + "[tf.x for tf in range(3)], tf.y", ["tf.y"]),
        (TF + "for tf in []: pass\ntf.nn", []),
        (TF + "with tf.Session() as tf: tf.run", ["tf.Session"]),
        (TF + "lambda tf: tf.nn", []),
        (TF + "tf.nn.relu = None", ["tf.nn"]),
        ("def load():\n  global tf\n  import tensorflow as tf\ndef f(): tf.nn", ["tf.nn"]),
    ],
)
def test_scopes_are_those_of_python(read, source, names):
    assert [mention.name for mention in read(source).mentions] == names


UTILS = TF + "from tensorflow import nn\nlayers = tf.layers\n_hidden = tf.Session\nother = 1\n"


@pytest.mark.parametrize(
    ("source", "others"),
    [
        ("from utils import tf\ntf.nn.relu", {"utils": UTILS}),
        ("from utils import tf as t, other\nt.nn.relu, other.x", {"utils": UTILS}),
        ("from utils import nn\nnn.relu", {"utils": UTILS}),
        ("from utils import *\nnn.relu, _hidden, other.x", {"utils": UTILS}),
        ("import utils\nutils.tf.nn.relu, utils.other.x, utils.none.x", {"utils": UTILS}),
        ("import utils as u\nu.nn.relu", {"utils": UTILS}),
        ("from utils import tf\ntf.nn.relu", {"utils": "from inner import *", "inner": UTILS}),
        ("from utils import tf\ntf.nn.relu", {"utils": UTILS + "import file"}),
        ("from pkg.utils import tf\ntf.nn.relu", {"utils__in__pkg": UTILS}),
        ("import pkg.utils\npkg.utils.tf.nn.relu", {"utils__in__pkg": UTILS}),
        ("from pkg import utils\nutils.tf.nn.relu", {"utils__in__pkg": UTILS, "__init____in__pkg": ""}),
        ("from pkg import tf\ntf.nn.relu", {"utils__in__pkg": UTILS, "__init____in__pkg": "from .utils import tf"}),
        ("from pkg import u\nu.nn.relu", {"a__in__pkg": UTILS, "__init____in__pkg": "from . import a as u"}),
        ("def f():\n  from utils import tf\n  return tf.nn.relu", {"utils": UTILS}),
    ],
)
def test_names_are_followed_through_modules_of_the_program(read, source, others):
    assert [m.name for m in read(source, **others).mentions] == ["tf.nn.relu"]


@pytest.mark.parametrize("utils", ["def tf(): pass", "tf = None", "(", "import tensorflow as t"])
def test_what_a_module_does_not_bind_to_tensorflow_is_none(read, utils):
    assert read("from utils import tf\ntf.nn.relu", utils=utils).mentions == []


def test_places_are_lines_columns_and_widths_in_characters(read):
    source = read(TF + "x = 'äö', tf.nn.relu(\n  1, name='ü', keep=2)\nfrom tensorflow import nn as n")
    found = [(str(m), m.line, m.column, m.width) for m in source.mentions]
    assert found == [
        ("tf.nn.relu", 2, 11, 10), ("tf.nn.relu(name=...)", 3, 6, 4), ("tf.nn.relu(keep=...)", 3, 16, 4),
        ("tf.nn", 4, 24, 7),
    ]  # fmt: skip


@pytest.mark.parametrize(("caught", "body", "optional"), [
    ("ImportError", "from tensorflow import x", True),
    ("(KeyError, AttributeError)", "tf.x", True),
    ("", "import tensorflow.x", True),
    ("Exception", "import tensorflow.x", True),
    ("Exception", "tf.x", False),
    ("tf.errors.OutOfRangeError", "tf.x", False),
])  # fmt: skip
def test_what_may_be_missing_is_optional(read, caught, body, optional):
    source = read(TF + f"try:\n  {body}\nexcept {caught}:\n  pass\n")
    assert [m.optional for m in source.mentions if m.name == "tf.x"] == [optional]


def test_names_that_nothing_binds_and_modules_of_others(read):
    source = read("""
        import os, cPickle
        import six
        from six.moves import xrange
        try:
            import urllib2
            unicode
        except (ImportError, NameError):
            import StringIO
        if six.PY2:
            reload(os)
        def f(file, *long):
            return [raw_input() for basestring in file], basestring, xrange, long
    """)
    assert {node.id for node in source.unbound} == {"raw_input"}
    assert [module for module, _ in source.modules] == ["os", "cPickle", "six", "six.moves"]


def test_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "file.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nimport tensorflow as tf\nx = 'é', tf.nn".encode("latin-1"))
    (mention,) = Files().source(path).mentions
    assert (mention.name, mention.line, mention.column) == ("tf.nn", 3, 10)
