"""Progress of a program, in a file that it and its supervisor have mapped into memory.

The program writes its step and phase by plain stores, two a step: no lock, no system call, no thread. The supervisor
reads them without the program's help, so also a program that hangs or is stopped says what it did last:

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     reader = Reader(Path(folder, "progress"))         # the supervisor
...     progress = MappedProgress(str(reader.path))       # the program
...     progress.step(12)
...     with progress.phase(COMPILING, "MatMul at train.py:8"):
...         seen = reader.read()
...     seen.step, seen.phase, seen.what
...     reader.read().phase
(12, 'compiling', 'MatMul at train.py:8')
'stepping'

The file is nine int64 numbers and a text. Each number is one store of eight bytes; phase and text belong together, and
are read by a sequence lock: ``_WRITTEN`` is odd while they change.

Two of the numbers go the other way, for a stop after a step that is the same in all processes. The supervisor stores
the proposed step (``stop_after``), waits until the program must have seen it, and reads how many shared steps the
program has begun. A program that comes to that step waits there (``reached_stop``) until the supervisor confirms the
step (``agree``) or proposes a later one, because another process had begun it before it heard.

Without a supervisor ``PROGRESS`` is a ``Progress``, whose methods do nothing.
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
"""The phases of a program."""

_SIZE = 512
_NUMBERS = 9
_TEXT = slice(8 * _NUMBERS, _SIZE)
_PID, _STEP, _SHARED, _MOVED, _PHASE, _LENGTH, _WRITTEN, _STOP, _AGREED = range(_NUMBERS)
"""Indices of the int64 numbers in the file: process id, steps begun, shared steps begun, time of the last sign of life
(nanoseconds of the monotonic clock), phase, bytes of the text, sequence number of phase and text (odd while they are
written); and, written by the supervisor, the proposed shared step to stop after (0: none), and the confirmed one, equal
to the former, or ``_APART``."""
_APART = -1
"""Confirms a stop where no process has begun a shared step: each stops after its own next one."""
_LOOKS = 0.001
"""Seconds between two polls of a program that waits for the step to be confirmed."""


class Progress:
    """Interface of progress reports; this base, for programs without a supervisor, reports nothing."""

    stops = 0
    """How many parts of the program, such as sessions, poll ``reached_stop``, and then save and end it; where there are
    none, SIGTERM ends the program at once."""

    def reached_stop(self) -> bool:
        """Whether the program is to stop now, between two steps.

        All processes stop after the same shared step, or, where they share none, each after its next one. A program
        that comes to the proposed step waits here until the supervisor confirms it or proposes a later one.
        """
        return False

    def step(self, count: int) -> None:
        """Reports the beginning of a step.

        Processes that wait for one another wait for the one with the lowest count: say it before the step is run.

        Args:
          count: steps begun in all, from 1; where several are run at once, up to the last of them.
        """

    def more(self, steps: int) -> None:
        """Begins so many steps more; see ``step``."""

    def share(self, steps: int) -> None:
        """Counts steps as shared: all processes make them together, and none ends one before all are in it."""

    def alive(self) -> None:
        """Gives a sign of life without a step, such as during an evaluation. On the main thread only."""

    def phase(self, name: str, details: str = "") -> AbstractContextManager[None]:
        """Context manager: the program is in this phase inside, and back in the former one afterwards.

        Args:
          name: one of ``PHASES``.
          details: text, such as the operation and its line; cut to 440 bytes.

        Raises:
          ValueError: no such phase.
        """
        _number(name)
        return contextlib.nullcontext()

    def enter(self, name: str, details: str = "") -> None:
        """Enters a phase for good. Arguments and errors as of ``phase``."""
        _number(name)


class MappedProgress(Progress):
    """Progress that is written into a file that a supervisor reads.

    Args:
      path: the file that a ``Reader`` made.
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
    def phase(self, name: str, details: str = "") -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # What goes on beside the program is not what it does.
            return
        before = self._now
        self.enter(name, details)
        try:
            yield
        finally:
            # A first step inside has ended the start.
            self.enter(*((STEPPING, "") if before[0] == STARTING and self._numbers[_STEP] else before))

    def enter(self, name: str, details: str = "") -> None:
        number, text = _number(name), details.encode(errors="backslashreplace")[: _SIZE - _TEXT.start]
        self._now = (name, details)
        numbers = self._numbers
        numbers[_WRITTEN] += 1
        numbers[_PHASE] = number
        numbers[_LENGTH] = len(text)
        self._bytes[_TEXT.start : _TEXT.start + len(text)] = text
        numbers[_MOVED] = time.monotonic_ns()
        numbers[_WRITTEN] += 1


class Seen(NamedTuple):
    """Progress of a program, as its supervisor reads it.

    Attributes:
      pid: the process that writes; 0: none does yet.
      step: steps begun.
      shared: shared steps begun, those that all processes make together.
      age: seconds since its last sign of life; None: it has given none yet.
      phase: one of ``PHASES``.
      what: details of the phase.
    """

    pid: int = 0
    step: int = 0
    shared: int = 0
    age: float | None = None
    phase: str = STARTING
    what: str = ""

    def describe(self) -> str:
        """The progress as a clause of a message.

        >>> Seen(step=12, age=0.4, phase=STEPPING).describe()
        'stepping, at step 12, for 0.4 s'
        """
        details = f" ({self.what})" if self.what else ""
        step = f", at step {self.step}" if self.step else ""
        return f"{self.phase}{details}{step}" + ("" if self.age is None else f", for {self.age:.1f} s")


class Reader:
    """The supervisor's end of the file: makes it, reads progress, and writes the step to stop after.

    Args:
      path: of the file to make.

    Raises:
      FileExistsError: there is one.
    """

    def __init__(self, path: Path):
        self.path = path
        with path.open("xb+") as file:
            file.truncate(_SIZE)
            self._bytes = mmap.mmap(file.fileno(), _SIZE)
        self._numbers = memoryview(self._bytes).cast("q")
        self._last = Seen()

    def stop_after(self, step: int) -> int:
        """Proposes the shared step to stop after; returns how many shared steps the program has begun.

        Where these are fewer, the program waits at that step for ``agree``, or for a later proposal.
        """
        self._numbers[_STOP] = step
        time.sleep(_LOOKS)  # A step that was decided on before the store could be seen has begun then.
        return self._numbers[_SHARED]

    def agree(self, apart: bool) -> None:
        """Confirms the step proposed last; ``apart``: none has begun a shared one, and each stops after its own."""
        self._numbers[_AGREED] = _APART if apart else self._numbers[_STOP]

    def read(self) -> Seen:
        """The program's progress. While it is writing a phase, the last one that was read whole."""
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


def _from_environment() -> Progress:
    # Removed from the environment: programs that this one starts would write into the same file.
    path = os.environ.pop(environment_variables.PROGRESS, None)
    return MappedProgress(path) if path else Progress()


PROGRESS = _from_environment()
"""The progress of this process."""
