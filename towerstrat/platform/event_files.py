"""Event files: records of ``Event`` messages, one file per writer, as TensorBoard reads them.

A record is written with one call of the system and is the system's from then on, so that a killed process leaves every
event that it added, and at most one torn record, the last of its file. A writer always begins a file of its own.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator

from towerstrat.errors import AlreadyExistsError
from towerstrat.platform import logs, messages
from towerstrat.platform.duty import DUTY
from towerstrat.platform.records import TruncatedRecordError, framed, records
from towerstrat.platform.storage import Growing, storage_of

_VERSION = "brain.Event:2"
_NAME = "events.out.tfevents."


class EventFile:
    """Files ``FOLDER/events.out.tfevents.SECONDS.HOST``, the first event of which is the version of their format.

    A file begins with ``open`` or the first event, another one after ``close``. Threads may share it.

    Args:
      folder: local, or what fsspec reaches; made where it is missing.
      flush_secs: remote files are written anew when an event comes and the last time was so many seconds ago. Local
        ones have each event at once.
      suffix: the end of the names.

    Attributes:
      path: of the current file, None where there is none.
    """

    def __init__(self, folder: str, flush_secs: float = 120, suffix: str = ""):
        if DUTY.writes:
            storage_of(folder).make_folder(folder, parents=True)
        self._folder, self._flush_secs, self._suffix = folder, flush_secs, suffix
        self._lock = threading.RLock()
        self._file: Growing | None = None
        self._finish: weakref.finalize[..., EventFile] | None = None
        self._flushed = -float("inf")
        self.path: str | None = None

    def open(self) -> None:
        """Begins a file; does nothing where one has begun."""
        with self._lock:
            if self._file is None and DUTY.writes:
                storage_of(self._folder).make_folder(self._folder, parents=True)
                self.path, self._file = _created(self._folder, self._suffix)
                self._finish = weakref.finalize(self, self._file.close)  # programs forget to close it
                self._write(messages.Event(wall_time=int(time.time()), file_version=_VERSION))

    def add(self, event: messages.Event) -> None:
        """Adds an event. Where somebody has removed the file, which is logged, another one begins with it.

        Raises:
          OpError: the disk is full, or gone. The file ends with the event before this one, and later ones may follow.
        """
        with self._lock:
            if self._file is not None and not self._file.is_there():
                logs.warning("%s is gone, and what was in it: events go to a new file from now on.", self.path)
                self.close()
            self.open()
            self._write(event)

    def _write(self, event: messages.Event) -> None:
        if self._file is None:
            return  # another process writes
        self._file.write(framed(event.SerializeToString()))
        if time.monotonic() > self._flushed + self._flush_secs:
            self.flush()

    def flush(self) -> None:
        """Afterwards readers find every event that was added."""
        with self._lock:
            if self._file is not None:
                self._file.flush()
                self._flushed = time.monotonic()

    def close(self) -> None:
        """Flushes and ends the file; does nothing where none has begun."""
        with self._lock:
            if self._finish is not None:
                self._finish()
            self._file = self._finish = self.path = None


def _created(folder: str, suffix: str) -> tuple[str, Growing]:
    """A file that is named after this second, or after the next one that no other writer has.

    Readers go by names: after a clock was set back the second is that of the last file that is there.
    """
    start = os.path.join(folder, _NAME)
    last = [path[len(start) :].partition(".")[0] for path in storage_of(folder).beginning_with(start)]
    for second in itertools.count(max([int(time.time()), *(int(text) for text in last if text.isdecimal())])):
        path = os.path.join(folder, f"{_NAME}{second:010d}.{socket.gethostname()}{suffix}")
        try:
            return path, storage_of(path).growing(path)
        except AlreadyExistsError:
            continue
    raise AssertionError("seconds do not end")


def events(path: str) -> Iterator[messages.Event]:
    """The events of a file, up to a record that is not whole yet, or never will be.

    Raises:
      NotFoundError: there is no such file.
      DataLossError: a record is damaged, other than cut off at the end of the file.
    """
    with storage_of(path).open(path, "rb") as file:
        try:
            for record, _ in records(file, path, 0):
                yield messages.Event.FromString(record)
        except TruncatedRecordError:
            return
