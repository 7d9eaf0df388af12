"""Disks that are full, read-only or gone: an error, and what was there is there still."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from towerstrat import errors
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved, write

TRAINS = """
import resource, signal, sys
import numpy as np
import towerstrat.compat.v1 as tf
from towerstrat import errors

table = tf.get_variable("table", initializer=np.zeros(50_000, np.float32))
step = tf.assign_add(table, tf.ones([50_000]))
saver = tf.train.Saver(max_to_keep=1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(step)
    saver.save(session, sys.argv[1] + "/model", 1)
    session.run(step)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    try:
        saver.save(session, sys.argv[1] + "/model", 2)
    except errors.OpError as error:
        print(type(error).__name__, error.message)
    print(tf.train.latest_checkpoint(sys.argv[1]), saver.last_checkpoints, session.run(step)[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(saver.save(session, sys.argv[1] + "/model", 3))
"""


def saved(number):
    return [Saved("x", lambda: np.full(1000, number, np.float32))]


def content(where):
    return {path.name: path.read_bytes() for path in where.iterdir()}


def test_a_file_that_may_not_grow_is_an_error_and_training_goes_on(tmp_path):
    done = subprocess.run([sys.executable, "-c", TRAINS, str(tmp_path)], capture_output=True, text=True, check=True)
    first = f"{tmp_path}/model-1"
    error, state, path = done.stdout.splitlines()
    assert error.startswith("OutOfRangeError")
    assert "model-2.data-00000-of-00001" in error
    assert state == f"{first} [{first!r}] 3.0"
    assert path == f"{tmp_path}/model-3"
    assert sorted(content(tmp_path)) == [
        *("checkpoint", "model-3.data-00000-of-00001", "model-3.index", "model-3.meta")
    ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_full_disk(tmp_path):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        prefix = str(tmp_path / "model")
        write(prefix, saved(1))
        before = content(tmp_path)
        with pytest.raises(errors.ResourceExhaustedError, match="model.data"):
            write(prefix, [Saved("x", lambda: np.zeros(30_000, np.float32))])
        assert content(tmp_path) == before
        subprocess.run(["mount", "-o", "remount,ro", tmp_path], check=True)
        with pytest.raises(errors.PermissionDeniedError, match="model.index"):
            write(prefix, saved(2))
        assert content(tmp_path) == before
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_a_folder_that_may_not_be_written(tmp_path):
    prefix = str(tmp_path / "folder" / "model")
    write(prefix, saved(1))
    before = content(tmp_path / "folder")
    (tmp_path / "folder").chmod(0o500)
    try:
        if os.access(tmp_path / "folder", os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(errors.PermissionDeniedError, match="model.index"):
            write(prefix, saved(2))
    finally:
        (tmp_path / "folder").chmod(0o700)
    assert content(tmp_path / "folder") == before


@pytest.mark.parametrize("elsewhere", [True, False], ids=["moved", "removed"])
def test_a_folder_that_vanishes_while_a_checkpoint_is_written(tmp_path, elsewhere):
    folder = tmp_path / "folder"
    write(str(folder / "model"), saved(1))

    def vanish():
        if elsewhere:
            folder.rename(tmp_path / "moved")
        else:
            shutil.rmtree(folder)
        return np.zeros(3)

    with pytest.raises(errors.NotFoundError, match="folder/model"):
        write(str(folder / "model"), [*saved(2), Saved("y", vanish)])
    assert not folder.exists()
    if elsewhere:
        assert Bundle(str(tmp_path / "moved" / "model")).read("x")[0] == 1
    write(str(folder / "model"), saved(3))
    assert Bundle(str(folder / "model")).read("x")[0] == 3


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no list of open files")
def test_no_file_stays_open(tmp_path):
    write(str(tmp_path / "model"), saved(1))
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        write(str(tmp_path / "model"), saved(number))
        with pytest.raises(ValueError, match="twice"):
            write(str(tmp_path / "model"), saved(1) * 2)
    assert len(os.listdir("/proc/self/fd")) <= before
