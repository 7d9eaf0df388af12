r"""``tf.gfile`` and ``file_io``: file functions under TensorFlow's names, on local and remote storage (``storage.py``).

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a", "b.txt")
    >>> MakeDirs(os.path.dirname(path))
    >>> with GFile(path, "w") as file:
    ...     file.write("one\ntwo\n")
    >>> GFile(path).readlines(), ListDirectory(os.path.dirname(path)), Stat(path).length
    (['one\n', 'two\n'], ['b.txt'], 8)

A ``GFile`` opens its file at the first use, as the original does: its constructor never fails for a missing file. Text
is UTF-8, and positions and sizes are in bytes in both modes.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from typing import IO, Any

from towerstrat import errors
from towerstrat.platform.statistics import FileStatistics
from towerstrat.platform.storage import storage_of
from towerstrat.platform.text import PathLike

_MODES = {"r": "rb", "w": "wb", "a": "ab", "r+": "r+b", "w+": "w+b", "a+": "a+b"}


def _name(path: PathLike) -> str:
    return os.fsdecode(path)


class GFile:
    """A file that is opened at the first read, write or seek.

    Reads return ``str`` (decoded UTF-8), or ``bytes`` with "b" in the mode.

    Args:
      name: path, of a type that ``os.fsdecode`` takes.
      mode: one of r, w, a, r+, w+, a+, with or without b.

    Raises:
      InvalidArgumentError: another mode. PermissionDeniedError, from the methods: reading a file opened for writing, or
        the reverse; and what the storage raises.
    """

    def __init__(self, name: PathLike, mode: str = "r"):
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
    def name(self) -> PathLike:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def readable(self) -> bool:
        """Whether the mode allows reading."""
        return self._plain not in ("w", "a")

    def writable(self) -> bool:
        """Whether the mode allows writing."""
        return self._plain != "r"

    def seekable(self) -> bool:
        """Whether ``seek`` works. Opens the file."""
        return self._open_file().seekable()

    def _open_file(self) -> IO[bytes]:
        if self._file is None:
            self._file = self._storage.open(self._path, _MODES[self._plain])
            if self._plain == "a+":
                self._file.seek(0)
        return self._file

    def _for_reading(self) -> IO[bytes]:
        if self._plain in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, f"{self._path} is not open for reading (mode {self._mode}).")
        return self._open_file()

    def _for_writing(self) -> IO[bytes]:
        if self._plain == "r":
            raise errors.PermissionDeniedError(None, None, f"{self._path} is not open for writing (mode {self._mode}).")
        return self._open_file()

    def _decode(self, data: bytes) -> Any:
        return data if self._binary else data.decode("utf-8")

    def size(self) -> int:
        """Size in bytes, after a flush."""
        self.flush()
        return Stat(self._path).length

    def write(self, file_content: str | bytes) -> None:
        data = file_content.encode("utf-8") if isinstance(file_content, str) else file_content
        self._for_writing().write(data)

    def read(self, n: int = -1) -> Any:
        """Read the next ``n`` bytes, or all that is left; in text mode these bytes decoded."""
        return self._decode(self._for_reading().read(n))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Move to ``offset`` bytes from the start (0), the current position (1) or the end (2)."""
        places = [each for each in (offset, position) if each is not None]
        if len(places) != 1:
            raise TypeError("seek() takes an offset, or the older name position for it, and not both.")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Expected whence 0, 1 or 2, got {whence}.")
        self._open_file().seek(places[0], whence)

    def tell(self) -> int:
        return self._open_file().tell()

    def readline(self) -> Any:
        """Read the next line with its line end; empty at the end of the file."""
        return self._decode(self._for_reading().readline())

    def readlines(self) -> list[Any]:
        return [self._decode(line) for line in self._for_reading().readlines()]

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

    def __exit__(self, *exc: object) -> None:
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


def Exists(filename: PathLike) -> bool:
    return storage_of(_name(filename)).exists(_name(filename))


def IsDirectory(dirname: PathLike) -> bool:
    return storage_of(_name(dirname)).is_folder(_name(dirname))


