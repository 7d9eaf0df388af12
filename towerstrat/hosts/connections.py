"""Connections between supervisors: messages with a code each, over sockets that nothing here waits for.

Both ends begin with a greeting: a line that says what they speak, 16 random bytes, the number of their process. What
both have drawn makes the connection's key, so that nothing that was sent over another one passes. A message is its
length, its code and its bytes.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol

from towerstrat.hosts.authentication import CODE_BYTES, ForeignMessage, MessageKey
from towerstrat.hosts.messages import MalformedMessage, decode, encode

_SPOKEN = b"towerstrat supervisors 1\n"
_NONCE = 16
_GREETING = struct.Struct(f"<{len(_SPOKEN)}s{_NONCE}sI")
_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 20
"""Bytes of a message with its code."""


class HasFileno(Protocol):
    """Something that can be waited for."""

    def fileno(self) -> int: ...


class Connection:
    """One end of a connection. Nothing here blocks.

    Args:
      end: a connected socket, which it owns.
      key: of the secret that both ends share.
      index: the process at this end.
      accepted: whether this end has accepted the connection, rather than made it.
      schema: the type of the messages that come.

    Attributes:
      closed: whether the other side has closed it, or speaks something else.
      refused: why what came was refused, since somebody looked.
      sender: the process that the other end says it is; None: it has not said it.
      here: the address of this side, "" where it has none. there: that of the other side, for people.
    """

    def __init__(self, end: socket.socket, key: MessageKey, index: int, accepted: bool, schema: Any):
        end.setblocking(False)
        self.here, self.there = "", "a process of this machine"
        if end.family in (socket.AF_INET, socket.AF_INET6):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.here = end.getsockname()[0].removeprefix("::ffff:")
            self.there = _peer(end)
        self._end = end
        self._secret = key
        self._key: MessageKey | None = None  # once the other end has greeted
        self._index = index
        self._accepted = accepted
        self._schema = schema
        self._nonce = secrets.token_bytes(_NONCE)
        self._numbers = [0, 0]  # of messages sent, and taken
        self._came = bytearray()
        self._waiting: list[bytes] = []  # for the key
        self._leaving = bytearray(_GREETING.pack(_SPOKEN, self._nonce, index))
        self.closed = False
        self.refused: list[str] = []
        self.sender: int | None = None
        self.flush()

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: Any) -> None:
        """Sends a message: at once, or with ``flush`` as far as the other side does not read."""
        self._waiting.append(encode(message))
        self.flush()

    def flush(self) -> None:
        """Sends what could not be sent before."""
        if self._key is not None:
            for message in self._waiting:
                sealed = self._key.seal(self._place(sent=True), self._index, message)
                self._numbers[0] += 1
                self._leaving += _LENGTH.pack(len(sealed)) + sealed
            self._waiting.clear()
        try:
            while self._leaving and not self.closed:
                del self._leaving[: self._end.send(self._leaving)]
        except BlockingIOError:
            return
        except OSError:
            # What came before the other side closed can still be read; that it did is found there.
            self._leaving.clear()

    def receive(self) -> list[Any]:
        """The messages that have come since. What is refused is left out."""
        ended = self._read()
        found = []
        if self._key is None:
            self._hear_greeting()
        while self._key is not None and not self.closed and (sealed := self._next()) is not None:
            try:
                assert self.sender is not None
                message = self._key.open(self._place(sent=False), self.sender, sealed)
                self._numbers[1] += 1
                found.append(decode(message, self._schema))
            except (ForeignMessage, MalformedMessage) as error:
                self.refused.append(str(error))
        self.closed = self.closed or ended
        return found

    def refuse(self, why: str) -> None:
        """Ends it: what came is no message, or not one that may come now."""
        self.refused.append(why)
        self.closed = True

    def close(self) -> None:
        self._end.close()
        self.closed = True

    def _read(self) -> bool:
        """Reads what is there, up to the bound; whether the other side has closed."""
        try:
            while len(self._came) <= _LONGEST + _LENGTH.size:
                part = self._end.recv(1 << 16)
                if not part:
                    return True
                self._came += part
        except BlockingIOError:
            return False
        except OSError:
            return True
        return False

    def _hear_greeting(self) -> None:
        begun = bytes(self._came[: len(_SPOKEN)])
        if not _SPOKEN.startswith(begun):
            self.refuse(f"it begins with {begun!r}, which no supervisor says")
        elif len(self._came) >= _GREETING.size:
            _, nonce, self.sender = _GREETING.unpack_from(self._came)
            del self._came[: _GREETING.size]
            drawn = (self._nonce, nonce) if self._accepted else (nonce, self._nonce)
            self._key = self._secret.derive(b"connection", *drawn)
            self.flush()

    def _next(self) -> bytes | None:
        """The next message with its code, where it has come whole."""
        if len(self._came) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._came)
        if not CODE_BYTES <= length <= _LONGEST:
            self.refuse(f"a message of {length} bytes, of which there are at most {_LONGEST}")
            return None
        end = _LENGTH.size + length
        if len(self._came) < end:
            return None
        sealed = bytes(self._came[_LENGTH.size : end])
        del self._came[:end]
        return sealed

    def _place(self, sent: bool) -> str:
        """The number of the next message that is sent, or comes, and its direction."""
        to_zero = sent != self._accepted
        return f"message {self._numbers[0 if sent else 1]} {'to' if to_zero else 'from'} process 0"


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
        """The calls that are due now; after so many seconds none."""
        return [key.data for key, _ in self._selector.select(seconds)]

    def close(self) -> None:
        self._selector.close()


def _peer(end: socket.socket) -> str:
    try:
        return str(end.getpeername()[0]).removeprefix("::ffff:")
    except OSError:  # it has gone already
        return "somebody"
