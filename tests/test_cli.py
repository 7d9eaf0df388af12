"""The command ``towerstrat``, and its ``checkpoint``."""

import json
import subprocess
import sys

import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat import cli
from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved, write
from towerstrat.graph.eager import mode

VALUES = {
    "file": np.array([True, False]),
    "layer/bias": np.float32([3.0, 4.0]),
    "layer/kernel": np.arange(6, dtype=np.float64).reshape(2, 3),
    "words": np.array([b"a", b"bcd"], object),
}


def save(prefix, values):
    write(prefix, [Saved(name, lambda value=value: value) for name, value in values.items()])
    return prefix


@pytest.fixture
def run(capsys):
    def command(*arguments):
        status = cli.main(["checkpoint", *arguments])
        found = capsys.readouterr()
        return status, found.out.splitlines(), found.err

    return command


def test_a_checkpoint_is_named_by_its_prefix_its_index_or_its_folder(tmp_path, run):
    prefix = save(str(tmp_path / "model-1"), VALUES)
    checkpoint_state.write_state(str(tmp_path), checkpoint_state.new_state(str(tmp_path), prefix))
    lists = [run("list", path) for path in (prefix, f"{prefix}.index", str(tmp_path))]
    assert lists[0] == lists[1] == lists[2]
    status, lines, error = lists[0]
    assert (status, error) == (0, "")
    assert lines[1:3] == ["layer/bias    float32  [2]     8 B", "layer/kernel  float64  [2, 3]  48 B"]
    assert lines[-1].startswith("4 arrays")
    assert run("list", prefix, "--norms")[1][1].endswith("norm 5")


def test_a_list_as_json(tmp_path, run):
    status, lines, _ = run("list", "--json", "--norms", save(str(tmp_path / "model"), VALUES))
    assert status == 0
    found = {each.pop("name"): each for each in json.loads("\n".join(lines))}
    assert found["layer/bias"] == {"type": "float32", "shape": [2], "bytes": 8, "norm": 5.0}
    assert found["words"]["norm"] is None
    assert list(found) == list(VALUES)


def test_elements_are_shown(tmp_path, run):
    prefix = save(str(tmp_path / "model"), VALUES | {"long": np.arange(2000)})
    assert run("show", prefix, "layer/bias") == (0, ["layer/bias: float32 [2]", "[3. 4.]"], "")
    assert run("show", prefix, "layer/kernel", "--slice", ":,-1")[1][1] == "[2. 5.]"
    assert run("show", prefix, "layer/kernel", "--slice", "1,::2")[1][1] == "[3. 5.]"
    assert run("show", prefix, "layer/kernel", "--slice", "1,2")[1][1] == "5."
    assert run("show", prefix, "words")[1][1] == "[b'a' b'bcd']"
    assert "..." in run("show", prefix, "long")[1][1]
    assert "1234" in " ".join(run("show", prefix, "long", "--all")[1])
    for part in ("x", "2,0", "0,0,0", "1.5", "0:1:0", "1:2:3:4"):
        status, _, error = run("show", prefix, "layer/kernel", f"--slice={part}")
        assert status == 2
        assert part in error


def test_differences_set_the_exit_status(tmp_path, run):
    first = save(str(tmp_path / "one"), VALUES)
    second = save(str(tmp_path / "two"), VALUES | {"layer/bias": np.float32([3.0, 5.0])})
    assert run("diff", first, first) == (0, [], "")
    assert run("diff", first, second) == (1, ["~ layer/bias  1 of 2 elements differ, by at most 1"], "")


def test_conversions(tmp_path, run):
    prefix = save(str(tmp_path / "model"), VALUES)
    target = str(tmp_path / "arrays.npz")
    assert run("convert", prefix, target, "--rename", "^layer/(.)", r"\1\1")[:2] == (0, [f"{target}: 4 arrays"])
    found = np.load(target)
    assert sorted(found) == ["bbias", "file", "kkernel", "words"]
    assert found["kkernel"].tolist() == VALUES["layer/kernel"].tolist()
    assert run("convert", prefix, str(tmp_path / "new"), "--only", "^layer", "--rename", "layer", "dense")[0] == 0
    assert list(Bundle(str(tmp_path / "new")).entries) == ["dense/bias", "dense/kernel"]
    assert run("convert", prefix, str(tmp_path / "a.safetensors"), "--only", "layer")[0] == 0
    assert not (tmp_path / "a.npz").exists()


def test_the_object_form_and_back(tmp_path, run):
    values = {name: VALUES[name] for name in ("layer/bias", "layer/kernel")} | {"step.1": np.int64(7)}
    prefix = save(str(tmp_path / "model"), values)
    objects, names = str(tmp_path / "objects"), str(tmp_path / "names")
    assert run("convert", prefix, objects, "--form", "objects", "--rename", "layer", "dense")[0] == 0
    with mode.eager_mode():
        dense = tf.Module()
        dense.bias, dense.kernel = tf.Variable([0.0, 0.0]), tf.Variable(np.zeros([2, 3]))
        checkpoint = tf.train.Checkpoint(dense=dense)
        checkpoint.restore(objects).assert_nontrivial_match().expect_partial()
        assert dense.bias.numpy().tolist() == [3.0, 4.0]
        assert dense.kernel.numpy().tolist() == VALUES["layer/kernel"].tolist()
    assert run("convert", objects, names, "--form", "names", "--rename", "dense", "layer")[0] == 0
    assert run("diff", prefix, names) == (0, [], "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "{}/nothing"], "Expected a checkpoint"),
        (["list", "{}"], "Expected a checkpoint"),
        (["list", "nowhere://bucket/model"], "nowhere://"),
        (["show", "{}/model", "nothing"], "Key nothing not found"),
        (["diff", "{}/model", "{}/nothing"], "nothing"),
        (["convert", "{}/model", "{}/a.safetensors"], "no elements of string"),
        (["convert", "{}/model", "{}/a", "--only", "nothing"], "nothing is written"),
        (["convert", "{}/model", "{}/a", "--rename", "layer/.*", "x"], "would both be called x"),
        (["convert", "{}/model", "{}/a", "--rename", "(", "x"], "'('"),
        (["convert", "{}/model", "{}/a.npz", "--form", "objects"], "Expected the prefix of a checkpoint"),
        (["convert", "{}/model", "{}/a", "--form", "names"], "_CHECKPOINTABLE_OBJECT_GRAPH"),
        (["list", "{}/model.data-00000-of-00001"], "model.data-00000-of-00001"),
    ],
)
def test_what_does_not_work_is_said_in_a_line(tmp_path, run, arguments, message):
    save(str(tmp_path / "model"), VALUES)
    status, lines, error = run(*(argument.format(tmp_path) for argument in arguments))
    assert (status, lines) == (2, [])
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("a*"))


def test_strings_that_numpy_would_cut_are_refused(tmp_path, run):
    prefix = save(str(tmp_path / "model"), {"words": np.array([b"a\0", b"b"], object)})
    assert "words: numpy's strings" in run("convert", prefix, str(tmp_path / "a.npz"))[2]


@pytest.mark.parametrize("arguments", [["--help"], ["list", "--help"], ["show", "--help"], ["convert", "--help"]])
def test_help(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        cli.main(["checkpoint", *arguments])
    assert caught.value.code == 0
    assert "PATH" in capsys.readouterr().out


def test_alone_it_says_what_it_does(capsys):
    assert cli.main([]) == 0
    assert "run a program" in capsys.readouterr().out


def test_whoever_reads_may_stop_reading():
    command = [sys.executable, "-m", "towerstrat", "names", "tf"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 141)
