"""Until when the thread that runs a session may wait: ``operation_timeout_in_ms``, ``timeout_in_ms``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.errors import DeadlineExceededError
from towerstrat.platform.threads import ThreadState


class Deadline(ThreadState):
    """The end of this thread's waiting, if there is one.

    Attributes:
      milliseconds: how long the run may take; 0: as long as it wants.
      end: when it has taken that long, as ``time.monotonic`` says it.
    """

    milliseconds = 0
    end = 0.0

    @contextmanager
    def within(self, milliseconds: int) -> Iterator[None]:
        """Runs inside may wait so long; 0: no other limit than that around it."""
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
        self, condition: threading.Condition, predicate: Callable[[], bool], what: str, op: Any = None
    ) -> None:
        """Waits, holding a condition, until something is true.

        Args:
          what: what is waited for, in the message. op: the operation that waits.

        Raises:
          DeadlineExceededError: the time is up.
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
