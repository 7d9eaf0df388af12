"""What the first process and the others tell each other about one thing that all of them do, from any thread."""

from __future__ import annotations

import pickle
from typing import Any

from towerstrat.hosts.consensus import client
from towerstrat.hosts.process_index import PROCESSES

_LONG = 24 * 3600 * 1000
"""Milliseconds: whoever is dead or stuck is found by others than those who wait."""
_MESSAGE = 1 << 20
"""Bytes of one message of the service that JAX's runtime has."""
_MORE, _LAST = b"+", b"."


class Channel:
    """Messages about one thing, which are heard in the order in which they were told.

    Args:
      number: of the thing, the same in all processes.
    """

    def __init__(self, number: int):
        self._key = f"towerstrat/talk/{number}"
        self._told = self._reported = 0

    def tell(self, what: Any) -> None:
        """The first process tells all others, in words or things that can be pickled."""
        self._told += 1
        _say(f"{self._key}/told/{self._told}", what)

    def hear(self) -> Any:
        """What the first process tells next."""
        self._told += 1
        return _heard(f"{self._key}/told/{self._told}")

    def report(self, what: Any) -> None:
        """A process that is not the first one tells that one."""
        self._reported += 1
        _say(f"{self._key}/reported/{self._reported}/{PROCESSES.index}", what)

    def reports(self) -> list[Any]:
        """What each of the processes 1, 2, ... reports next, for the first one; the service has it no more then."""
        self._reported += 1
        keys = [f"{self._key}/reported/{self._reported}/{process}" for process in range(1, PROCESSES.count)]
        found = [_heard(key) for key in keys]
        for key in keys:
            client().key_value_delete(key)
        return found


class Talks:
    """Gives each thing that the processes do together a talk of its own, in the order in which each comes to it."""

    def __init__(self) -> None:
        self._count = 0

    def begin(self) -> Channel:
        """The next one. All processes come to it together, on the thread of their program."""
        self._count += 1
        return Channel(self._count)


def _say(key: str, what: Any) -> None:
    data = pickle.dumps(what)
    parts = [data[i : i + _MESSAGE] for i in range(0, len(data), _MESSAGE)]
    for i, part in enumerate(parts):
        client().key_value_set_bytes(f"{key}/{i}", (_LAST if i == len(parts) - 1 else _MORE) + part)


def _heard(key: str) -> Any:
    data, i = b"", 0
    while True:
        part = client().blocking_key_value_get_bytes(f"{key}/{i}", _LONG)
        data, i = data + part[1:], i + 1
        if part[:1] == _LAST:
            return pickle.loads(data)


TALKS = Talks()
