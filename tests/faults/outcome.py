"""The outcome of a fault."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """The event, which was right; memory: of the process, where it is meant."""

    what: str
    memory: str = ""
