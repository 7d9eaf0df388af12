"""``tf.io.gfile``: files with the names and arguments of 2.x."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

from towerstrat.platform import files
from towerstrat.platform.statistics import FileStatistics


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file; AlreadyExistsError unless ``overwrite``."""
    files.Copy(src, dst, overwrite)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Moves a file or folder; AlreadyExistsError unless ``overwrite``."""
    files.Rename(src, dst, overwrite)


def exists(path: Any) -> bool:
    """Whether there is a file or folder."""
    return files.Exists(path)


def isdir(path: Any) -> bool:
    """Whether there is a folder."""
    return files.IsDirectory(path)


def listdir(path: Any) -> list[str]:
    """The names in a folder; NotFoundError where there is none."""
    return files.ListDirectory(path)


def makedirs(path: Any) -> None:
    """Makes a folder and those above it."""
    files.MakeDirs(path)


def mkdir(path: Any) -> None:
    """Makes a folder."""
    files.MkDir(path)


def remove(path: Any) -> None:
    """Deletes a file."""
    files.Remove(path)


def rmtree(path: Any) -> None:
    """Deletes a folder and what is in it."""
    files.DeleteRecursively(path)


def stat(path: Any) -> FileStatistics:
    """The length and times of a file."""
    return files.Stat(path)


def glob(pattern: Any) -> list[str]:
    """The paths that match a pattern, or a list of patterns."""
    return files.Glob(pattern)


def join(path: Any, *paths: Any) -> Any:
    """The parts of a path as one."""
    return os.path.join(path, *paths)


def get_registered_schemes() -> list[str]:
    """The kinds of paths that files can have: "" and "file" for local ones, and those that ``fsspec`` knows."""
    found = importlib.util.find_spec("fsspec")
    known = [] if found is None else importlib.import_module("fsspec").available_protocols()
    return list(dict.fromkeys(["", "file", *known]))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Exception], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, its folders, its files) for each folder below ``top``; errors go to ``onerror``."""
    try:
        yield from files.Walk(top, topdown)
    except Exception as error:
        if onerror is not None:
            onerror(error)
