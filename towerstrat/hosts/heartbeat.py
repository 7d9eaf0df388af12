"""How far a program is: it writes by plain stores into a file that it has mapped into memory, its supervisor reads.

No lock, no system call, and nothing of the program's has to run for the supervisor to read: also a program that hangs
or is stopped says what it did last.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from towerstrat.hosts import environment_variables

STARTING, STEPPING, COMPILING, CHECKPOINTING = "starting", "stepping", "compiling", "checkpointing"
WAITING, FAILING, ENDED = "waiting for input", "failing", "ended"
PHASES = (STARTING, STEPPING, COMPILING, CHECKPOINTING, WAITING, FAILING, ENDED)
"""What a program can be doing."""

_SIZE = 512
_NUMBERS = 9
_TEXT = slice(8 * _NUMBERS, _SIZE)
_PID, _STEP, _SHARED, _MOVED, _PHASE, _LENGTH, _WRITTEN, _STOP, _AGREED = range(_NUMBERS)
"""Places in the file, in numbers of 64 bits: process, steps, those that all processes make together, when the program
last did something (nanoseconds of the monotonic clock), phase, bytes of its text, how often phase and text were
written, twice each: odd while they are; and, written by the supervisor, the shared step after which the program is to
stop, 0 for none, and that step again once nobody is past it, or ``_APART``."""
_APART = -1
"""Nobody has made a shared step: each process stops after what it does."""
_LOOKS = 0.001
"""Seconds between two looks of a program that waits to hear whether this is the step at which all stop."""


class Progress:
    """What a program without a supervisor says: nothing, at no cost."""

    stops = 0
    """How many parts of the program, such as sessions, look whether it is to stop, save what there is, and end."""

    def reached_stop(self) -> bool:
        """Whether the program is to stop after the step that it has done. In all processes it is the same shared step,
        or, where they share none, the next one of each.

        A program that comes to the step at which all may stop waits until it is known whether one of them was past it
        before it heard.
        """
        return False

    def step(self, count: int) -> None:
        """The program begins a step.

        Processes that wait for one another wait for the one with the lowest count: say it before the step is run.

        Args:
          count: how many it has begun in all; with several steps at once, up to the last of them.
        """

    def more(self, steps: int) -> None:
        """The program begins so many steps more."""

    def share(self, steps: int) -> None:
        """So many of the steps that it begins are made by all together: none ends one before all are in it."""

    def alive(self) -> None:
        """The program does something that is no step, such as an evaluation: it is not stuck."""

    def phase(self, name: str, what: str = "") -> AbstractContextManager[None]:
        """Inside, the program does something else than steps; afterwards what it did before.

        Args:
          name: one of ``PHASES``.
          what: a few words more, such as the operation and the line it comes from.

        Raises:
          ValueError: no such phase.
        """
        _number(name)
        return contextlib.nullcontext()

    def enter(self, name: str, what: str = "") -> None:
        """From now on the program does this. Arguments and errors as of ``phase``."""
        _number(name)


class MappedProgress(Progress):
    """Progress in a file.

    Args:
      path: a file that ``create`` made.
    """

    def __init__(self, path: str):
        with open(path, "r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _SIZE)
        self._numbers = memoryview(self._bytes).cast("q")
        self._now = (STARTING, "")
        self._numbers[_PID] = os.getpid()
        self.enter(STARTING)

    def reached_stop(self) -> bool:
        numbers = self._numbers
        while stop := numbers[_STOP]:
            if numbers[_AGREED] == _APART:
                return True
            if numbers[_SHARED] < stop:
                return False
            if numbers[_AGREED] == stop:
                return True
            time.sleep(_LOOKS)
        return False

    def step(self, count: int) -> None:
        self._numbers[_STEP] = count
        self._numbers[_MOVED] = time.monotonic_ns()
        if self._now[0] == STARTING:
            self.enter(STEPPING)

    def more(self, steps: int) -> None:
        self.step(self._numbers[_STEP] + steps)

    def share(self, steps: int) -> None:
        self._numbers[_SHARED] += steps

    def alive(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._numbers[_MOVED] = time.monotonic_ns()

    @contextlib.contextmanager
    def phase(self, name: str, what: str = "") -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # What goes on beside the program is not what it does.
            return
        before = self._now
        self.enter(name, what)
        try:
            yield
        finally:
            # A first step inside has ended the start.
            self.enter(*((STEPPING, "") if before[0] == STARTING and self._numbers[_STEP] else before))

    def enter(self, name: str, what: str = "") -> None:
        number, text = _number(name), what.encode(errors="backslashreplace")[: _SIZE - _TEXT.start]
        self._now = (name, what)
        numbers = self._numbers
        numbers[_WRITTEN] += 1
        numbers[_PHASE] = number
        numbers[_LENGTH] = len(text)
        self._bytes[_TEXT.start : _TEXT.start + len(text)] = text
        numbers[_MOVED] = time.monotonic_ns()
        numbers[_WRITTEN] += 1


class Seen(NamedTuple):
    """What a supervisor sees of its program.

    Attributes:
      pid: the process that writes; 0: none does yet.
      step: how many steps it has begun.
      shared: how many of the steps that all processes make together.
      age: seconds since it last did something; None: it has said nothing yet.
      phase: what it does.
      what: a few words more.
    """

    pid: int = 0
    step: int = 0
    shared: int = 0
    age: float | None = None
    phase: str = STARTING
    what: str = ""

    def described(self) -> str:
        """As a clause: "stepping, at step 12, 0.4 s before"."""
        what = f" ({self.what})" if self.what else ""
        step = f", at step {self.step}" if self.step else ""
        return f"{self.phase}{what}{step}" + ("" if self.age is None else f", for {self.age:.1f} s")


class Reader:
    """The supervisor's side of a file of progress.

    Args:
      path: where the file is made; there is none yet.
    """

    def __init__(self, path: Path):
        self.path = path
        with path.open("xb+") as file:
            file.truncate(_SIZE)
            self._bytes = mmap.mmap(file.fileno(), _SIZE)
        self._numbers = memoryview(self._bytes).cast("q")
        self._last = Seen()

    def stop_after(self, step: int) -> int:
        """Tells the program that all may stop once they have begun so many shared steps; says how many it has by now.

        Where these are fewer, it does not go past that step before ``agree``, or before it is told a later one.
        """
        self._numbers[_STOP] = step
        time.sleep(_LOOKS)  # What the program looked at before this was stored it has acted upon.
        return self._numbers[_SHARED]

    def agree(self, apart: bool) -> None:
        """Tells the program that all stop at the step it was told last; ``apart``: that none has made a shared one."""
        self._numbers[_AGREED] = _APART if apart else self._numbers[_STOP]

    def read(self) -> Seen:
        """What the program said last. Where it is writing in this moment: what it said before."""
        numbers = self._numbers
        written = numbers[_WRITTEN]
        moved, phase = numbers[_MOVED], numbers[_PHASE]
        text = self._bytes[_TEXT.start : _TEXT.start + numbers[_LENGTH]]
        if written % 2 == 0 and written == numbers[_WRITTEN]:
            self._last = self._last._replace(phase=PHASES[phase], what=text.decode(errors="ignore"))
        age = (time.monotonic_ns() - moved) / 1e9 if moved else None
        self._last = self._last._replace(pid=numbers[_PID], step=numbers[_STEP], shared=numbers[_SHARED], age=age)
        return self._last


def _number(name: str) -> int:
    try:
        return PHASES.index(name)
    except ValueError:
        raise ValueError(f"Expected a phase, one of {', '.join(PHASES)}; got {name!r}.") from None


def _own() -> Progress:
    # For this process alone: what it starts would write into the same file.
    path = os.environ.pop(environment_variables.PROGRESS, None)
    return MappedProgress(path) if path else Progress()


PROGRESS = _own()
"""What this process says of its progress."""
