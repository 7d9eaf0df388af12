"""Finding programs."""

from __future__ import annotations

import shutil


def find_executable(executable: str, path: str | None = None) -> str | None:
    """The path of a program, or None."""
    return shutil.which(executable, path=path)
