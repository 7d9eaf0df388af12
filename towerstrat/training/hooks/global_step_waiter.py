"""``tf.train.GlobalStepWaiterHook``."""

from __future__ import annotations

import time

from towerstrat.platform import logs
from towerstrat.training.hooks.global_step_read import required_step_read
from towerstrat.training.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first run until the global step has reached a number: workers begin one after the other.

    Args:
      wait_until_step: the global step.
    """

    def __init__(self, wait_until_step: int):
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._worker_is_started = False
        self._global_step_tensor = required_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        if not self._worker_is_started:
            if self._wait_until_step > 0:
                self._wait(run_context)
            self._worker_is_started = True
        return None

    def _wait(self, run_context: SessionRunContext) -> None:
        logs.info("Waiting for global step %d before starting training.", self._wait_until_step)
        last_logged = 0
        while (step := run_context.session.run(self._global_step_tensor)) < self._wait_until_step:
            if step - last_logged > 1000:
                logs.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step, step,
                )  # fmt: skip
                last_logged = step
            time.sleep(0.5)

    def steps_until_session_use(self, step: int) -> int | None:
        return None
