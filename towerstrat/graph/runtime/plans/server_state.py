"""State of an in-process ``tf.train.Server``: variables and named resources that its sessions share.

In the original a server's variables live in the server, by name, and outlive the sessions. ``ServerState`` is that;
each session sees it through a ``ServedStore``, which maps the state variable of the session's own graph to the first
one that was written under its name. Random counters (state variables with a default) stay with the session.

    server.target      two sessions of two graphs, both with a variable "w"
    session 1          assign w = 1        ServerState.cells["w"] is the state variable of graph 1
    session 2          read w -> 1         ServedStore._locate(w of graph 2) -> (server's store, w of graph 1)

>>> from towerstrat.graph.ir.types import float32
>>> server = ServerState("grpc://localhost:2222")
>>> ServedStore(server).update({StateVariable("w", float32, ()): np.float32(1.0)})
>>> float(ServedStore(server).get(StateVariable("w", float32, ())))
1.0

Sessions take turns under one lock. A session that has run ahead of its caller goes back before another uses the state
(``entered``). Of another dtype, shape or distribution over towers a variable of one name raises.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import CachedProgram, StateStore, StateVariable
from towerstrat.graph.ir.types import Array

ReusableArguments = tuple[CachedProgram, list[Array], list[Array]]


class ServerSession(Protocol):
    """A session of a server."""

    closed: bool

    def undo_steps_ahead(self) -> None:
        """Make the state that after the runs which the session's caller has seen."""

    def abort(self) -> None:
        """End the session: its server was reset."""


class ServerState:
    """The state of one server, shared by its sessions. A variable is known by its name, in whatever graph.

    Args:
      target: the address that sessions connect to.
      meets: whether other processes have servers of the same cluster, so that sessions train together.

    Attributes:
      shared: names of the variables that were broadcast from the first process.
      lock: held during a run of any session.
      store: values of variables, by the state variable that was first written under each name.
      cells: these state variables, by name.
      resources: queues, accumulators and tables that have a shared name.
      reusable_arguments: those of the newest run, as ``StateStore`` has them, and whose store it was.
    """

    def __init__(self, target: str, meets: bool = False):
        self.target = target
        self.meets = meets
        self.shared: set[str] = set()
        self.lock = threading.RLock()
        self.store = StateStore()
        self.cells: dict[str, StateVariable] = {}
        self.resources: dict[Hashable, Any] = {}
        self.reusable_arguments: tuple[StateStore, ReusableArguments] | None = None
        self._tenants: weakref.WeakSet[ServerSession] = weakref.WeakSet()
        self._user: weakref.ref[ServerSession] | None = None

    def take_in(self, tenant: ServerSession) -> None:
        """Add a session."""
        self._tenants.add(tenant)

    def entered(self, tenant: ServerSession) -> None:
        """Note, under the lock, that a session uses the state now; other sessions that have run ahead go back."""
        if self._user is not None and self._user() is tenant:
            return
        for other in [t for t in self._tenants if t is not tenant]:
            other.undo_steps_ahead()
        self._user = weakref.ref(tenant)

    def reset(self) -> None:
        """Drop all variables and resources, and end the sessions."""
        with self.lock:
            tenants, self._tenants = list(self._tenants), weakref.WeakSet()
            for tenant in tenants:
                tenant.abort()
            self.store, self.cells, self.reusable_arguments = StateStore(), {}, None
            self.resources.clear()

    def cell(self, cell: StateVariable, written: bool = False) -> StateVariable:
        """The state variable under whose identity the server holds a variable of this name.

        Args:
          cell: a variable of a session's graph.
          written: enter ``cell`` as it, where there is none.

        Raises:
          InvalidArgumentError: that variable is of another type or shape.
          UnsupportedError: towers have values of their own in one of them.
        """
        existing = self.cells.setdefault(cell.name, cell) if written else self.cells.get(cell.name, cell)
        if existing is not cell:
            if existing.dtype != cell.dtype or not _alike(existing.dims, cell.dims):
                raise InvalidArgumentError(
                    None, None,
                    f"Trying to access variable {cell.name!r} of {self.target} as {cell.dtype.name} {cell.dims}; "
                    f"another graph made it as {existing.dtype.name} {existing.dims}. Give one of them another name.",
                )  # fmt: skip
            if existing.is_varying != cell.is_varying:
                raise UnsupportedError(
                    f"Variable {cell.name!r} of {self.target} has a value on every tower in one graph and one value in "
                    "another: sessions of both graphs cannot share it. Give one of them another name."
                )
        return existing


