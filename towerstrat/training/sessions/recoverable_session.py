"""A session that is made again after its devices were lost.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.hosts.gradient_rendezvous import GRADIENT_ROUNDS
from towerstrat.platform import logs, messages
from towerstrat.training.sessions.session_wrapper import PREEMPTION_ERRORS, StepFn, WrappedSession

T = TypeVar("T")

_CAUSE = (
    "This error may also occur due to a gRPC failure caused by high memory or network bandwidth usage in the parameter "
    "servers. If this error occurs repeatedly, try increasing the number of parameter servers assigned to the job. "
    "Error: %s"
)
_NEW_SESSION = (
    "This may be due to a preemption in a connected worker or parameter server. The current session will be closed and "
    f"a new session will be created. {_CAUSE}"
)


class Creator(Protocol):
    """Makes the session inside: what ``SessionCreator`` says, for a wrapped one."""

    def create_session(self) -> WrappedSession: ...


class RecoverableSession(WrappedSession):
    """Runs a session, and after AbortedError or UnavailableError runs the same again in a new one.

    Args:
      sess_creator: makes the session inside.
    """

    _sess: WrappedSession | None

    def __init__(self, sess_creator: Creator):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> WrappedSession:
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as error:
                if GRADIENT_ROUNDS.over is not None:
                    raise  # No session brings back a process that has ended.
                logs.info(
                    "An error was raised while a session was being created. This may be due to a preemption of a "
                    "connected worker or parameter server. A new session will be created. " + _CAUSE, error,
                )  # fmt: skip

    def _check_stop(self) -> bool:
        try:
            return self._sess is None or self._sess._check_stop()
        except PREEMPTION_ERRORS as error:
            if GRADIENT_ROUNDS.over is not None:
                return True  # The next run raises it.
            logs.info("An error was raised while considering whether the session is complete. " + _NEW_SESSION, error)
            self.close()
            self._sess = self._create_session()
            return False
        except Exception:
            # What is wrong will be raised by the next run, or when the session is closed.
            return True

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:
        return self._recovering(lambda inner: inner.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(
        self, step_fn: StepFn[T], raw_session: BaseSession | None, run_with_hooks: Callable[..., Any] | None
    ) -> T:
        return self._recovering(lambda inner: inner.run_step_fn(step_fn, raw_session, inner.run))

    def _recovering(self, attempt: Callable[[WrappedSession], T]) -> T:
        """What ``attempt`` returns for the session inside, tried again in a new one as often as it is lost."""
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return attempt(self._sess)
            except PREEMPTION_ERRORS as error:
                if GRADIENT_ROUNDS.over is not None:
                    raise
                logs.info("An error was raised. " + _NEW_SESSION, error)
                self.close()
