r"""Relay of a supervised program's standard error, of which the last lines are kept for the error message of a run.

Two threads and a queue, so that a terminal that is held (Ctrl-S) stops neither the supervisor nor, for a while, the
program:

    program -> pipe -> reader -> queue of 256 pieces -> writer -> this process's standard error
                         |
                         v
                   last 30 lines            supervisor: ``say`` adds lines of its own to the queue

When the queue is full the reader waits, then the pipe fills, and the program waits too. When nobody reads the standard
error of this process any more, the rest is dropped, and the program goes on.

>>> reading, writing = os.pipe()
>>> with open(reading, "rb") as pipe:
...     relay = Output(pipe)
...     _ = os.write(writing, b"step 1\n\nValueError: no data\n"), os.close(writing)     # the program ends
...     relay.last(seconds=60)
...     relay.end(seconds=60)
['step 1', 'ValueError: no data']
"""

from __future__ import annotations

import collections
import os
import queue
import sys
import threading
from typing import BinaryIO

_KEPT = 30
"""The number of last lines that are kept."""
_LONGEST = 4096
"""Bytes kept of a line, few enough that all lines fit into one message to process 0."""
_PARTS = 256
"""Pieces in the queue at most; then the program waits."""


class Output:
    """The relay; its threads start at once.

    Args:
      stream: the reading end of the program's standard error.
    """

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._lines: collections.deque[bytes] = collections.deque([b""], maxlen=_KEPT + 1)
        self._lock = threading.Lock()
        self._parts: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._free = threading.Semaphore(_PARTS)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._reader.start()
        self._writer.start()

    def say(self, text: str) -> None:
        """Queues a line of the supervisor's own."""
        self._parts.put(f"{text}\n".encode())

    def last(self, seconds: float) -> list[str]:
        """The last lines that are not empty; waits up to so many seconds for the program to close its end."""
        self._reader.join(seconds)
        with self._lock:
            lines = [line.decode(errors="replace").rstrip() for line in self._lines]
        return [line for line in lines if line]

    def end(self, seconds: float) -> None:
        """Ends the relay; waits up to so many seconds for the end of the input, and again for its output."""
        self._reader.join(seconds)
        self._parts.put(None)
        self._writer.join(seconds)

    def _read(self) -> None:
        while part := os.read(self._stream.fileno(), 1 << 16):
            first, *following = part.split(b"\n")
            with self._lock:
                self._lines[-1] = (self._lines[-1] + first)[:_LONGEST]
                self._lines.extend(line[:_LONGEST] for line in following)
            self._free.acquire()
            self._parts.put(part)

    def _write(self) -> None:
        read = True
        while (part := self._parts.get()) is not None:
            self._free.release()
            try:
                if read:
                    sys.stderr.buffer.write(part)
                    sys.stderr.buffer.flush()
            except OSError:  # nobody reads any more, and the program goes on
                read = False
