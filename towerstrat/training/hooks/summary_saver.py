"""``tf.train.SummarySaverHook``: writes what summary operations give."""

from __future__ import annotations

from typing import Any, Protocol

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import messages
from towerstrat.training.hooks.global_step_read import required_step_read
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.timers import SecondOrStepTimer
from towerstrat.training.summaries.file_writer import FileWriter, FileWriterCache


class HasSummary(Protocol):
    """The part of a ``Scaffold`` that summarizes."""

    @property
    def summary_op(self) -> Tensor | None: ...


class SummarySaverHook(SessionRunHook):
    """Fetches summaries in the first run, and then each n steps or seconds, and writes them with their step.

    Args:
      save_steps: steps between summaries. save_secs: seconds between them; one of the two.
      output_dir: the folder of the event file. summary_writer: instead, a ``FileWriter``.
      scaffold: a ``Scaffold``, whose ``summary_op`` is taken.
      summary_op: instead, a string tensor with a serialized ``Summary``, or a list of them.

    Raises:
      ValueError: both intervals or none; both of ``scaffold`` and ``summary_op`` or none. RuntimeError: in ``begin``,
        there is no global step.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: HasSummary | None = None,
        summary_op: Tensor | list[Tensor] | None = None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._global_step_tensor = required_step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests: dict[str, Any] = {"global_step": self._global_step_tensor}
        summary_op = self._get_summary_op()
        if self._request_summary and summary_op is not None:
            requests["summary"] = summary_op
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._summary_writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._request_summary:
            step = run_context.session.run(self._global_step_tensor)
        if self._next_step is None:
            self._summary_writer.add_session_log(messages.SessionLog(status=messages.SessionLog.START), step)
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: SessionLike | None = None) -> None:
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def steps_until_session_use(self, step: int) -> int | None:
        if self._summary_writer is None:
            return None  # it fetches the summaries in each run, and drops them
        if self._next_step is None or self._request_summary:
            return 1
        return self._timer.steps_until_trigger(self._next_step)

    def _get_summary_op(self) -> list[Tensor] | None:
        found = self._scaffold.summary_op if self._summary_op is None and self._scaffold else self._summary_op
        return found if found is None or isinstance(found, list) else [found]
