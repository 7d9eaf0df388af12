"""Which original a program is written for is found by reading it."""

import os
import textwrap

import pytest

from towerstrat.compat.program import program_files as files
from towerstrat.compat.program import version_evidence


@pytest.fixture
def decide(tmp_path):
    """The decision on files, the first of which is the program."""

    def run(first, others=()):
        for name, source in {"train": first, **dict(others)}.items():
            path = tmp_path.joinpath(f"{name}.py")
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(textwrap.dedent(source))
        return version_evidence.decide(files.Files().program([tmp_path / "train.py"], [tmp_path]))

    return run


TF = "import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("source", "api", "reason"),
    [
        ("x = tf.placeholder(tf.float32)", 1, "train.py:2 uses tf.placeholder"),
        ("with tf.Session() as s: pass", 1, "train.py:2 uses tf.Session"),
        ("y = tf.layers.dense(1, 2)", 1, "train.py:2 uses tf.layers.dense"),
        ("s = tf.contrib.distribute.TPUStrategy()", 1, "train.py:2 uses tf.contrib.distribute.TPUStrategy"),
        ("tf.enable_eager_execution()", 1, "train.py:2 uses tf.enable_eager_execution"),
        ("tf.enable_eager_execution()\nwith tf.GradientTape() as t: pass", 1, "train.py:2 uses tf.enable_eager"),
        ("tf.nn.dropout(1, keep_prob=0.5)", 1, "train.py:2 uses tf.nn.dropout(keep_prob=...)"),
        ("tf.reduce_sum(\n  1,\n  keep_dims=True)", 1, "train.py:4 uses tf.reduce_sum(keep_dims=...)"),
        ("from tensorflow.contrib import slim", 1, "train.py:2 uses tf.contrib.slim"),
        ("import tensorflow.contrib.slim as slim", 1, "train.py:2 uses tf.contrib.slim"),
        ("from tensorflow import placeholder as p", 1, "train.py:2 uses tf.placeholder"),
        ("@tf.function\ndef f(): pass", 2, "train.py:2 uses tf.function"),
        ("with tf.GradientTape() as t: pass", 2, "train.py:2 uses tf.GradientTape"),
        ("s = tf.distribute.MirroredStrategy()", 2, "train.py:2 uses tf.distribute.MirroredStrategy"),
        ("tf.random.set_seed(1)", 2, "train.py:2 uses tf.random.set_seed"),
        ("o = tf.optimizers.SGD()", 2, "train.py:2 uses tf.optimizers.SGD"),
        ("tf.nn.dropout(1, rate=0.5)", 2, "train.py:2 uses tf.nn.dropout(rate=...)"),
        ("tf.gather(x, [1], batch_dims=1)", 2, "train.py:2 uses tf.gather(batch_dims=...)"),
        ("tf.gather(x, [1], batch_dims=1)\ntf.Session()", 1, "train.py:3 uses tf.Session"),
        ("tf.layers.flatten(x, data_format='channels_first')", 1, "train.py:2 uses tf.layers.flatten"),
        ("tf.compat.v1.disable_v2_behavior()", 2, "train.py:2 uses tf.compat.v1.disable_v2_behavior"),
        (
            "tf = tf.compat.v1\ntf.disable_v2_behavior()\nx = tf.placeholder(tf.int32)",
            2,
            "train.py:2 uses tf.compat.v1",
        ),
    ],
)
def test_names_and_keywords_of_one_original(decide, source, api, reason):
    found = decide(TF + source)
    assert found.api == api
    assert found.reason.startswith(reason)


def test_what_1_15_shares_with_2_x_gives_way_to_what_1_x_alone_has(decide):
    """A program of 1.15: ``tf.function`` and ``tf.distribute`` were there, and so were sessions."""
    found = decide(TF + "s = tf.distribute.MirroredStrategy()\n@tf.function\ndef f(): pass\nsession = tf.Session()")
    assert found == (1, "train.py:5 uses tf.Session")


@pytest.mark.parametrize(
    ("source", "api"),
    [
        ("import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nx = tf.placeholder(tf.float32)", 2),
        ("import tensorflow.compat.v1 as tf\nwith tf.Graph().as_default():\n  x = tf.placeholder(tf.float32)", 2),
        ("import tensorflow.compat.v1 as tf\ntf.enable_eager_execution()\nprint(tf.zeros([2]))", 2),
        ("import tensorflow.compat.v1 as tf\nprint(tf.constant(1).numpy())", 2),
        ("import tensorflow.compat.v1 as tf\nx = tf.placeholder(tf.float32)", 1),
        ("from tensorflow.compat import v1 as tf\nx = tf.placeholder(tf.float32)", 1),
        ("try:\n  import tensorflow.compat.v1 as tf\nexcept ImportError:\n  import tensorflow as tf\n"
         "tf.disable_v2_behavior()\ns = tf.Session()", 2),
    ],
)  # fmt: skip
def test_programs_that_import_the_names_of_1_x_by_their_path(decide, source, api):
    assert decide(source).api == api


@pytest.mark.parametrize("source", [
    TF + "x = tf.zeros([2]) + tf.ones([2])",
    TF + "try:\n  tf.placeholder\nexcept AttributeError:\n  pass",
    TF + "try:\n  from tensorflow.contrib import slim\nexcept ImportError:\n  slim = None",
    TF + "from tensorflow.python.framework import ops",
    TF + "import tensorflow.compat.v2 as tf2\ntf2.random.set_seed(1)",
    TF + "class A:\n  placeholder = 1\nprint(A.placeholder, 'tf.Session')",
])  # fmt: skip
def test_no_evidence_is_1(decide, source):
    found = decide(source)
    assert found.api == 1
    assert found.reason is None


