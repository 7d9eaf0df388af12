"""Seeds of Python's and numpy's global random numbers, where the program sets none: the same in all processes.

Layers, initializers and shuffles without a seed draw one from ``random`` or ``np.random``. Processes that run as one
program (``in_lockstep``) would build different graphs if each had its own; so at the start process 0 broadcasts
a new seed for both. When the processes part, each is seeded anew by itself, so that they do not all draw the same,
unless the program has seeded or drawn since the start: then its numbers are as it made them.

    SHARED.begin()      random.random() is one number in all processes, another one in each run
    part()              random.random() differs from process to process

Two processes that hear the same number from process 0, here 7, draw the same:

>>> from unittest.mock import patch
>>> before = random.getstate(), np.random.get_state()
>>> def drawn():
...     Shared().begin()
...     return random.random(), np.random.rand()
>>> with patch.object(COLLECTIVES, "broadcast", lambda own: 7.0):
...     drawn() == drawn()
True
>>> random.setstate(before[0]), np.random.set_state(before[1])
(None, None)
"""

from __future__ import annotations

import random
import secrets

import numpy as np

from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES


class Shared:
    """The shared start of the global random streams.

    Attributes:
      begun: their state right after the seeding; None: they are not shared.
    """

    def __init__(self) -> None:
        self.begun: tuple[object, ...] | None = None

    def begin(self) -> None:
        """Seeds the streams of all processes with a number that process 0 draws and broadcasts."""
        seed = COLLECTIVES.broadcast(float(secrets.randbits(32)))
        random.seed(int(seed))
        np.random.seed(int(seed))
        self.begun = _state()

    def end(self) -> None:
        """Seeds this process's streams anew, unless the program has seeded them, or drawn, since ``begin``."""
        if self.begun is not None and self.begun == _state():
            random.seed()
            np.random.seed()
        self.begun = None


def _state() -> tuple[object, ...]:
    kind, keys, *others = np.random.get_state()
    return random.getstate(), kind, np.asarray(keys).tobytes(), *others


SHARED = Shared()


def part() -> None:
    """From now on each process runs on its own, with random numbers of its own; see ``ProcessGroup.part``."""
    PROCESSES.part()
    if not PROCESSES.in_lockstep:
        SHARED.end()
