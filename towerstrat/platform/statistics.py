"""Size, time and kind of a path: the ``Stat`` of ``tf.gfile``, in a module of its own since all storages return it."""

from __future__ import annotations

from typing import NamedTuple


class FileStatistics(NamedTuple):
    """``length`` in bytes, ``mtime_nsec`` (0 where it is not known) and ``is_directory`` of a path."""

    length: int
    mtime_nsec: int
    is_directory: bool
