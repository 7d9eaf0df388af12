"""Timeouts of session runs: ``timeout_in_ms`` of ``RunOptions``, ``operation_timeout_in_ms`` of ``ConfigProto``.

The session sets a deadline for its thread; whatever may block in that thread, such as taking from an empty queue, waits
through ``DEADLINE.wait_for``, which raises DeadlineExceededError when the time is up. Time spent computing is never
interrupted: XLA programs cannot be.

    >>> changed = threading.Condition()
    >>> with DEADLINE.within(1), changed:
    ...     DEADLINE.wait_for(changed, lambda: False, "an element of a data set")
    Traceback (most recent call last):
    towerstrat.errors.DeadlineExceededError: The run waited for an element of a data set, and did not end ...
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from towerstrat.errors import DeadlineExceededError, FailedOperation
from towerstrat.platform.threads import ThreadState


class Deadline(ThreadState):
    """The deadline of this thread's current run, if it has one.

    Attributes:
      milliseconds: the timeout; 0: none. end: the deadline on the clock of ``time.monotonic``, in seconds.
    """

    milliseconds = 0
    end = 0.0

    @contextmanager
    def within(self, milliseconds: int) -> Iterator[None]:
        """Set the deadline for the block; 0 or less: keep that of the block around it."""
        if milliseconds <= 0:
            yield
            return
        before = self.milliseconds, self.end
        self.milliseconds, self.end = milliseconds, time.monotonic() + milliseconds / 1000
        try:
            yield
        finally:
            self.milliseconds, self.end = before

    def wait_for(
        self,
        condition: threading.Condition,
        predicate: Callable[[], bool],
        what: str,
        op: FailedOperation | None = None,
    ) -> None:
        """Wait on a condition, whose lock the caller holds, until ``predicate()`` is true.

        Args:
          condition: notified when the predicate may have changed.
          predicate: called with the lock held.
          what: noun for the message, "an element of a data set".
          op: the operation that waits, for the message.

        Raises:
          DeadlineExceededError: the deadline has passed.
        """
        left = max(0.0, self.end - time.monotonic()) if self.milliseconds else None
        if not condition.wait_for(predicate, left):
            raise DeadlineExceededError(
                None,
                op,
                f"The run waited for {what}, and did not end within {self.milliseconds} ms. Start what "
                "fills it, or raise timeout_in_ms of tf.RunOptions or operation_timeout_in_ms of tf.ConfigProto.",
            )


DEADLINE = Deadline()
