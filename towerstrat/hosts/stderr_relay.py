"""Standard error of a supervised program, passed on; its last lines are kept."""

from __future__ import annotations

import collections
import os
import queue
import sys
import threading
from typing import BinaryIO

_KEPT = 30
"""Lines that are kept."""
_LONGEST = 4096
"""Bytes of a line that are kept: all of them fit into one message to process 0."""
_PARTS = 256
"""Pieces of text that wait until somebody reads them; then the program waits too."""


class Output:
    """Passes on what a program writes, in threads: a terminal that is held must not hold its supervisor.

    Args:
      stream: what the program writes into.
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
        """Adds a line to what is passed on."""
        self._parts.put(f"{text}\n".encode())

    def last(self, seconds: float) -> list[str]:
        """The last lines, once the program has closed its end; after so many seconds those that are there."""
        self._reader.join(seconds)
        with self._lock:
            lines = [line.decode(errors="replace").rstrip() for line in self._lines]
        return [line for line in lines if line]

    def end(self, seconds: float) -> None:
        """Waits until all is passed on, at most so many seconds."""
        self._reader.join(seconds)
        self._parts.put(None)
        self._writer.join(seconds)

    def _read(self) -> None:
        while part := os.read(self._stream.fileno(), 1 << 16):
            first, *rest = part.split(b"\n")
            with self._lock:
                self._lines[-1] = (self._lines[-1] + first)[:_LONGEST]
                self._lines.extend(line[:_LONGEST] for line in rest)
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
