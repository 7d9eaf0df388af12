"""``tf.train.SessionManager``: makes sessions whose variables are restored or initialized.

Source: ``tensorflow/python/training/session_manager.py``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from towerstrat.errors import DeadlineExceededError, FailedPreconditionError
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.platform import logs, messages
from towerstrat.training.saving import resume_state
from towerstrat.training.saving.latest_checkpoint import get_checkpoint_state
from towerstrat.training.saving.saver import Saver


class SessionManager:
    """Makes sessions: restores variables or initializes them, then what is local, and checks that all have values.

    Args:
      local_init_op: run in every new session, after variables were restored or initialized; None: nothing.
      ready_op: a string tensor ``[n]``, the names of what has no value; None: nothing is checked.
      ready_for_local_init_op: likewise, before ``local_init_op``.
      graph: default the default graph.
      recovery_wait_secs: seconds between two looks for a checkpoint, or at whether the model is ready.
      local_init_run_options: ``RunOptions`` of the run of ``local_init_op``.
      local_init_feed_dict: what is fed to it.

    Raises:
      ValueError: ``ready_for_local_init_op`` without ``local_init_op``.
    """

    def __init__(
        self,
        local_init_op: Operation | None = None,
        ready_op: Tensor | Operation | None = None,
        ready_for_local_init_op: Tensor | Operation | None = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: messages.RunOptions | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op "
                f"[{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Operation | None = None,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: messages.ConfigProto | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[SessionLike], object] | None = None,
    ) -> Session:
        """A session that is ready: restored from a checkpoint, or initialized where there is none.

        Args:
          master: the ``target`` of the session.
          init_op: initializes variables that were not restored; init_feed_dict: what is fed to it; init_fn: called with
            the session after it.
          saver, checkpoint_dir: restore the latest checkpoint of a folder, if there is one.
          checkpoint_filename_with_path: a checkpoint to restore, instead of a folder.
          wait_for_checkpoint, max_wait_secs: whether to wait for one in the folder, and how many seconds.
          config: of the session.

        Raises:
          RuntimeError: nothing to restore, and nothing that initializes; variables have no value after all.
          ValueError: both a folder and a checkpoint.
        """
        session, restored = self._restored_session(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(session)
        missing = self._initialize_locally(session)
        if missing is not None:
            raise RuntimeError(
                f"Init operations did not make model ready for local_init.  Init op: {_name(init_op)}, init fn: "
                f"{init_fn}, error: {missing}"
            )
        missing = what_is_missing(self._ready_op, session, "Model not ready")
        if missing is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {_name(init_op)}, init fn: {init_fn}, "
                f"local_init_op: {self._local_init_op}, error: {missing}"
            )
        session.begin_together()
        return session

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: messages.ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """A session, and whether a checkpoint was restored that made it ready; arguments as ``prepare_session``'s.

        Raises:
          ValueError: both a folder and a checkpoint.
        """
        session, restored = self._restored_session(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        missing = self._initialize_locally(session)
        if not restored:
            return session, False
        source = checkpoint_dir or checkpoint_filename_with_path
        if missing is not None:
            logs.info("Restoring model from %s did not make model ready for local init: %s", source, missing)
            return session, False
        missing = what_is_missing(self._ready_op, session, "Model not ready")
        if missing is not None:
            logs.info("Restoring model from %s did not make model ready: %s", source, missing)
            return session, False
        logs.info("Restored model from %s", source)
        return session, True

    def wait_for_session(
        self, master: str, config: messages.ConfigProto | None = None, max_wait_secs: float | None = float("Inf")
    ) -> Session:
        """A session once it is ready without being initialized here; each look is at a new session.

        Where processes train together it waits for the first of them, whose values the variables get.

        Args:
          master, config: of the session. max_wait_secs: None: without end.

        Raises:
          DeadlineExceededError: it is not ready in time.
          AbortedError, FailedPreconditionError: the first process has ended, or lacks values of variables.
        """
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        end = time.monotonic() + limit
        while True:
            session = Session(master, graph=self._graph, config=config)
            session.begin_together()
            not_local, not_ready = self._initialize_locally(session), None
            if not_local is None:
                not_ready = what_is_missing(self._ready_op, session, "Model not ready")
                if not_ready is None:
                    return session
            with contextlib.suppress(Exception):
                session.close()
            if session.meets:
                raise FailedPreconditionError(
                    None, None, f"The first process has no values for what this one needs: {not_local or not_ready}"
                )
            if max(0.0, end - time.monotonic()) < self._recovery_wait_secs:
                raise DeadlineExceededError(None, None, f"Session was not ready after waiting {limit:.0f} secs.")
            logs.info("Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s", not_local, not_ready)
            time.sleep(self._recovery_wait_secs)

    def _restored_session(
        self,
        master: str,
        saver: Saver | None,
        folder: str | None,
        path: str | None,
        wait: bool,
        max_wait_secs: float,
        config: messages.ConfigProto | None,
    ) -> tuple[Session, bool]:
        """A new session, and whether a checkpoint was restored in it."""
        session = Session(master, graph=self._graph, config=config)
        if folder and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if not saver:
            return session, False
        if path:
            # Whoever names a checkpoint looks at it: what goes on is the run of a folder.
            with resume_state.values_only():
                saver.restore(session, path)
            return session, True
        state = self._checkpoint_state(folder, max_wait_secs if wait else 0) if folder else None
        if state is None:
            return session, False
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return session, True

    def _checkpoint_state(self, folder: str, max_wait_secs: float) -> messages.CheckpointState | None:
        """What is known of the latest checkpoint of a folder, once there is one; None where none came in time."""
        waited = 0.0
        while True:
            state = get_checkpoint_state(folder)
            if state and state.model_checkpoint_path:
                return state
            if waited >= max_wait_secs:
                return None
            logs.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs

    def _initialize_locally(self, session: Session) -> str | None:
        """Runs ``local_init_op`` where what it needs is there; else what is missing."""
        if self._local_init_op is None:
            return None
        missing = what_is_missing(self._ready_for_local_init_op, session, "Model not ready for local init")
        if missing is None:
            logs.info("Running local_init_op.")
            session.run(self._local_init_op, self._local_init_feed_dict, self._local_init_run_options)
            logs.info("Done running local_init_op.")
        return missing


def what_is_missing(op: Tensor | Operation | None, session: Session, what: str) -> str | None:
    """What has no value, in words; None where the model is ready.

    Args:
      op: a string tensor ``[n]`` of names. Operations, and tensors of int32, are checks that raise.
      what: for the log, of an error that says nothing about initialization.
    """
    if op is None:
        return None
    try:
        names = session.run(op)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logs.warning("%s : error [%s]", what, error)
            raise
        return str(error)
    if names is None or names.dtype == np.int32 or names.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in names)


def _name(op: Any) -> str:
    """The name of an operation, for errors; of a list and its kin what it has."""
    return str(getattr(op, "name", op))
