"""What is current in a thread: graphs, sessions, strategies' contexts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Stack(threading.local):
    """What is current in a thread: graphs, sessions, strategies' contexts."""

    def __init__(self, make_default: Callable[[], Any] | None = None) -> None:
        self.entries: list[Any] = []
        self.make_default = make_default
        self.default: Any = None

    @contextmanager
    def entered(self, value: Any) -> Iterator[Any]:
        self.entries.append(value)
        try:
            yield value
        finally:
            self.entries.pop()

    def current(self) -> Any:
        if self.entries:
            return self.entries[-1]
        if self.default is None and self.make_default is not None:
            self.default = self.make_default()
        return self.default


SESSIONS = Stack()


def get_default_session() -> Any:
    """The session that ``Tensor.eval`` and ``Operation.run`` use, or None."""
    return SESSIONS.current()
