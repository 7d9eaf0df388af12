"""Mailboxes of the processes of a run, in the key-value store of JAX's coordinator.

A message has a key, and the process that has put it; each process puts at most one under a key at a time. ``get`` waits
for it, without a bound worth the name: whoever is dead or stuck is found by the supervisors. A message of up to 1 GiB
is cut into values of 1 MiB, which a byte marks as the last or not:

    put("agreement/7", message) of process 2:

    towerstrat/agreement/7/2/0      code, b"+", the first 1 MiB of the message
    towerstrat/agreement/7/2/1      code, b".", the rest

The store asks nobody for a password, so each value has a code (HMAC-SHA256 by the run's key) over its path, its sender
and its bytes. A value without the right code is refused with a warning, and ``get`` goes on waiting for the sender's
own, which overwrites it. With a dictionary in the place of JAX's client:

>>> from types import SimpleNamespace
>>> from unittest.mock import patch
>>> values = {}
>>> put, get = lambda path, value, **_: values.update({path: value}), lambda path, milliseconds: values[path]
>>> jax_client = SimpleNamespace(key_value_set_bytes=put, blocking_key_value_get_bytes=get)
>>> with patch.object(distributed.global_state, "client", jax_client):
...     STORE.put("agreement/7", b"hello")
...     STORE.get("agreement/7", process=0)
b'hello'
>>> {path: value[CODE_BYTES:] for path, value in values.items()}
{'towerstrat/agreement/7/0/0': b'.hello'}
"""

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
"""Milliseconds of one blocking read, a day: whoever is dead or stuck is found by supervisors."""
_PART = 1 << 20
"""Bytes of the message in one value of the store."""
_PARTS = 1 << 10
"""Values that a message may take."""
_MORE, _LAST = b"+", b"."
_NAMED = 8
"""The number of refused values that are logged."""
_LOOKS = 0.1
"""Seconds between two reads where a foreign value is in the place of the one waited for."""


class Store:
    """Messages by key and sender.

    Attributes:
      key: of the codes; set when the process joins the run.
    """

    def __init__(self) -> None:
        self.key = MessageKey(b"")
        self._named: set[str] = set()
        """The paths for which a refusal was logged."""

    def put(self, key: str, message: bytes) -> None:
        """Puts this process's message, in the place of an earlier one under the key.

        Raises:
          ResourceExhaustedError: it is longer than 1 GiB.
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
        """Waits for a process's message and returns it."""
        parts: list[bytes] = []
        for i in range(_PARTS):
            value = self._wait_for(_path(key, process, i), process)
            parts.append(value[1:])
            if value[:1] == _LAST:
                break
        return b"".join(parts)

    def senders(self, key: str) -> list[int]:
        """The processes that have put a message under the key so far, in order; does not wait."""
        there = dict(client().key_value_dir_get_bytes(f"{_ROOT}/{key}"))
        firsts = {process: _path(key, process, 0) for process in range(PROCESSES.count)}
        return [
            i for i, path in firsts.items() if path in there and self._open_sealed(path, i, there[path]) is not None
        ]

    def delete(self, key: str, process: int) -> None:
        """Deletes a process's message, which nobody reads any more."""
        client().key_value_delete(f"{_ROOT}/{key}/{process}")

    def _wait_for(self, path: str, process: int) -> bytes:
        while True:
            sealed = client().blocking_key_value_get_bytes(path, _PATIENCE)
            value = self._open_sealed(path, process, sealed)
            if value is not None:
                return value
            time.sleep(_LOOKS)

    def _open_sealed(self, path: str, process: int, sealed: bytes) -> bytes | None:
        """The value behind the code; None where the code is wrong, which is logged once a path."""
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
    """JAX's client of its coordinator, which has the store."""
    client = distributed.global_state.client
    assert client is not None, "several processes have joined"
    return client


def _path(key: str, process: int, part: int) -> str:
    return f"{_ROOT}/{key}/{process}/{part}"


STORE = Store()
