"""Limits of a process's runs: memory for inputs and compiled programs, and duration of device programs (``LIMITS``).

Environment variables set some of them, once, at import: TOWERSTRAT_INPUT_MB and TOWERSTRAT_PROGRAMS_MB (bytes, in MiB),
TOWERSTRAT_STEPS_PER_RETURN, TOWERSTRAT_TOWERS_ON_CPU=1 and TOWERSTRAT_COMPARE_LOOPS=1. Step loops
(``loops/chunk_sizing.py``), sessions that run ahead (``loops/steps_ahead.py``) and the cache of programs
(``program_cache``) read them at each use, so that tests may set them.

>>> _from_environment({"TOWERSTRAT_INPUT_MB": "2", "TOWERSTRAT_STEPS_PER_RETURN": "1"}).input_bytes
2097152
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import jax

STEPS_PER_RETURN = "TOWERSTRAT_STEPS_PER_RETURN"
_INPUT = 256 << 20
_SHARE = 8
"""One part in so many of an accelerator's memory, for the input of a program."""


@dataclass
class Limits:
    """Limits that runs keep to.

    Attributes:
      input_bytes: input of one program of several steps; exceeded only where two steps need more. The next program's
        input is assembled meanwhile, within as much again. None: 256 MiB, or an eighth of an accelerator's memory.
      program_seconds: longest device program, where nobody asked to put its steps together.
      return_seconds: how long a session may run ahead of its caller.
      steps_per_return: number of steps that a session runs ahead, 1: none; None: until it is used otherwise.
      program_bytes: all compiled programs, by an estimate of their size. The least recently used are dropped first, and
        compiled again when needed.
      programs: number of compiled programs.
      towers_on_cpu: whether towers that a program wrote by hand run side by side on the devices of a CPU too, which
        share the cores that one device has for itself.
      compare_loops: whether the two loops that a step loop is compiled to are compared before they run: for tests, it
        compiles both.
      programs_of_one: number of programs of one graph part, function or operation type, one per input signature.
    """

    input_bytes: int | None = None
    program_seconds: float = 2.0
    return_seconds: float = 0.5
    steps_per_return: int | None = None
    program_bytes: int = 1 << 30
    programs: int = 4096
    programs_of_one: int = 128
    towers_on_cpu: bool = False
    compare_loops: bool = False

    def input_of(self, device: jax.Device) -> int:
        """Bytes that the input of a program of several steps may take on such devices."""
        if self.input_bytes is not None:
            return self.input_bytes
        memory = (device.memory_stats() or {}) if device.platform != "cpu" else {}
        return int(memory.get("bytes_limit", 0)) // _SHARE or _INPUT


def _from_environment(environment: Mapping[str, str]) -> Limits:
    limits = Limits()
    if "TOWERSTRAT_INPUT_MB" in environment:
        limits.input_bytes = int(environment["TOWERSTRAT_INPUT_MB"]) << 20
    if "TOWERSTRAT_PROGRAMS_MB" in environment:
        limits.program_bytes = int(environment["TOWERSTRAT_PROGRAMS_MB"]) << 20
    limits.towers_on_cpu = environment.get("TOWERSTRAT_TOWERS_ON_CPU", "") in ("1", "on")
    limits.compare_loops = environment.get("TOWERSTRAT_COMPARE_LOOPS", "") in ("1", "on")
    if STEPS_PER_RETURN in environment:
        limits.steps_per_return = int(environment[STEPS_PER_RETURN])
    return limits


LIMITS = _from_environment(os.environ)
