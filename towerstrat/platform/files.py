"""``tf.gfile``: local files under the original's names. Addresses such as ``gs://`` are refused by name."""

from __future__ import annotations

import glob
import io
import os
import shutil
from collections.abc import Iterator
from typing import Any

from towerstrat import errors
from towerstrat.platform.system_errors import translated

_MODES = {"r": "rb", "w": "wb", "a": "ab", "r+": "r+b", "w+": "w+b", "a+": "a+b"}


def local(path: Any) -> str:
    """``path`` as a string. Raises UnsupportedError when it is an address on a remote file system."""
    name = os.fsdecode(path)
    scheme, found, rest = name.partition("://")
    if not found:
        return name
    if scheme == "file":
        return rest
    raise errors.UnsupportedError(
        f"{name!r}: files on '{scheme}://' cannot be reached; copy them to a local folder and pass its path."
    )


class GFile:
    """A local file, opened at the first read or write.

    Text mode gives ``str`` (UTF-8), "b" in the mode gives ``bytes``.

    Args:
      name: its path.
      mode: one of r, w, a, r+, w+, a+, with or without b.

    Raises:
      InvalidArgumentError: another mode.
    """

    def __init__(self, name: Any, mode: str = "r"):
        self._binary = "b" in mode
        plain = mode.replace("b", "")
        if plain not in _MODES:
            raise errors.InvalidArgumentError(
                None, None, f"Expected a mode among {', '.join(_MODES)} (and b), got {mode!r}."
            )
        self._name = name
        self._mode = mode
        self._plain = plain
        self._path = local(name)
        self._file: Any = None

    @property
    def name(self) -> Any:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def _opened(self) -> Any:
        if self._file is None:
            with translated(self._path):
                self._file = open(self._path, _MODES[self._plain])  # noqa: SIM115
            if self._plain == "a+":
                self._file.seek(0)
        return self._file

    def _for_reading(self) -> Any:
        if self._plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, f"{self._path} is not open for reading (mode {self._mode}).")
        return self._opened()

    def _for_writing(self) -> Any:
        if self._plain == "r":
            raise errors.PermissionDeniedError(None, None, f"{self._path} is not open for writing (mode {self._mode}).")
        return self._opened()

    def _given(self, data: bytes) -> Any:
        return data if self._binary else data.decode("utf-8")

    def size(self) -> int:
        """Bytes of the file."""
        self.flush()
        return Stat(self._path).length

    def write(self, file_content: Any) -> None:
        data = file_content.encode("utf-8") if isinstance(file_content, str) else file_content
        self._for_writing().write(data)

    def read(self, n: int = -1) -> Any:
        """The next ``n`` bytes, or all that is left."""
        return self._given(self._for_reading().read(n))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to ``offset`` from the start (0), the current place (1) or the end (2)."""
        if (offset is None) == (position is None):
            raise TypeError("seek() takes an offset, or the older name position for it, and not both.")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Expected whence 0, 1 or 2, got {whence}.")
        self._for_reading().seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        return self._for_reading().tell()

    def readline(self) -> Any:
        """The next line with its end, or an empty string."""
        return self._given(self._for_reading().readline())

    def readlines(self) -> list[Any]:
        return [self._given(line) for line in self._for_reading().readlines()]

    def next(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    __next__ = next

    def __iter__(self) -> GFile:
        return self

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def flush(self) -> None:
        if self._file is not None and self._plain != "r":
            self._file.flush()

    def __del__(self) -> None:
        # Programs say GFile(path).read() and close nothing.
        if getattr(self, "_file", None) is not None:
            self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class FastGFile(GFile):
    """The same as ``GFile``."""


class FileStatistics:
    """``length`` in bytes, ``mtime_nsec`` and ``is_directory`` of a path."""

    def __init__(self, status: os.stat_result):
        self.length = status.st_size
        self.mtime_nsec = status.st_mtime_ns
        self.is_directory = (status.st_mode & 0o170000) == 0o040000

    def __repr__(self) -> str:
        return f"FileStatistics(length={self.length}, is_directory={self.is_directory})"


def Exists(filename: Any) -> bool:
    return os.path.exists(local(filename))


def IsDirectory(dirname: Any) -> bool:
    return os.path.isdir(local(dirname))


def Stat(filename: Any) -> FileStatistics:
    """Raises NotFoundError when there is no such path."""
    name = local(filename)
    with translated(name):
        return FileStatistics(os.stat(name))


def MkDir(dirname: Any) -> None:
    """Makes a folder; its parent must be there."""
    name = local(dirname)
    with translated(name):
        if not os.path.isdir(name):
            os.mkdir(name)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it that are missing."""
    name = local(dirname)
    with translated(name):
        os.makedirs(name, exist_ok=True)


def ListDirectory(dirname: Any) -> list[str]:
    """Names of what is in a folder. Raises NotFoundError when it is none."""
    name = local(dirname)
    if not os.path.isdir(name):
        raise errors.NotFoundError(None, None, f"Could not find directory {name}")
    return sorted(os.listdir(name))


def Glob(filename: Any) -> list[str]:
    """Paths that match a pattern, or any pattern of a list; in sorted order for each."""
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return [path for pattern in patterns for path in sorted(glob.glob(local(pattern)))]


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """``(folder, folders in it, files in it)`` for a folder and all below, parents first if ``in_order``."""
    for folder, folders, names in os.walk(local(top), topdown=in_order):
        folders.sort()
        yield folder, folders, sorted(names)


def Remove(filename: Any) -> None:
    """Removes a file."""
    name = local(filename)
    with translated(name):
        os.remove(name)


def DeleteRecursively(dirname: Any) -> None:
    """Removes a folder with all in it, or a file. Raises NotFoundError when there is neither."""
    name = local(dirname)
    with translated(name):
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name)
        else:
            os.remove(name)


def _check_target(name: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(name):
        raise errors.AlreadyExistsError(None, None, f"{name} is already there; pass overwrite=True to replace it.")


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file's contents."""
    source, target = local(oldpath), local(newpath)
    with translated(source), open(source, "rb") as file:
        _check_target(target, overwrite)
        data = io.BytesIO(file.read()) if os.path.exists(target) and os.path.samefile(source, target) else file
        with open(target, "wb") as out:
            shutil.copyfileobj(data, out)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Moves a file or folder."""
    source, target = local(oldname), local(newname)
    with translated(source):
        os.stat(source)
        _check_target(target, overwrite)
        os.replace(source, target)
