"""Timers of a run: seconds spent on input, compilation, saving and device work, and the number of steps.

Code that does such work wraps it in ``ACCOUNTS.timed(activity)``. Activities nest, and time counts for the innermost
one only: a compilation during a device run is no device time. So the activities add up, and what is left of the total
is the program's own Python. Only the thread that called ``begin`` is timed, since the others work at the same time.

    >>> timers = ActivityTimers()
    >>> timers.begin()
    >>> with timers.timed(RUNNING):
    ...     with timers.timed(COMPILATION):
    ...         time.sleep(0.01)
    >>> timers.seconds[COMPILATION] >= 0.01, sum(timers.seconds.values()) <= timers.elapsed()
    (True, True)

Off until ``towerstrat run`` begins it; until then ``timed`` only tests a flag. ``summary`` is the line at the end.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType

INPUT, COMPILATION, SAVING, RUNNING = "input", "compilation", "saving", "running"


class _Nothing:
    """Context manager that does nothing, for threads and runs that are not timed."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class ActivityTimers:
    """Exclusive time by activity, on one thread, and a counter of steps.

    Attributes:
      on: whether ``begin`` was called; nothing is timed before.
      steps: the number of steps that devices have run; whoever runs them adds to it.
      seconds: activity -> seconds, without those of activities nested in it.
      listener: called with the activity that is current from now on, None outside of all.
    """

    def __init__(self) -> None:
        self.on = False
        self.steps = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.listener: Callable[[str | None], None] | None = None
        self._under_way: list[str] = []
        self._since = 0.0
        self._thread = 0
        self._begun = 0.0

    def begin(self) -> None:
        """Reset, and time this thread from now on."""
        self.on = True
        self.steps = 0
        self.seconds.clear()
        self._thread = threading.get_ident()
        self._begun = time.perf_counter()

    def timed(self, activity: str) -> _Timed | _Nothing:
        """Context manager that counts its block's time for an activity; does nothing on other threads."""
        if not self.on or threading.get_ident() != self._thread:
            return _NOTHING
        return _Timed(self, activity)

    def elapsed(self) -> float:
        """Seconds since ``begin``."""
        return time.perf_counter() - self._begun

    def enter(self, activity: str) -> None:
        """Push an activity: time counts for it from now on."""
        self._turn()
        self._under_way.append(activity)
        if self.listener is not None:
            self.listener(activity)

    def leave(self) -> None:
        """Pop the current activity: time counts for the one around it again."""
        self._turn()
        self._under_way.pop()
        if self.listener is not None:
            self.listener(self._under_way[-1] if self._under_way else None)

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._under_way:
            self.seconds[self._under_way[-1]] += now - self._since
        self._since = now


class _Timed:
    __slots__ = ("accounts", "activity")

    def __init__(self, accounts: ActivityTimers, activity: str):
        self.accounts = accounts
        self.activity = activity

    def __enter__(self) -> None:
        self.accounts.enter(self.activity)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.accounts.leave()


_NOTHING = _Nothing()
ACCOUNTS = ActivityTimers()
"""The timers of this process."""


def summary(accounts: ActivityTimers) -> str | None:
    """One line on the run, steps and seconds by activity; None where no step was run."""
    if not accounts.steps:
        return None
    total = accounts.elapsed()
    parts = [f"{name} {seconds:.1f} s" for name, seconds in (
        ("input", accounts.seconds[INPUT]), ("device", accounts.seconds[RUNNING]),
        ("compilation", accounts.seconds[COMPILATION]), ("saving", accounts.seconds[SAVING]),
        ("the program itself", total - sum(accounts.seconds.values())),
    )]  # fmt: skip
    return f"{accounts.steps} steps in {total:.1f} s: {', '.join(parts)}"
