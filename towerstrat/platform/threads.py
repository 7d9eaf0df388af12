"""State of threads that other threads can begin with."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Self


class ThreadState(threading.local):
    """A base for what each thread has for itself, such as a stack of what is current.

    A thread that takes part in what another one does can begin with a copy of the other's: see ``handed_on``.
    """

    _of_process: ClassVar[weakref.WeakSet[ThreadState]] = weakref.WeakSet()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        state = super().__new__(cls)
        ThreadState._of_process.add(state)
        return state


def handed_on() -> Callable[[], None]:
    """What this thread has, for another one: a function that gives the thread that calls it a copy."""
    found = [(state, {k: _copied(v) for k, v in vars(state).items()}) for state in ThreadState._of_process]

    def take() -> None:
        for state, values in found:
            vars(state).update({k: _copied(v) for k, v in values.items()})

    return take


def _copied(value: Any) -> Any:
    """A list or dictionary of its own, which the thread may change; other values are shared."""
    return value.copy() if type(value) in (list, dict) else value
