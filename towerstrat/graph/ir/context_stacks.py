"""Thread-local stacks of contexts: graphs, sessions, trace contexts of strategies.

Each thread has its own stack and default, as in TensorFlow: a graph that was entered in one thread is not current in
another.

>>> stack = Stack()
>>> with stack.entered("outer"), stack.entered("inner"):
...     stack.current()
'inner'
>>> stack.current() is None
True

The protocols ``TraceContext`` and ``SessionLike`` are here so that tensors and variables need not import sessions and
strategies: imports run one way.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from towerstrat.platform.threads import ThreadState

if TYPE_CHECKING:
    from towerstrat.graph.ir.argument_types import Fetches
    from towerstrat.graph.ir.graph import Graph
    from towerstrat.graph.ir.graph_elements import Tensor
    from towerstrat.graph.ir.state import StateStore

T = TypeVar("T")


class Entered(Generic[T]):
    """A context manager that pushes a value on a stack. Garbage collection of one that is never left pops nothing."""

    __slots__ = ("stack", "value")

    def __init__(self, stack: Stack[T], value: T):
        self.stack = stack
        self.value = value

    def __enter__(self) -> T:
        self.stack.entries.append(self.value)
        return self.value

    def __exit__(self, *exc: object) -> None:
        self.stack.entries.pop()


class Stack(ThreadState, Generic[T]):
    """A stack per thread with a default below it; ``default`` belongs to the thread too."""

    def __init__(self) -> None:
        self.entries: list[T] = []
        self.default: T | None = None

    def entered(self, value: T) -> Entered[T]:
        """A context manager inside which ``value`` is current."""
        return Entered(self, value)

    def current(self) -> T | None:
        """The value on top, else the default."""
        return self.entries[-1] if self.entries else self.default


class TraceContext(Protocol):
    """The context that code is traced in, besides graphs, such as a strategy's tower context."""

    def trace_key(self) -> Hashable:
        """Part of the key of a function's traces: functions are traced once for each."""

    def written(self, variable: Any, type: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Hook before an operation that writes a variable is added; returns its (replaced) inputs.

        Args:
          variable: the ``Variable``.
          type: the operation's type.
          inputs: its inputs after the variable's handle.
        """


TRACE_CONTEXTS: Stack[TraceContext] = Stack()
"""The ``TraceContext`` of the code that runs; None where there is none."""


class SessionLike(Protocol):
    """The part of a session that tensors, operations and variables need."""

    @property
    def graph(self) -> Graph: ...

    @property
    def state(self) -> StateStore: ...

    def run(self, fetches: Fetches, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of a structure of fetches, with the tensors in ``feed_dict`` replaced."""


SESSIONS: Stack[SessionLike] = Stack()


def get_default_session() -> SessionLike | None:
    """The session that ``Tensor.eval`` and ``Operation.run`` use, or None."""
    return SESSIONS.current()
