"""Hooks of a ``TPUEstimator``: how many steps the next run makes, and how many examples a second there are."""

from __future__ import annotations

import time
from typing import Any

from towerstrat.compat.estimator.tpu.package_modules import loaded
from towerstrat.platform import logs, messages
from towerstrat.training.hooks.session_run_hook import SessionRunContext, SessionRunValues
from towerstrat.training.hooks.step_counter import StepCounterHook
from towerstrat.training.hooks.stop_at_step import MultiStepStopAtStepHook


class ExamplesPerSecondHook(StepCounterHook):
    """Logs, and writes as summaries, how many steps and how many examples a second has.

    Args:
      batch_size: examples of a step.
      every_n_steps, every_n_secs, output_dir, summary_writer: see ``StepCounterHook``.
    """

    def __init__(
        self,
        batch_size: int,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ):
        self._batch_size = batch_size
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        super()._log_and_record(elapsed_steps, elapsed_time, global_step)
        examples = self._batch_size * elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            value = messages.Summary.Value(tag="examples/sec", simple_value=examples)
            self._summary_writer.add_summary(messages.Summary(value=[value]), global_step)
        logs.info("examples/sec: %g", examples)


class TimedStopAtStepHook(MultiStepStopAtStepHook):
    """As ``MultiStepStopAtStepHook``, with as many steps in a run as take so many seconds.

    Args:
      seconds: that a run shall take; the first one makes a single step.
    """

    def __init__(self, num_steps: int | None, last_step: int | None, seconds: int):
        super().__init__(num_steps, last_step, 1)
        self._seconds = seconds
        self._estimator = loaded("tpu.iteration_count_estimator").IterationCountEstimator()

    def before_run(self, run_context: SessionRunContext) -> None:
        self._start = time.perf_counter()

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._estimator.update(time.perf_counter() - self._start, self._steps_per_run_initial_value)
        self._steps_per_run_initial_value = max(1, int(self._estimator.get(self._seconds)))
        super().after_run(run_context, run_values)
