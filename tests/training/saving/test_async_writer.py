"""Saving in a thread: values as they were, one write at a time, errors that are not lost."""

import subprocess
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest

import towerstrat.compat.v2 as tf
from towerstrat import errors
from towerstrat.checkpoints import bundle_writer
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.checkpoints.bundle_writer import Saved, write
from towerstrat.graph.eager import mode
from towerstrat.training.saving.async_writer import BackgroundWriter, copies


def test_values_are_those_of_the_moment(tmp_path):
    changing = np.zeros(5, np.float32)
    device = jnp.arange(4.0)
    words = np.array([b"a", b"bc"], object)
    arrays = copies([Saved("host", lambda: changing), Saved("device", lambda: device), Saved("words", lambda: words)])
    changing += 1
    device.delete()
    words[0] = b"changed"
    write(str(tmp_path / "model"), arrays)
    bundle = Bundle(str(tmp_path / "model"))
    assert bundle.read("host").tolist() == [0.0] * 5
    assert bundle.read("device").tolist() == [0.0, 1.0, 2.0, 3.0]
    assert bundle.read("words").tolist() == [b"a", b"bc"]


def test_one_write_at_a_time():
    writer, go, order = BackgroundWriter(), threading.Event(), []

    def first():
        go.wait(60)
        order.append("first")

    writer.submit(first)
    assert order == []
    second = threading.Thread(target=writer.submit, args=(lambda: order.append("second"),))
    second.start()
    assert order == []
    go.set()
    second.join(60)
    assert order[0] == "first"
    writer.wait()
    writer.wait()
    assert order == ["first", "second"]


def test_an_error_is_raised_once_by_the_next_call():
    def fails():
        raise errors.ResourceExhaustedError(None, None, "the disk is full")

    writer, written = BackgroundWriter(), []
    writer.submit(fails)
    with pytest.raises(errors.ResourceExhaustedError, match="full"):
        writer.submit(lambda: written.append(1))
    assert written == []
    writer.submit(lambda: written.append(2))
    writer.wait()
    assert written == [2]


def test_a_program_that_ends_waits_and_says_what_failed(tmp_path):
    program = """
import sys, threading
from towerstrat.graph.eager import mode
from towerstrat.training.saving.async_writer import BackgroundWriter

def slow():
    threading.main_thread().join()  # returns when the program has come to its end
    open(sys.argv[1], "w").write("written")

def fails():
    raise OSError("the disk is full")

one, two = BackgroundWriter(), BackgroundWriter()
one.submit(slow)
two.submit(fails)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "file")], capture_output=True, text=True, check=False
    )
    assert (tmp_path / "file").read_text() == "written"
    assert "OSError: the disk is full" in done.stderr


@pytest.fixture
def eager():
    with mode.eager_mode():
        yield


@pytest.fixture
def slow(monkeypatch):
    """Writes wait for the event."""
    go = threading.Event()
    write = bundle_writer.write

    def waiting(*arguments):
        assert go.wait(60)
        write(*arguments)

    monkeypatch.setattr(bundle_writer, "write", waiting)
    return go


ASYNC = {"options": tf.train.CheckpointOptions(experimental_enable_async_checkpoint=True)}


def test_a_checkpoint_in_the_background_has_the_values_of_its_call(tmp_path, eager, slow):
    variable = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(variable=variable)
    path = checkpoint.save(str(tmp_path / "model"), **ASYNC)
    variable.assign_add([1.0, 1.0])
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    slow.set()
    checkpoint.sync()
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert Bundle(path).read("variable/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [1.0, 2.0]
    checkpoint.save(str(tmp_path / "model"), **ASYNC)
    variable.assign([0.0, 0.0])
    checkpoint.restore(f"{tmp_path}/model-2").assert_consumed()
    assert variable.numpy().tolist() == [2.0, 3.0]


def test_a_manager_removes_older_ones_when_the_new_one_is_there(tmp_path, eager, slow):
    checkpoint = tf.train.Checkpoint(variable=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1)
    slow.set()
    first = manager.save()
    slow.clear()
    second = manager.save(**ASYNC)
    assert manager.latest_checkpoint == tf.train.latest_checkpoint(str(tmp_path)) == first
    slow.set()
    manager.sync()
    assert manager.checkpoints == [second]
    assert [path.name for path in tmp_path.glob("*.index")] == ["ckpt-2.index"]


def test_an_error_in_the_background_comes_with_the_next_save(tmp_path, eager, monkeypatch):
    checkpoint = tf.train.Checkpoint(variable=tf.Variable(1.0))
    path = checkpoint.save(str(tmp_path / "model"))
    with monkeypatch.context() as patched:

        def fails(*arguments):
            raise errors.ResourceExhaustedError(None, None, "the disk is full")

        patched.setattr(bundle_writer, "write", fails)
        checkpoint.save(str(tmp_path / "model"), **ASYNC)
        with pytest.raises(errors.ResourceExhaustedError, match="full"):
            checkpoint.save(str(tmp_path / "model"))
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert checkpoint.save(str(tmp_path / "model")) == f"{tmp_path}/model-4"
