"""``tf.train.LoggingTensorHook``: values of tensors in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import logs
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.timers import NeverTriggerTimer, SecondOrStepTimer


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors each n runs or seconds, and at the end, at the level INFO.

    Args:
      tensors: tensors, variables or names, or a dictionary of them by the label that is logged.
      every_n_iter: runs between two lines. every_n_secs: seconds between them; one of the two, unless ``at_end``.
      at_end: logs when the session ends, too: a run of its own.
      formatter: function from the dictionary of label and value to the line; default "label = value, ...".

    Raises:
      ValueError: none or two of the intervals are given, or ``every_n_iter`` is below 1.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ):
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, Mapping):
            self._tensors: Mapping[Any, Any] = tensors
            self._tag_order = sorted(tensors)
        else:
            self._tag_order = list(tensors)
            self._tensors = {item: item for item in self._tag_order}
        self._formatter = formatter
        self._every_n_iter = every_n_iter
        self._timer = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._log_at_end = at_end

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        graph = get_default_graph()
        self._current_tensors = {tag: _element(graph, tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: SessionLike) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def steps_until_session_use(self, step: int) -> int | None:
        if self._every_n_iter == 1:
            return None  # it fetches the same in each run
        return 1 if self._should_trigger else self._timer.steps_until_trigger(self._iter_count)

    def fetched_at_times(self) -> Iterable[Any]:
        return self._current_tensors.values()

    def _log_tensors(self, tensor_values: dict[Any, Any]) -> None:
        elapsed, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter:
                logs.info(self._formatter(tensor_values))
                return
            line = ", ".join(f"{tag!s} = {tensor_values[tag]!s}" for tag in self._tag_order)
            logs.info("%s", line if elapsed is None else f"{line} ({elapsed:.3f} sec)")


def _element(graph: Graph, given: Any) -> Any:
    """A graph's tensor or variable, given itself or by name, without ``:0`` where its operation has one output."""
    if not isinstance(given, str):
        if getattr(given, "graph", None) is not graph:
            raise ValueError(f"Passed {given} should have graph attribute that is equal to current graph {graph}.")
        return given
    if ":" in given:
        return graph.as_graph_element(given)
    element: Tensor = graph.as_graph_element(f"{given}:0")
    if len(element.op.outputs) > 1:
        raise ValueError(f"Name {given} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return element
