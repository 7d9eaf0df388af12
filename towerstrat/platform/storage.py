"""File storage behind one protocol: local disks, and what ``fsspec`` reaches (``gs://``, ``s3://``, ``memory://``).

``storage_of(path)`` picks the storage by the path's scheme; paths are passed to it as the program wrote them, with the
scheme. Errors of the system come as those of ``tf.errors``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "new", "file")
    >>> storage = storage_of(path)
    >>> with storage.writing(path) as file:
    ...     size = file.write(b"abcdef")
    ...     print(storage.exists(path))
    False
    >>> bytes(storage.ranges(path).read(2, 3)), storage.statistics(path).length
    (b'cde', 6)

There are four ways to a file, for four kinds of use:

* ``writing`` replaces it atomically and durably: checkpoints, state files. The file appears when the block ends.
* ``ranges`` reads parts of a complete file: tables and shards of checkpoints.
* ``growing`` appends, and readers see each append: event files.
* ``open`` is Python's: ``tf.gfile``, record files.

The two storages differ in what they can promise. Local: ``writing`` locks its file, so that other writers are seen
(``writers``), and a folder can be locked (``alone``). Remote: nothing locks, folder listings may be cached until
``refresh``, and a growing file is uploaded whole at each ``flush``. Paths with ``file://`` are local.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import IO, Protocol

from towerstrat.platform.local_storage import LOCAL
from towerstrat.platform.remote_storage import Remote
from towerstrat.platform.statistics import FileStatistics


class Ranges(Protocol):
    """Random access to the bytes of a file. ``len`` is its size."""

    def __len__(self) -> int: ...

    def read(self, start: int, size: int) -> memoryview:
        """Read ``size`` bytes from ``start``; the caller sees to it that the file has them. Local: a view, no copy."""


class Growing(Protocol):
    """A file that is appended to while others read it."""

    def write(self, data: bytes) -> None:
        """Append bytes; of a local file they belong to the system afterwards and survive the process.

        Where that raises, as on a full disk, the file ends as before.
        """

    def is_there(self) -> bool:
        """Whether the file still has a name in a folder: False where somebody has deleted it."""

    def flush(self) -> None:
        """Make everything written visible to readers. Of a local file it is without that."""

    def close(self) -> None: ...


class Storage(Protocol):
    """Files and folders of the paths with one ``scheme``. Raises errors of ``tf.errors`` throughout."""

    scheme: str

    # ---- files that must be whole or absent

    def ranges(self, path: str) -> Ranges: ...

    def writing(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """Write a file atomically: a context manager over a binary file that replaces ``path`` when the block ends.

        Where the block raises, ``path`` is unchanged. Missing folders are made. Local files are flushed to the disk.
        """

    def writers(self, path: str) -> list[str]:
        """Other processes that are in ``writing(path)``, as "process 12 on host"; empty where nothing locks."""

    def alone(self, path: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock on the folder of ``path`` during the block; no lock where the storage has none."""

    def identity(self, path: str) -> Hashable:
        """Value that changes when the file is replaced or written (inode, size, time); None where there is none."""

    def modified(self, path: str) -> float:
        """Time of the last write, in seconds since 1970."""

    def growing(self, path: str) -> Growing:
        """Create a file to append to, exclusively. Raises AlreadyExistsError where there is one."""

    def refresh(self) -> None:
        """Drop cached folder listings, so that files of other processes are seen."""

    # ---- files as they are

    def open(self, path: str, mode: str) -> IO[bytes]:
        """Open a buffered binary file in mode rb, wb, ab, r+b, w+b or a+b; remote ones may raise UnimplementedError."""

    def remove(self, path: str) -> None:
        """Delete a file; no error where there is none."""

    def rename(self, path: str, target: str) -> None:
        """Move a file or a folder, replacing a file that is at ``target``."""

    # ---- what there is

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""

    def statistics(self, path: str) -> FileStatistics:
        """Size and time of a file or a folder. Raises NotFoundError where there is neither."""

    def beginning_with(self, prefix: str) -> list[str]:
        """Paths of the files in the folder of ``prefix`` that start with it, sorted. No character is a wildcard."""

    def matching(self, pattern: str) -> list[str]:
        """Paths of the files that match a glob pattern, sorted."""

    def glob(self, pattern: str) -> list[str]:
        """Paths of the files and folders that match a glob pattern, sorted."""

    # ---- folders

    def is_folder(self, path: str) -> bool: ...

    def names(self, path: str) -> list[str]:
        """Names of the files and folders in a folder, sorted. Raises NotFoundError where there is no folder."""

    def make_folder(self, path: str, parents: bool) -> None:
        """Make a folder, and with ``parents`` those above it; no error where it exists."""

    def remove_folder(self, path: str) -> None:
        """Delete a folder with everything in it."""


def storage_of(path: str) -> Storage:
    """The storage of a path, by its scheme. Raises UnsupportedError where fsspec, or its driver, is not installed."""
    scheme, separator, _ = path.partition("://")
    return Remote(scheme) if separator and scheme != "file" else LOCAL
