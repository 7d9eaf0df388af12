"""Which process of how many this is, where they meet, and how long they wait for one another."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

REFUSED = os.EX_CONFIG
"""Exit status where the processes do not fit together: starting them again does not help."""
ENDED = os.EX_SOFTWARE
"""Exit status of a process that ends because of another."""


@dataclass(frozen=True)
class Place:
    """One process among those of a run.

    Attributes:
      count: how many there are.
      index: which this one is, from 0.
      address: where they meet, ``HOST:PORT`` or ``unix:PATH``: process 0 listens there.
      names: what else means this one in its arguments, such as the number of its task.
      cluster: what the environment says of the cluster as a whole, for comparison.
      on_slice: whether JAX finds its coordinator itself, in the environment of a TPU slice.
    """

    count: int
    index: int
    address: str
    names: tuple[str, ...] = ()
    cluster: str = ""
    on_slice: bool = False


@dataclass(frozen=True)
class Timeouts:
    """How long things may take, in seconds.

    Attributes:
      join: until all processes are there.
      heartbeat: without a sign of life from a supervisor, or with a program that is stopped.
      stuck: without a step; starting, compiling and checkpointing may take six times as long. 0: any time.
      stopping: until a program that was told to end (SIGTERM, Ctrl-C) has ended.
    """

    join: float = 300.0
    heartbeat: float = 10.0
    stuck: float = 600.0
    stopping: float = 60.0


@dataclass(frozen=True)
class ProgramSpec:
    """What a process runs.

    Attributes:
      argv: the command, with the interpreter in front.
      program: which of its words is the program's file or module; "": none.
      is_module: whether that is a module.
    """

    argv: tuple[str, ...]
    program: str = ""
    is_module: bool = False


GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL where a run has failed."""
LONGER = 6
"""How many times as long as a step starting, compiling and checkpointing may take."""


@dataclass(frozen=True)
class Process:
    """What messages call a process.

    Attributes:
      index: which of the run's. host: its machine's name. pid: its number there.
    """

    index: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.index} (host {self.host}, pid {self.pid})"


WHERE = signal.SIGQUIT
"""Upon this a program writes where it is, line by line, on standard error."""
