"""``tf.train.CheckpointSaverHook``: saves while training, and tells listeners."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from towerstrat.checkpoints.side_files import forget
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.platform import logs, messages
from towerstrat.platform.coordinator import Coordinator
from towerstrat.platform.duty import DUTY
from towerstrat.training.hooks.global_step_read import required_step_read
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from towerstrat.training.hooks.stop_at_step import MultiStepStopAtStepHook, StopAtStepHook
from towerstrat.training.hooks.timers import SecondOrStepTimer
from towerstrat.training.saving.meta_graphs import export_meta_graph, write_graph
from towerstrat.training.saving.resume_state import values_only
from towerstrat.training.saving.saver import Saver
from towerstrat.training.summaries.file_writer import FileWriterCache


class HasSaver(Protocol):
    """The part of a ``Scaffold`` that saves."""

    @property
    def saver(self) -> Saver | None: ...


class CheckpointSaverListener:
    """What is called around each save of a ``CheckpointSaverHook``; every method may be left as it is."""

    def begin(self) -> None:
        """Called before the session is made; operations may still be added to the default graph."""

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: SessionLike, global_step_value: int) -> bool | None:
        """Called when a checkpoint is there. True requests to stop training."""

    def end(self, session: SessionLike, global_step_value: int) -> None:
        """Called when the session ends, after the last save."""


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint when the session is made, each n steps or seconds, and at the end.

    Beside the checkpoints it writes the graph as ``graph.pbtxt``, and to the folder's event file the graph and a
    ``SessionLog`` for each checkpoint.

    Args:
      checkpoint_dir: the folder.
      save_secs: seconds between checkpoints. save_steps: steps between them; one of the two.
      saver: the ``Saver``; default the scaffold's, else the one in the collection ``GraphKeys.SAVERS``.
      checkpoint_basename: the beginning of the checkpoints' names.
      scaffold: a ``Scaffold``; only one of this and ``saver``.
      listeners: objects with the methods of ``CheckpointSaverListener``.
      save_graph_def: whether the graph is written as ``graph.pbtxt`` and beside each checkpoint.

    Raises:
      ValueError: both intervals or none, ``saver`` and ``scaffold``. RuntimeError: in ``begin``, there is no global
        step; when it saves, there is no saver or more than one.
    """

    _what = "CheckpointSaverHook"
    ends_run = False
    """Whether nobody goes on with a run that ended: then its last checkpoint has the values of variables alone."""
    stops: Sequence[StopAtStepHook | MultiStepStopAtStepHook] = ()
    """The hooks that know at which step the run ends."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: HasSaver | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ):
        logs.info("Create %s.", self._what)
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = listeners or []
        self._steps_per_run = 1
        self._save_graph_def = save_graph_def

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step_tensor = required_step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        step = session.run(self._global_step_tensor)
        self._describe_graph()
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def _describe_graph(self) -> None:
        """Writes the graph, which is final when the session is made, to the folder and its event file."""
        graph = get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        if self._save_graph_def:
            write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(
            export_meta_graph(graph_def=graph_def, saver_def=self._get_saver().saver_def)
        )

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # What was fetched is the step before the run.
        if self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save_triggered(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        last_step = session.run(self._global_step_tensor)
        if last_step != self._timer.last_triggered_step():
            with values_only() if self.ends_run else nullcontext():
                self._save(session, last_step)
        elif self.ends_run and DUTY.writes:
            forget(f"{self._save_path}-{last_step}")
        for listener in self._listeners:
            listener.end(session, last_step)

    def steps_until_session_use(self, step: int) -> int | None:
        return runs_until_trigger(self._timer, step, self._steps_per_run)

    def _save_triggered(self, session: SessionLike, step: int) -> bool:
        """Saves after a run."""
        with values_only() if self._is_last(step) else nullcontext():
            return self._save(session, step)

    def _is_last(self, step: int) -> bool:
        """Whether a run that nobody goes on with ends here: a program killed before its end begins the next one."""
        return self.ends_run and any(stop._last_step is not None and step >= stop._last_step for stop in self.stops)

    def _save(self, session: SessionLike, step: int) -> bool:
        """Saves, with the listeners; True where one of them requests to stop."""
        logs.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        without: dict[str, Any] = {} if self._save_graph_def else {"write_meta_graph": False}
        self._get_saver().save(session, self._save_path, global_step=step, **without)
        self._log_checkpoint(step)
        should_stop = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                logs.info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
                should_stop = True
        return should_stop

    def _log_checkpoint(self, step: int) -> None:
        status = messages.SessionLog.CHECKPOINT
        self._summary_writer.add_session_log(messages.SessionLog(status=status, checkpoint_path=self._save_path), step)

    def _get_saver(self) -> Saver:
        if self._saver is None:
            of_scaffold = self._scaffold.saver if self._scaffold is not None else None
            self._saver = of_scaffold or _collected_saver()
        return self._saver


def _collected_saver() -> Saver:
    key = GraphKeys.SAVERS
    savers = get_default_graph().get_collection(key)
    if not savers:
        raise RuntimeError(
            f"No items in collection {key}. Please add a saver to the collection or provide a saver or scaffold."
        )
    if len(savers) > 1:
        raise RuntimeError(
            f"More than one item in collection {key}. Please indicate which one to use by passing it to the "
            "constructor."
        )
    return savers[0]


def runs_until_trigger(timer: SecondOrStepTimer, step: int, steps_per_run: int) -> int | None:
    """The number of runs, of so many steps each, after which a timer triggers; None where the clock decides."""
    left = timer.steps_until_trigger(step)
    return None if left is None else max(1, -(-left // steps_per_run))
