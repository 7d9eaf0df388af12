"""Records that describe a run to its supervisors: the place of a process, timeouts, the program; exit statuses.

They come from a command line or a launcher's environment, and are passed on by ``command_line.supervise``:

    towerstrat run --hosts 4 --host 1 --coordinator 10.0.0.1:8476 --stuck-timeout 60 train.py --lr 0.1

>>> place, bounds = Place(count=4, index=1, address="10.0.0.1:8476"), Timeouts(stuck=60.0)
>>> work = ProgramSpec(argv=("python", "-m", "towerstrat", "run", "train.py", "--lr", "0.1"), program="train.py")
>>> bounds
Timeouts(join=300.0, heartbeat=10.0, stuck=60.0, stopping=60.0)

Messages name a process by its index, its machine and its process id there, so that one can find and look at it:

>>> print(Process(place.index, "worker-1", 4071), "has ended")
process 1 (host worker-1, pid 4071) has ended
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

REFUSED = os.EX_CONFIG
"""Exit status, 78, where the processes do not fit together: starting them again does not help."""
ENDED = os.EX_SOFTWARE
"""Exit status, 70, of a process that ends because another has failed."""


@dataclass(frozen=True)
class Place:
    """Place of a process in its run.

    Attributes:
      count: number of processes.
      index: of this one, from 0.
      address: where supervisors meet, ``HOST:PORT`` or ``unix:PATH``: process 0 listens there.
      names: words besides the index that may stand for this process in its arguments, such as its job and task.
      cluster: the environment's description of the whole cluster, compared between processes; "": none.
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
    """Timeouts of a run, in seconds.

    Attributes:
      join: until all processes have registered.
      heartbeat: of a supervisor that is silent, and of a program that a signal has stopped.
      stuck: of a program without a step; starting, compiling and checkpointing may take six times as long. 0: none.
      stopping: from SIGTERM or Ctrl-C until the program has ended by itself.
    """

    join: float = 300.0
    heartbeat: float = 10.0
    stuck: float = 600.0
    stopping: float = 60.0


@dataclass(frozen=True)
class ProgramSpec:
    """The program of a process.

    Attributes:
      argv: its command line, the interpreter first.
      program: the word of it that is the program's file or module; "": there is none.
      is_module: whether that is a module.
    """

    argv: tuple[str, ...]
    program: str = ""
    is_module: bool = False


GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL after a failure of the run."""
LONGER = 6
"""Factor of the stuck timeout for programs that start, compile or write a checkpoint."""


@dataclass(frozen=True)
class Process:
    """Name of a process in messages.

    Attributes:
      index: in the run. host: name of its machine. pid: process id there.
    """

    index: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.index} (host {self.host}, pid {self.pid})"


WHERE = signal.SIGQUIT
"""Signal upon which a program prints the stacks of its threads on standard error (``faulthandler``)."""
