"""SIGTERM to one process: all stop after the same step, although none of them knows how far the others are."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.faults import Trial
from tests.hosts.several import ROOT, environment

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


@pytest.mark.long
def test_a_monitored_session_saves_and_goes_on_to_the_bit(tmp_path):
    """Told to end, killed and started again: the weights are those of a run that nothing has happened to."""

    def launched(folder, *options):
        command = [sys.executable, "-m", "towerstrat", "launch", "-n2", "--devices=2", "--quiet", *options]
        program = [str(ROOT / "examples" / "digits_monitored.py"), f"--folder={folder}", "--steps=8000", "--every=1000"]
        return subprocess.Popen(
            [*command, *program, "--enough=2"], env=environment(), stderr=subprocess.PIPE, text=True
        )

    def waits_for(path, process):
        while not path.exists():
            assert process.poll() is None, process.communicate()[1]

    whole = launched(tmp_path / "whole")
    assert whole.wait(300) == 0, whole.communicate()[1]
    told = launched(tmp_path / "told")
    waits_for(tmp_path / "told" / "model.ckpt-1000.index", told)
    told.send_signal(signal.SIGTERM)
    assert told.wait(300) == SIGTERM_STATUS, told.communicate()[1]
    again = launched(tmp_path / "told")
    assert again.wait(300) == 0, again.communicate()[1]
    compare = [sys.executable, "-m", "towerstrat", "checkpoint", "diff", tmp_path / "whole", tmp_path / "told"]
    assert subprocess.run(compare, check=False, **HERE).returncode == 0
