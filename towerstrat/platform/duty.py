"""Whether this process writes what all processes of a run would write alike: checkpoints, event files, log lines."""

from __future__ import annotations


class WriterRole:
    """What this process does for all.

    Attributes:
      writes: False in the processes of a run that do the same as the first one, which writes.
    """

    def __init__(self) -> None:
        self.writes = True


DUTY = WriterRole()
