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
from towerstrat.platform import messages
from towerstrat.platform.records import TruncatedRecordError, framed, records
from towerstrat.platform.storage import Growing, storage_of

_VERSION = "brain.Event:2"


class EventFile:
    """A new file ``FOLDER/events.out.tfevents.SECONDS.HOST`` with the version of its format as the first event.

    Threads may share it.

    Args:
      folder: made where it is missing; local, or what fsspec reaches.
      flush_secs: remote files are written anew when an event comes and the last time was so many seconds ago. Local
        ones have each event at once.
      suffix: the end of the name.
    """

    def __init__(self, folder: str, flush_secs: float = 120, suffix: str = ""):
        storage_of(folder).make_folder(folder, parents=True)
        self._flush_secs = flush_secs
        self._lock = threading.Lock()
        self._flushed = -float("inf")
        self.path, self._file = _created(folder, suffix)
        self._close = weakref.finalize(self, self._file.close)  # programs forget it
        self.add(messages.Event(wall_time=int(time.time()), file_version=_VERSION))

    def add(self, event: messages.Event) -> None:
        """Adds an event."""
        record = framed(event.SerializeToString())
        with self._lock:
            self._file.write(record)
            if time.monotonic() > self._flushed + self._flush_secs:
                self._flush()

    def flush(self) -> None:
        """Afterwards readers find every event that was added."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        self._file.flush()
        self._flushed = time.monotonic()

    def close(self) -> None:
        with self._lock:
            self._close()


def _created(folder: str, suffix: str) -> tuple[str, Growing]:
    """A file that is named after this second, or after the next one that no other writer has."""
    for second in itertools.count(int(time.time())):
        path = os.path.join(folder, f"events.out.tfevents.{second:010d}.{socket.gethostname()}{suffix}")
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
