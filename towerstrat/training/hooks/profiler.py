"""``tf.train.ProfilerHook``: where the time of a run goes."""

from __future__ import annotations

import os

import jax

from towerstrat.graph.runtime.sessions.timeline import Timeline
from towerstrat.platform import logs, messages
from towerstrat.platform.storage import storage_of
from towerstrat.training.hooks.global_step_read import required_step_read
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.timers import SecondOrStepTimer
from towerstrat.training.summaries.file_writer import FileWriterCache


class _Trace:
    """The profile by ``jax.profiler``, one at a time in a process.

    Attributes:
      run: that it is taken of; None: none is taken.
    """

    def __init__(self) -> None:
        self.run: SessionRunContext | None = None

    def start(self, run: SessionRunContext, folder: str) -> None:
        """Begins the profile of a run, and ends that of a run which failed. One that the program takes goes on."""
        if self.run is not None and self.run is not run:
            self.stop(self.run)
        try:
            jax.profiler.start_trace(folder)
        except RuntimeError as error:
            logs.info("ProfilerHook: no profile by jax.profiler of this run: %s", error)
        else:
            self.run = run

    def stop(self, run: SessionRunContext) -> None:
        """Ends the profile of a run, if there is one."""
        if self.run is run:
            self.run = None
            jax.profiler.stop_trace()


_TRACE = _Trace()


class ProfilerHook(SessionRunHook):
    """Profiles one run each n steps or seconds, but for the first runs, which compile.

    For each it writes ``timeline-STEP.json`` in Chrome's trace format (chrome://tracing, ui.perfetto.dev), the run's
    metadata to the event file, and a profile by ``jax.profiler``, which looks inside of the device programs: below
    ``plugins/profile``, where TensorBoard's profiler and xprof find it.

    Args:
      save_steps: steps between profiles. save_secs: seconds between them; one of the two.
      output_dir: the folder of all of them, default the working directory.
      show_dataflow, show_memory: see ``Timeline.generate_chrome_trace_format``.

    Raises:
      ValueError: both intervals or none. RuntimeError: in ``begin``, there is no global step.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ):
        self._output_dir = output_dir
        self._file_writer = FileWriterCache.get(output_dir or ".")
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._next_step: int | None = None
        self._global_step_tensor = required_step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = None
        if self._request:
            options = messages.RunOptions(trace_level=messages.RunOptions.FULL_TRACE)
            _TRACE.start(run_context, self._output_dir or ".")
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        before = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._request:
            _TRACE.stop(run_context)
            assert run_values.run_metadata is not None
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata)
        self._next_step = step + 1

    def steps_until_session_use(self, step: int) -> int | None:
        if self._next_step is None or self._request:
            return 1
        return self._timer.steps_until_trigger(self._next_step)

    def _save(self, step: int, metadata: messages.RunMetadata) -> None:
        path = os.path.join(self._output_dir, f"timeline-{step}.json")
        logs.info("Saving timeline for %d into '%s'.", step, path)
        trace = Timeline(metadata.step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with storage_of(path).writing(path) as file:
            file.write(trace.encode())
        self._file_writer.add_run_metadata(metadata, f"step_{step}")
