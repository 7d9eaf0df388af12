"""``tf.resource_loader``: files that lie beside the program's modules."""

from __future__ import annotations

import os
import sys


def _folder() -> str:
    """The folder of the module that called."""
    return os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))


def get_data_files_path() -> str:
    """The folder of the module that calls."""
    return _folder()


def get_path_to_datafile(path: str) -> str:
    """The path of a file, given from the folder of the module that calls."""
    return os.path.join(_folder(), path)


def get_root_dir_with_all_resources() -> str:
    """The folder of the module that calls: programs here are not packed into archives."""
    return _folder()


def load_resource(path: str) -> bytes:
    """The content of a file, given from the folder of the module that calls.

    Raises:
      OSError: it cannot be read.
    """
    with open(os.path.join(_folder(), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path itself: how a file is read ahead is the system's choice."""
    return path
