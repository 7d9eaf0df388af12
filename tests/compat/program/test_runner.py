"""``towerstrat run`` is ``python`` for old programs."""

import os
import re
import sys

import pytest

from tests.compat.running import said, towerstrat
from tests.spread import spread
from towerstrat import __version__, cli
from towerstrat.compat.program import environment_hints, python2_hints, runner
from towerstrat.platform import devices


def test_the_program_is_main_and_sees_its_own_arguments_and_modules(program, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/helper.py").write_text("import tensorflow\nsession = tensorflow.Session\n")
    source = """
import os, pickle, sys
from tests.spread import spread
import __main__
import tensorflow as tf
import helper
class Here: pass
assert __name__ == "__main__" and sys.argv[0] == os.path.join("sub", "old.py")
assert __file__ == os.path.abspath(sys.argv[0])  # as Python has it from 3.9
assert sys.argv[1:] == ["--towers", "3", "-m", "x"]
assert os.path.basename(sys.path[0]) == "sub"
assert helper.session is tf.Session
assert type(pickle.loads(pickle.dumps(Here()))) is __main__.Here is Here
print("done")
"""
    assert program(source, "--towers", "3", "-m", "x", name="sub/old.py") == (0, "done\n", "")


@pytest.mark.long
def test_a_module_of_a_package_runs_as_main(program, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    (tmp_path / "package/other.py").write_text("import tensorflow as tf\n")
    (tmp_path / "package/__main__.py").write_text("print(__spec__.name)")
    (tmp_path / "package/job.py").write_text(
        "import sys\nfrom . import other\nprint(__name__, other.tf.__version__, sys.argv[1:])\n"
        "assert sys.argv[0] == __file__ and sys.argv[0].endswith('job.py')"
    )
    assert towerstrat("run", "-m", "package.job", "-a", "b", folder=tmp_path)[:2] == (
        0, "__main__ 1.12.3 ['-a', 'b']\n")  # fmt: skip
    assert towerstrat("run", "-m", "package", folder=tmp_path)[:2] == (0, "package.__main__\n")
    assert towerstrat("run", "package", folder=tmp_path)[:2] == (0, "__main__\n")
    code, _, error = towerstrat("run", "-m", "package.nothing", folder=tmp_path)
    assert code == 2
    assert "package.nothing" in error


@spread(
    ("source", "code", "error"),
    [
        ("raise KeyboardInterrupt", 130, None),
        ("import sys; sys.exit(5)", 5, ""),
        ("import sys; sys.exit('bye')", 1, "bye\n"),
        ("x = (", 1, '  File "old.py", line 1\n'),
    ],
    every=3,
)
def test_exit_statuses_are_those_of_python(program, source, code, error):
    found, _, errors = program(source)
    assert found in (code, -2 if code == 130 else code)
    if error is not None:
        assert errors.startswith(error)


FAILING = """
import tensorflow as tf
def build():
    return tf.zeros([2, 3]) + tf.zeros([2, 4])
build()
"""


def test_a_traceback_shows_the_program_only(program):
    code, _, error = program(FAILING)
    assert code == 1
    assert error.startswith('Traceback (most recent call last):\n  File "old.py", line 5, in <module>\n    build()\n')
    assert error.count("File ") == 2
    assert "created at: old.py:4 in build" in error
    _, _, error = program(FAILING, full=True)
    assert os.path.join("towerstrat", "graph", "ir", "graph.py") in error


@pytest.mark.long
def test_a_traceback_keeps_the_causes_that_are_the_programs(program):
    source = """
import tensorflow as tf
try:
    {}["x"]
except KeyError as error:
    raise ValueError("wrong") from error
"""
    _, _, error = program(source)
    assert error.count("Traceback") == 2
    assert error.endswith("ValueError: wrong\n")


TOWERS = """
import tensorflow as tf
resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
print(tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=1).num_towers)
"""


def test_towers_are_virtual_devices_of_the_cpu(program):
    assert program(TOWERS, options=["--towers", "3"])[:2] == (0, "3\n")
    assert program(TOWERS)[:2] == (0, "1\n")
    assert program("import jax; jax.devices(); print(len(jax.devices()))", options=["--towers", "2"])[1] == "2\n"


def test_a_missing_program(tmp_path):
    code, _, error = towerstrat("run", "missing.py", folder=tmp_path)
    assert code == 2
    assert error.startswith("towerstrat: can't open file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--towers", "0", "x.py"], "expected a number from 1"),
        (["run", "--towers", "two", "x.py"], "expected a number from 1"),
        (["run"], "SCRIPT"),
        (["walk"], "walk"),
    ],
)
def test_bad_command_lines(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_version_help_and_devices(capsys):
    for arguments, start in (
        (["--version"], f"towerstrat {__version__}"),
        (["run", "--help"], "usage: towerstrat run"),
    ):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 0
        assert capsys.readouterr().out.startswith(start)
    assert cli.main(["devices"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["cpu:0  cpu", "cpu:1  cpu"]


@pytest.mark.long
def test_frames_of_libraries_that_are_called_from_inside_are_left_out(program):
    source = """
import tensorflow as tf
import numpy as np
class Odd:
    def __array__(self, *args, **kwargs):
        raise ValueError("odd")
x = tf.placeholder(tf.float32, [2])
with tf.Session() as session:
    session.run(x + 1.0, {x: Odd()})
"""
    _, _, error = program(source)
    assert "site-packages" not in error
    assert error.count('File "old.py"') == error.count("File ") >= 1
    assert error.endswith("\n")


EAGER = """
import tensorflow as tf
import tensorflow.compat.v1 as v1
x = tf.constant([[1.0, 2.0]])
assert tf.compat.v1 is v1 and v1.compat.v2 is tf
assert tf.executing_eagerly() and v1.executing_eagerly()
assert isinstance(v1.zeros([2]), tf.Tensor) and x.shape[1] == 2 and type(x.shape[1]) is int
print(tf.reduce_sum(x, axis=1, keepdims=True).numpy(), tf.__version__, bool(tf.reduce_all(x == x)))
tf.random.set_seed(1)
"""


def test_a_program_of_2_x_has_its_names_and_runs_eagerly(tmp_path):
    (tmp_path / "new.py").write_text(EAGER)
    code, output, error = said("run", "new.py", folder=tmp_path)
    assert (code, output) == (0, "[[3.]] 2.15.1 True\n"), error
    assert error == "towerstrat: 2.x names (new.py:9 uses tf.random.set_seed)\n"


def test_a_program_of_1_x_says_so(tmp_path):
    (tmp_path / "old.py").write_text("import tensorflow as tf\nprint(tf.Session().run(tf.constant(2)))")
    assert said("run", "old.py", folder=tmp_path) == (0, "2\n", "towerstrat: 1.x names (old.py:2 uses tf.Session)\n")
    code, _, error = said("run", "--api", "2", "old.py", folder=tmp_path)
    assert code == 1
    assert error.startswith("towerstrat: 2.x names (--api 2)\nTraceback")
    assert "use tf.compat.v1.Session, or run with --api 1" in error


@pytest.mark.long
def test_a_module_of_2_x(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("import tensorflow as tf\n")
    (tmp_path / "package/job.py").write_text("from . import tf\nimport package.parts\nprint(tf.__version__)")
    (tmp_path / "package/parts.py").write_text("import tensorflow as tf\ntf.random.set_seed(1)\n")
    expected = "towerstrat: 2.x names (package/parts.py:2 uses tf.random.set_seed)\n"
    assert said("run", "-m", "package.job", folder=tmp_path) == (0, "2.15.1\n", expected)


@pytest.mark.long
def test_a_program_that_imports_nothing_of_it_hears_nothing(tmp_path):
    (tmp_path / "other.py").write_text("print(1)")
    assert said("run", "other.py", folder=tmp_path) == (0, "1\n", "")


def test_conflicting_names_are_an_error(tmp_path):
    (tmp_path / "both.py").write_text("import tensorflow as tf\nx = tf.placeholder\ntf.random.set_seed(1)")
    code, _, error = said("run", "both.py", folder=tmp_path)
    assert code == 2
    assert re.match(r"towerstrat: both\.py:2 uses tf\.placeholder.* both\.py:3 uses tf\.random\.set_seed.*--api", error)


ADAPTS = """
import tensorflow.compat.v2 as tf
tf.enable_v2_behavior()

@tf.function
def double(x):
    return 2 * x

import tensorflow
print(double(tf.constant(2)).numpy(), tensorflow.executing_eagerly(), tensorflow.Session.__name__)
"""


def test_a_program_of_1_15_that_runs_as_2_x_does(tmp_path):
    (tmp_path / "old.py").write_text(ADAPTS)
    reason = "old.py:10 uses tf.Session.__name__"
    expected = f"towerstrat: 1.x names, tf.__version__ 1.15.5 ({reason})\n"
    assert said("run", "old.py", folder=tmp_path) == (0, "4 True Session\n", expected)
    (tmp_path / "old.py").write_text(ADAPTS.replace(", tensorflow.Session.__name__", ""))
    expected = expected.replace(reason, "old.py:3 uses tf.compat.v2.enable_v2_behavior")
    assert said("run", "old.py", folder=tmp_path) == (0, "4 True\n", expected)
    code, output, _ = said("run", "--api", "2", "old.py", folder=tmp_path)
    assert (code, output) == (0, "4 True\n")


@pytest.mark.long
def test_an_installed_module_is_what_the_files_that_it_works_on_are(tmp_path):
    (tmp_path / "test_new.py").write_text("import tensorflow as tf\ndef test(): tf.random.set_seed(1)\n")
    (tmp_path / "test_none.py").write_text("def test(): pass\n")
    code, _, error = said("run", "-m", "pytest", "-q", "test_new.py::test", folder=tmp_path)
    assert (code, error) == (0, "towerstrat: 2.x names (test_new.py:2 uses tf.random.set_seed)\n")
    assert said("run", "-m", "pytest", "-q", "test_none.py", folder=tmp_path)[::2] == (0, "")
    assert said("run", "-m", "pytest", "--version", folder=tmp_path)[::2] == (0, "")


def test_disabling_what_2_x_does(tmp_path):
    (tmp_path / "old.py").write_text(
        "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\nx = tf.placeholder(tf.float32, [None])\n"
        "print(tf.Session().run(x + 1, {x: [1.0]}), x.shape[0].value)"
    )
    assert said("run", "old.py", folder=tmp_path) == (
        0, "[2.] None\n", "towerstrat: 2.x names (old.py:1 uses tf.compat.v1)\n")  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        'print "step %d" % i',
        'print >>sys.stderr, "x"',
        "print 'a', i",
        'exec "i = 1"',
        'raise ValueError, "wrong"',
        "mode = 0755",
        "if i <> 1: pass",
        "for k in xrange(3): pass",
        "{}.has_key(1)",
        "for k, v in {}.iteritems(): pass",
        "import cPickle",
        "iter([]).next()",
        "unicode(i)",
    ],
)
def test_python_2_is_named_with_the_line(line):
    with pytest.raises(Exception) as caught:
        exec(compile(f"import sys\ni = 1\n{line}\n", "old.py", "exec"), {})
    assert "Python 2" in python2_hints.hint(caught.value)


def test_other_mistakes_are_not_said_to_be_python_2():
    for source in (
        "x = (",
        "print(1",
        "unknown",
        "[].has_key",
        "import nothing_like_it",
        "a b",
        "raise ValueError('x')",
    ):
        with pytest.raises(Exception) as caught:
            exec(compile(source, "new.py", "exec"), {})
        assert python2_hints.hint(caught.value) is None, source


def test_a_program_of_python_2_ends_with_what_to_do(program):
    code, _, error = program('import tensorflow as tf\nfor i in range(3):\n    print "step %d" % i\n')
    assert code == 1
    assert error.startswith('  File "old.py", line 3\n')
    assert error.endswith("of Python 3.11 or 3.12.\n")
    assert "This is Python 2" in error
    code, _, error = program("import tensorflow as tf\nfor i in xrange(3): pass\n")
    assert 'File "old.py", line 2' in error
    assert "This is Python 2" in error


def test_more_towers_than_there_are_devices_is_said_before_the_program_starts(monkeypatch, tmp_path):
    (tmp_path / "program.py").write_text("import tensorflow as tf\nraise SystemExit('started')")
    monkeypatch.setattr(devices, "_asked", 9)
    monkeypatch.setattr(devices, "may_be_accelerated", lambda: True)
    monkeypatch.setattr(runner.child_interpreters, "start", lambda towers, say: None)
    monkeypatch.setattr(runner.child_interpreters, "bind", lambda api, version, say: None)
    for name in ("argv", "path", "excepthook"):
        monkeypatch.setattr(sys, name, getattr(sys, name)[:] if name != "excepthook" else sys.excepthook)
    with pytest.raises(runner.CannotStart, match=r"--towers: 9 towers were asked for.*there are 8 CPU.*at most 8"):
        runner.run_script(str(tmp_path / "program.py"), towers=9)


def test_a_missing_address_of_a_tpu_ends_with_what_to_do(program):
    code, _, error = program("import os\nimport tensorflow as tf\nprint('grpc://' + os.environ['COLAB_TPU_ADDR'])\n")
    assert code == 1
    assert "the devices that are here: run the program with COLAB_TPU_ADDR=localhost:8470 in the" in error
    assert environment_hints.hint(KeyError("other")) is None
