"""Channels between process 0 and the others, for one task that all processes do together, such as a checkpoint.

A channel, once begun, may be used on any thread, unlike ``collectives``, whose exchanges belong to the main thread: so
checkpoints can be saved beside training (``training/saving/collective_save.py``). Two kinds of messages go through it,
each read once and in order:

    process 0                                       process i > 0
    broadcast(plan)            ->                   receive(Plan)
    reports(Written)           <-  gather           report(written)
    broadcast(finished)        ->                   receive(Finished)

``COLLECTIVES.channel()`` makes the channels, numbered in the order in which each process's main thread asks for them:
the n-th channel of one process is the n-th of all. Messages go through the store, for which a dictionary stands here:

>>> from unittest.mock import patch
>>> store = {}
>>> with patch.multiple(STORE, put=store.__setitem__, get=lambda key, process: store[key]):
...     Channel(3).broadcast("the plan")                    # in process 0
...     Channel(3).receive(str)                             # in process 1
'the plan'
>>> store
{'talk/3/told/1': b'"the plan"'}
"""

from __future__ import annotations

from typing import Any

from towerstrat.hosts.messages import Schema, decode, encode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.hosts.store import STORE


class Channel:
    """One channel: ordered broadcasts of process 0, and ordered reports of the others to it.

    Args:
      number: of the channel, the same in all processes.
    """

    def __init__(self, number: int):
        self._key = f"talk/{number}"
        self._told = self._reported = 0

    def broadcast(self, message: object) -> None:
        """Broadcasts a message of process 0: a value that ``messages`` has a schema for."""
        self._told += 1
        STORE.put(f"{self._key}/told/{self._told}", encode(message))

    def receive(self, schema: Schema) -> Any:
        """Waits for the next broadcast of process 0 and returns it.

        Args:
          schema: the type of the message, as of ``messages.decode``.

        Raises:
          MalformedMessage: the message is of another type.
        """
        self._told += 1
        return decode(STORE.get(f"{self._key}/told/{self._told}", 0), schema)

    def report(self, message: object) -> None:
        """Sends a message to process 0; not called there."""
        self._reported += 1
        STORE.put(f"{self._key}/reported/{self._reported}", encode(message))

    def reports(self, schema: Schema) -> list[Any]:
        """Gathers the next report of each of the processes 1, 2, ..., in order, and deletes them; called in process 0.

        Arguments and errors as of ``receive``.
        """
        self._reported += 1
        key, others = f"{self._key}/reported/{self._reported}", range(1, PROCESSES.count)
        messages = [STORE.get(key, process) for process in others]
        for process in others:
            STORE.delete(key, process)
        return [decode(message, schema) for message in messages]
