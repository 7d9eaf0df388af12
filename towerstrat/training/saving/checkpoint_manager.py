"""``tf.train.CheckpointManager``: keeps the latest few checkpoints of a folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from towerstrat.checkpoints.checkpoint_state import folder_of, state_path
from towerstrat.errors import DataLossError
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs
from towerstrat.training.base.global_step import global_step
from towerstrat.training.saving import latest_checkpoint as management
from towerstrat.training.saving.checkpoint import Checkpoint, CheckpointV1
from towerstrat.training.saving.checkpoint_options import CheckpointOptions
from towerstrat.training.saving.saver_sessions import session_for


class CheckpointManager:
    """Saves checkpoints under numbers, removes older ones, and finds those of a run before.

    Args:
      checkpoint: what is saved. directory: where; made where it is missing.
      max_to_keep: how many are kept, None: all.
      keep_checkpoint_every_n_hours: one that is to go is kept for good where the last such one is so much older.
      checkpoint_name: the beginning of their names.
      step_counter, checkpoint_interval: a variable; ``save`` saves only where it has grown by so much.
      init_fn: called by ``restore_or_initialize`` where there is no checkpoint.

    Raises:
      ValueError: ``max_to_keep`` is not positive; an interval without a counter.
      DataLossError: the state file of the folder has times, but not one for each checkpoint.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | CheckpointV1,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Variable | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = os.fsdecode(directory)
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter = step_counter
        self._checkpoint_interval = checkpoint_interval
        self._last_step: int | None = None
        self._init_fn = init_fn
        self._kept: dict[str, float] = {}
        self._latest: str | None = None
        now = time.time()
        # A bit before now, so that what is saved at once is newer.
        self._last_preserved = now - 1.0
        state = management.get_checkpoint_state(self._directory)
        if state is not None:
            self._take_over(state, now)

    def _take_over(self, state: Any, now: float) -> None:
        """Manages what a manager before this one did."""
        self._latest = state.model_checkpoint_path
        self._last_preserved = state.last_preserved_timestamp
        if now < self._last_preserved:
            logs.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.",
                self._last_preserved - now,
            )
            self._last_preserved = now
        paths = state.all_model_checkpoint_paths
        times = state.all_model_checkpoint_timestamps or [self._last_preserved] * len(paths)
        if len(times) != len(paths):
            raise DataLossError(
                None, None, f"{state_path(self._directory)}: expected a time for each of {len(paths)} checkpoints, "
                f"got {len(times)}. Remove the lines of all_model_checkpoint_timestamps, or restore by a path.",
            )  # fmt: skip
        for path, written in zip(paths, times, strict=True):
            if min(written, now) > self._last_preserved:
                self._kept[path] = min(written, now)

    @property
    def directory(self) -> str:
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint | CheckpointV1:
        """What it saves."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        return self._checkpoint_interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, for ``Checkpoint.restore``; None where there is none."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The paths of those that may be removed later, oldest first."""
        return list(self._kept)

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: CheckpointOptions | None = None
    ) -> str | None:
        """Saves a checkpoint and then removes those that are too many.

        Args:
          checkpoint_number: a number, variable or tensor; default the checkpoint's own counter, which counts anyway.
          check_interval: False: also before ``checkpoint_interval`` has passed, but not twice for one step.
          options: a ``CheckpointOptions``.

        Returns:
          The path; None where nothing was saved.

        Raises:
          RuntimeError, FailedPreconditionError, OpError: as ``Checkpoint.save``; older checkpoints are there still.
        """
        return self._save(self._session(), checkpoint_number, check_interval, options)

    def _save(
        self, session: SessionLike | None, checkpoint_number: Any, check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:  # fmt: skip
        if not self._is_due(check_interval, session):
            return None
        number = self._checkpoint._next_number(session)
        if checkpoint_number is not None:
            given = checkpoint_number
            number = int(given) if isinstance(given, int) else global_step(session, given)
        path = f"{self._prefix}-{number}"
        return self._checkpoint._write(path, session, options, partial(self._written, path))

    def _written(self, path: str) -> None:
        """Enters a checkpoint that is there, and removes those that are too many."""
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._last_preserved = min(self._last_preserved, self._kept[path])  # a clock may be set back
        self._latest = path
        # The state is written before older ones go and afterwards, so that it never names fewer than there are.
        self._record()
        self._sweep()
        self._record()

    def _session(self) -> SessionLike | None:
        return None if get_default_graph().executing_eagerly else session_for(None, "CheckpointManager.save")

    def _is_due(self, check_interval: bool, session: SessionLike | None) -> bool:
        if self._checkpoint_interval is None:
            return True
        step = global_step(session, self._step_counter)
        wait = self._checkpoint_interval if check_interval else 0
        if self._last_step is not None and (step == self._last_step or step < self._last_step + wait):
            return False
        self._last_step = step
        return True

    def _record(self) -> None:
        assert self._latest is not None
        management.update_checkpoint_state(
            self._directory, self._latest, list(self._kept), None, list(self._kept.values()), self._last_preserved
        )

    def _sweep(self) -> None:
        """Removes the oldest, but for those that are kept for good."""
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            path = next(iter(self._kept))
            written = self._kept.pop(path)
            if self._hours and written - self._hours * 3600 >= self._last_preserved:
                self._last_preserved = written
                continue
            management.remove_surplus(path, {folder_of(self._prefix)})

    def restore_or_initialize(self) -> str | None:
        """Restores the latest checkpoint and returns its path; where there is none calls ``init_fn``, and returns None.

        In a graph it restores into the default session.
        """
        if self._latest is not None:
            status = self._checkpoint.restore(self._latest)
            session = self._session()
            status.initialize_or_restore(session)
            if self._checkpoint_interval is not None:
                self._last_step = global_step(session, self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
            logs.info("Customized initialization is done through the passed `init_fn`.")
        return None

    def sync(self) -> None:
        """Returns when all that was saved in the background is there. Raises what went wrong with it."""
        self._checkpoint._writer.wait()
