"""How many processes run this program, and which of them this one is."""

from __future__ import annotations


class Peers:
    """The processes of this run.

    Attributes:
      count: how many there are; 1 where the program runs in one process.
      index: which of them this one is, from 0.
    """

    def __init__(self) -> None:
        self.count = 1
        self.index = 0


PEERS = Peers()
