"""The number of processes of this run, this one's index, and whether they run as one program.

Three ways of running, which change during a program:

    alone        count 1
    in lockstep  SPMD over processes: all do the same at the same time, with the same random numbers; process 0 writes
                 checkpoints and logs for all. So it is from the start (``join``), and for good once a mesh axis spans
                 the processes (``unite``)
    apart        each has a graph and data of its own, and meets the others only to average gradients; each writes for
                 itself. So it is from the first ``tf.train.Server``, or session connected to a cluster, on (``part``),
                 unless they are united

``PROCESSES`` is the state of this process; it is alone until ``process_group.join``. The fourth of four processes:

>>> from unittest.mock import patch
>>> processes = ProcessGroup()
>>> with patch.object(DUTY, "writes"):                      # puts back who writes in this program
...     processes.join(4, 3)
...     processes.in_lockstep, processes.stream, DUTY.writes
...     processes.part()
...     processes.in_lockstep, processes.stream, DUTY.writes
(True, 0, False)
(False, 3, True)
"""

from __future__ import annotations

from towerstrat.platform.duty import DUTY


class ProcessGroup:
    """The processes of this run, and this one's place among them.

    Attributes:
      count: number of processes; 1 where the program runs in one.
      index: of this process, from 0.
      in_lockstep: whether all run as one program, of which process 0 writes for all; False of one process.
      united: whether a mesh axis spans them, as a strategy's does: then they stay together.
    """

    def __init__(self) -> None:
        self.count = 1
        self.index = 0
        self.in_lockstep = False
        self.united = False

    def join(self, count: int, index: int) -> None:
        """Sets this process's place; from now on all run as one program."""
        self.count, self.index, self.in_lockstep = count, index, count > 1
        DUTY.writes = index == 0

    def part(self) -> None:
        """From now on each process runs on its own, and writes for itself; without effect where ``united``."""
        if not self.united:
            self.in_lockstep = False
            DUTY.writes = True

    @property
    def stream(self) -> int:
        """Salt of this process's unseeded random streams: the index, or 0 where all must draw the same."""
        return 0 if self.in_lockstep else self.index

    def unite(self, count: int, index: int) -> None:
        """From now on all run as one program for good, also after ``part``: a mesh axis spans the processes."""
        self.united = True
        self.join(count, index)


PROCESSES = ProcessGroup()
