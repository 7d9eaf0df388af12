"""Messages between supervisors: one JSON object a line, over a socket."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Callable
from typing import Any, Protocol

Message = dict[str, Any]

_LONGEST = 1 << 20
"""Bytes of a line; who sends more is no supervisor."""


class HasFileno(Protocol):
    """What can be waited for."""

    def fileno(self) -> int: ...


class Connection:
    """One end of a connection. Nothing here blocks.

    Args:
      end: a connected socket, which it owns.

    Attributes:
      closed: whether the other side has closed it, or what came from there is no message.
      here: the address of this side, "" where it has none.
    """

    def __init__(self, end: socket.socket):
        end.setblocking(False)
        self.here = ""
        if end.family in (socket.AF_INET, socket.AF_INET6):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.here = end.getsockname()[0].removeprefix("::ffff:")
        self._end = end
        self._came = bytearray()
        self._leaving = bytearray()
        self.closed = False

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, kind: str, **fields: Any) -> None:
        """Sends a message: at once, or with ``flush`` as far as the other side does not read."""
        self._leaving += json.dumps({"kind": kind, **fields}).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Sends what could not be sent before."""
        try:
            while self._leaving and not self.closed:
                del self._leaving[: self._end.send(self._leaving)]
        except BlockingIOError:
            return
        except OSError:
            # What came before the other side closed can still be read; that it did is found there.
            self._leaving.clear()

    def receive(self) -> list[Message]:
        """The messages that have come since."""
        try:
            while len(self._came) <= _LONGEST:
                part = self._end.recv(1 << 16)
                if not part:
                    self.closed = True
                    break
                self._came += part
        except BlockingIOError:
            pass
        except OSError:
            self.closed = True
        *lines, rest = self._came.split(b"\n")
        self._came = rest
        try:
            found = [json.loads(line) for line in lines]
        except ValueError:
            found = [None]
        if len(rest) > _LONGEST or not all(isinstance(each, dict) and "kind" in each for each in found):
            self.closed = True
            return []
        return found

    def close(self) -> None:
        self._end.close()
        self.closed = True


class Loop:
    """Calls what belongs to each thing that can be read."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, what: HasFileno | int, call: Callable[[], None]) -> None:
        """From now on ``call`` is called whenever ``what`` can be read."""
        self._selector.register(what, selectors.EVENT_READ, call)

    def remove(self, what: HasFileno | int) -> None:
        """Before ``what`` is closed."""
        self._selector.unregister(what)

    def wait(self, seconds: float) -> list[Callable[[], None]]:
        """What is to be called now; after so many seconds nothing."""
        return [key.data for key, _ in self._selector.select(seconds)]

    def close(self) -> None:
        self._selector.close()
