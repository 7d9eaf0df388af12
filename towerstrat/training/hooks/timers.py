"""When a hook acts: each n steps or seconds, or never."""

from __future__ import annotations

import time

from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

_CAUTION = 0.5
"""Where processes agree on the time, they do so after this part of the steps that are expected until the trigger."""


class SecondOrStepTimer:
    """Triggers at the first step, and then once in so many seconds or steps.

    Seconds are those of ``time.time``. Where that clock is set back they are counted on from there, so that nothing
    waits until it has caught up; where it is set forward the next step triggers, once.

    Args:
      every_secs: seconds between two triggers.
      every_steps: steps between two triggers; one of the two is given.

    Raises:
      ValueError: neither or both are given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets the last trigger: the next step triggers."""
        self._last_triggered_step: int | None = None
        self._last_triggered_time: float | None = None
        self._seen = -float("inf")
        self._next_look = 0

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether the time has come; never twice for one step."""
        if self._last_triggered_step is None or self._last_triggered_time is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return self._has_passed(step, self._last_triggered_step, self._every_secs)
        assert self._every_steps is not None
        return bool(step >= self._last_triggered_step + self._every_steps)

    def _passed(self) -> float | None:
        """Seconds since the last trigger, never less than none; None before the first."""
        now = time.time()
        if self._last_triggered_time is not None and now < self._seen:
            self._last_triggered_time -= self._seen - now
        self._seen = now
        return None if self._last_triggered_time is None else now - self._last_triggered_time

    def _has_passed(self, step: int, last_step: int, seconds: float) -> bool:
        """Whether so many seconds have passed since the last trigger.

        Processes that run together go by the first one's clock, at steps that they all know beforehand: few, nearer to
        one another as the time comes.
        """
        if PROCESSES.in_lockstep and step < self._next_look:
            return False
        passed = self._passed()
        assert passed is not None
        if not PROCESSES.in_lockstep:
            return passed >= seconds
        passed = COLLECTIVES.broadcast(passed)
        left = (seconds - passed) / max(passed, 1e-9) * (step - last_step)
        self._next_look = step + max(1, int(min(left, step - last_step) * _CAUTION))
        return passed >= seconds

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Enters a trigger.

        Returns:
          Seconds and steps since the one before it; None, None for the first one.
        """
        passed = self._passed()
        elapsed = (passed, None if self._last_triggered_step is None else step - self._last_triggered_step)
        self._last_triggered_time = self._seen
        self._last_triggered_step = step
        self._next_look = step + 1
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step of the last trigger; None before the first."""
        return self._last_triggered_step

    def steps_until_trigger(self, step: int) -> int | None:
        """How many steps after ``step`` comes the first that triggers; None where the clock decides."""
        if self._last_triggered_step is None:
            return 0
        if self._every_steps is None:
            return None
        left = max(0, int(self._last_triggered_step + self._every_steps - step))
        return left + int(step + left == self._last_triggered_step)


class NeverTriggerTimer(SecondOrStepTimer):
    """Triggers at no step."""

    def __init__(self) -> None:
        super().__init__(every_steps=0)

    def should_trigger_for_step(self, step: int) -> bool:
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        return None, None

    def steps_until_trigger(self, step: int) -> int | None:
        return None
