"""The examples run as the README says."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments, towers=1):
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "towerstrat", "run", "--towers", str(towers), str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@spread("towers", [3, 1, 8], every=3)
def test_merge_call(towers):
    total = sum(3 + tower for tower in range(towers))
    assert ast.literal_eval(run("merge_call.py", towers=towers)) == [total + 3 + tower for tower in range(towers)]


def test_digits_are_learnt_on_eight_towers():
    pytest.importorskip("sklearn")
    output = run("digits.py", "--runs=10", towers=8)
    lines = re.findall(r"^run +(\d+)  step +(\d+)  loss [\d.]+  accuracy [\d.]+  \d+ examples/s$", output, re.M)
    assert [(int(a), int(b)) for a, b in lines] == [(i, 20 * i) for i in range(1, 11)]
    right = re.search(r"held-back digits: (\d+) of 360 right", output)
    assert right
    assert int(right[1]) >= 0.97 * 360


@pytest.mark.long
def test_a_checkpoint_of_the_original_is_evaluated_and_saved_again(tmp_path):
    """TensorFlow 1.12.3 printed the first line when it had trained and saved what is restored here."""
    pytest.importorskip("sklearn")
    wanted = "after 600 steps: loss 0.0958, 350 of 360 held-back digits right"
    output = run("digits_checkpoint.py", "--save", str(tmp_path / "same"))
    assert output.splitlines() == [wanted, f"saved {tmp_path}/same-600"]
    assert run("digits_checkpoint.py", "--checkpoint", str(tmp_path)).splitlines() == [wanted]


@pytest.mark.long
def test_digits_are_learnt_by_a_loop_of_tensorflow_2():
    pytest.importorskip("sklearn")
    output = run("digits_v2.py", "--steps=200")
    lines = re.findall(r"^step +(\d+)  loss [\d.]+  accuracy [\d.]+  \d+ examples/s$", output, re.M)
    assert [int(step) for step in lines] == list(range(20, 201, 20))
    right = re.search(r"held-back digits: (\d+) of 360 right", output)
    assert right
    assert int(right[1]) >= 0.97 * 360


@pytest.mark.long
@pytest.mark.parametrize("replicas", [3, 8])
def test_digits_are_learnt_by_a_distributed_loop_of_tensorflow_2(replicas):
    """Each batch of 128 is uneven on three replicas, and so is the last one of the held-back digits on both."""
    pytest.importorskip("sklearn")
    output = run("digits_distributed.py", "--calls=10", towers=replicas)
    lines = re.findall(r"^step +(\d+)  loss [\d.]+  accuracy [\d.]+  \d+ examples/s$", output, re.M)
    assert [int(step) for step in lines] == list(range(20, 201, 20))
    right = re.search(r"held-back digits: (\d+) of 360 right", output)
    assert right
    assert int(right[1]) >= 0.97 * 360


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "arguments", "towers"),
    [
        ("mirrored_loop.py", [], 2),
        ("mirrored_loop.py", ["--on_cpu=4"], 4),
        ("hand_written_towers.py", [], 2),
        ("hand_written_towers.py", ["--num_gpus=4"], 1),
    ],
)
def test_digits_are_learnt_by_towers_of_1_12(name, arguments, towers):
    """TensorFlow 1.12.3 trains with both too, on devices of the CPU; hand-written towers need no device each."""
    pytest.importorskip("sklearn")
    output = run(name, "--steps=150", *arguments, towers=towers)
    assert re.findall(r"^step +(\d+)  loss [\d.]+  \d+ examples/s$", output, re.M) == ["50", "100", "150"]
    right = re.search(r"held-back digits: (\d+) of 360 right", output)
    assert right
    assert int(right[1]) >= 0.95 * 360


@pytest.mark.long
def test_digits_that_stop_go_on_as_if_they_had_not(tmp_path):
    pytest.importorskip("sklearn")
    whole = run("digits_resumed.py", f"--folder={tmp_path / 'whole'}", towers=4).splitlines()
    parts = f"--folder={tmp_path / 'parts'}"
    first = run("digits_resumed.py", parts, "--stop_after=3", towers=4).splitlines()
    rest = run("digits_resumed.py", parts, towers=4).splitlines()
    assert [line.partition("  loss")[0] for line in whole[:-1]] == [f"run {i}" for i in range(1, 9)]
    assert first[:-1] + rest == whole


@pytest.mark.long
def test_a_monitored_session_goes_on_with_the_digits(tmp_path):
    """Each summary that the program writes is there once, of whichever start."""
    pytest.importorskip("sklearn")
    whole = run("digits_monitored.py", f"--folder={tmp_path / 'whole'}", "--enough=2").splitlines()
    parts = f"--folder={tmp_path / 'parts'}"
    first = run("digits_monitored.py", parts, "--enough=2", "--steps=200").splitlines()
    assert first == whole[:2]
    rest = run("digits_monitored.py", parts, "--enough=2").splitlines()
    said = [re.fullmatch(r"step +(\d+)  held-back digits: (\d+) of 360 right", line) for line in (*whole, *rest)]
    assert [int(line[1]) for line in said] == [100, 200, 300, 300]
    assert min(int(line[2]) for line in said[2:]) >= 0.93 * 360
    steps = {name: _summarized(tmp_path / name) for name in ("whole", "parts")}
    assert steps["whole"] == [1, 101, 201]
    assert steps["parts"] == [1, 101, 201]
    assert "300" not in run("digits_monitored.py", f"--folder={tmp_path / 'stopped'}", "--enough=0.5")


@pytest.mark.long
def test_an_estimator_learns_the_digits_on_towers(tmp_path):
    """400 steps are 20 step loops; the second start finds them done, evaluates and reads."""
    pytest.importorskip("sklearn")
    first = run("digits_estimator.py", f"--model_dir={tmp_path}", towers=4)
    found = re.fullmatch(r"step 400  loss [\d.]+  accuracy ([\d.]+)\n\d+ of 10 digits read right\n", first)
    assert found
    assert float(found[1]) >= 0.97
    assert run("digits_estimator.py", f"--model_dir={tmp_path}", towers=4) == first


def _summarized(folder):
    """The steps of the summaries of the loss in a folder's event files."""
    files = sorted(str(path) for path in folder.glob("events*"))
    return [
        event.step
        for name in files
        for event in tf.train.summary_iterator(name)
        if any(value.tag == "loss" for value in event.summary.value)
    ]


@pytest.mark.long
def test_reviews_are_classified():
    """TensorFlow 1.12.3 gets 361 right."""
    right = re.search(r"held-back reviews: (\d+) of 400 right", run("text_classifier.py"))
    assert right
    assert int(right[1]) >= 350


@pytest.mark.long
@pytest.mark.parametrize(("name", "least"), [("fit.py", 0.9), ("loop.py", 0.95), ("fit_on_towers.py", 0.95)])
def test_digits_are_learnt_by_keras(name, least):
    pytest.importorskip("sklearn")
    pytest.importorskip("keras")
    output = run(f"keras/{name}", *(["--epochs=6"] if name == "fit.py" else []), towers=8)
    right = re.search(r"held-back digits: (\d+) of 360 right", output)
    assert right
    assert int(right[1]) >= least * 360
