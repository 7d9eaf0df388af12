"""Golden files: the form that they have, and what becomes of their values when cases are made again."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.golden import goldens

SCRIPT = Path(__file__).parents[1] / "scripts" / "golden"
FOLDER = Path(goldens.HERE)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_files_have_the_one_form(path):
    text = path.read_text(encoding="utf-8")
    assert text == goldens.text(json.loads(text)) + "\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.npz")), ids=lambda path: path.stem)
def test_archives_are_what_is_written_for_their_arrays(path, tmp_path):
    found = goldens.read_arrays(path)
    goldens.write_arrays(tmp_path / "again.npz", found)
    again = goldens.read_arrays(tmp_path / "again.npz")
    assert list(again) == list(found) == sorted(found)
    assert all(again[name].tobytes() == value.tobytes() for name, value in found.items())


def test_a_long_entry_is_opened_and_numbers_stay_in_a_line():
    numbers = list(range(60))
    found = goldens.text({"b": {"x": 1}, "a": [numbers, numbers]})
    line = json.dumps(numbers, separators=(",", ":"))
    assert found == f'{{\n "a": [\n  {line},\n  {line}\n ],\n "b": {{"x": 1}}\n}}'


def entered(old, made, whole=True, left=()):
    """The file after cases ``made`` by path, with those of ``left`` not made, and the kinds of changes by place."""
    records = [{"golden": "g", "path": list(path), "made": True, "facts": value} for path, value in made.items()]
    records += [{"golden": "g", "path": list(path)} for path in left]
    found = json.loads(json.dumps(old))
    changes = goldens.enter_facts(found, records, whole)
    return found, {change.case: change.kind for change in changes}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (1.0, 1.000001),
        ([1e-8, float("nan")], [2e-8, float("nan")]),
        ({"dtype": "float16", "value": [1.0]}, {"dtype": "float16", "value": [1.001]}),
        (["float16", [1.0]], ["float16", [1.001]]),
        ("<tf.Tensor: shape=(), numpy=0.1234567>", "<tf.Tensor: shape=(), numpy=0.1234566>"),
    ],
)
def test_values_within_the_bound_stay(old, new):
    found, kinds = entered({"c": old}, {("c",): new})
    assert (json.dumps(found), kinds) == (json.dumps({"c": old}), {})


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (1.0, 1.001, "c"),
        (1, 2, "c"),
        (1, True, "c"),
        ("conv_1", "conv_2", "c"),
        ([1.0, 2.0], [1.0], "c"),
        ({"a": [1.0, {"b": 2.0}]}, {"a": [1.0, {"b": 3.0}]}, "c/a/1/b"),
        ({"dtype": "float64", "value": [1.0]}, {"dtype": "float64", "value": [1.000001]}, "c/value/0"),
    ],
)
def test_values_beyond_the_bound_change(old, new, place):
    assert entered({"c": old}, {("c",): new}) == ({"c": new}, {place: "changed"})


def test_cases_come_and_go_by_area():
    old = {"1.12": {"a": 1, "gone": 2}, "2.15": {"a": 3}, "plain": 4}
    new = {("1.12", "a"): 1, ("1.12", "come"): 5, ("2.15", "a"): 3}
    kinds = {"1.12/come": "added", "1.12/gone": "removed", "plain": "removed"}
    assert entered(old, new) == ({"1.12": {"a": 1, "come": 5}, "2.15": {"a": 3}}, kinds)


def test_a_chosen_case_leaves_the_others():
    old = {"a": 1, "b": 2, "gone": 3}
    assert entered(old, {("a",): 5}, whole=False, left=[("b",)]) == ({"a": 5, "b": 2, "gone": 3}, {"a": "changed"})


def test_arrays_belong_to_the_longest_case_before_their_name():
    old = {"a/x": np.float32([1.0]), "a/b/x": np.float32([2.0]), "a/b/y": np.float32([3.0]), "gone/x": np.int32(1)}
    records = [{"golden": "g", "path": ["a"]}, {"golden": "g", "path": ["a/b"], "made": True}]
    changes = goldens.enter_arrays(old, records, {"a/b/x": np.float32([2.000001]), "a/b/z": np.int32(7)}, whole=False)
    assert {change.case: change.kind for change in changes} == {"a/b/y": "removed", "a/b/z": "added"}
    assert sorted(old) == ["a/b/x", "a/b/z", "a/x", "gone/x"]
    assert old["a/b/x"] == np.float32(2.0)


def test_a_script_hands_out_the_cases_that_are_asked_for(tmp_path):
    program = """
import numpy as np
from goldens import LEFT_OUT, Both, make
make("g", {"area": {"a": lambda: Both([1.0], {"x": np.int32([1])}), "b": lambda: 1 / 0}, "c": lambda: LEFT_OUT})
"""
    environment = {"GOLDEN_OUT": str(tmp_path), "GOLDEN_CASES": '["a", "c"]', "PYTHONPATH": str(FOLDER)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert json.loads((tmp_path / "records.json").read_text()) == [
        {"golden": "g", "path": ["area", "a"], "made": True, "facts": [1.0]},
        {"golden": "g", "path": ["area", "b"]},
        {"golden": "g", "path": ["c"], "made": True},
    ]
    assert list(goldens.read_arrays(tmp_path / "arrays.npz")) == ["g/area/a/x"]


def test_a_script_that_is_started_by_itself_says_how_to_start_it():
    done = subprocess.run(
        [sys.executable, "-c", "from goldens import make; make('g', {})"], env={"PYTHONPATH": str(FOLDER)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr.split(":")[0]) == (1, "goldens are remade by")


def test_unknown_scripts_are_refused():
    done = subprocess.run([sys.executable, SCRIPT, "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no such script: nothing" in done.stderr
    assert "array_mathematics" in done.stderr
