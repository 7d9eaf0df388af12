"""The listening socket of a rendezvous, and the connections whose sender has not said yet who it is.

Whoever can reach the address can connect, so that strangers must cost little: ``_STRANGERS`` of them are held besides
one for each process, each for ``--heartbeat`` seconds, and the first ``_SHOWN`` reasons of refusals are printed.

    listener = Listener(place, bounds, key, say, loop, serve)
    listener.listen()                          # OSError: the address cannot be had
    ...                                        # serve(connection) is called when one can be read
    listener.register(connection)              # its sender is known: it is no stranger any more
    connection.refuse("it has the address 'x'")
    listener.turn_away(connection)             # prints so, and closes it

A stranger that comes again for the same reason is not printed again:

>>> from types import SimpleNamespace
>>> listener = Listener(Place(2, 0, "10.0.0.1:8476"), Timeouts(), MessageKey(b""), print, loop=None, serve=None)
>>> for _ in range(2):
...     listener.say_refused(SimpleNamespace(there="10.0.0.9", refused=["it begins with b'GET /'"]))
Refused at 10.0.0.1:8476, from 10.0.0.9: it begins with b'GET /'. The run goes on.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Callable

from towerstrat.hosts.authentication import SECRET, MessageKey
from towerstrat.hosts.connections import Connection, Loop
from towerstrat.hosts.process_spec import Place, Timeouts
from towerstrat.hosts.sockets import listen, path_of, release
from towerstrat.hosts.supervisor_messages import ToZero

_FILES = 256
"""File descriptors that a supervisor needs besides those of connections."""
_SHOWN = 8
"""Refusals that are printed at most."""
_STRANGERS = 64
"""Unregistered connections that are held at a time, besides one for each process."""


class Listener:
    """Accepts connections, and holds those whose sender has not registered.

    Args:
      place: of process 0. bounds: the timeouts. key: of the secret that the processes share.
      say: writes a line to this process's standard error.
      loop: the event loop in which sockets are registered.
      serve: is called with a connection that can be read.
    """

    def __init__(
        self,
        place: Place,
        bounds: Timeouts,
        key: MessageKey,
        say: Callable[[str], None],
        loop: Loop,
        serve: Callable[[Connection], None],
    ):
        self._place = place
        self._bounds = bounds
        self._key = key
        self._say = say
        self._loop = loop
        self._serve = serve
        self._socket: socket.socket | None = None
        self._strangers: dict[Connection, float] = {}
        self._refused: set[tuple[str, str]] = set()
        """(host, reason) of the refusals that have been printed."""

    def listen(self) -> None:
        """Opens the listening socket at the run's address, and raises the limit of open files where it is too low.

        Raises:
          OSError: the address cannot be had, see ``sockets.listen``; ``in_use``: another process listens there.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = 2 * self._place.count + _STRANGERS + _FILES
        if soft < needed:
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (needed if hard == resource.RLIM_INFINITY else min(needed, hard), hard)
            )
        self._socket = end = listen(self._place.address)
        end.setblocking(False)
        self._loop.add(end, lambda: self._accept(end))
        if not self._key.is_secret and path_of(self._place.address) is None:
            self._say(
                f"This run has no secret: whoever can connect to {self._place.address} can take part in it, or end it. "
                f"Give all its processes the same {SECRET} or --secret-file (docs/hosts.md)."
            )

    def _accept(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it has left already, or there are too many
            self._greet(self.connection(end.accept()[0]))

    def connection(self, end: socket.socket) -> Connection:
        """A connection over this end of a socket, which is served from now on."""
        connection = Connection(end, self._key, 0, accepted=True, schema=ToZero)
        self._loop.add(connection, lambda: self._serve(connection))
        return connection

    def _greet(self, connection: Connection) -> None:
        if len(self._strangers) >= self._place.count + _STRANGERS:
            oldest = next(iter(self._strangers))
            oldest.refuse("there are too many that have not said who they are")
            self.turn_away(oldest)
        self._strangers[connection] = time.monotonic()

    def tick(self, now: float) -> None:
        """Sends what strangers are yet to get, and turns away those that have said nothing for ``--heartbeat``."""
        for stranger, since in list(self._strangers.items()):
            stranger.flush()
            if now - since > self._bounds.heartbeat:
                stranger.refuse(f"it has not said who it is for {self._bounds.heartbeat:g} s")
                self.turn_away(stranger)

    def register(self, connection: Connection) -> None:
        """Notes that a connection is no stranger's."""
        self._strangers.pop(connection, None)

    def drop(self, connection: Connection) -> None:
        """Closes a connection, and serves it no more."""
        self._loop.remove(connection)
        connection.close()
        self.register(connection)

    def turn_away(self, stranger: Connection) -> None:
        """Closes a connection that was refused, and says why."""
        self.say_refused(stranger)
        self.drop(stranger)

    def say_refused(self, connection: Connection) -> None:
        """Prints who was refused and why, each pair once, ``_SHOWN`` in all: strangers must not flood the output."""
        for why in connection.refused:
            if (connection.there, why) in self._refused or len(self._refused) == _SHOWN:
                continue
            self._refused.add((connection.there, why))
            last = " No more are named." if len(self._refused) == _SHOWN else ""
            self._say(f"Refused at {self._place.address}, from {connection.there}: {why}. The run goes on.{last}")
        connection.refused.clear()

    def close(self) -> None:
        """Closes the connections of strangers, and frees the address."""
        for connection in list(self._strangers):
            self.drop(connection)
        if self._socket is not None:
            self._loop.remove(self._socket)
            release(self._socket, self._place.address)
