"""A hook that shows a person how far a session is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.platform.coordinator import Coordinator
from towerstrat.platform.progress import Display
from towerstrat.training.base.global_step import get_global_step
from towerstrat.training.hooks.nan_tensor import NanTensorHook
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.stop_at_step import MultiStepStopAtStepHook, StopAtStepHook


class ProgressHook(SessionRunHook):
    """Tells a display of each run: the step, the last one, the loss.

    Args:
      display: where it is shown.
      hooks: the session's others, of which some know where it stops, and what the loss is.
    """

    def __init__(self, display: Display, hooks: Sequence[SessionRunHook]):
        self._display = display
        self._hooks = hooks
        self._fetches: dict[str, Any] = {}
        self._batch: int | None = None
        self._last: int | None = None

    def begin(self) -> None:
        graph = get_default_graph()
        evaluated = graph.get_collection(GraphKeys.EVAL_STEP)
        step = evaluated[0] if evaluated else get_global_step(graph)
        losses = [hook._loss_tensor for hook in self._hooks if isinstance(hook, NanTensorHook)]
        losses += graph.get_collection(GraphKeys.LOSSES)
        self._fetches = {} if step is None else {"step": step}
        if step is not None and losses and not evaluated:
            self._fetches["loss"] = losses[0]
        self._batch = _batch(graph)
        self._display.begin("evaluating: step" if evaluated else "step")

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        stops = [h._last_step for h in self._hooks if isinstance(h, StopAtStepHook | MultiStepStopAtStepHook)]
        self._last = min((int(step) for step in stops if step is not None), default=None)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._fetches) if self._fetches else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not self._fetches:
            return
        loss = run_values.results.get("loss")
        number = None if loss is None or np.size(loss) != 1 else float(loss)
        self._display.steps(int(run_values.results["step"]), self._last, number, self._batch)

    def steps_until_session_use(self, step: int) -> int | None:
        return None

    def end(self, session: SessionLike) -> None:
        self._display.end()


def _batch(graph: Graph) -> int | None:
    """The number of examples of a step, where the graph knows it."""
    for op in graph.get_operations():
        if "takes" in op.attrs and op.outputs and op.outputs[0].dims:
            return op.outputs[0].dims[0]
    return None
