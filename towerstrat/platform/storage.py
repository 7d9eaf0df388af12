"""Files that must be whole or absent, on local disks and on what ``fsspec`` reaches (``gs://``, ``s3://``, ``memory://``).

Errors are those of ``tf.errors``.
"""

from __future__ import annotations

import glob
import importlib
import mmap
import os
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import IO, Any, Protocol

from towerstrat import errors
from towerstrat.platform import writers
from towerstrat.platform.system_errors import translated


class Ranges(Protocol):
    """The bytes of a file, read where they are asked for."""

    def __len__(self) -> int: ...

    def read(self, start: int, size: int) -> memoryview:
        """``size`` bytes from ``start``, which lie in the file. No copy where the file is local."""


class Storage(Protocol):
    """Where files are kept. Paths are as the program gave them."""

    def exists(self, path: str) -> bool: ...

    def beginning_with(self, prefix: str) -> list[str]:
        """The paths of all files whose path starts with ``prefix``, sorted."""

    def matching(self, pattern: str) -> list[str]:
        """The paths of the files that fit a pattern with ``*`` and ``?``, sorted."""

    def ranges(self, path: str) -> Ranges: ...

    def writing(self, path: str) -> AbstractContextManager[IO[bytes]]:
        """A context manager that gives a binary file: at its end the file is at ``path``, whole, and stays there.

        Where the block raises, what was at ``path`` before is there still.
        """

    def writers(self, path: str) -> list[str]:
        """Who else is writing ``path`` at this moment, in words, as far as that can be known."""

    def alone(self, path: str) -> AbstractContextManager[None]:
        """Inside, no other process is in such a block for the folder of ``path``, as far as that can be had."""

    def remove(self, path: str) -> None:
        """Removes a file; fine where there is none."""

    def modified(self, path: str) -> float:
        """When a file was last written, in seconds since 1970."""

    def identity(self, path: str) -> Hashable:
        """What is another value after somebody has replaced the file; None where there is none."""


def storage_of(path: str) -> Storage:
    """Where ``path`` is kept. Raises UnsupportedError for an address where fsspec is not installed."""
    scheme, found, _ = path.partition("://")
    return Remote(scheme) if found and scheme != "file" else LOCAL


class _Mapped:
    """A local file in memory as it is needed; the pages are the system's."""

    def __init__(self, path: str):
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")

    def __len__(self) -> int:
        return len(self._view)

    def read(self, start: int, size: int) -> memoryview:
        return self._view[start : start + size]


class Local:
    """The disks of this machine."""

    def _path(self, path: str) -> str:
        return path.removeprefix("file://")

    def exists(self, path: str) -> bool:
        return os.path.exists(self._path(path))

    def beginning_with(self, prefix: str) -> list[str]:
        return sorted(p for p in glob.glob(f"{glob.escape(self._path(prefix))}*") if os.path.isfile(p))

    def matching(self, pattern: str) -> list[str]:
        return sorted(p for p in glob.glob(self._path(pattern)) if os.path.isfile(p))

    def ranges(self, path: str) -> Ranges:
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

    def remove(self, path: str) -> None:
        with translated(path), suppress(FileNotFoundError):
            os.remove(self._path(path))

    def modified(self, path: str) -> float:
        with translated(path):
            return os.stat(self._path(path)).st_mtime

    def identity(self, path: str) -> Hashable:
        with translated(path), suppress(FileNotFoundError):
            found = os.stat(self._path(path))
            return found.st_ino, found.st_size, found.st_mtime_ns
        return None


LOCAL = Local()


def _sync_folder(folder: str) -> None:
    """Makes a rename in the folder last over a loss of power, where the system can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


class _Fetched:
    """A remote file, of which ranges are fetched."""

    def __init__(self, system: Any, path: str):
        self._system, self._path = system, path
        self._size = int(system.size(path))

    def __len__(self) -> int:
        return self._size

    def read(self, start: int, size: int) -> memoryview:
        return memoryview(self._system.cat_file(self._path, start, start + size) if size else b"")


class Remote:
    """What fsspec reaches. A file appears there when it is closed.

    Args:
      scheme: such as ``gs``.

    Raises:
      UnsupportedError: fsspec, or what it needs for this scheme, is not installed.
    """

    def __init__(self, scheme: str):
        self._scheme = scheme
        try:
            self._system = importlib.import_module("fsspec").filesystem(scheme)
        except (ImportError, ValueError) as error:
            raise errors.UnsupportedError(
                f"Files on '{scheme}://' cannot be reached: {error}. Install what is missing, or use a local folder."
            ) from None

    def exists(self, path: str) -> bool:
        with translated(path):
            return bool(self._system.exists(path))

    def beginning_with(self, prefix: str) -> list[str]:
        folder, _, start = prefix.rpartition("/")
        with translated(prefix), suppress(FileNotFoundError):
            names = (entry["name"].rpartition("/")[2] for entry in self._system.ls(folder) if entry["type"] == "file")
            return sorted(f"{folder}/{name}" for name in names if name.startswith(start))
        return []

    def matching(self, pattern: str) -> list[str]:
        with translated(pattern):
            found = self._system.glob(pattern)
        return sorted(path if "://" in path else f"{self._scheme}://{path}" for path in found)

    def ranges(self, path: str) -> Ranges:
        with translated(path):
            return _Fetched(self._system, path)

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        with translated(path), self._system.transaction, self._system.open(path, "wb") as file:
            yield file

    def writers(self, path: str) -> list[str]:
        return []

    def alone(self, path: str) -> AbstractContextManager[None]:
        return nullcontext()

    def remove(self, path: str) -> None:
        with translated(path), suppress(FileNotFoundError):
            self._system.rm_file(path)

    def modified(self, path: str) -> float:
        with translated(path):
            return float(self._system.modified(path).timestamp())

    def identity(self, path: str) -> Hashable:
        with translated(path), suppress(FileNotFoundError):
            found = self._system.info(path)
            return found["size"], str(self._system.modified(path))
        return None
