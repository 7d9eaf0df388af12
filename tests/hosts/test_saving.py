"""Several processes write a checkpoint at the same time: it is that of one process, and it is whole or absent."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.hosts import several
from tests.hosts.several import environment
from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_reader import Bundle, shards_of

pytestmark = pytest.mark.long
MODULE = "tests.hosts.saving"
KILLED = Path(__file__).with_name("killed_saving.py")
COUNTS = [(2, 2), (4, 1)]


def both(processes, devices, case, where, *arguments):
    """What process 0 of several says, and what one process alone does."""
    found = []
    for name, size in (("together", (processes, devices)), ("alone", (1, processes * devices))):
        place = where / name
        place.mkdir()
        found.append(several.values(*size, MODULE, [case, str(place), *arguments])[0])
    return found


def shards(path, number, of=None):
    """The files of a checkpoint of so many shards, of which ``number`` are there."""
    return [*(f"{path}.data-{i:05d}-of-{of or number:05d}" for i in range(number)), f"{path}.index"]


@pytest.mark.parametrize(("processes", "devices"), COUNTS)
def test_a_saver(processes, devices, tmp_path):
    (files, values, again), (_, wanted, _) = both(processes, devices, "graph", tmp_path)
    assert values == again == wanted
    # Before the first step values are each process' own: process 0 writes them.
    first, once = shards("model-0", 1), shards("model-1", processes)
    twice = shards("model-1", processes, processes + 1)
    assert files == [first, [*first, *once], [*first, *twice], [*twice, *shards("model-2", processes)]]
    # Another number of processes restores it, one among them.
    for count in (1, 2):
        (place := tmp_path / f"restored-{count}").mkdir()
        restored = several.values(count, 4 // count, MODULE, ["graph", str(place), f"{tmp_path}/together/model-2"])
        assert restored[0][2] == wanted
    command = [sys.executable, "-m", "towerstrat", "checkpoint"]
    paths = [str(tmp_path / name / "model-2") for name in ("together", "alone")]
    assert subprocess.run([*command, "diff", *paths], env=environment(), check=False).returncode == 0
    listed = [
        subprocess.run([*command, "list", path], env=environment(), check=True, capture_output=True, text=True).stdout
        for path in paths
    ]
    assert listed[0] == listed[1]


@pytest.mark.parametrize(("processes", "devices"), COUNTS)
def test_a_manager_and_the_background(processes, devices, tmp_path):
    ((files,), *values), (_, *wanted) = both(processes, devices, "eager", tmp_path)
    assert values == wanted
    assert files == [*shards("ckpt-2", processes), *shards("ckpt-3", processes)]


@pytest.mark.parametrize("logical", ["2", "4"])
def test_a_variable_on_logical_devices(logical, tmp_path):
    """Each process has all parts; or some of them, and all put it together."""
    (files, values), (_, wanted) = both(2, 2, "logical", tmp_path, logical)
    assert values == wanted
    assert files == shards("model-1", 2)


def test_hooks(tmp_path):
    found, wanted = both(2, 2, "hooks", tmp_path)
    for (files, values), (_, other) in zip(found, wanted, strict=True):
        assert files == [*shards("model.ckpt-4", 2), *shards("model.ckpt-5", 2)]
        assert values == other


@pytest.mark.filterwarnings("ignore")
def test_weights_of_keras(tmp_path):
    (files, restored), _ = several.values(2, 2, MODULE, ["keras", str(tmp_path)])
    assert files == shards("weights", 2)
    assert restored


def test_what_goes_wrong_in_one_process_is_raised_in_all_by_its_number(tmp_path):
    first, second = several.values(2, 2, MODULE, ["failures", str(tmp_path)])
    full, (left, latest), other, *own, warned = first
    assert second[0] == full
    assert full[0] == "OutOfRangeError"
    assert full[1] == f"Process 1 of 2: {tmp_path}/model-2.data-00001-of-00002; File too large"
    assert left == shards("model-1", 2)
    assert latest == f"{tmp_path}/model-1"
    assert second[2] == other
    assert other[1].startswith("Process 1 of 2 saves less, where process 0 saves small (float32 [3, 4]).")
    # Each has a folder of its own under one name: the first writes all, and says so once.
    assert own == [shards("model-1", 1), [*shards("model-1", 1), *shards("model-2", 1)]]
    assert len(warned) == 1
    assert re.match("here/model-1.data-00001-of-00002, .* do not share the folder here.", warned[0])
    assert second[3:] == [[], [], []]


@pytest.fixture
def launched():
    """Starts the program that saves in several processes."""
    started = []

    def launch(place, processes, *options):
        command = [sys.executable, "-m", "towerstrat", "launch", f"-n{processes}", "--devices=1", "--quiet", *options]
        place.mkdir()
        with (place / "said").open("wb") as said:
            started.append(
                subprocess.Popen([*command, str(KILLED), str(place), "30"], env=environment(), stdout=said, stderr=said)
            )
        return started[-1]

    yield launch
    for process in started:
        process.terminate()
        process.wait(60)


def _size(path):
    """Bytes of a file; of one that is gone none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def kill_one_that_saves(place, run, draws):
    """kill -9 of a program while a checkpoint is being written, by it or by another, as one file has a drawn size."""
    until, size = time.monotonic() + 240, draws.randrange(1 << 20)
    while True:
        assert run.poll() is None, (place / "said").read_text()
        assert time.monotonic() < until, (place / "said").read_text()
        living = [
            pid for path in place.glob("pid-*") if os.path.exists(f"/proc/{(pid := int(path.name.split('-')[2]))}")
        ]
        begun = [path.name for path in place.glob("model.ckpt-*.data-*.tmp") if _size(path) >= size]
        if any(f"-{pid}-" in name for pid in living for name in begun) and list(place.glob("model.ckpt-*.index")):
            os.kill(draws.choice(sorted(living)), signal.SIGKILL)
            return
        time.sleep(0.001)


def whole(path):
    """Whether all of a checkpoint can be read: all steps of its values are the same one."""
    bundle = Bundle(path)
    return int(bundle.read("global_step")) == int(path.rpartition("-")[2]) and bundle.read("table").shape == (
        2048,
        1024,
    )


@pytest.mark.parametrize("processes", [2, 4])
def test_killed_while_saving_it_goes_on_from_the_last_whole_checkpoint(processes, tmp_path, launched):
    draws = random.Random(processes)
    undisturbed = launched(tmp_path / "undisturbed", processes)
    assert undisturbed.wait(300) == 0, (tmp_path / "undisturbed" / "said").read_text()
    place = tmp_path / "killed"
    run = launched(place, processes, "--restarts=3")
    for attempt in (1, 2, 3):
        kill_one_that_saves(place, run, draws)
        said = place / "said"
        while f"attempt {attempt} ended" not in said.read_text():
            assert run.poll() is None, said.read_text()
            time.sleep(0.01)
        assert whole(checkpoint_state.latest(str(place)))
    assert run.wait(300) == 0, (place / "said").read_text()
    assert (place / "said").read_text().count("killed by signal 9") >= 3
    last = [Bundle(str(tmp_path / name / "model.ckpt-30")) for name in ("killed", "undisturbed")]
    assert shards_of(last[0].prefix) >= processes
    for name in last[1].entries:
        np.testing.assert_array_equal(last[0].read(name), last[1].read(name))
    for path in place.glob("*.index"):
        assert whole(str(path).removesuffix(".index"))
