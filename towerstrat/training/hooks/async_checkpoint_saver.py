"""``tf.contrib.tpu.AsyncCheckpointSaverHook``: saves beside training."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.platform import logs
from towerstrat.training.hooks.checkpoint_saver import CheckpointSaverHook
from towerstrat.training.saving.async_writer import BackgroundWriter


class AsyncCheckpointSaverHook(CheckpointSaverHook):
    """A ``CheckpointSaverHook`` that writes in a thread; arguments are those.

    The values are taken off the devices when a step is to be saved, so that the checkpoint is that of its step. The
    next one waits until the one before is written; listeners are told in the thread, and cannot stop training.

    Raises:
      Exception: at the next checkpoint, or at the end, what writing raised.
    """

    _what = "AsyncCheckpointSaverHook"

    def begin(self) -> None:
        super().begin()
        self._writer = BackgroundWriter()

    def end(self, session: SessionLike) -> None:
        logs.info("Waiting for any pending checkpoints to finish.")
        self._writer.wait()
        last_step = session.run(self._global_step_tensor)
        if last_step != self._timer.last_triggered_step():
            self._save(session, last_step)
            self._writer.wait()
        for listener in self._listeners:
            listener.end(session, last_step)

    def _save_triggered(self, session: SessionLike, step: int) -> bool:
        logs.info("Triggering checkpoint. %s", step)
        return self._save(session, step)

    def _save(self, session: SessionLike, step: int) -> bool:
        assert isinstance(session, BaseSession)
        for listener in self._listeners:
            listener.before_save(session, step)
        write = self._get_saver().captured(session, self._save_path, step, self._save_graph_def)
        self._writer.submit(partial(self._write, write, session, step))
        return False

    def _write(self, write: Callable[[], str | None], session: SessionLike, step: int) -> None:
        logs.info("Saving checkpoints for %d into %s.", step, self._save_path)
        start = time.perf_counter()
        write()
        self._log_checkpoint(step)
        for listener in self._listeners:
            listener.after_save(session, step)
        logs.info("Checkpoint actual writing time: (%.3f sec)", time.perf_counter() - start)
        logs.info("Checkpoint finished for %d into %s.", step, self._save_path)
