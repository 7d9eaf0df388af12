"""The elements of a queue in a session, and the threads that wait for it.

Source: ``tensorflow/core/kernels/queue_base.cc`` and the files of its subclasses.
"""

from __future__ import annotations

import bisect
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from towerstrat.errors import CancelledError, OutOfRangeError
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.platform.deadlines import DEADLINE

Element = Sequence[np.ndarray[Any, Any]]
"""The components of one element."""


class FirstInFirstOut:
    """Elements in the order in which they came."""

    def __init__(self) -> None:
        self.elements: deque[Element] = deque()

    def __len__(self) -> int:
        return len(self.elements)

    def put(self, element: Element) -> None:
        self.elements.append(element)

    def take(self) -> Element:
        return self.elements.popleft()

    def put_back(self, elements: Sequence[Element]) -> None:
        """Undoes the latest calls of ``take``."""
        self.elements.extendleft(reversed(elements))


class Shuffled(FirstInFirstOut):
    """Elements in random order.

    Args:
      seed: the same elements come in the same order for the same seed.
    """

    def __init__(self, seed: Sequence[int]) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)

    def take(self) -> Element:
        place = int(self.random.integers(len(self.elements)))
        self.elements[0], self.elements[place] = self.elements[place], self.elements[0]
        return self.elements.popleft()


class Prioritized(FirstInFirstOut):
    """Elements by their first component, the smallest first; of equal ones, the one that came first."""

    def __init__(self) -> None:
        super().__init__()
        self.count = itertools.count()
        self.ordered: list[tuple[int, int, Element]] = []

    def __len__(self) -> int:
        return len(self.ordered)

    def put(self, element: Element) -> None:
        bisect.insort(self.ordered, (int(element[0]), next(self.count), element))

    def take(self) -> Element:
        return self.ordered.pop(0)[2]

    def put_back(self, elements: Sequence[Element]) -> None:
        for element in elements:
            self.put(element)


class Waiter(Protocol):
    """A session whose operation may wait."""

    closed: bool


class _Attempt:
    """An operation in the line at one end of a queue. The closing of its session ends it."""

    def __init__(self, session: Waiter):
        self._session = session
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        return self._cancelled or self._session.closed

    def cancel(self) -> None:
        self._cancelled = True


class QueueState:
    """A bounded queue that threads wait for, in the order in which they came.

    Args:
      name: in messages.
      capacity: the most elements that it holds.
      elements: which one comes next.
      keep: the number of elements that stay in the queue until it is closed.

    Attributes:
      closed: whether nothing is added any more.
    """

    def __init__(self, name: str, capacity: int, elements: FirstInFirstOut, keep: int = 0):
        self.name = name
        self.capacity = capacity
        self.elements = elements
        self.keep = keep
        self.closed = False
        self._changed = threading.Condition()
        self._putting: deque[_Attempt] = deque()
        self._taking: deque[_Attempt] = deque()

    def __len__(self) -> int:
        return len(self.elements)

    @contextmanager
    def _turn(self, line: deque[_Attempt], op: Operation, session: Waiter) -> Iterator[_Attempt]:
        """Waits until all attempts before this one are done, or this one is cancelled."""
        attempt = _Attempt(session)
        with self._changed:
            line.append(attempt)
            try:
                self._wait(lambda: attempt.cancelled or line[0] is attempt, "its turn", op)
                yield attempt
            finally:
                line.remove(attempt)
                self._changed.notify_all()

    def _wait(self, predicate: Callable[[], bool], what: str, op: Operation) -> None:
        DEADLINE.wait_for(self._changed, predicate, f"{what} in {self.name}", op)

    def put(self, elements: Sequence[Element], op: Operation, session: Waiter) -> None:
        """Adds elements, each as soon as there is room for it.

        Raises:
          CancelledError: the queue is closed, or is closed while this waits and cancels what is pending.
          DeadlineExceededError: the run may not wait any longer.
        """
        with self._turn(self._putting, op, session) as attempt:
            for element in elements:
                self._wait(lambda: attempt.cancelled or self.closed or len(self.elements) < self.capacity, "room", op)
                if attempt.cancelled:
                    raise CancelledError(None, op, "Enqueue operation was cancelled")
                if self.closed:
                    raise CancelledError(None, op, f"{self.name} is closed.")
                self.elements.put(element)
                self._changed.notify_all()

    def take(self, count: int, fewer: bool, op: Operation, session: Waiter) -> list[Element]:
        """Takes elements, each as soon as it is there.

        Args:
          fewer: whether a closed queue gives what is left of it, if that is not nothing.

        Raises:
          OutOfRangeError: the queue is closed and has not as many; it keeps what it has.
          CancelledError: the session was closed. DeadlineExceededError: the run may not wait any longer.
        """
        taken: list[Element] = []
        with self._turn(self._taking, op, session) as attempt:
            try:
                while len(taken) < count:
                    self._wait(
                        lambda: attempt.cancelled or self.closed or len(self.elements) > self.keep, "an element", op
                    )
                    if attempt.cancelled:
                        raise CancelledError(None, op, "Dequeue operation was cancelled")
                    left = len(taken) + len(self.elements)
                    if self.closed and left < count:
                        if not fewer or not left:
                            raise self._exhausted(count, left, op)
                        count = left
                    keep = 0 if self.closed else self.keep
                    while len(taken) < count and len(self.elements) > keep:
                        taken.append(self.elements.take())
                    self._changed.notify_all()
            except BaseException:
                self.elements.put_back(taken)
                raise
        return taken

    def _exhausted(self, count: int, left: int, op: Operation) -> OutOfRangeError:
        return OutOfRangeError(
            None,
            op,
            f"{self.name} is closed and has insufficient elements (requested {count}, current size {left})",
        )

    def close(self, cancel_pending: bool, op: Operation, session: Waiter) -> None:
        """Closes the queue: when what is being added has been added, or at once, which cancels that.

        Raises:
          CancelledError: it is closed already, and nothing is to be cancelled.
        """
        if not cancel_pending:
            with self._turn(self._putting, op, session):
                if self.closed:
                    raise CancelledError(None, op, f"{self.name} is already closed.")
                self.closed = True
            return
        with self._changed:
            self.closed = True
            self._cancel(self._putting)

    def cancel(self) -> None:
        """Ends all waiting, as its session is closed."""
        with self._changed:
            self.closed = True
            self._cancel(self._putting)
            self._cancel(self._taking)

    def wake(self) -> None:
        """Ends the waiting of sessions that are closed."""
        with self._changed:
            self._changed.notify_all()

    def _cancel(self, line: deque[_Attempt]) -> None:
        for attempt in line:
            attempt.cancel()
        self._changed.notify_all()
