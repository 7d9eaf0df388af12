"""SIGKILL at each call of the system by which a checkpoint is saved."""

import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from tests.faults.disk import Disk, copies
from tests.faults.outcome import Outcome
from tests.faults.training import Training, restored, temporary_files


def states_of_a_save(folder):
    """each state of the folder that a kill during a save may leave, within writes too"""
    place, left = Path(folder) / "run", Path(folder) / "left"
    place.mkdir()
    left.mkdir()
    with Training(place) as training:
        for _ in range(2):
            training.step()
            training.save()
        training.step()
        with Disk(place, copies(place, left)) as disk:
            training.save()
    states = sorted(left.iterdir())
    calls = {call for call, _ in disk.points}
    assert calls >= {"open", "write", "fsync", "replace"}, calls
    files = {Path(path).name.removeprefix("model.ckpt-3.").split(".")[0] for _, path in disk.points}
    assert any(name.startswith("resume-") for name in files), files
    assert {"index", "data-00000-of-00001", "checkpoint", "meta"} <= files, files
    found = []
    with Training(place) as training:
        for state in states:
            found.append(restored(state))
            training.restore(state)
            assert training.steps == found[-1]
            training.step()
            training._folder = str(state)
            training.save()
            assert restored(state) == found[-1] + 1
            assert temporary_files(state) == [], state
    assert found == sorted(found)
    assert {found[0], found[-1]} == {2, 3}
    return Outcome(
        f"{len(states)} states: the latest checkpoint is whole, the one before or, after the state file was "
        "renamed, the new one; training goes on from it, and the next save removes temporary files"
    )  # fmt: skip


def killed(folder, number, half):
    """Trains in a process of its own that is killed at a point of its third save; whether it was."""

    def kill(point):
        if point.number == number:
            if half:
                point.half()
            os.kill(os.getpid(), signal.SIGKILL)

    def train():
        with Training(folder) as training:
            for _ in range(2):
                training.step()
                training.save()
            training.step()
            with Disk(folder, kill):
                training.save()

    return _apart(train) == -signal.SIGKILL


def goes_on(folder):
    """Restores in a process of its own, makes a step and saves."""

    def train():
        with Training(folder) as training:
            training.restore(folder)
            training.step()
            training.save()

    assert _apart(train) == 0


def _apart(do):
    """Does something in a copy of this process, which has computed nothing yet; its exit status."""
    child = os.fork()
    if not child:
        status = 1
        try:
            do()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sigkill(folder):
    """SIGKILL at each call of a save, and within each write: processes of their own"""
    kills, last = 0, []
    for half in (False, True):
        for number in range(1, 200):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                if not killed(place, number, half):
                    break
                kills += 1
                last.append(restored(place))
                goes_on(place)
                assert restored(place) == last[-1] + 1
                assert temporary_files(place) == []
    assert set(last) == {2, 3}
    return Outcome(f"{kills} kills: as in the next row, and another process goes on")
