"""The store of small values that JAX's runtime has, in which the processes of a run leave messages for one another."""

from __future__ import annotations

from typing import Any

from jax._src import distributed

from towerstrat.errors import ResourceExhaustedError
from towerstrat.hosts.process_index import PROCESSES

_ROOT = "towerstrat"
_PATIENCE = 24 * 3600 * 1000
"""Milliseconds: whoever is dead or stuck is found by supervisors."""
_PART = 1 << 20
"""Bytes of one value of the store."""
_PARTS = 1 << 10
"""Values that a message may take."""
_MORE, _LAST = b"+", b"."


class Store:
    """Messages by key and by the process that has left them, of any size up to a bound."""

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
            client().key_value_set_bytes(_path(key, PROCESSES.index, i), value, allow_overwrite=True)

    def get(self, key: str, process: int) -> bytes:
        """The message that a process leaves, for which this one waits."""
        parts: list[bytes] = []
        for i in range(_PARTS):
            value = client().blocking_key_value_get_bytes(_path(key, process, i), _PATIENCE)
            parts.append(value[1:])
            if value[:1] == _LAST:
                break
        return b"".join(parts)

    def senders(self, key: str) -> list[int]:
        """The processes that have left a message so far."""
        found = client().key_value_dir_get_bytes(f"{_ROOT}/{key}")
        names = {path.split("/")[-2] for path, _ in found}
        return sorted(int(name) for name in names if name.isdecimal() and int(name) < PROCESSES.count)

    def delete(self, key: str, process: int) -> None:
        """Removes a message that nobody needs any more."""
        client().key_value_delete(f"{_ROOT}/{key}/{process}")


def client() -> Any:
    """JAX's client of the store."""
    client = distributed.global_state.client
    assert client is not None, "several processes have joined"
    return client


def _path(key: str, process: int, part: int) -> str:
    return f"{_ROOT}/{key}/{process}/{part}"


STORE = Store()
