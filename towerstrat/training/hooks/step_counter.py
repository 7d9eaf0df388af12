"""``tf.train.StepCounterHook``: steps per second."""

from __future__ import annotations

from towerstrat.platform import logs, messages
from towerstrat.training.base import global_step as steps
from towerstrat.training.hooks.checkpoint_saver import runs_until_trigger
from towerstrat.training.hooks.global_step_read import required_step_read
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.timers import SecondOrStepTimer
from towerstrat.training.summaries.file_writer import FileWriter, FileWriterCache

_RUNS_WITHOUT_STEP = 20


class StepCounterHook(SessionRunHook):
    """Logs, and writes as a summary, how many steps a second makes.

    Args:
      every_n_steps: steps between two lines. every_n_secs: seconds between them; one of the two.
      output_dir: the folder of the event file. summary_writer: instead, a ``FileWriter``; neither: only logs.

    Raises:
      ValueError: both intervals or none. RuntimeError: in ``begin``, there is no global step.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
    ):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_global_step: int | None = None
        self._global_step_check_count = 0
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step_tensor = required_step_read("StepCounterHook")
        self._summary_tag = f"{steps.get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        before = run_values.results
        if self._timer.should_trigger_for_step(before + self._steps_per_run):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                elapsed_time, elapsed_steps = self._timer.update_last_triggered_step(step)
                if elapsed_time is not None and elapsed_steps is not None:
                    self._log_and_record(elapsed_steps, elapsed_time, step)
        self._check_progress(before)

    def steps_until_session_use(self, step: int) -> int | None:
        return runs_until_trigger(self._timer, step, self._steps_per_run)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        steps_per_sec = elapsed_steps / elapsed_time if elapsed_time > 0 else float("inf")
        if self._summary_writer is not None:
            value = messages.Summary.Value(tag=self._summary_tag, simple_value=steps_per_sec)
            self._summary_writer.add_summary(messages.Summary(value=[value]), global_step)
        logs.info("%s: %g", self._summary_tag, steps_per_sec)

    def _check_progress(self, before: int) -> None:
        """Warns where the step stays the same: once in so many runs, as some optimizers add nothing in some."""
        self._global_step_check_count = self._global_step_check_count + 1 if before == self._last_global_step else 0
        if self._global_step_check_count == _RUNS_WITHOUT_STEP:
            self._global_step_check_count = 0
            logs.warning(
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be "
                "stable): %s vs previous value: %s. You could increase the global step by passing "
                "tf.train.get_global_step() to Optimizer.apply_gradients or Optimizer.minimize.",
                before, self._last_global_step,
            )  # fmt: skip
        self._last_global_step = before
