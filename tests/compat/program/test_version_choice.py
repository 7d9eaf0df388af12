"""``tf.__version__`` is one that the program accepts."""

import textwrap

import pytest

from tests.compat.running import said
from towerstrat.compat.program import program_files, version_choice, version_evidence

TF = "import tensorflow as tf\n"


@pytest.fixture
def program(tmp_path):
    """What was read of a file."""

    def run(source):
        path = tmp_path / "old.py"
        path.write_text(TF + textwrap.dedent(source))
        return program_files.Files().program([path], [tmp_path])

    return run


@pytest.mark.parametrize(
    ("source", "version"),
    [
        ("", "1.12.3"),
        ("print(tf.__version__)", "1.12.3"),
        # What it uses.
        ("tf.compat.v1.Session()", "1.15.5"),
        ("@tf.function\ndef f(): pass", "1.15.5"),
        ("def train(strategy): strategy.experimental_run_v2(step)", "1.15.5"),
        ("tf.nn.conv2d(x, filters=w, strides=1, padding='SAME')", "1.15.5"),
        ("tf.nn.conv2d(x, filter=w, strides=[1] * 4, padding='SAME')", "1.12.3"),
        ("try:\n  tf.compat.v1\nexcept AttributeError:\n  pass", "1.12.3"),
        # What it asserts.
        ("assert tf.__version__ == '1.13.1'", "1.13.1"),
        ("assert tf.VERSION.startswith('1.14')", "1.14.0"),
        ("assert tf.__version__ in ('1.4.0', '1.10.0')", "1.10.0"),
        ("assert LooseVersion(tf.__version__) >= LooseVersion('1.10')", "1.12.3"),
        ("assert LooseVersion(tf.__version__) < '1.11'", "1.10.1"),
        ("assert distutils.version.LooseVersion(tf.VERSION) >= '1.15'", "1.15.5"),
        ("assert int(tf.__version__.split('.')[1]) >= 14", "1.14.0"),
        ("v = tf.__version__\nassert [int(x) for x in v.split('.')][:2] == [1, 9]", "1.9.0"),
        ("major, minor = map(int, tf.__version__.split('.')[:2])\nassert major == 1 and minor < 12", "1.11.0"),
        ("from tensorflow import __version__ as v\nassert v[:4] == '1.11'", "1.11.0"),
        ("assert packaging.version.parse(tf.__version__).release >= (1, 13)", "1.12.3"),
        ("if not tf.__version__.startswith('1.8'):\n  raise ValueError('too new')", "1.8.0"),
        ("if tf.__version__ < '1.13':\n  print('old')\n  sys.exit(1)", "1.13.2"),
        ("if tf.__version__.startswith('1.14'): pass\nelse:\n  raise RuntimeError", "1.14.0"),
        # Which branches work here.
        ("if tf.__version__ >= '1.13': x = tf.keras.Model\nelse: x = tf.layers.Dense", "1.12.3"),
        (
            "if int(tf.__version__.split('.')[1]) < 14:\n  x = tf.contrib.opt.AGNOptimizer\nelse:\n  x = tf.zeros",
            "1.14.0",
        ),
        ("if tf.__version__.startswith('2'):\n  assert tf.__version__ == '2.3.0'", "1.12.3"),
        ("assert something(tf.__version__) and tf.__version__ == '1.9.0'", "1.12.3"),
    ],
)
def test_the_version_follows_the_program(program, source, version):
    assert version_choice.choose(program(source), 1) == version


def test_versions_of_2_x(program):
    assert version_choice.choose(program(""), 2) == "2.15.1"
    assert version_choice.choose(program("assert tf.__version__.startswith('2.3')"), 2) == "2.3.4"


def test_conditions_on_the_version_tell_what_a_program_is_written_for(program):
    assert version_evidence.decide(program("assert tf.__version__ >= '2.0'")) == (2, "its conditions on tf.__version__")
    assert version_evidence.decide(program("assert tf.__version__ < '2'")) == (1, None)
    branches = "if tf.__version__[0] == '2': tf.random.set_seed(1)\nelse: tf.set_random_seed(1)"
    assert version_evidence.decide(program(branches)) == (1, None)
    assert version_evidence.decide(program(branches + "\ntf.random.set_seed(1)")).api == 2


@pytest.mark.parametrize(("text", "found"), [
    ("1", (1, None)), ("2", (2, None)), ("1.8", (1, "1.8.0")), ("1.15", (1, "1.15.5")), ("1.13.1", (1, "1.13.1")),
    ("2.3", (2, "2.3.4")),
])  # fmt: skip
def test_versions_by_name(text, found):
    assert version_choice.release(text) == found


@pytest.mark.parametrize("text", ["", "3", "1.7", "1.16", "2.16", "1.x", "1.14.x", "v1"])
def test_other_versions_are_refused(text):
    with pytest.raises(ValueError, match=r"a version from 1\.8 to 1\.15 or 2\.0 to 2\.15"):
        version_choice.release(text)


def test_nothing_of_a_condition_runs(program, tmp_path):
    marker = tmp_path / "ran"
    source = f"assert tf.__version__ == '1.9.0' or open({str(marker)!r}, 'w')\nassert tf.__version__.__class__"
    assert version_choice.choose(program(source), 1) == "1.12.3"
    assert not marker.exists()


SHOWS = """
import subprocess, sys, tensorflow as tf
assert tf.__version__ == tf.VERSION == tf.version.VERSION == tf.compat.v1.__version__
print(tf.__version__, flush=True)
subprocess.run([sys.executable, "-c", "import tensorflow as tf; print(tf.VERSION)"])
"""


def test_a_program_and_its_children_see_one_version(tmp_path):
    (tmp_path / "old.py").write_text(SHOWS)
    code, output, error = said("run", "old.py", folder=tmp_path)
    assert (code, output) == (0, "1.15.5\n1.15.5\n"), error
    assert error == "towerstrat: 1.x names, tf.__version__ 1.15.5 (old.py:3 uses tf.VERSION)\n"
    code, output, error = said("run", "--api", "1.13.1", "old.py", folder=tmp_path)
    assert (code, output) == (0, "1.13.1\n1.13.1\n"), error
    assert error == "towerstrat: 1.x names, tf.__version__ 1.13.1 (--api 1.13.1)\n"
