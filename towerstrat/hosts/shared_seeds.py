"""Python's and numpy's own random numbers, where the program does not seed them: the same in all processes.

Layers, initializers and shuffles draw seeds from them.
"""

from __future__ import annotations

import random
import secrets
from typing import Any

import numpy as np

from towerstrat.hosts.consensus import AGREEMENT
from towerstrat.hosts.process_index import PROCESSES


class Shared:
    """The streams as all processes began them.

    Attributes:
      begun: what they were then; None: they were not shared.
    """

    def __init__(self) -> None:
        self.begun: tuple[Any, ...] | None = None

    def begin(self) -> None:
        """From now on all processes draw the same, other numbers in each run."""
        seed = AGREEMENT.first(float(secrets.randbits(32)))
        random.seed(int(seed))
        np.random.seed(int(seed))
        self.begun = _state()

    def end(self) -> None:
        """From now on each process draws its own, unless the program has seeded them, or drawn, since."""
        if self.begun is not None and self.begun == _state():
            random.seed()
            np.random.seed()
        self.begun = None


def _state() -> tuple[Any, ...]:
    kind, keys, *others = np.random.get_state()
    return random.getstate(), kind, np.asarray(keys).tobytes(), *others


SHARED = Shared()


def part() -> None:
    """From now on each process goes its own way, with random numbers of its own; see ``PROCESSES.part``."""
    PROCESSES.part()
    if not PROCESSES.together:
        SHARED.end()
