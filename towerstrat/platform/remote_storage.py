"""Storage that ``fsspec`` reaches: ``gs://``, ``s3://``, ``memory://`` and others; see ``storage.Storage``.

    writing(path)    a transaction of fsspec: the object appears complete when the block ends, or not at all
    ranges(path)     a request per range; the size is asked for once
    growing(path)    bytes are kept in memory, and ``flush`` writes the whole object anew: objects cannot be appended to
    alone, writers   no locks: one process at a time may write a path

fsspec caches folder listings per process: ``refresh`` drops them, as does each ``writing``. It returns paths without
their scheme; they get it back here. It is an extra of the package, imported when the first such path is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from typing import IO, Literal, Protocol, TypedDict, overload

from towerstrat import errors
from towerstrat.platform.statistics import FileStatistics
from towerstrat.platform.system_errors import translated


class FileInfo(TypedDict):
    """A file or folder as fsspec describes it; ``type`` is "file" or "directory"."""

    name: str
    size: int | None
    type: str


class FileSystem(Protocol):
    """The part of ``fsspec.AbstractFileSystem`` that is used here."""

    @property
    def transaction(self) -> AbstractContextManager[object]: ...

    def size(self, path: str) -> int: ...

    def cat_file(self, path: str, start: int, end: int) -> bytes: ...

    def open(self, path: str, mode: str) -> IO[bytes]: ...

    def info(self, path: str) -> FileInfo: ...

    def modified(self, path: str) -> datetime: ...

    def exists(self, path: str) -> bool: ...

    def isdir(self, path: str) -> bool: ...

    @overload
    def ls(self, path: str, detail: Literal[True] = True) -> list[FileInfo]: ...

    @overload
    def ls(self, path: str, detail: Literal[False]) -> list[str]: ...

    @overload
    def glob(self, path: str, detail: Literal[False] = False) -> list[str]: ...

    @overload
    def glob(self, path: str, detail: Literal[True]) -> dict[str, FileInfo]: ...

    def mkdir(self, path: str, create_parents: bool) -> None: ...

    def makedirs(self, path: str, exist_ok: bool) -> None: ...

    def mv(self, path1: str, path2: str, recursive: bool) -> None: ...

    def rm_file(self, path: str) -> None: ...

    def rm(self, path: str, recursive: bool) -> None: ...

    def invalidate_cache(self) -> None: ...


def _file_system(scheme: str, new: bool = False) -> FileSystem:
    """The file system of a scheme. ``new``: an instance, which nobody else has."""
    module = importlib.import_module("fsspec")
    system: FileSystem = module.filesystem(scheme, skip_instance_cache=True) if new else module.filesystem(scheme)
    return system


class _Fetched:
    """``Ranges`` of a remote file: each read is a request."""

    def __init__(self, system: FileSystem, path: str):
        self._system, self._path = system, path
        self._size = int(system.size(path))

    def __len__(self) -> int:
        return self._size

    def read(self, start: int, size: int) -> memoryview:
        return memoryview(self._system.cat_file(self._path, start, start + size) if size else b"")


class _Growing:
    """``Growing`` over objects that cannot be appended to: each ``flush`` with new bytes writes the whole file."""

    def __init__(self, storage: Remote, path: str):
        self._storage, self._path = storage, path
        self._data = bytearray()
        self._flushed = -1

    def write(self, data: bytes) -> None:
        self._data += data

    def is_there(self) -> bool:
        """True: all bytes are in memory, and the next ``flush`` writes a deleted file again."""
        return True

    def flush(self) -> None:
        if len(self._data) > self._flushed:
            with self._storage.writing(self._path) as file:
                file.write(bytes(self._data))
            self._flushed = len(self._data)

    def close(self) -> None:
        self.flush()


class Remote:
    """``Storage`` over an fsspec file system. Nothing locks: one process at a time may write a path.

    Args:
      scheme: such as ``gs``.

    Raises:
      UnsupportedError: fsspec, or its driver for this scheme, is not installed.
    """

    def __init__(self, scheme: str):
        self.scheme = scheme
        try:
            self._system = _file_system(scheme)
        except (ImportError, ValueError) as error:
            raise errors.UnsupportedError(
                f"Files on '{scheme}://' cannot be reached: {error}. Install what is missing (pip install "
                "'towerstrat[remote]' brings fsspec), or use a local folder."
            ) from None

    def _paths(self, paths: Iterable[str]) -> list[str]:
        """Sorted paths with the scheme that fsspec leaves out."""
        return sorted(f"{self.scheme}://{path.lstrip('/')}" for path in paths)

    def ranges(self, path: str) -> _Fetched:
        with translated(path):
            return _Fetched(self._system, path)

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        # A transaction belongs to an instance of the file system and does not nest: each file gets an instance.
        system = _file_system(self.scheme, new=True)
        with translated(path), system.transaction, system.open(path, "wb") as file:
            yield file
        self._system.invalidate_cache()

    def writers(self, path: str) -> list[str]:
        return []

    def alone(self, path: str) -> AbstractContextManager[None]:
        return nullcontext()

    def identity(self, path: str) -> Hashable:
        with translated(path), suppress(FileNotFoundError):
            return path, self._system.info(path)["size"], str(self._system.modified(path))
        return None

    def modified(self, path: str) -> float:
        with translated(path):
            return float(self._system.modified(path).timestamp())

    def growing(self, path: str) -> _Growing:
        if self.exists(path):
            raise errors.AlreadyExistsError(None, None, f"{path} is already there.")
        return _Growing(self, path)

    def refresh(self) -> None:
        self._system.invalidate_cache()

    def open(self, path: str, mode: str) -> IO[bytes]:
        try:
            with translated(path):
                return self._system.open(path, mode)
        except (NotImplementedError, ValueError) as error:
            raise errors.UnimplementedError(None, None, f"{path}: mode {mode}: {error}") from None

    def remove(self, path: str) -> None:
        with translated(path), suppress(FileNotFoundError):
            self._system.rm_file(path)

    def rename(self, path: str, target: str) -> None:
        with translated(path):
            self._system.mv(path, target, recursive=self._system.isdir(path))

    def exists(self, path: str) -> bool:
        with translated(path):
            return bool(self._system.exists(path))

    def statistics(self, path: str) -> FileStatistics:
        with translated(path):
            entry = self._system.info(path)
            try:
                written = int(self._system.modified(path).timestamp() * 1e9)
            except (NotImplementedError, KeyError, OSError):
                written = 0  # of folders, mostly
        return FileStatistics(entry["size"] or 0, written, entry["type"] == "directory")

    def beginning_with(self, prefix: str) -> list[str]:
        folder, _, start = prefix.rpartition("/")
        with translated(prefix), suppress(FileNotFoundError):
            names = (entry["name"].rpartition("/")[2] for entry in self._system.ls(folder) if entry["type"] == "file")
            return sorted(f"{folder}/{name}" for name in names if name.startswith(start))
        return []

    def matching(self, pattern: str) -> list[str]:
        with translated(pattern):
            entries = self._system.glob(pattern, detail=True)
        return self._paths(path for path, entry in entries.items() if entry["type"] == "file")

    def glob(self, pattern: str) -> list[str]:
        with translated(pattern):
            return self._paths(self._system.glob(pattern))

    def is_folder(self, path: str) -> bool:
        with translated(path):
            return bool(self._system.isdir(path))

    def names(self, path: str) -> list[str]:
        with translated(path):
            return sorted(name.rstrip("/").rpartition("/")[2] for name in self._system.ls(path, detail=False))

    def make_folder(self, path: str, parents: bool) -> None:
        with translated(path):
            if parents:
                self._system.makedirs(path, exist_ok=True)
            elif not self._system.isdir(path):
                self._system.mkdir(path, create_parents=False)

    def remove_folder(self, path: str) -> None:
        with translated(path):
            self._system.rm(path, recursive=True)
