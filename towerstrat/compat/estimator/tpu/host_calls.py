"""Functions of the host over what steps gave: once per step, in order, beside the steps that follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.platform import logs
from towerstrat.platform.coordinator import Coordinator
from towerstrat.training.hooks.checkpoint_saver import CheckpointSaverListener
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.summaries import contrib_summary

_LOG_SECONDS = 60
"""Between lines that say how far host calls are."""


def called(name: str, function: Callable[..., Any], tensors: Any) -> Any:
    """``function`` of the tensors: a dictionary's by name, a list's by position."""
    if not isinstance(tensors, Mapping):
        return function(*tensors)
    try:
        return function(**tensors)
    except TypeError as error:
        logs.warning(
            "Exception while calling %s: %s. It is likely the tensors (%s[1]) do not match the function's arguments",
            name, error, name,
        )  # fmt: skip
        raise


class FetchHook(SessionRunHook):
    """Runs what a host call returned in each run of the session.

    Args:
      fetches: a nest of tensors and operations.
    """

    def __init__(self, fetches: Any):
        self._fetches = fetches

    def begin(self) -> None:
        self._begin = list(contrib_summary.summary_writer_initializer_op())
        self._flush = contrib_summary.flush_all()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        session.run(self._begin)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._fetches)

    def end(self, session: SessionLike) -> None:
        session.run(self._flush)

    def steps_until_session_use(self, step: int) -> int | None:
        return None


class Stacked:
    """The values of a tensor after each step of a loop, on all towers: ``[steps, rows of all towers, ...]``.

    Args:
      parts: of each tower, or one that is all towers'.
      towers: how many there are.
    """

    def __init__(self, parts: Sequence[Tensor], towers: int):
        self.parts = list(parts)
        self._times = 1 if len(parts) == towers else towers

    def at(self, values: Sequence[np.ndarray[Any, Any]], step: int) -> np.ndarray[Any, Any]:
        """The value of one step: the towers' rows, one tower's after the other."""
        return np.concatenate([v[step] for v in values] * self._times)


class HostCallHook(SessionRunHook):
    """Runs the operations of a host call once for each step of a loop, in a thread, while the next loop is under way.

    It is at most one loop behind.

    Args:
      stacks: what the loop gives for the tensors of the call.
      holders: the placeholders that stand for them in ``fetches``.
      fetches: what runs: a nest of operations and tensors.
      every: the host call is run for each so many-th step of a loop.
    """

    def __init__(self, stacks: Sequence[Stacked], holders: Sequence[Tensor], fetches: Any, every: int = 1):
        self._stacks = stacks
        self._holders = holders
        self._fetches: list[Tensor | Operation] = [f for f in nest.flatten(fetches) if f is not None]
        self._every = every
        self._thread = ThreadPoolExecutor(1, "host call")
        self._under_way: Future[None] | None = None
        self._loops = 0
        self._logged = time.monotonic()

    def begin(self) -> None:
        self._begin = list(contrib_summary.summary_writer_initializer_op())
        self._flush = contrib_summary.flush_all()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        self._under_way = None
        session.run(self._begin)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs([stack.parts for stack in self._stacks])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._wait()
        self._under_way = self._thread.submit(self._run, run_context.session, run_values.results)

    def end(self, session: SessionLike) -> None:
        self.finish(session)
        self._thread.shutdown()

    def finish(self, session: SessionLike) -> None:
        """All calls of the loops so far are done, and what they recorded is written."""
        self._wait()
        session.run(self._flush)

    def _run(self, session: SessionLike, values: Sequence[Sequence[np.ndarray[Any, Any]]]) -> None:
        for step in range(self._every - 1, len(values[0][0]), self._every):
            pairs = zip(self._holders, self._stacks, values, strict=True)
            session.run(self._fetches, {holder: stack.at(parts, step) for holder, stack, parts in pairs})
            if time.monotonic() > self._logged + _LOG_SECONDS:
                logs.info("Outfeed finished for iteration (%d, %d)", self._loops, step)
                self._logged = time.monotonic()
        self._loops += 1

    def _wait(self) -> None:
        """Waits for the calls of the last loop; raises what they raised."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()


class FinishBeforeSaves(CheckpointSaverListener):
    """What a host call does before a checkpoint is done when that is saved: who goes on from there loses nothing."""

    def __init__(self, hook: HostCallHook):
        self._hook = hook

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        self._hook.finish(session)
