"""A disk that fails: what happens before each call of the system that changes files of a folder.

``with Disk(folder, happens)``: ``happens`` is called before each such call in this process with a ``Point``. It may
raise an ``OSError``, copy the folder as a process that is killed there would leave it, kill the process, or wait. Bytes
that are in a buffer of Python are not in the file yet, as in a process that is killed.
"""

import builtins
import contextlib
import errno
import io
import os
import shutil
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from towerstrat.platform.local_storage import File
from towerstrat.platform.system_errors import translated


class Point(NamedTuple):
    """A call of the system: the number of it, ``write``, ``rename``, ..., its file, and what is written there."""

    number: int
    call: str
    path: str
    file: io.FileIO | None = None
    data: memoryview = memoryview(b"")

    def half(self):
        """Writes the first half of what the call writes, as a disk does that has no more room, or a kill leaves it."""
        if self.file is not None:
            os.write(self.file.fileno(), self.data[: len(self.data) // 2])


class Disk:
    """See the module. ``points``: what was done, (call, path) each."""

    def __init__(self, folder, happens):
        self._folder = os.path.realpath(folder)
        self._happens = happens
        self._stack = contextlib.ExitStack()
        self.points = []

    def _point(self, call, path, *of_write):
        path = os.path.realpath(os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else os.fsdecode(path))
        if path == self._folder or path.startswith(f"{self._folder}/"):
            self.points.append((call, path))
            self._happens(Point(len(self.points), call, path, *of_write))

    def __enter__(self):
        for module, name in ((os, "replace"), (os, "rename"), (os, "remove"), (os, "unlink"), (os, "fsync"),
                             (os, "mkdir")):  # fmt: skip
            self._patch(module, name, self._before(getattr(module, name), name))
        for module in (builtins, io):
            self._patch(module, "open", self._opening(io.open))
        self._patch(File, "__init__", self._making(File.__init__))
        self._patch(File, "write", self._writing(File.write))
        return self

    def __exit__(self, *error):
        self._stack.close()

    def _patch(self, place, name, instead):
        self._stack.enter_context(mock.patch.object(place, name, instead))

    def _before(self, do, call):
        def done(path, *rest, **named):
            self._point(call, path)
            return do(path, *rest, **named)

        return done

    def _opening(self, do):
        disk = self

        class Watched(io.FileIO):
            def write(self, data):
                disk._point("write", self.fileno(), self, memoryview(data).cast("B"))
                return super().write(data)

        def opened(path, mode="r", *rest, **named):
            if not set(mode) & set("wxa+") or "b" not in mode:
                return do(path, mode, *rest, **named)
            if not isinstance(path, int):
                self._point("open", path)
            raw = Watched(path, mode.replace("b", ""))
            return io.BufferedRandom(raw) if raw.readable() else io.BufferedWriter(raw)

        return opened

    def _making(self, do):
        def made(file, path, mode="r", *rest, **named):
            if set(mode) & set("wxa+"):
                self._point("open", path)
            do(file, path, mode, *rest, **named)

        return made

    def _writing(self, do):
        def written(file, data):
            with translated(str(file.name)):
                self._point("write", file.fileno(), file, memoryview(data).cast("B"))
            return do(file, data)

        return written


NEEDS_ROOM = ("open", "write", "mkdir")


def full_from(number, half=False):
    """The outcome on a disk that is full from a point on. half: of the first write half has room."""

    def happens(point):
        if point.number >= number and point.call in NEEDS_ROOM:
            if half and point.number == number:
                point.half()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), point.path)

    return happens


def copies(folder, into):
    """The outcome where each state of a folder is kept that a kill may leave, in a folder of ``into`` each."""

    def copy(name):
        shutil.copytree(folder, Path(into) / name)

    def happens(point):
        copy(f"{point.number:03}-before-{point.call}")
        if point.call == "write" and len(point.data) > 1:
            place = point.file.tell()
            point.half()
            copy(f"{point.number:03}-within-write")
            point.file.seek(place)
            point.file.truncate(place)

    return happens


def nothing(point):
    """The outcome on a disk without faults."""
