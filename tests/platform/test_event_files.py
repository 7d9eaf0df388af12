"""Event files: what a killed or second writer leaves, and where readers stop."""

import os
import pathlib
import random
import struct
import subprocess
import sys
import types

import pytest

from towerstrat import errors
from towerstrat.platform import event_files, messages
from towerstrat.platform.event_files import EventFile, events
from towerstrat.platform.records import framed


def steps(path):
    return [event.step for event in events(path)][1:]


def test_a_file_begins_with_the_version_of_its_format(tmp_path):
    file = EventFile(str(tmp_path / "new" / "folder"), suffix=".eval")
    file.add(messages.Event(step=3))
    first, second = events(file.path)
    assert first.file_version == "brain.Event:2"
    assert first.wall_time == int(first.wall_time)
    assert second.step == 3
    name = os.path.basename(file.path)
    assert name.startswith("events.out.tfevents.")
    assert name.endswith(f".{os.uname().nodename}.eval")
    assert len(name.split(".")[3]) == 10


def test_what_was_added_is_in_the_file_though_nobody_flushes_or_closes_it(tmp_path):
    file = EventFile(str(tmp_path))
    for step in range(3):
        file.add(messages.Event(step=step))
    assert steps(file.path) == [0, 1, 2]


def test_a_torn_record_ends_the_events_wherever_it_is_torn(tmp_path):
    file = EventFile(str(tmp_path))
    for step in range(2):
        file.add(messages.Event(step=step))
    whole = pathlib.Path(file.path).read_bytes()
    last = len(framed(messages.Event(step=1).SerializeToString()))
    for cut in range(1, last):
        pathlib.Path(file.path).write_bytes(whole[:-cut])
        assert steps(file.path) == [0]


def test_a_damaged_record_is_an_error(tmp_path):
    file = EventFile(str(tmp_path))
    file.add(messages.Event(step=1))
    file.add(messages.Event(step=2))
    data = bytearray(pathlib.Path(file.path).read_bytes())
    data[-20] ^= 1
    pathlib.Path(file.path).write_bytes(data)
    with pytest.raises(errors.DataLossError, match="corrupted record"):
        list(events(file.path))


def test_a_writer_never_shares_the_file_of_another(tmp_path):
    files = [EventFile(str(tmp_path)) for _ in range(3)]
    assert os.listdir(tmp_path) == []
    for number, file in enumerate(files):
        file.add(messages.Event(step=number))
    assert len({file.path for file in files}) == 3
    assert sorted(f.path for f in files) == [f.path for f in files]
    assert [steps(file.path) for file in files] == [[0], [1], [2]]


def test_a_record_is_between_its_length_and_checksums():
    assert framed(b"")[:8] == struct.pack("<Q", 0)
    assert framed(b"abc") == bytes.fromhex("0300000000000000") + framed(b"abc")[8:12] + b"abc" + framed(b"abc")[-4:]


def test_remote_files_are_whole_after_each_flush():
    pytest.importorskip("fsspec")
    file = EventFile("memory://events", flush_secs=3600)
    file.open()
    assert steps(file.path) == []
    file.add(messages.Event(step=1))
    assert steps(file.path) == []
    file.flush()
    assert steps(file.path) == [1]
    file.add(messages.Event(step=2))
    path = file.path
    file.close()
    assert steps(path) == [1, 2]
    with pytest.raises(errors.NotFoundError):
        list(events("memory://events/none"))


def test_remote_files_are_flushed_when_an_event_comes_later_than_the_time(monkeypatch):
    """At the second itself they are not, as in the originals."""
    pytest.importorskip("fsspec")
    now = [0.0]
    monkeypatch.setattr(event_files, "time", types.SimpleNamespace(monotonic=lambda: now[0], time=lambda: 1.5e9))
    file = EventFile("memory://late_events", flush_secs=120)
    found = []
    for step, now[0] in enumerate([0.0, 120.0, 120.5, 240.5, 241.0], 1):
        file.add(messages.Event(step=step))
        found.append(steps(file.path))
    assert found == [[], [], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4, 5]]


WRITER = """
import sys
from towerstrat.platform import messages
from towerstrat.platform.event_files import EventFile
file = EventFile(sys.argv[1])
for step in range(1_000_000):
    file.add(messages.Event(step=step, summary={"value": [{"tag": "x" * (step % 5000), "simple_value": step}]}))
    if step == 0:
        print("begun", flush=True)
"""


@pytest.mark.long
def test_a_writer_killed_at_any_moment_leaves_what_it_wrote(tmp_path):
    moments = random.Random(0)
    for kill in range(20):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            (*_, path), size = sorted(tmp_path.iterdir()), moments.randrange(1 << 20)
            while path.stat().st_size < size:
                assert process.poll() is None
            process.kill()
        paths = sorted(tmp_path.iterdir())
        assert len(paths) == kill + 1
        found = steps(str(paths[-1]))
        assert found == list(range(len(found)))
        assert found
