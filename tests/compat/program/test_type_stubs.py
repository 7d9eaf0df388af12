"""Stub files of tensorflow: they have the names that are here, and by them a type checker finds wrong calls."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import towerstrat
from towerstrat import cli
from towerstrat.compat.names import name_file, public_names, tf_slim
from towerstrat.compat.program import type_stubs

ROOT = Path(towerstrat.__file__).parents[1]


def defined(text):
    """The names that a stub gives to who imports it: ``import x as _y`` gives none."""
    found = set()
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.ImportFrom(names=names):
                found |= {each.asname for each in names if each.asname == each.name}
    return found


@pytest.mark.parametrize("api", [1, 2])
def test_every_public_name_is_in_the_stub_of_its_module(api):
    here = {path: defined(text) for path, text in type_stubs.stubs(api).items()}
    other = 3 - api
    served = [*name_file.public("tensorflow_estimator", api), *name_file.public(name_file.OURS, api)]
    names = {*public_names.names(api), *(row.name for row in served), *(tf_slim.NAMES if api == 1 else ())}
    elsewhere = {f"tf.compat.v{other}{name.removeprefix('tf')}" for name in public_names.names(other)}
    for name in names | elsewhere:
        module, _, last = name.rpartition(".")
        path = type_stubs.ROOT + module.removeprefix("tf")
        assert here[path] & {last, "__getattr__"}, name
        for parent in path.split(".")[1:]:
            above, _, _ = path.partition(f".{parent}")
            assert here[above] & {parent, "__getattr__"}, path
    assert len(names) > 1000


@pytest.mark.parametrize("api", [1, 2])
def test_what_is_not_here_is_in_no_stub(api):
    here = type_stubs.stubs(api)
    assert "reluu" not in defined(here["tensorflow.nn"])
    closed = [path for path, text in here.items() if "def __getattr__" not in text]
    assert {"tensorflow", "tensorflow.nn", "tensorflow.train", "tensorflow.data"} <= {*closed}


def test_the_command_writes_them_and_says_so(tmp_path, capsys):
    assert cli.main(["stubs", str(tmp_path / "typings"), "--api", "2"]) == 0
    count = len(list((tmp_path / "typings" / "tensorflow").rglob("__init__.pyi")))
    assert capsys.readouterr().out.startswith(f"{count} stub files of tensorflow 2.x in {tmp_path}")
    assert cli.main(["stubs", str(tmp_path / "typings")]) == 0
    assert (tmp_path / "typings" / "tensorflow" / "contrib" / "__init__.pyi").exists()
    assert cli.main(["stubs", str(tmp_path / "typings"), "--api", "2"]) == 0
    left = {*(tmp_path / "typings" / "tensorflow").rglob("__init__.pyi")}
    assert len(left) == count, "those of 1.x are gone"
    capsys.readouterr()
    (tmp_path / "file").write_text("")
    assert cli.main(["stubs", str(tmp_path / "file")]) == 2
    assert "towerstrat: " in capsys.readouterr().err


WRONG = """\
import tensorflow as tf
from tensorflow.python.ops import array_ops
from tensorflow.keras.layers import Dense

x = tf.placeholder(tf.float32, [None, 3])  # right
y = tf.concat([x, tf.constant([[1.0, 2.0, 3.0]])], axis=0)  # right
z = tf.concat([x, x], axes=0)  # call-arg
w = tf.matmul(y, y, transpose=True)  # call-arg
p = tf.placeholder(tf.float32, "two")  # arg-type
g = tf.get_variable(3, shape=[2])  # arg-type
r = tf.nn.reluu(x)  # attr-defined
train = tf.train.AdamOptimizer(learning_rate=1e-3).minimize(tf.reduce_mean(y))  # right
other = tf.train.AdamOptimizer(learning_rates=1e-3)  # call-arg
dense = Dense(3)(array_ops.identity(x))  # right
estimator = tf.estimator.Estimator(lambda features: None, config=tf.estimator.RunConfig(save_summary_steps=3))  # right
strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=2)  # right
slim = tf.contrib.slim.fully_connected(x, 4)  # right
"""


@pytest.mark.long
def test_mypy_finds_wrong_calls_and_no_others(tmp_path):
    type_stubs.write(tmp_path / "typings", 1)
    (tmp_path / "program.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nmypy_path={tmp_path / 'typings'}:{ROOT}\nfollow_imports=silent\nignore_missing_imports=true\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "program.py", "--show-error-codes"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    found = re.findall(r"^program\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    wanted = [(i, line.rpartition("# ")[2]) for i, line in enumerate(WRONG.splitlines(), 1) if "# " in line]
    assert {(int(i), code) for i, code in found} == {row for row in wanted if row[1] != "right"}, done.stdout
