"""``tf.gfile``: files under the original's names, local ones and those that ``fsspec`` reaches."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from typing import IO, Any

from towerstrat import errors
from towerstrat.platform.statistics import FileStatistics
from towerstrat.platform.storage import storage_of

_MODES = {"r": "rb", "w": "wb", "a": "ab", "r+": "r+b", "w+": "w+b", "a+": "a+b"}


def _name(path: Any) -> str:
    return os.fsdecode(path)


class GFile:
    """A file, opened at the first read or write.

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
        self._path = _name(name)
        self._storage = storage_of(self._path)
        self._file: IO[bytes] | None = None

    @property
    def name(self) -> Any:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def readable(self) -> bool:
        """Whether it was opened for reading."""
        return self._plain not in ("w", "a")

    def writable(self) -> bool:
        """Whether it was opened for writing."""
        return self._plain != "r"

    def seekable(self) -> bool:
        """Whether ``seek`` works."""
        return self._opened().seekable()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = self._storage.open(self._path, _MODES[self._plain])
            if self._plain == "a+":
                self._file.seek(0)
        return self._file

    def _for_reading(self) -> IO[bytes]:
        if self._plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, f"{self._path} is not open for reading (mode {self._mode}).")
        return self._opened()

    def _for_writing(self) -> IO[bytes]:
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
        places = [place for place in (offset, position) if place is not None]
        if len(places) != 1:
            raise TypeError("seek() takes an offset, or the older name position for it, and not both.")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Expected whence 0, 1 or 2, got {whence}.")
        self._opened().seek(places[0], whence)

    def tell(self) -> int:
        return self._opened().tell()

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


def Exists(filename: Any) -> bool:
    return storage_of(_name(filename)).exists(_name(filename))


def IsDirectory(dirname: Any) -> bool:
    return storage_of(_name(dirname)).is_folder(_name(dirname))


def Stat(filename: Any) -> FileStatistics:
    """Raises NotFoundError when there is no such path."""
    return storage_of(_name(filename)).statistics(_name(filename))


def MkDir(dirname: Any) -> None:
    """Makes a folder; its parent must be there."""
    storage_of(_name(dirname)).make_folder(_name(dirname), parents=False)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it that are missing; "" is the one that is there."""
    if not _name(dirname):
        return
    storage_of(_name(dirname)).make_folder(_name(dirname), parents=True)


def ListDirectory(dirname: Any) -> list[str]:
    """Names of what is in a folder. Raises NotFoundError when it is none."""
    if not IsDirectory(dirname):
        raise errors.NotFoundError(None, None, f"Could not find directory {_name(dirname)}")
    return storage_of(_name(dirname)).names(_name(dirname))


def Glob(filename: Any) -> list[str]:
    """Paths that match a pattern, or any pattern of a list; in sorted order for each."""
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return [path for pattern in map(_name, patterns) for path in storage_of(pattern).glob(pattern)]


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """``(folder, folders in it, files in it)`` for a folder and all below, parents first if ``in_order``."""
    top = _name(top)
    if not IsDirectory(top):
        return
    found = ListDirectory(top)
    folders = [name for name in found if IsDirectory(os.path.join(top, name))]
    if in_order:
        yield top, folders, [name for name in found if name not in folders]
    for name in folders:
        yield from Walk(os.path.join(top, name), in_order)
    if not in_order:
        yield top, folders, [name for name in found if name not in folders]


def Remove(filename: Any) -> None:
    """Removes a file."""
    Stat(filename)
    storage_of(_name(filename)).remove(_name(filename))


def DeleteRecursively(dirname: Any) -> None:
    """Removes a folder with all in it, or a file. Raises NotFoundError when there is neither."""
    if IsDirectory(dirname):
        storage_of(_name(dirname)).remove_folder(_name(dirname))
    else:
        Remove(dirname)


def _check_target(name: str, overwrite: bool) -> None:
    if not overwrite and Exists(name):
        raise errors.AlreadyExistsError(None, None, f"{name} is already there; pass overwrite=True to replace it.")


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file's contents, also to another file system."""
    source, target = _name(oldpath), _name(newpath)
    with storage_of(source).open(source, "rb") as file:
        _check_target(target, overwrite)
        if storage_of(source).identity(source) == storage_of(target).identity(target):
            return
        with storage_of(target).open(target, "wb") as out:
            shutil.copyfileobj(file, out)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Moves a file or folder.

    Raises:
      UnimplementedError: to another file system.
    """
    source, target = _name(oldname), _name(newname)
    Stat(source)
    _check_target(target, overwrite)
    if storage_of(source).scheme != storage_of(target).scheme:
        raise errors.UnimplementedError(
            None, None, f"{source} cannot be renamed to {target}, on another file system; use Copy and Remove."
        )
    storage_of(source).rename(source, target)


# ---- whole files: ``tensorflow.python.lib.io.file_io`` ---------------------------------------------------------------


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """All that is in a file: text, or bytes in ``binary_mode``."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Makes a file of some text or bytes; one that is there is replaced."""
    with GFile(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """``write_string_to_file`` beside the place, and then a renaming: nobody sees a part of it.

    Raises:
      AlreadyExistsError: the file is there, and ``overwrite`` is False.
    """
    beside = f"{_name(filename)}.tmp{uuid.uuid4().hex}"
    write_string_to_file(beside, contents)
    try:
        Rename(beside, filename, overwrite)
    except errors.OpError:
        Remove(beside)
        raise
