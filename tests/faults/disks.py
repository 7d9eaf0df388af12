"""Disks that are full or slow while something is written."""

import os
import queue
import subprocess
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.faults.disk import Disk, full_from
from tests.faults.outcome import Outcome
from tests.faults.training import SIZE, Training, restored, temporary_files
from towerstrat.checkpoints import bundle_writer
from towerstrat.platform.compilation_cache import EntryFiles

FULL = "No space left on device"


def refused(do, folder):
    """The message of the error that says that the disk is full; None where there is none."""
    try:
        do()
    except tf.errors.ResourceExhaustedError as error:
        said = error.message
    else:
        return None
    assert str(folder) in said
    assert said.endswith(FULL)
    return said


def full_checkpoint(folder):
    """a full disk at each write, open and mkdir of a save in turn, and within each write"""
    with Training(folder) as training:
        training.save()
        failed = 0
        for half in (False, True):
            for point in range(1, 100):
                training.step()
                with Disk(folder, full_from(point, half)) as disk:
                    said = refused(training.save, folder)
                assert temporary_files(folder) == []
                assert restored(folder) in (training.saved, training.steps)
                assert training.value() == training.steps
                if said is None:
                    break
                failed += 1
            assert point > 5
            assert len(disk.points) >= point - 1
        training.step()
        training.save()
        assert restored(folder) == training.steps
    return Outcome(
        f"{failed} places: `ResourceExhaustedError` with the file; the latest whole checkpoint restores, no temporary "
        "file is left, steps go on, and so does saving once there is room"
    )


def full_tmpfs(folder):
    """a full disk (tmpfs of 600 KiB) under a `MonitoredTrainingSession`"""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], check=False).returncode:
        return Outcome("not tried: this user cannot mount a file system")
    try:
        made = []

        def train():
            with Training(folder, keep=0) as training, training.monitored() as session:
                while len(made) < 20_000:
                    session.run(training.more)
                    made.append(1)

        with pytest.raises(
            tf.errors.ResourceExhaustedError, match=rf"{folder}/(model\.ckpt|events|checkpoint).*; {FULL}"
        ):
            train()
        last = restored(folder)
        assert temporary_files(folder) == []
        assert len(made) - 3 <= last <= len(made) + 1
        for path in Path(folder).glob("events*"):
            list(tf.train.summary_iterator(str(path)))
        subprocess.run(["mount", "-o", "remount,size=4m", folder], check=True)
        with Training(folder) as training, training.monitored() as session:
            session.run(training.more)
            assert training.value(session) == last + 1
    finally:
        tf.summary.FileWriterCache.clear()
        subprocess.run(["umount", folder], check=True)
    return Outcome(
        "`ResourceExhaustedError` with the file ends training, as in 1.12; the last whole checkpoint restores, "
        "events up to it are read, and a later run goes on from there"
    )  # fmt: skip


def full_events(folder):
    """a full disk at each write of an event file, and within each"""
    summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1.0)])
    failed, told = 0, []
    writer = tf.summary.FileWriter(folder)
    for step in range(12):
        with Disk(folder, full_from(1 if step % 3 else 100, half=step % 2 == 1)):
            said = refused(lambda step=step: writer.add_summary(summary, step), folder)
        if said is None:
            told.append(step)
        else:
            assert "events.out.tfevents." in said
            failed += 1
    writer.close()
    (path,) = Path(folder).iterdir()
    found = [event.step for event in tf.train.summary_iterator(str(path)) if event.summary.value]
    assert found == told == [0, 3, 6, 9]
    return Outcome(
        f"{failed} events: `ResourceExhaustedError` with the file, where the original loses them and all later ones "
        "without a word; the file is whole, and events that come once there is room follow"
    )  # fmt: skip


def full_records(folder):
    """a full disk while a program writes files of its own"""
    calls = {
        "gfile": lambda path: _close_after(tf.gfile.GFile(path, "w"), "x" * 10),
        "records": lambda path: _close_after(tf.python_io.TFRecordWriter(path), b"x" * 10),
        "op": lambda path: tf.Session().run(tf.write_file(path, b"x" * 10)),
    }
    for name, call in calls.items():
        path = os.path.join(folder, name)
        for point in (1, 2):
            with Disk(folder, full_from(point)):
                said = refused(lambda call=call, path=path: call(path), folder)
            assert said.startswith(path)
    return Outcome("`tf.gfile`, `TFRecordWriter` and `tf.write_file` raise `ResourceExhaustedError` with the file")


