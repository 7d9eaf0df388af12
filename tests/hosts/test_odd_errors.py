"""Exceptions that are hard to print end a run of several processes as any other does."""

import subprocess
import sys

import pytest

from tests.hosts import several

PROGRAM = """
import time
import jax
import tensorflow as tf

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Strange:
    def __repr__(self):
        raise RuntimeError("no words either")

ERRORS = {
    "surrogate": lambda: ValueError("no such file: caf\\udce9.txt"),
    "long": lambda: ValueError("x" * 3_000_000),
    "many lines": lambda: ValueError("\\n".join(["\\u00e9" * 100_000] * 40)),
    "unprintable": lambda: Unprintable(),
    "unprintable argument": lambda: KeyError(Strange()),
}
if jax.process_index() == 1:
    raise ERRORS[NAME]()
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("surrogate", "ValueError: no such file: caf\\udce9.txt"),
        ("long", "ValueError: xxxxx"),
        pytest.param("many lines", "ValueError: éé", marks=pytest.mark.long),
        ("unprintable", "Unprintable"),
        pytest.param("unprintable argument", "KeyError", marks=pytest.mark.long),
    ],
)
def test_both_processes_end(name, words, tmp_path):
    (tmp_path / "train.py").write_text(f"NAME = {name!r}\n{PROGRAM}")
    command = [sys.executable, "-m", "towerstrat", "launch", "-n", "2", "--api", "1", "train.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=several.environment(), capture_output=True, timeout=120, encoding="utf-8"
    )
    assert done.returncode == 1, done.stderr[-3000:]
    ends = [line for line in done.stderr.splitlines() if "towerstrat: process 1" in line]
    assert any("ended with exit status 1" in line for line in ends), done.stderr[-3000:]
    assert words in done.stderr
    assert "all 2 processes end" in done.stderr
