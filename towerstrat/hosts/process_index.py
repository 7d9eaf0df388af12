"""How many processes run this program, and which of them this one is."""

from __future__ import annotations

from towerstrat.platform.duty import DUTY


class ProcessGroup:
    """The processes of this run.

    Attributes:
      count: how many there are; 1 where the program runs in one process.
      index: which of them this one is, from 0.
      together: whether all do the same at the same time, as one program; the first one writes for all.
      united: whether something spans them, such as a strategy, so that they stay together.
    """

    def __init__(self) -> None:
        self.count = 1
        self.index = 0
        self.together = False
        self.united = False

    def join(self, count: int, index: int) -> None:
        """This is process ``index`` of ``count`` that run one program together."""
        self.count, self.index, self.together = count, index, count > 1
        DUTY.writes = index == 0

    def part(self) -> None:
        """From now on each process goes its own way, but for the operations in which they meet; each writes its own.

        Where something spans the processes they stay together.
        """
        if not self.united:
            self.together = False
            DUTY.writes = True

    @property
    def stream(self) -> int:
        """What tells this process's random streams from others', where nothing seeds them: 0 where all do the same."""
        return 0 if self.together else self.index

    def unite(self, count: int, index: int) -> None:
        """From now on all do the same, whatever was said before: something spans the processes."""
        self.united = True
        self.join(count, index)


PROCESSES = ProcessGroup()
