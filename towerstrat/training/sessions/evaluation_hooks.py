"""Hooks of evaluations: when to stop, and a summary at the end.

Source: ``tensorflow/python/training/evaluation.py``, ``tensorflow/contrib/training/python/training/evaluation.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import logs
from towerstrat.platform.coordinator import Coordinator
from towerstrat.training.base.global_step import get_or_create_global_step, global_step
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.steps_per_run import get_or_create_steps_per_run_variable
from towerstrat.training.summaries.file_writer import FileWriter, FileWriterCache
from towerstrat.training.summaries.summary import merge_all


class EvaluationLimit(SessionRunHook):
    """Counts evaluations, and stops after so many. ``evaluate_once`` gives it the tensor that counts.

    Args:
      num_evals: None: until the data ends.
    """

    def __init__(self, num_evals: int | None):
        self._num_evals = num_evals
        self._evals_completed: Tensor | None = None
        self._steps_per_run = 1
        self._completed = 0

    def _set_evals_completed_tensor(self, updated_eval_step: Tensor) -> None:
        self._evals_completed = updated_eval_step

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        self._completed = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._completed = int(run_values.results["evals_completed"])
        if self._num_evals is not None and self._completed >= self._num_evals:
            run_context.request_stop()

    def steps_until_session_use(self, step: int) -> int | None:
        if self._num_evals is None:
            return None
        return max(1, (self._num_evals - self._completed) // self._steps_per_run)

    def _log(self) -> None:
        if self._num_evals is None:
            logs.info("Evaluation [%d]", self._completed)
        else:
            logs.info("Evaluation [%d/%d]", self._completed, self._num_evals)


class StopAfterNEvalsHook(EvaluationLimit):
    """Stops after ``num_evals`` evaluations, or None for the end of the data; logs each, or ten of 20 and more.

    Args:
      num_evals: how many. log_progress: whether it logs.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True):
        super().__init__(num_evals)
        self._log_progress = log_progress
        self._log_frequency = 1 if num_evals is None or num_evals < 20 else math.floor(num_evals / 10)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        super().after_run(run_context, run_values)
        if self._log_progress and (
            self._num_evals is None or self._completed % self._log_frequency == 0 or self._completed == self._num_evals
        ):
            self._log()


class MultiStepStopAfterNEvalsHook(EvaluationLimit):
    """Stops after ``num_evals`` evaluations of which each run makes several; says how many by ``steps_per_run``.

    Args:
      num_evals: how many; None: until the data ends. steps_per_run: how many a run makes, the last one fewer.
    """

    def __init__(self, num_evals: int | None, steps_per_run: int = 1):
        super().__init__(num_evals)
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        self._variable = get_or_create_steps_per_run_variable()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        super().after_create_session(session, coord)
        self._set_steps(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        super().after_run(run_context, run_values)
        self._set_steps(run_context.session)
        self._log()

    def _set_steps(self, session: SessionLike) -> None:
        left = math.inf if self._num_evals is None else self._num_evals - self._completed
        self._variable.load(min(left, self._steps_per_run), session)


class SummaryAtEndHook(SessionRunHook):
    """Writes a summary when the session ends.

    Args:
      log_dir: the folder to write to. summary_writer: a ``FileWriter`` to use instead.
      summary_op: a serialized ``Summary``, a scalar string tensor; default all summaries of the graph.
      feed_dict: what is fed to it.

    Raises:
      ValueError: neither a folder nor a writer.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        summary_op: Tensor | None = None,
        feed_dict: Mapping[Any, Any] | None = None,
    ):
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._log_dir = log_dir
        self._summary_writer = summary_writer
        self._summary_op = summary_op
        self._all_summaries = summary_op is None
        self._feed_dict = feed_dict

    def begin(self) -> None:
        if self._all_summaries:
            self._summary_op = merge_all()
        self._global_step = get_or_create_global_step()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        if self._summary_writer is None and self._log_dir:
            self._summary_writer = FileWriterCache.get(self._log_dir)

    def end(self, session: SessionLike) -> None:
        if self._summary_op is not None:
            step = global_step(session, self._global_step)
            summary = session.run(self._summary_op, self._feed_dict)
            if self._summary_writer is not None:
                self._summary_writer.add_summary(summary, step)
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def steps_until_session_use(self, step: int) -> int | None:
        return None
