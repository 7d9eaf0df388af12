"""Storage on the disks of this machine; see ``storage.Storage`` for the methods.

    writing(path)    temporary file beside it, locked -> block -> fsync -> rename over path -> fsync of the folder
    ranges(path)     a memory map: reading copies nothing, and pages of a large checkpoint are loaded when touched
    growing(path)    created exclusively; unbuffered writes, so that a killed process loses nothing it has written
    alone(path)      ``flock`` of the folder (``writers.py``, as are the temporary files)

The fsync before the rename makes the contents durable, the one of the folder the rename itself: after a loss of power
there is the old file or the new one. Files are opened unbuffered with Python's buffers on top (``File``), so that an
error that the system reports late, when a buffer is flushed or the file closed, still names the file and is of
``tf.errors``.
"""

from __future__ import annotations

import glob
import io
import mmap
import os
import shutil
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from towerstrat.errors import OpError
from towerstrat.platform import writers
from towerstrat.platform.statistics import FileStatistics
from towerstrat.platform.system_errors import translated

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_BUFFER = 1 << 18


class _Mapped:
    """Memory map of a file; ``Ranges``. An empty file cannot be mapped and is an empty view."""

    def __init__(self, path: str):
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")

    def __len__(self) -> int:
        return len(self._view)

    def read(self, start: int, size: int) -> memoryview:
        return self._view[start : start + size]


class File(io.FileIO):
    """Unbuffered file whose errors are those of ``tf.errors`` and name it, also when a buffer above it is flushed."""

    def write(self, data: ReadableBuffer) -> int:
        with translated(str(self.name)):
            return super().write(data)

    def readinto(self, buffer: WriteableBuffer) -> int:
        with translated(str(self.name)):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with translated(str(self.name)):
            return super().readall()

    def close(self) -> None:
        with translated(str(self.name)):
            super().close()


class _Growing:
    """``Growing``: unbuffered, so that what was written survives this process."""

    def __init__(self, path: str):
        self._file = File(path, "x")
        self._size = 0

    def write(self, data: bytes) -> None:
        remaining = memoryview(data)
        try:
            while remaining:  # a nearly full disk takes a part of it first, and raises then
                remaining = remaining[self._file.write(remaining) :]
        except OpError:
            self._file.truncate(self._size)  # no torn record between whole ones, if there is room again later
            self._file.seek(self._size)
            raise
        self._size += len(data)

    def is_there(self) -> bool:
        return os.fstat(self._file.fileno()).st_nlink > 0

    def flush(self) -> None:
        """Does nothing: writes are unbuffered."""

    def close(self) -> None:
        self._file.close()


class Local:
    """``Storage`` on local disks."""

    scheme = "file"

    def _path(self, path: str) -> str:
        return path.removeprefix("file://")

    def ranges(self, path: str) -> _Mapped:
        with translated(path):
            return _Mapped(self._path(path))

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        target = self._path(path)
        folder = os.path.dirname(target) or "."
        with translated(path):
            os.makedirs(folder, exist_ok=True)
            with writers.temporary(target) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, target)
            _sync_folder(folder)

    def writers(self, path: str) -> list[str]:
        return writers.remove_abandoned(self._path(path))

    @contextmanager
    def alone(self, path: str) -> Iterator[None]:
        with translated(path), writers.alone(os.path.dirname(self._path(path)) or "."):
            yield

    def identity(self, path: str) -> Hashable:
        with translated(path), suppress(FileNotFoundError):
            status = os.stat(self._path(path))
            return status.st_ino, status.st_size, status.st_mtime_ns
        return None

    def modified(self, path: str) -> float:
        with translated(path):
            return os.stat(self._path(path)).st_mtime

    def growing(self, path: str) -> _Growing:
        with translated(path):
            return _Growing(self._path(path))

    def refresh(self) -> None:
        """Does nothing: folder listings are not cached."""

    def open(self, path: str, mode: str) -> IO[bytes]:
        with translated(path):
            raw = File(self._path(path), mode.replace("b", ""))
        if raw.readable() and raw.writable():
            return io.BufferedRandom(raw, _BUFFER)
        return io.BufferedReader(raw, _BUFFER) if raw.readable() else io.BufferedWriter(raw, _BUFFER)

    def remove(self, path: str) -> None:
        with translated(path), suppress(FileNotFoundError):
            os.remove(self._path(path))

    def rename(self, path: str, target: str) -> None:
        with translated(path):
            os.replace(self._path(path), self._path(target))

    def exists(self, path: str) -> bool:
        return os.path.exists(self._path(path))

    def statistics(self, path: str) -> FileStatistics:
        with translated(path):
            status = os.stat(self._path(path))
        return FileStatistics(status.st_size, status.st_mtime_ns, os.path.isdir(self._path(path)))

    def beginning_with(self, prefix: str) -> list[str]:
        return self.matching(f"{glob.escape(self._path(prefix))}*")

    def matching(self, pattern: str) -> list[str]:
        return [path for path in self.glob(pattern) if os.path.isfile(path)]

    def glob(self, pattern: str) -> list[str]:
        return sorted(glob.glob(self._path(pattern)))

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(self._path(path))

    def names(self, path: str) -> list[str]:
        with translated(path):
            return sorted(os.listdir(self._path(path)))

    def make_folder(self, path: str, parents: bool) -> None:
        name = self._path(path)
        with translated(path):
            if parents:
                os.makedirs(name, exist_ok=True)
            elif not os.path.isdir(name):
                os.mkdir(name)

    def remove_folder(self, path: str) -> None:
        name = self._path(path)
        with translated(path):
            if os.path.islink(name):
                os.remove(name)
            else:
                shutil.rmtree(name)


LOCAL = Local()


def _sync_folder(folder: str) -> None:
    """Flush a folder to disk, so that a rename in it survives a loss of power; not all file systems can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
