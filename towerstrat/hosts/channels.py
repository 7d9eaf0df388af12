"""What the first process and the others tell each other about one thing that all of them do, from any thread."""

from __future__ import annotations

from typing import Any

from towerstrat.hosts.messages import decode, encode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.store import STORE


class Channel:
    """Messages about one thing, which are heard in the order in which they were told.

    Args:
      number: of the thing, the same in all processes.
    """

    def __init__(self, number: int):
        self._key = f"talk/{number}"
        self._told = self._reported = 0

    def tell(self, message: Any) -> None:
        """The first process tells all others: a value that ``messages`` has a schema for."""
        self._told += 1
        STORE.put(f"{self._key}/told/{self._told}", encode(message))

    def hear(self, schema: Any) -> Any:
        """The next message of the first process.

        Args:
          schema: the type of the message, as of ``messages.decode``.

        Raises:
          MalformedMessage: the message is of another type.
        """
        self._told += 1
        return decode(STORE.get(f"{self._key}/told/{self._told}", 0), schema)

    def report(self, message: Any) -> None:
        """A process that is not the first one tells that one."""
        self._reported += 1
        STORE.put(f"{self._key}/reported/{self._reported}", encode(message))

    def reports(self, schema: Any) -> list[Any]:
        """The next report of each of the processes 1, 2, ..., for the first one; the store has it no more then.

        Arguments and errors as of ``hear``.
        """
        self._reported += 1
        key, others = f"{self._key}/reported/{self._reported}", range(1, PROCESSES.count)
        messages = [STORE.get(key, process) for process in others]
        for process in others:
            STORE.delete(key, process)
        return [decode(message, schema) for message in messages]


class Talks:
    """Gives each thing that the processes do together a talk of its own, in the order in which each comes to it."""

    def __init__(self) -> None:
        self._count = 0

    def begin(self) -> Channel:
        """The next one. All processes come to it together, on the thread of their program."""
        self._count += 1
        return Channel(self._count)


TALKS = Talks()
