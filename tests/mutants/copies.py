"""A copy of the tree in which a change is made, tests run until their first failure, and the change is taken back."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

ROOT = pathlib.Path(__file__).parents[2]
PARTS = (
    "towerstrat",
    "tests",
    "benchmarks",
    "examples",
    "docs",
    "scripts",
    "README.md",
    "CONTRIBUTING.md",
    "pyproject.toml",
)
LIMIT = 1200
"""Seconds after which tests do not end."""


@contextmanager
def copied() -> Iterator[pathlib.Path]:
    """A copy of all that tests read, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="copy-") as folder:
        copy = pathlib.Path(folder)
        for name in PARTS:
            source = ROOT / name
            shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy(source, copy / name)
        yield copy


@contextmanager
def changed(file: pathlib.Path, data: bytes) -> Iterator[None]:
    """The file with other bytes, for a while."""
    before = file.read_bytes()
    file.write_bytes(data)
    try:
        yield
    finally:
        file.write_bytes(before)


def first_failure(copy: pathlib.Path, tests: Sequence[str]) -> str:
    """The first of the default tests that fails in a copy, "" where none does."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "-x", "-q", *tests]
    # Compiled files are told from older ones by whole seconds and sizes, which a change may leave as they are.
    environment = {**os.environ, "PYTHONPATH": str(copy), "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, errors="replace", timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"not ended after {LIMIT} s"
    if ran.returncode in (0, 5):  # 5: none of them is a default test
        return ""
    found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", ran.stdout, re.MULTILINE)
    return found.group(1) if found else f"exit status {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-200:]!r}"
