"""The threads of a supervisor: each does its work again and again until the coordinator stops.

Source: ``tensorflow/python/training/supervisor.py``.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import logs, messages
from towerstrat.platform.coordinator import Coordinator, LooperThread
from towerstrat.training.base.global_step import global_step
from towerstrat.training.saving.saver import Saver
from towerstrat.training.summaries.file_writer import FileWriter


class Supervising(Protocol):
    """What the services need of a ``Supervisor``."""

    @property
    def coord(self) -> Coordinator: ...
    @property
    def saver(self) -> Saver | None: ...
    @property
    def save_path(self) -> str | None: ...
    @property
    def save_model_secs(self) -> float | None: ...
    @property
    def save_summaries_secs(self) -> float | None: ...
    @property
    def summary_op(self) -> Tensor | None: ...
    @property
    def summary_writer(self) -> FileWriter | None: ...
    @property
    def global_step(self) -> Any: ...


class SummaryService(LooperThread):
    """Writes the summaries. Args: a ``Supervisor`` and its session."""

    def __init__(self, sv: Supervising, sess: SessionLike):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv, step = self._sv, None
        if sv.global_step is None:
            summary = self._sess.run(sv.summary_op)
        else:
            summary, step = self._sess.run([sv.summary_op, sv.global_step])
        if sv.summary_writer:
            logs.info("Recording summary at step %s.", step)
            sv.summary_writer.add_summary(summary, step)


class StepCounterService(LooperThread):
    """Writes and logs how many steps a second makes.

    Args:
      sv, sess: a ``Supervisor`` and its session. step_counter: counts the steps; default ``sv.global_step``.
    """

    def __init__(self, sv: Supervising, sess: SessionLike, step_counter: Any = None):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"
        self._last_time = 0.0
        self._last_step = 0

    def start_loop(self) -> None:
        self._last_time = time.monotonic()
        self._last_step = global_step(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step, now = global_step(self._sess, self._step_counter), time.monotonic()
        steps, seconds = step - self._last_step, now - self._last_time
        self._last_step, self._last_time = step, now
        rate = steps / seconds if seconds > 0 else float("inf")
        if self._sv.summary_writer:
            value = messages.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._sv.summary_writer.add_summary(messages.Summary(value=[value]), step)
        logs.log_first_n(logs.INFO, "%s: %g", 10, self._summary_tag, rate)


class CheckpointService(LooperThread):
    """Saves checkpoints. Args: a ``Supervisor`` with a saver, and its session."""

    def __init__(self, sv: Supervising, sess: SessionLike):
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self) -> None:
        sv = self._sv
        assert sv.saver is not None
        assert sv.save_path is not None
        logs.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            log = messages.SessionLog(status=messages.SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(log, global_step(self._sess, sv.global_step))
