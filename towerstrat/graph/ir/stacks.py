"""What is current in a thread: graphs, sessions, strategies' contexts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol


class Entered:
    """Inside, a value is the current one of a stack. One that is never left changes nothing when it is forgotten."""

    __slots__ = ("stack", "value")

    def __init__(self, stack: Stack, value: Any):
        self.stack = stack
        self.value = value

    def __enter__(self) -> Any:
        self.stack.entries.append(self.value)
        return self.value

    def __exit__(self, *exc: Any) -> None:
        self.stack.entries.pop()


class Stack(threading.local):
    """What is current in a thread: graphs, sessions, strategies' contexts."""

    def __init__(self, make_default: Callable[[], Any] | None = None) -> None:
        self.entries: list[Any] = []
        self.make_default = make_default
        self.default: Any = None

    def entered(self, value: Any) -> Entered:
        """A context manager in which a value is current."""
        return Entered(self, value)

    def current(self) -> Any:
        if self.entries:
            return self.entries[-1]
        if self.default is None and self.make_default is not None:
            self.default = self.make_default()
        return self.default


class Surrounding(Protocol):
    """What surrounds a trace besides graphs: who runs the code, as a strategy's context says."""

    def trace_key(self) -> Hashable:
        """What a function's traces depend on: a function is traced once for each."""

    def written(self, variable: Any, type: str, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs of an operation that is about to write a variable, as that operation shall get them.

        Args:
          variable: the ``Variable``.
          type: the operation's type.
          inputs: its inputs after the variable's handle.
        """


SURROUNDINGS = Stack()
"""The ``Surrounding`` of the code that runs; None where there is none."""

SESSIONS = Stack()


def get_default_session() -> Any:
    """The session that ``Tensor.eval`` and ``Operation.run`` use, or None."""
    return SESSIONS.current()
