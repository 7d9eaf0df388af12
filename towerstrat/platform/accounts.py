"""Where a program's time goes: input, compilation, saving, running; told at its end, and while it runs."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType

INPUT, COMPILATION, SAVING, RUNNING = "input", "compilation", "saving", "running"


class _Nothing:
    """Accounts for nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class ActivityTimers:
    """Seconds by activity, and steps. What is nested counts for the innermost activity alone, on the thread that began.

    Attributes:
      on: whether anything is counted.
      steps: how many steps a device has run.
      listener: called with the activity that begins, None where the last one ends.
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
        """Counts from now on, what this thread does."""
        self.on = True
        self.steps = 0
        self.seconds.clear()
        self._thread = threading.get_ident()
        self._begun = time.perf_counter()

    def spent(self, activity: str) -> _Spent | _Nothing:
        """A context manager: the time inside is spent on an activity."""
        if not self.on or threading.get_ident() != self._thread:
            return _NOTHING
        return _Spent(self, activity)

    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self._begun

    def enter(self, activity: str) -> None:
        """An activity begins."""
        self._turn()
        self._under_way.append(activity)
        if self.listener is not None:
            self.listener(activity)

    def leave(self) -> None:
        """The activity that began last ends."""
        self._turn()
        self._under_way.pop()
        if self.listener is not None:
            self.listener(self._under_way[-1] if self._under_way else None)

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._under_way:
            self.seconds[self._under_way[-1]] += now - self._since
        self._since = now


class _Spent:
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
"""Those of this process."""


def summary(accounts: ActivityTimers) -> str | None:
    """What was run, in a line; None where no step was."""
    if not accounts.steps:
        return None
    total = accounts.elapsed()
    parts = [f"{name} {seconds:.1f} s" for name, seconds in (
        ("input", accounts.seconds[INPUT]), ("device", accounts.seconds[RUNNING]),
        ("compilation", accounts.seconds[COMPILATION]), ("saving", accounts.seconds[SAVING]),
        ("the program itself", total - sum(accounts.seconds.values())),
    )]  # fmt: skip
    return f"{accounts.steps} steps in {total:.1f} s: {', '.join(parts)}"
