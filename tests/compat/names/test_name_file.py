"""The file of names: how it is written, that each line has its object, and that nothing stands beside it in code."""

import ast
import itertools
import pathlib
import re

import pytest

import towerstrat
from towerstrat import cli
from towerstrat.compat import importer
from towerstrat.compat.names import missing_names, name_file, tf_slim
from towerstrat.compat.names.lazy_names import LazyName, named
from towerstrat.compat.names.name_file import OURS
from towerstrat.graph.ir.dispatch import dispatching

ROOT = pathlib.Path(towerstrat.__file__).parent
ROWS = [*name_file.below("tensorflow"), *name_file.below("tf")]
VERSIONS = ["1.12", "1.15", "2.15"]


def test_the_file_is_sorted_and_says_each_name_once_a_version():
    head, *lines = (ROOT / "compat/names" / name_file.FILE).read_text().splitlines()
    assert head.split("\t") == [*name_file.Row._fields]
    assert [tuple(line.split("\t")) for line in lines] == ROWS
    assert [(row.name, row.first) for row in ROWS] == sorted({(row.name, row.first) for row in ROWS})
    for row in ROWS:
        assert re.fullmatch(r"(tf|tensorflow)(\.\w+)*\.(\w+|\*)", row.name), row
        assert VERSIONS.index(row.first) <= VERSIONS.index(row.last), row
        assert (row.name.endswith(".*"), row.name.startswith("tensorflow.")) in [
            (row.attribute == "*", True), (False, False)], row  # fmt: skip
    for one, two in itertools.pairwise(ROWS):
        if one.name == two.name:
            assert one.last < two.first, two
            assert one[1:3] != two[1:3], two


def test_a_name_is_one_object_or_one_for_each_namespace():
    assert len(ROWS) > 3700
    assert [row[1:] for row in name_file.below("tf.concat")] == [
        ("towerstrat.graph.ops.array.arrays", "concat", "1.12", "2.15")
    ]
    assert [row.last for row in name_file.below("tf.gather")] == ["1.15", "2.15"]


def test_the_first_version_is_the_originals():
    labels = missing_names.original_names(1)
    for row in name_file.below("tf"):
        if row.is_of(1) and row.name in labels:
            assert labels[row.name] == f"TensorFlow {row.first}", row


def test_each_line_has_its_object():
    if not tf_slim.available():
        pytest.skip("tf-slim is not installed")
    for row in ROWS:
        if row.package == tf_slim.PACKAGE:
            tf_slim.load(row.name, importer.bound)
        elif row.attribute != "*":
            named(row, importer.bound).value()


def test_a_function_of_tensors_has_one_place():
    """It is told all its names: by its place in the file."""
    places = {}
    for row in name_file.below("tf"):
        if row.package == OURS and row.module.startswith(("towerstrat.graph.ops", "towerstrat.compat.v2_functions")):
            value = LazyName(row.module, row.attribute).value()
            if callable(value) and not isinstance(value, type):
                places.setdefault(dispatching(value), set()).add(row[1:3])
    assert len(places) > 700
    assert [found for found in places.values() if len(found) > 1] == []


def strings(node):
    """The strings in a file but for those that are given to calls."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        elif not isinstance(child, ast.Call):
            yield from strings(child)


def test_no_module_has_names_in_code():
    """But for ``bases``: several classes here derive from one that is missing."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    for path in (ROOT / "compat").rglob("*.py"):
        said = {text.removeprefix(f"{OURS}.") for text in strings(ast.parse(path.read_text()))}
        assert path.stem == "bases" or len(said & modules - {path.stem}) <= 2, (path, said & modules)


def test_names_are_looked_up(capsys):
    assert cli.main(["names", "tf.gather", "tf.contrib.tpu.TPUEstimator", "tf.contrib.slim.nets"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "tf.gather  1.12 to 1.15  towerstrat.graph.ops.indexing.gather_scatter.gather",
        "tf.gather  2.15          towerstrat.graph.ops.indexing.gather_scatter.gather_v2",
        "tf.contrib.tpu.TPUEstimator  1.12 to 1.15  towerstrat.compat.estimator.tpu.tpu_estimator.TPUEstimator over "
        "tensorflow_estimator.python.estimator.estimator.Estimator",
        "tf.contrib.slim.nets  1.12 to 1.15  tf_slim.nets",
    ]
    assert cli.main(["names", "tensorflow.python.lib.io.python_io"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "tensorflow.python.lib.io.python_io.*  1.12 to 2.15  tf.python_io.*",
    ]
    assert cli.main(["names", "tf.errors.OK"]) == 0
    assert cli.main(["names", "tf.concat", "tf.Sesion"]) == 1
    assert "nearest name here is tf.Session" in capsys.readouterr().out
