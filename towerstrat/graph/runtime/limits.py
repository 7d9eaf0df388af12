"""How much a process keeps for its runs. One place; change the fields of ``LIMITS``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Limits:
    """What runs may keep in memory.

    Attributes:
      program_bytes: compiled programs together, by an estimate of their size. The least recently used are dropped
        first, and compiled again where they are needed again.
      programs: how many compiled programs.
      programs_of_one: how many of one graph part, function or operation type: one for each signature of its inputs.
    """

    program_bytes: int = 1 << 30
    programs: int = 4096
    programs_of_one: int = 128


LIMITS = Limits()
