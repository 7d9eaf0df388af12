"""The store of small values that JAX's runtime has, in which the processes of a run leave messages for one another."""

from __future__ import annotations

import time
from typing import Any

from jax._src import distributed

from towerstrat.errors import ResourceExhaustedError
from towerstrat.hosts.authentication import CODE_BYTES, ForeignMessage, MessageKey
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs

_ROOT = "towerstrat"
_PATIENCE = 24 * 3600 * 1000
"""Milliseconds: whoever is dead or stuck is found by supervisors."""
_PART = 1 << 20
"""Bytes of one value of the store."""
_PARTS = 1 << 10
"""Values that a message may take."""
_MORE, _LAST = b"+", b"."
_NAMED = 8
"""The number of refused messages that are named."""
_LOOKS = 0.1
"""Seconds between two looks for a message where there is another one in its place."""


class Store:
    """Messages by key and by the process that has left them, of any size up to a bound.

    Whoever reaches the store can write into it: what does not have the code of this run is refused, and the message of
    the process waited for.

    Attributes:
      key: of the codes.
    """

    def __init__(self) -> None:
        self.key = MessageKey(b"")
        self._named: set[str] = set()
        """The places where something was refused already."""

    def put(self, key: str, message: bytes) -> None:
        """Leaves a message of this process.

        Raises:
          ResourceExhaustedError: it is too long.
        """
        parts = [message[i : i + _PART] for i in range(0, len(message), _PART)] or [b""]
        if len(parts) > _PARTS:
            raise ResourceExhaustedError(
                None, None, f"Expected at most {_PART * _PARTS} bytes that processes tell each other at once, got "
                f"{len(message)} for {key}."
            )  # fmt: skip
        for i, part in enumerate(parts):
            value = (_LAST if i == len(parts) - 1 else _MORE) + part
            path = _path(key, PROCESSES.index, i)
            client().key_value_set_bytes(path, self.key.seal(path, PROCESSES.index, value), allow_overwrite=True)

    def get(self, key: str, process: int) -> bytes:
        """The message that a process leaves, for which this one waits."""
        parts: list[bytes] = []
        for i in range(_PARTS):
            value = self._wait_for(_path(key, process, i), process)
            parts.append(value[1:])
            if value[:1] == _LAST:
                break
        return b"".join(parts)

    def senders(self, key: str) -> list[int]:
        """The processes that have left a message so far."""
        there = dict(client().key_value_dir_get_bytes(f"{_ROOT}/{key}"))
        firsts = {process: _path(key, process, 0) for process in range(PROCESSES.count)}
        return [i for i, path in firsts.items() if path in there and self._opened(path, i, there[path]) is not None]

    def delete(self, key: str, process: int) -> None:
        """Removes a message that nobody needs any more."""
        client().key_value_delete(f"{_ROOT}/{key}/{process}")

    def _wait_for(self, path: str, process: int) -> bytes:
        while True:
            sealed = client().blocking_key_value_get_bytes(path, _PATIENCE)
            value = self._opened(path, process, sealed)
            if value is not None:
                return value
            time.sleep(_LOOKS)

    def _opened(self, path: str, process: int, sealed: bytes) -> bytes | None:
        """The value that a process has left there; None of another one, which is named once."""
        try:
            if len(sealed) > _PART + CODE_BYTES + 1:
                raise ForeignMessage(f"{len(sealed)} bytes at {path} are more than any process of this run sends")
            return self.key.open(path, process, sealed)
        except ForeignMessage as error:
            if path not in self._named and len(self._named) < _NAMED:
                self._named.add(path)
                logs.warning(
                    "Refused in the store of the run: %s. The message of process %d is waited for.", error, process
                )
            return None


def client() -> Any:
    """JAX's client of the store."""
    client = distributed.global_state.client
    assert client is not None, "several processes have joined"
    return client


def _path(key: str, process: int, part: int) -> str:
    return f"{_ROOT}/{key}/{process}/{part}"


STORE = Store()
