"""``tf.train.SessionRunHook`` and what passes between a hook and its session.

Source: ``tensorflow/python/training/session_run_hook.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.platform import messages
from towerstrat.platform.coordinator import Coordinator


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run.

    Attributes:
      fetches: as the first argument of ``Session.run``, of any nesting; None for nothing.
      feed_dict: tensor -> value.
      options: a ``RunOptions``.
    """

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: messages.RunOptions | None = None


class SessionRunValues(NamedTuple):
    """What a run gave a hook.

    Attributes:
      results: the values of the hook's fetches, in their structure; None where it asked for none.
      options: the ``RunOptions`` of the run.
      run_metadata: the ``RunMetadata`` of the run.
    """

    results: Any
    options: messages.RunOptions | None
    run_metadata: messages.RunMetadata | None


class SessionRunContext:
    """The run that is under way, for the hooks around it.

    Args:
      original_args: a ``SessionRunArgs`` with the fetches and feeds that the program asked for.
      session: the session that runs, without hooks.

    Attributes:
      all_args: the fetches and feeds of the program and of all hooks.
    """

    def __init__(self, original_args: SessionRunArgs, session: SessionLike):
        self._original_args = original_args
        self.all_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds of the program, as a ``SessionRunArgs``."""
        return self._original_args

    @property
    def session(self) -> SessionLike:
        """The session that runs, without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether some hook has asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks the session to stop: ``should_stop()`` is True after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Takes part in the runs of a monitored session; every method may be left as it is."""

    def begin(self) -> None:
        """Called once before the session is made; operations may still be added to the default graph."""

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Called when a session was made: at the beginning, and after each recovery. The graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what the run should compute besides, as a ``SessionRunArgs``, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not raise, with what ``before_run`` asked for."""

    def end(self, session: SessionLike) -> None:
        """Called before the session is closed, unless a run raised anything but OutOfRangeError or StopIteration."""
