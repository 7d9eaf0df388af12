"""Saving in a thread: values as they were, one write at a time, errors that are not lost."""

import subprocess
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest

from towerstrat import errors
from towerstrat.checkpoints.bundle import Bundle
from towerstrat.checkpoints.bundle_writing import Saved, write
from towerstrat.training.saving.background import BackgroundWriter, held


def test_values_are_those_of_the_moment(tmp_path):
    changing = np.zeros(5, np.float32)
    device = jnp.arange(4.0)
    words = np.array([b"a", b"bc"], object)
    arrays = held([Saved("host", lambda: changing), Saved("device", lambda: device), Saved("words", lambda: words)])
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
    threading.Timer(0.05, go.set).start()
    writer.submit(lambda: order.append("second"))
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
import sys, time
from towerstrat.training.saving.background import BackgroundWriter

def slow():
    time.sleep(0.2)
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