def Stat(filename: PathLike) -> FileStatistics:
    """Length, mtime and kind of a path. Raises NotFoundError where it does not exist."""
    return storage_of(_name(filename)).statistics(_name(filename))


def MkDir(dirname: PathLike) -> None:
    """Make a folder; its parent must exist."""
    storage_of(_name(dirname)).make_folder(_name(dirname), parents=False)


def MakeDirs(dirname: PathLike) -> None:
    """Make a folder and missing ones above it; nothing for "", the current folder."""
    if not _name(dirname):
        return
    storage_of(_name(dirname)).make_folder(_name(dirname), parents=True)


def ListDirectory(dirname: PathLike) -> list[str]:
    """Sorted names of the files and folders in a folder. Raises NotFoundError where it is no folder."""
    if not IsDirectory(dirname):
        raise errors.NotFoundError(None, None, f"Could not find directory {_name(dirname)}")
    return storage_of(_name(dirname)).names(_name(dirname))


def Glob(filename: PathLike | Sequence[PathLike]) -> list[str]:
    """Paths that match a glob pattern, or one of a list of patterns; sorted for each pattern."""
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return [path for pattern in map(_name, patterns) for path in storage_of(pattern).glob(pattern)]


def Walk(top: PathLike, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield ``(folder, folders in it, files in it)`` for a folder and all below it, parents first if ``in_order``."""
    folder = _name(top)
    if not IsDirectory(folder):
        return
    names = ListDirectory(folder)
    folders = [name for name in names if IsDirectory(os.path.join(folder, name))]
    if in_order:
        yield folder, folders, [name for name in names if name not in folders]
    for name in folders:
        yield from Walk(os.path.join(folder, name), in_order)
    if not in_order:
        yield folder, folders, [name for name in names if name not in folders]


def Remove(filename: PathLike) -> None:
    """Delete a file. Raises NotFoundError where it does not exist."""
    Stat(filename)
    storage_of(_name(filename)).remove(_name(filename))


def DeleteRecursively(dirname: PathLike) -> None:
    """Delete a folder with everything in it, or a file. Raises NotFoundError where there is neither."""
    if IsDirectory(dirname):
        storage_of(_name(dirname)).remove_folder(_name(dirname))
    else:
        Remove(dirname)


def _check_target(name: str, overwrite: bool) -> None:
    if not overwrite and Exists(name):
        raise errors.AlreadyExistsError(None, None, f"{name} is already there; pass overwrite=True to replace it.")


def Copy(oldpath: PathLike, newpath: PathLike, overwrite: bool = False) -> None:
    """Copy a file's contents, also to another storage; nothing where both paths are the same file.

    Raises:
      AlreadyExistsError: ``newpath`` exists, and ``overwrite`` is False.
    """
    source, target = _name(oldpath), _name(newpath)
    with storage_of(source).open(source, "rb") as file:
        _check_target(target, overwrite)
        if storage_of(source).identity(source) == storage_of(target).identity(target):
            return
        with storage_of(target).open(target, "wb") as out:
            shutil.copyfileobj(file, out)


def Rename(oldname: PathLike, newname: PathLike, overwrite: bool = False) -> None:
    """Move a file or folder within one storage.

    Raises:
      AlreadyExistsError: ``newname`` exists, and ``overwrite`` is False. UnimplementedError: to another storage.
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


def read_file_to_string(filename: PathLike, binary_mode: bool = False) -> Any:
    """Read a whole file as ``str``, or as bytes in ``binary_mode``."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: PathLike, file_content: str | bytes) -> None:
    """Write text or bytes to a file, replacing its contents."""
    with GFile(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: PathLike, contents: str | bytes, overwrite: bool = True) -> None:
    """Write a temporary file beside ``filename`` and rename it, so that readers see the old contents or the new ones.

    Raises:
      AlreadyExistsError: the file exists, and ``overwrite`` is False.
    """
    beside = f"{_name(filename)}.tmp{uuid.uuid4().hex}"
    write_string_to_file(beside, contents)
    try:
        Rename(beside, filename, overwrite)
    except errors.OpError:
        Remove(beside)
        raise
