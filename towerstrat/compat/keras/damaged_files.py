"""Damaged files of models and weights: an error of ``tf.errors`` says so, whichever library meets the damage."""

from __future__ import annotations

import os
import traceback
import zipfile
import zlib
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.errors import DataLossError

_LOADING = {"load_model": 0, "load_weights": 1}
"""Function -> which of its arguments is the file."""
_PACKAGE = "keras"
_READERS = ("h5py", "zipfile", "json")
"""The libraries that take files of models apart."""


class DamagedModelError(DataLossError, OSError):
    """A file of a model cannot be read. It is an OSError too, which is what h5py raises."""


def name_damage(module: ModuleType) -> None:
    """Lets the functions that load models and weights raise ``DamagedModelError`` for damaged files."""
    for name, place in _LOADING.items():
        vars(module)[name] = _wrap(vars(module)[name], place)


def _wrap(load: Callable[..., Any], place: int) -> Callable[..., Any]:
    @wraps(load)
    def load_whole(*args: Any, **kwargs: Any) -> Any:
        try:
            return load(*args, **kwargs)
        except Exception as error:
            if not _is_damage(error):
                raise
            path = args[place] if len(args) > place else kwargs["filepath"]
            raise DamagedModelError(
                None, None, f"{os.fspath(path)}: expected a file of a model or of weights, and it is damaged: {error}. "
                "Save it again, or take a copy.",
            ) from error  # fmt: skip

    return load_whole


def _is_damage(error: Exception) -> bool:
    """Whether the bytes of a file are the reason: a library that reads it failed, and not because it is not there."""
    if isinstance(error, UnicodeDecodeError | EOFError | MemoryError | zipfile.BadZipFile | zlib.error):
        return True
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        return False
    modules = [
        frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    own = max((i for i, name in enumerate(modules) if name == _PACKAGE), default=-1)
    return any(name in _READERS for name in modules[own + 1 :])