def _alike(one: Dims, other: Dims) -> bool:
    """Whether two static shapes can be of one value."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(None in (a, b) or a == b for a, b in zip(one, other, strict=True))


class ServedStore(StateStore):
    """One session's view of a server's state: variables are the server's, random counters its own.

    Args:
      server: whose variables.
    """

    def __init__(self, server: ServerState):
        self._server = server
        super().__init__()

    @property
    def reusable_arguments(self) -> ReusableArguments | None:
        entry = self._server.reusable_arguments
        return None if entry is None or entry[0] is not self else entry[1]

    @reusable_arguments.setter
    def reusable_arguments(self, value: ReusableArguments | None) -> None:
        self._server.reusable_arguments = None if value is None else (self, value)

    def _locate(self, cell: StateVariable, written: bool = False) -> tuple[StateStore | None, StateVariable]:
        """(store, state variable) that hold a variable's value; store None for random counters, which are here."""
        return (None, cell) if cell.default is not None else (self._server.store, self._server.cell(cell, written))

    def get(self, cell: StateVariable) -> Any:
        store, key = self._locate(cell)
        return super().get(key) if store is None else store.get(key)

    def wait(self) -> None:
        self._server.store.wait()

    def share_buffer(self, cell: StateVariable) -> Any:
        self.reusable_arguments = None
        store, key = self._locate(cell)
        return super().share_buffer(key) if store is None else store.share_buffer(key)

    def has_shared_buffer(self, cell: StateVariable) -> bool:
        store, key = self._locate(cell)
        return super().has_shared_buffer(key) if store is None else store.has_shared_buffer(key)

    def move(self, values: Mapping[StateVariable, Array | np.generic]) -> None:
        self._server.store.move(
            {self._server.cell(cell, written=True): value for cell, value in values.items() if cell.default is None}
        )
        super().move({cell: value for cell, value in values.items() if cell.default is not None})

    def discard(self, cell: StateVariable) -> None:
        self.reusable_arguments = None
        store, key = self._locate(cell)
        if store is None:
            super().discard(key)
        else:
            store.discard(key)

    def is_gone(self, cell: StateVariable) -> bool:
        store, key = self._locate(cell)
        return super().is_gone(key) if store is None else store.is_gone(key)

    def __contains__(self, cell: StateVariable) -> bool:
        store, key = self._locate(cell)
        return super().__contains__(key) if store is None else key in store

    def __iter__(self) -> Iterator[StateVariable]:
        yield from self._server.store
        yield from super().__iter__()

    def by_name(self) -> dict[str, StateVariable]:
        return {cell.name: cell for cell in self}

    def nbytes(self) -> int:
        return self._server.store.nbytes() + super().nbytes()


class _Servers:
    """The servers of this process, by the targets that sessions connect to."""

    def __init__(self) -> None:
        self._found: dict[str, ServerState] = {}
        self._ports = 0

    def free_port(self) -> int:
        """The port of a server that has chosen none: a label, since nothing listens."""
        self._ports += 1
        return 49151 + self._ports

    def add(self, state: ServerState, targets: list[str]) -> bool:
        """Register a server under its targets; False where one of them is another server's."""
        if any(target in self._found for target in targets):
            return False
        self._found.update(dict.fromkeys(targets, state))
        return True

    def at(self, target: str | bytes | None) -> ServerState | None:
        """The server of a target, if it is one of this process."""
        return self._found.get(target.decode() if isinstance(target, bytes) else target or "")


SERVERS = _Servers()
