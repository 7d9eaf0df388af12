"""Where files are kept: on local disks, and on what ``fsspec`` reaches (``gs://``, ``s3://``, ``memory://``).

Paths are as the program gave them, and errors are those of ``tf.errors``.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import IO, Protocol

from towerstrat.platform.local_storage import LOCAL
from towerstrat.platform.remote_storage import Remote
from towerstrat.platform.statistics import FileStatistics


class Ranges(Protocol):
    """The bytes of a file, read where they are asked for."""

    def __len__(self) -> int: ...

    def read(self, start: int, size: int) -> memoryview:
        """``size`` bytes from ``start``, which lie in the file. No copy where the file is local."""


class Growing(Protocol):
    """A file that grows, and that others read meanwhile."""

    def write(self, data: bytes) -> None:
        """Adds bytes at the end, all with one call of the system where the file is local.

        Where that raises, as on a full disk, nothing of them is there.
        """

    def is_there(self) -> bool:
        """Whether the file is in a folder still: False where somebody has removed it."""

    def flush(self) -> None:
        """Afterwards readers see what was written. Of local files they always do, also when this process is killed."""

    def close(self) -> None: ...


class Storage(Protocol):
    """Files and folders of one kind of path, that which begins with ``scheme``."""

    scheme: str

    # ---- files that must be whole or absent

    def ranges(self, path: str) -> Ranges: ...

    def writing(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A context manager that gives a binary file: at its end the file is at ``path``, whole, and stays there.

        Where the block raises, what was at ``path`` before is there still. Folders that are missing are made.
        """

    def writers(self, path: str) -> list[str]:
        """Who else is writing ``path`` at this moment, in words, as far as that can be known."""

    def alone(self, path: str) -> AbstractContextManager[None]:
        """Inside, no other process is in such a block for the folder of ``path``, as far as that can be had."""

    def identity(self, path: str) -> Hashable:
        """What no other file has, nor this one after somebody has replaced it; None where there is none."""

    def modified(self, path: str) -> float:
        """When a file was last written, in seconds since 1970."""

    def growing(self, path: str) -> Growing:
        """A new file, which several programs never share. Raises AlreadyExistsError where there is one."""

    def refresh(self) -> None:
        """From now on what other processes have done is seen, where folders were remembered."""

    # ---- files as they are

    def open(self, path: str, mode: str) -> IO[bytes]:
        """A file in one of the modes rb, wb, ab, r+b, w+b, a+b."""

    def remove(self, path: str) -> None:
        """Removes a file; fine where there is none."""

    def rename(self, path: str, target: str) -> None:
        """Moves a file or a folder, which replaces what is there."""

    # ---- what there is

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""

    def statistics(self, path: str) -> FileStatistics:
        """Of a file or a folder. Raises NotFoundError where there is neither."""

    def beginning_with(self, prefix: str) -> list[str]:
        """The paths of all files whose path starts with ``prefix``, sorted."""

    def matching(self, pattern: str) -> list[str]:
        """The paths of the files that fit a pattern with ``*`` and ``?``, sorted."""

    def glob(self, pattern: str) -> list[str]:
        """The paths of the files and folders that fit a pattern, sorted."""

    # ---- folders

    def is_folder(self, path: str) -> bool: ...

    def names(self, path: str) -> list[str]:
        """The names of what is in a folder, sorted. Raises NotFoundError where there is none."""

    def make_folder(self, path: str, parents: bool) -> None:
        """Makes a folder, and with ``parents`` those above it; fine where it is there."""

    def remove_folder(self, path: str) -> None:
        """Removes a folder with all that is in it."""


def storage_of(path: str) -> Storage:
    """Where ``path`` is kept. Raises UnsupportedError for an address where fsspec is not installed."""
    scheme, found, _ = path.partition("://")
    return Remote(scheme) if found and scheme != "file" else LOCAL
