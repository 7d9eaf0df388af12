"""What a program writes of its progress, and what its supervisor reads."""

import os
import subprocess
import sys
import threading

import pytest

from towerstrat.hosts import environment_variables
from towerstrat.hosts.heartbeat import (
    CHECKPOINTING,
    COMPILING,
    PHASES,
    PROGRESS,
    STARTING,
    STEPPING,
    MappedProgress,
    Progress,
    Reader,
)


@pytest.fixture
def both(tmp_path):
    reader = Reader(tmp_path / "progress")
    return MappedProgress(str(reader.path)), reader


def test_before_a_program_maps_the_file_it_starts(tmp_path):
    seen = Reader(tmp_path / "progress").read()
    assert (seen.pid, seen.step, seen.age, seen.phase, seen.what) == (0, 0, None, STARTING, "")


def test_steps_and_phases_are_read_as_they_were_said(both):
    progress, reader = both
    assert reader.read().pid == os.getpid()
    progress.step(2**40)
    assert (reader.read().step, reader.read().phase) == (2**40, STEPPING)
    for name in PHASES[1:]:
        with progress.phase(name, f"while {name} ü"):
            assert reader.read()[4:] == (name, f"while {name} ü")
            with progress.phase(COMPILING):
                assert reader.read()[4:] == (COMPILING, "")
            assert reader.read()[4:] == (name, f"while {name} ü")
        assert reader.read()[4:] == (STEPPING, "")


def test_a_first_step_inside_of_a_phase_ends_the_start(both):
    progress, reader = both
    with progress.phase(COMPILING):
        pass
    assert reader.read().phase == STARTING
    with progress.phase(COMPILING):
        progress.step(1)
        assert reader.read().phase == COMPILING
    assert reader.read().phase == STEPPING


def test_each_step_and_phase_is_a_sign_of_life(both):
    progress, reader = both
    ages = []
    for act in (lambda: progress.step(1), lambda: progress.enter(COMPILING), progress.alive):
        while reader.read().age < 0.001:
            pass
        act()
        before = reader.read().age
        ages.append(before < reader.read().age)
    assert all(ages)


def test_a_text_of_any_length_is_cut(both):
    progress, reader = both
    progress.enter(STEPPING, "ü" * 2000)
    found = reader.read().what
    assert set(found) == {"ü"}
    assert 200 < len(found) < 2000


def test_an_unknown_phase_is_refused(both):
    for progress in (both[0], Progress()):
        with pytest.raises(ValueError, match=r"one of starting, .*; got 'dancing'"):
            progress.phase("dancing").__enter__()


def test_without_a_supervisor_nothing_is_said():
    assert type(PROGRESS) is Progress
    PROGRESS.step(1)
    with PROGRESS.phase(COMPILING, "all"):
        pass


def test_what_a_program_starts_does_not_write_into_its_file(tmp_path):
    reader = Reader(tmp_path / "progress")
    code = (
        "import os, subprocess, sys; from towerstrat.hosts.heartbeat import PROGRESS; PROGRESS.step(int(sys.argv[1]))"
    )
    again = f"{code}; subprocess.run([sys.executable, '-c', {code!r}, '7'], check=True)"
    environment = os.environ | {environment_variables.PROGRESS: str(reader.path)}
    subprocess.run([sys.executable, "-c", again, "3"], check=True, env=environment)
    assert reader.read().step == 3


def test_what_goes_on_beside_the_program_is_not_what_it_does(both):
    progress, reader = both
    progress.step(3)
    seen = []

    def beside():
        with progress.phase(CHECKPOINTING, "model"):
            seen.append(reader.read().phase)

    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    assert seen == [STEPPING]
    with progress.phase(CHECKPOINTING, "model"):
        assert reader.read().phase == CHECKPOINTING


def test_a_program_waits_at_the_step_until_all_have_agreed(both):
    progress, reader = both
    progress.share(3)
    assert not progress.reached_stop()
    assert reader.stop_after(5) == 3
    assert not progress.reached_stop()
    progress.share(3)
    waiting = threading.Thread(target=lambda: found.append(progress.reached_stop()))
    found = []
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert reader.stop_after(9) == 6  # one of the others was past the first
    waiting.join()
    assert found == [False]
    progress.share(4)
    reader.agree(apart=False)
    assert progress.reached_stop()


def test_a_program_that_shares_no_steps_stops_where_it_is(both):
    progress, reader = both
    progress.more(100)
    assert reader.stop_after(2) == 0
    assert not progress.reached_stop()
    reader.agree(apart=True)
    progress.enter(STEPPING, "of a long text" * 100)
    assert progress.reached_stop()
