"""Authenticated messages over non-blocking sockets, and the event loop of a supervisor.

A connection begins with a greeting of both ends, in the clear: ``_SPOKEN`` (the protocol and its version), 16 random
bytes, the sender's process number. The random bytes of both make the connection's key, together with the run's secret,
so that nothing recorded on another connection passes. From then on a frame is

    length (uint32)   code (32 bytes, HMAC-SHA256)   message (JSON)      code and message: at most 1 MiB

The code covers the direction and the number of the message on the connection too: one that is repeated, left out or
sent back is refused. The reader checks it before it parses anything.

>>> ours, theirs = socket.socketpair()
>>> zero = Connection(ours, MessageKey(b"secret"), 0, accepted=True, schema=str)
>>> one = Connection(theirs, MessageKey(b"secret"), 1, accepted=False, schema=str)
>>> one.send("hello")                       # kept until the greeting of the other end is there
>>> one.receive()
[]
>>> zero.receive(), zero.sender
(['hello'], 1)
>>> zero.close(), one.close()
(None, None)

Nothing blocks: ``send`` keeps what the socket does not take, ``receive`` returns the messages that are whole.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import struct
from collections.abc import Callable
from typing import Any, Protocol

from towerstrat.hosts.authentication import CODE_BYTES, ForeignMessage, MessageKey
from towerstrat.hosts.messages import MalformedMessage, Schema, decode, encode

_SPOKEN = b"towerstrat supervisors 1\n"
_NONCE = 16
_GREETING = struct.Struct(f"<{len(_SPOKEN)}s{_NONCE}sI")
_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 20
"""Bytes of a message with its code, at most."""


class HasFileno(Protocol):
    """An object with a file descriptor that ``select`` can wait for."""

    def fileno(self) -> int: ...


class Connection:
    """One end of an authenticated connection. No method blocks.

    Args:
      end: a connected socket, which it owns.
      key: of the secret that both ends share.
      index: the process at this end.
      accepted: whether this end has accepted the connection, rather than made it.
      schema: the type of the messages that come.

    Attributes:
      closed: whether the other end has closed it, or broke the protocol.
      refused: reasons of refusals; the owner prints and clears them.
      sender: the process number in the other end's greeting; None before it has come.
      here: the IP address of this end, "" of a Unix socket. there: that of the other end, or words for messages.
    """

    def __init__(self, end: socket.socket, key: MessageKey, index: int, accepted: bool, schema: Schema):
        end.setblocking(False)
        self.here, self.there = "", "a process of this machine"
        if end.family in (socket.AF_INET, socket.AF_INET6):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.here = end.getsockname()[0].removeprefix("::ffff:")
            self.there = _peer(end)
        self._end = end
        self._secret = key
        self._key: MessageKey | None = None  # made of both greetings
        self._index = index
        self._accepted = accepted
        self._schema = schema
        self._nonce = secrets.token_bytes(_NONCE)
        self._numbers = [0, 0]  # messages sent, messages accepted
        self._came = bytearray()
        self._waiting: list[bytes] = []  # encoded, until there is a key
        self._leaving = bytearray(_GREETING.pack(_SPOKEN, self._nonce, index))
        self.closed = False
        self.refused: list[str] = []
        self.sender: int | None = None
        self.flush()

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: object) -> None:
        """Queues a message, and sends as much of the queue as the socket takes; ``flush`` sends the rest.

        Raises:
          TypeError: see ``messages.encode``.
        """
        self._waiting.append(encode(message))
        self.flush()

    def flush(self) -> None:
        """Sends as much of the queue as the socket takes."""
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
            # Messages that came before the other end closed can still be read; ``receive`` finds the end behind them.
            self._leaving.clear()

    def receive(self) -> list[Any]:
        """The whole messages that have come since the last call, decoded; refused ones are left out."""
        ended = self._read()
        received = []
        if self._key is None:
            self._hear_greeting()
        while self._key is not None and not self.closed and (sealed := self._next()) is not None:
            try:
                assert self.sender is not None
                message = self._key.open(self._place(sent=False), self.sender, sealed)
                self._numbers[1] += 1
                received.append(decode(message, self._schema))
            except (ForeignMessage, MalformedMessage) as error:
                self.refused.append(str(error))
        self.closed = self.closed or ended
        return received

    def refuse(self, why: str) -> None:
        """Closes the connection for this reason: the other end broke the protocol."""
        self.refused.append(why)
        self.closed = True

    def close(self) -> None:
        self._end.close()
        self.closed = True

    def _read(self) -> bool:
        """Reads what the socket has, at most somewhat more than one message; whether the other end has closed."""
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
        """Takes the other end's greeting, once it is whole, and derives the key; a wrong start is refused at once."""
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
        """The next frame without its length: code and message; None where it has not come whole."""
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
        """The number and direction of the next message, which its code covers."""
        to_zero = sent != self._accepted
        return f"message {self._numbers[0 if sent else 1]} {'to' if to_zero else 'from'} process 0"


class Loop:
    """Event loop: a callback for each file descriptor, called when that can be read."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, source: HasFileno | int, call: Callable[[], None]) -> None:
        """Registers ``call`` for ``source``."""
        self._selector.register(source, selectors.EVENT_READ, call)

    def remove(self, source: HasFileno | int) -> None:
        """Unregisters ``source``; to be called before that is closed."""
        self._selector.unregister(source)

    def wait(self, seconds: float) -> list[Callable[[], None]]:
        """The callbacks that are due, for the caller to call; empty after so many seconds without any."""
        return [key.data for key, _ in self._selector.select(seconds)]

    def close(self) -> None:
        self._selector.close()


def _peer(end: socket.socket) -> str:
    try:
        return str(end.getpeername()[0]).removeprefix("::ffff:")
    except OSError:  # it has gone already
        return "somebody"
