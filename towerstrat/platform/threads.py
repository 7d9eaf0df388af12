"""Thread-local state that a new thread can inherit.

Stacks of what is current (graph, scopes, strategy) are thread-local, as in TensorFlow. But a tower's thread continues
what its parent does and must begin with its stacks: with copies, since both change them from then on.

    >>> class Stack(ThreadState):
    ...     def __init__(self):
    ...         self.items = []
    >>> stack = Stack()
    >>> stack.items.append("outer")
    >>> take = handed_on()                                     # in the parent: a snapshot
    >>> def work():
    ...     take()                                             # in the child: a copy of it
    ...     print(stack.items)
    >>> thread = threading.Thread(target=work)
    >>> thread.start(), thread.join()
    ['outer']
    (None, None)
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Self


class ThreadState(threading.local):
    """Base class of thread-local state; all instances of the process take part in ``handed_on``."""

    _of_process: ClassVar[weakref.WeakSet[ThreadState]] = weakref.WeakSet()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        state = super().__new__(cls)
        ThreadState._of_process.add(state)
        return state


def handed_on() -> Callable[[], None]:
    """Snapshot this thread's state; return a function that copies it to the thread that calls it."""
    snapshot = [(state, {k: _shallow_copy(v) for k, v in vars(state).items()}) for state in ThreadState._of_process]

    def take() -> None:
        for state, values in snapshot:
            vars(state).update({k: _shallow_copy(v) for k, v in values.items()})

    return take


def _shallow_copy(value: Any) -> Any:
    """A shallow copy of a list or dictionary, which the thread may change; other values are shared."""
    return value.copy() if type(value) in (list, dict) else value
