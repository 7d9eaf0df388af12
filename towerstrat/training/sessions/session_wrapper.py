"""The sessions between a monitored session and the one that computes: each wraps another and adds one thing.

From the outside in: ``RecoverableSession`` makes a new session where one was lost, ``CoordinatedSession`` stops
threads, ``HookedSession`` calls hooks. Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from towerstrat.errors import AbortedError, UnavailableError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.platform import messages

PREEMPTION_ERRORS = (AbortedError, UnavailableError)
"""What a session is made again after; other errors end the run."""

T = TypeVar("T")


class Runnable(Protocol):
    """What can be wrapped: a session."""

    @property
    def graph(self) -> Graph: ...

    @property
    def sess_str(self) -> str: ...

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any: ...

    def close(self) -> None: ...


class StepContext:
    """What a function given to ``run_step_fn`` runs steps by.

    Args:
      session: the session without hooks. run_with_hooks_fn: runs with hooks.
    """

    def __init__(self, session: BaseSession | None, run_with_hooks_fn: Callable[..., Any]):
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> BaseSession | None:
        """The session that computes: its ``run`` calls no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """The same as ``MonitoredSession.run``."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Leaves the function by StopIteration, which ends a ``with`` of the monitored session."""
        raise StopIteration("step_fn has requested the iterations to stop.")


StepFn = Callable[[StepContext], T]


class WrappedSession:
    """Runs another session, and says when it should not be used any more.

    Args:
      sess: the session inside, wrapped or not.
    """

    def __init__(self, sess: Runnable | None):
        self._sess = sess

    @property
    def graph(self) -> Graph:
        return self._open().graph

    @property
    def sess_str(self) -> str:
        return self._open().sess_str

    def should_stop(self) -> bool:
        """Whether it was closed, or it or one inside should stop."""
        if self._check_stop() or self._sess is None:
            return True
        return isinstance(self._sess, WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        """Whether this one should stop, whatever those inside say."""
        return False

    def close(self) -> None:
        """Closes the session inside; that its device or host is gone does not matter then."""
        if self._sess is None:
            return
        session, self._sess = self._sess, None
        with contextlib.suppress(*PREEMPTION_ERRORS):
            session.close()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:
        """As ``Session.run``."""
        return self._open().run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(
        self, step_fn: StepFn[T], raw_session: BaseSession | None, run_with_hooks: Callable[..., Any] | None
    ) -> T:
        """Calls ``step_fn`` with a ``StepContext``; ``run_with_hooks`` is this session's ``run`` where it is None."""
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))

    def _open(self) -> Runnable:
        """The session inside. Raises RuntimeError where it was closed."""
        if self._sess is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._sess