def _close_after(file, data):
    with file:
        file.write(data)


def full_cache(folder):
    """a full disk while the compilation cache is written"""
    store = EntryFiles(Path(folder), 1 << 20)
    store.put("kept", b"a program")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for half in (False, True):
            with Disk(folder, full_from(1, half)):
                store.put("lost", b"another program" * 1000)
    assert [str(w.message) for w in said] == [f"Cannot write compiled programs in {folder}: {FULL}."] * 2
    assert [path.name for path in Path(folder).iterdir()] == ["kept.program"]
    assert store.get("kept") == b"a program"
    assert store.get("lost") is None
    store.put("lost", b"another")
    assert store.get("lost") == b"another"
    return Outcome("a warning with the folder; steps go on, entries that are there stay, no part of one is left")


def full_data_cache(folder):
    """a full disk while `Dataset.cache` writes its file"""
    path = os.path.join(folder, "cache")
    failed = 0
    for point in range(1, 100):
        with tf.Graph().as_default(), tf.Session() as session:
            element = tf.data.Dataset.range(100).cache(path).make_one_shot_iterator().get_next()
            with Disk(folder, full_from(point, half=True)):
                said = refused(lambda: [session.run(element) for _ in range(100)], folder)  # noqa: B023
            if said is None:
                break
            failed += 1
            assert os.listdir(folder) == []
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.Dataset.range(100).cache(path).make_one_shot_iterator().get_next()
        assert [session.run(element) for _ in range(100)] == list(range(100))
    return Outcome(f"{failed} places: `ResourceExhaustedError` with the file, of which nothing is left")


def slow_disk(folder):
    """a disk that hangs at each call of a save for as long as somebody looks at the folder"""
    points, go_on = queue.Queue(), queue.Queue()

    def hangs(point):
        points.put(point)
        go_on.get(timeout=60)

    def save():
        with Disk(folder, hangs):
            training.save()
        points.put(None)

    with Training(folder) as training:
        training.step()
        training.save()
        training.step()
        saving, found = threading.Thread(target=save), []
        saving.start()
        while points.get(timeout=60) is not None:
            assert training.saved == 1
            found.append(restored(folder))
            go_on.put(True)
        saving.join(60)
        assert found == sorted(found)
        assert {found[0], found[-1]} == {1, 2}
        assert restored(folder) == training.saved == training.value() == 2
    return Outcome(
        f"{len(found)} calls: `Saver.save` returns when all is on the disk, so that steps wait for it; until the "
        "new one is whole the latest checkpoint is the one before"
    )  # fmt: skip


def slow_disk_beside(folder):
    """a disk that hangs while `AsyncCheckpointSaverHook` saves"""
    begun, go_on = threading.Event(), threading.Event()

    def hangs(point):
        if point.call == "write" and "model.ckpt-2.data" in point.path:
            begun.set()
            assert go_on.wait(60)

    with Training(folder) as training:
        hook = tf.contrib.tpu.AsyncCheckpointSaverHook(folder, save_steps=2, saver=training.saver)
        with Disk(folder, hangs), training.monitored(hooks=[hook], save_checkpoint_steps=None) as session:
            for _ in range(3):
                session.run(training.more)
            assert begun.wait(60)
            during = training.value(session)
            go_on.set()
    assert during == 3
    assert restored(folder) == 3
    return Outcome(
        "steps go on while the disk hangs; the next save waits for the one before, the end for all: nothing is lost"
    )


def wide_checkpoint(folder):
    """a full disk at each write of a checkpoint of 1 MiB"""
    prefix = os.path.join(folder, "model")
    arrays = [bundle_writer.Saved(name, lambda: np.ones(SIZE, np.float32)) for name in "ab"]
    bundle_writer.write(prefix, arrays)
    before = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    for point in range(1, 100):
        with Disk(folder, full_from(point, half=True)):
            said = refused(lambda: bundle_writer.write(prefix, arrays, b"beside"), folder)
        if said is None:
            break
        assert {path.name: path.read_bytes() for path in Path(folder).iterdir()} == before
    return Outcome(f"{point - 1} places: nothing has changed in the folder")
