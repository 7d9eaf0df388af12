"""What became of a fault."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """What happened, which was right; memory: of the process, where it is meant."""

    what: str
    memory: str = ""
