"""Event files: ``Event`` messages in TFRecord framing, one file per writer, as TensorBoard reads them.

    >>> import tempfile
    >>> file = EventFile(tempfile.mkdtemp())
    >>> file.add(messages.Event(step=7))
    >>> [(event.file_version, event.step) for event in events(file.path)]
    [('brain.Event:2', 0), ('', 7)]

A local event is one write to an unbuffered file: it survives a kill of the process, which leaves at most one torn
record, the last of its file. A writer never appends to an existing file, since another process may be writing it; it
takes the next free second as its file's name. Processes other than the first of a run write nothing (``duty.DUTY``).
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
    """Writer of ``FOLDER/events.out.tfevents.SECONDS.HOST``, whose first event states the version of the format.

    ``open`` or the first event creates the file; after ``close`` the next event creates another. Thread-safe.

    Args:
      folder: local or remote; made where it is missing.
      flush_secs: an event flushes the file if the last flush was longer ago, in seconds. It matters for remote files,
        which are uploaded whole; local ones have each event at once.
      suffix: appended to file names.

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
        """Create a file; does nothing where one is open."""
        with self._lock:
            if self._file is None and DUTY.writes:
                storage_of(self._folder).make_folder(self._folder, parents=True)
                self.path, self._file = _create(self._folder, self._suffix)
                self._finish = weakref.finalize(self, self._file.close)  # programs forget to close it
                self._write(messages.Event(wall_time=int(time.time()), file_version=_VERSION))

    def add(self, event: messages.Event) -> None:
        """Append an event. Where somebody has deleted the file, a warning is logged and a new file begins with it.

        Raises:
          OpError: the disk is full or gone. The file has no part of this event, and later events may follow.
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
        """Make every event added so far visible to readers."""
        with self._lock:
            if self._file is not None:
                self._file.flush()
                self._flushed = time.monotonic()

    def close(self) -> None:
        """Flush and close the file; does nothing where none is open."""
        with self._lock:
            if self._finish is not None:
                self._finish()
            self._file = self._finish = self.path = None


def _create(folder: str, suffix: str) -> tuple[str, Growing]:
    """Create a file named after this second, or the next one that is free; return its path and the file.

    Readers order files by name: the second is never before that of an existing file, even if the clock was set back.
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
    """Yield the events of a file, up to its end or an incomplete last record.

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
