"""The process that writes for a run of several: all compute the same, and only the first writes checkpoints and events.

``hosts/process_index.py`` sets ``DUTY.writes`` when processes join; writers of files and ``info`` lines ask it.
"""

from __future__ import annotations


class WriterRole:
    """Role of this process in a run.

    Attributes:
      writes: whether it writes what all processes would write alike; False in all but the first one.
    """

    def __init__(self) -> None:
        self.writes = True


DUTY = WriterRole()