def test_a_program_without_tensorflow_has_no_reason(decide):
    assert decide("import numpy as np") == (1, None)


SECOND = TF + "\ntf.random.set_seed(1)"


def test_conflicting_evidence_names_both_lines(decide):
    with pytest.raises(version_evidence.Conflict) as caught:
        decide(TF + "x = tf.placeholder(tf.int32)\ntf.random.set_seed(1)")
    message = str(caught.value)
    assert "train.py:2 uses tf.placeholder" in message
    assert "train.py:3 uses tf.random.set_seed" in message
    assert "--api" in message
    with pytest.raises(version_evidence.Conflict, match=r"old\.py:2 .*new\.py:3 "):
        decide("import old, new", {"old": TF + "x = tf.placeholder(tf.int32)", "new": SECOND})


def test_a_programs_own_file_counts_before_its_helpers(decide):
    own = TF + "import helper\n{}"
    assert decide(own.format("s = tf.Session()"), {"helper": SECOND}) == (1, "train.py:3 uses tf.Session")
    first = TF + "s = tf.Session()"
    assert decide(own.format("tf.random.set_seed(1)"), {"helper": first}) == (2, "train.py:3 uses tf.random.set_seed")
    # What 1.15 shares with 2.x tells less than a helper that means one of them.
    assert decide(own.format("@tf.function\ndef f(): pass"), {"helper": first}) == (1, "helper.py:2 uses tf.Session")
    assert decide(own.format("x = tf.zeros([2])"), {"helper": SECOND}).api == 2


@pytest.mark.parametrize(
    ("source", "api"),
    [
        ("import tensorflow.compat.v2 as tf\ntf.enable_v2_behavior()\n@tf.function\ndef f(): pass", 1),
        (TF + "tf.enable_v2_behavior()\nx = tf.random.normal([2])", 1),
        (TF + "tf.compat.v1.enable_v2_behavior()\n@tf.function\ndef f(): pass", 1),
        ("import tensorflow.compat.v1 as tf\ntf.enable_v2_behavior()\nprint(tf.zeros([2]))", 1),
        (TF + "tf.compat.v1.enable_v2_behavior()\ntf.random.set_seed(1)", 2),
    ],
)
def test_programs_of_1_13_to_1_15_that_run_as_2_x_does(decide, source, api):
    assert decide(source).api == api


def test_installed_packages_are_read_only_where_the_program_starts_in_one(tmp_path):
    packages = tmp_path / "lib/site-packages"
    sources = {
        "tool/__init__.py": "", "tool/main.py": "import other, tool.part", "tool/part.py": TF + "tf.Session()",
        "other.py": SECOND, "alone.py": "import other",
    }  # fmt: skip
    for name, source in sources.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(source)
    program = files.Files().program([packages / "tool/main.py"], [packages])
    assert [source.path.name for source in (*program.own, *program.helpers)] == ["main.py", "__init__.py", "part.py"]
    assert version_evidence.decide(program).api == 1
    assert files.Files().program([packages / "alone.py"], [packages]).helpers == []


def test_a_tensorflow_beside_the_program_is_not_its_own(decide):
    assert decide(TF, {"tensorflow/__init__": "import tensorflow\ntensorflow.random.set_seed(1)"}) == (1, None)


def test_local_modules_are_followed_through_imports(decide):
    files = {
        "package/__init__": "",
        "package/model": "from . import parts\n",
        "package/parts/__init__": "from .deep import x\n",
        "package/parts/deep": TF + "x = tf.Session()\n",
        "alone": "import tensorflow\ntensorflow.random.set_seed(1)",
    }
    assert decide("from package import model\n", files) == (1, "package/parts/deep.py:2 uses tf.Session")
    assert decide("import package.model\n", files).api == 1
    assert decide("import alone, os.path, numpy\n", files) == (2, "alone.py:2 uses tf.random.set_seed")


def test_files_that_cannot_be_read_are_left_to_python(decide):
    assert decide(TF + "import broken\ntf.random.set_seed(1)", {"broken": "x = ("}).api == 2


def test_nothing_is_executed(decide, tmp_path):
    marker = tmp_path / "ran"
    decide(f"import helper\nopen({str(marker)!r}, 'w')", {"helper": f"open({str(marker)!r}, 'w')"})
    assert not marker.exists()


def test_what_installed_packages_import_tells_too(decide, tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    package = folder / "oldlayers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from oldlayers import inner\n")
    (package / "inner.py").write_text(
        "import tensorflow as tf\n\n\ndef f():\n    return tf.contrib.layers.l2_regularizer\n"
    )
    (folder / "newlayers.py").write_text("try:\n    import tensorflow.contrib\nexcept ImportError:\n    pass\n")
    monkeypatch.syspath_prepend(str(folder))
    place = os.path.join("oldlayers", "inner.py")
    reason = f"it imports a package whose {place}:5 uses tf.contrib.layers.l2_regularizer"
    assert decide(TF + "import oldlayers\n@tf.function\ndef f(): pass") == (1, reason)
    assert decide(TF + "import newlayers\n@tf.function\ndef f(): pass").api == 2
    assert decide(TF + "from oldlayers import inner\ntf.random.set_seed(1)").api == 2  # its own files count before


def test_tests_through_compat_v1_are_of_1_x(decide):
    source = "import tensorflow.compat.v1 as tf\nclass T(tf.test.TestCase):\n  def test(self):\n    self.test_session()"
    assert decide(source).api == 1
    assert decide(source.replace("self.test_session()", "self.cached_session()")).api == 2
