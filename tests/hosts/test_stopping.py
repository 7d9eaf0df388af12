"""SIGTERM to one process: all stop after the same step, although none of them knows how far the others are."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.hosts.faults import Trial
from tests.hosts.several import ROOT, environment

FITS = Path(__file__).with_name("keras_stopping.py")
STOPS = Path(__file__).with_name("stopping.py")
SIGTERM_STATUS = 128 + signal.SIGTERM
HERE = {"env": environment()}


def test_all_stop_after_the_same_step(tmp_path):
    trial = Trial("stop", 1, 3, tmp_path, random.Random(0))
    trial.start_all(program=STOPS)
    trial.running()
    trial.started["1"].send_signal(signal.SIGTERM)
    trial.must_end(["0", "1", "2"], "SIGTERM came to process 1", 60, statuses=[SIGTERM_STATUS])
    trial.nothing_is_left()
    assert trial.problems == []
    assert len({(tmp_path / f"stopped-{index}").read_text() for index in range(3)}) == 1


def test_where_processes_share_no_step_each_stops_after_its_next_one(tmp_path):
    trial = Trial("stop", 1, 2, tmp_path, random.Random(0))
    trial.start_all(program=STOPS, arguments=["apart"])
    trial.running()
    trial.until(lambda: trial.made()[0] > trial.made()[1] + 300, "process 0 is ahead")
    trial.started["1"].send_signal(signal.SIGTERM)
    trial.must_end(["0", "1"], "SIGTERM came to process 1", 60, statuses=[SIGTERM_STATUS])
    trial.nothing_is_left()
    assert trial.problems == []
    first, second = (int((tmp_path / f"stopped-{index}").read_text()) for index in range(2))
    assert first > second  # which did not come to where the other one was


PROGRAM = """
import tensorflow as tf

sums = tf.get_variable("sums", [3], initializer=tf.zeros_initializer())
more = tf.group(sums.assign_add([1.0, 2.0, 3.0]), tf.train.get_or_create_global_step().assign_add(1))
with tf.train.MonitoredTrainingSession(checkpoint_dir=FOLDER, save_checkpoint_secs=600) as session:
    while not session.should_stop():
        session.run(more)
        open(FOLDER + "/begun", "a").write(".")
"""


@pytest.mark.long
def test_a_monitored_session_without_an_optimizer_saves(tmp_path):
    program = tmp_path / "count.py"
    program.write_text(PROGRAM.replace("FOLDER", repr(str(tmp_path))))
    command = [sys.executable, "-m", "towerstrat", "launch", "-n2", program]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **HERE) as told:
        while not (tmp_path / "begun").exists() or (tmp_path / "begun").stat().st_size < 100:
            assert told.poll() is None, told.communicate()[1]
        told.send_signal(signal.SIGTERM)
        _, errors = told.communicate(timeout=60)
        assert told.returncode == SIGTERM_STATUS, errors
    name = tf.train.latest_checkpoint(str(tmp_path))
    steps = int(tf.train.load_variable(name, "global_step"))
    np.testing.assert_array_equal(tf.train.load_variable(name, "sums"), np.array([1, 2, 3]) * steps)
    assert steps > 1


@pytest.mark.long
def test_a_monitored_session_saves_and_goes_on_to_the_bit(tmp_path):
    """Told to end, killed and started again: the weights are those of a run that nothing has happened to."""

    def launched(folder, *options):
        command = [sys.executable, "-m", "towerstrat", "launch", "-n2", "--devices=2", "--quiet", *options]
        program = [str(ROOT / "examples" / "digits_monitored.py"), f"--folder={folder}", "--steps=8000", "--every=1000"]
        return subprocess.Popen(
            [*command, *program, "--enough=2"], env=environment(), stderr=subprocess.PIPE, text=True
        )

    def ended(process):
        print(process.communicate(timeout=300)[1])
        return process.returncode

    def waits_for(path, process):
        while not path.exists():
            assert process.poll() is None, process.communicate()[1]

    whole = launched(tmp_path / "whole")
    assert ended(whole) == 0
    told = launched(tmp_path / "told")
    waits_for(tmp_path / "told" / "model.ckpt-1000.index", told)
    told.send_signal(signal.SIGTERM)
    assert ended(told) == SIGTERM_STATUS
    again = launched(tmp_path / "told")
    assert ended(again) == 0
    compare = [sys.executable, "-m", "towerstrat", "checkpoint", "diff", tmp_path / "whole", tmp_path / "told"]
    assert subprocess.run(compare, check=False, **HERE).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize(("kept", "execution"), [("epoch", 1), ("epoch", 6), ("1000000", 1), ("1000000", 6)])
def test_fit_stops_after_the_same_step_and_goes_on_to_the_bit(kept, execution, tmp_path):
    """Callbacks end the training, and a BackupAndRestore keeps what the next run goes on from."""

    def fitted(folder):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "towerstrat", "launch", "-n2", "--quiet", FITS, folder, kept, str(execution)]
        return subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)

    def ends(process, status):
        _, errors = process.communicate(timeout=300)
        assert process.returncode == status, errors

    def steps(folder):
        return [int((folder / f"ended-{index}").read_text()) for index in range(2)]

    def weights(folder):
        return [np.load(folder / f"weights-{index}.npy") for index in range(2)]

    whole = fitted(tmp_path / "whole")
    ends(whole, 0)
    told = fitted(tmp_path / "told")
    while not (tmp_path / "told" / "begun-1").exists():
        assert told.poll() is None, told.communicate()[1]
    told.send_signal(signal.SIGTERM)
    ends(told, SIGTERM_STATUS)
    assert len(set(steps(tmp_path / "told"))) == 1
    assert steps(tmp_path / "told") < steps(tmp_path / "whole")
    again = fitted(tmp_path / "told")
    ends(again, 0)
    assert steps(tmp_path / "told") == steps(tmp_path / "whole")
    for ours, theirs in zip(weights(tmp_path / "told"), weights(tmp_path / "whole"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
