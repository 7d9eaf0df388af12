"""``tf.train.MonitoredSession``: initializes or restores, calls hooks, recovers, and stops.

Source: ``tensorflow/python/training/monitored_session.py``.
"""

from __future__ import annotations

import inspect
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from towerstrat.data.queues.queue_runner import start_queue_runners
from towerstrat.errors import OutOfRangeError
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.hosts.heartbeat import PROGRESS
from towerstrat.platform import messages
from towerstrat.platform.coordinator import Coordinator
from towerstrat.platform.progress import SCREEN
from towerstrat.training.base.global_step import get_global_step
from towerstrat.training.hooks.progress_bar import ProgressHook
from towerstrat.training.hooks.session_run_hook import SessionRunHook
from towerstrat.training.sessions.coordinated_session import CoordinatedSession
from towerstrat.training.sessions.hooked_session import HookedSession
from towerstrat.training.sessions.recoverable_session import RecoverableSession
from towerstrat.training.sessions.scaffold import Scaffold
from towerstrat.training.sessions.session_creators import ChiefSessionCreator, SessionCreator
from towerstrat.training.sessions.session_wrapper import StepContext, StepFn, WrappedSession

T = TypeVar("T")


class CoordinatedSessionCreator:
    """Makes a session, starts queue runners, tells the hooks, and wraps it.

    Attributes:
      tf_sess: the session that computes; None before and after. coord: the coordinator of its threads.
    """

    def __init__(self, session_creator: SessionCreator, hooks: Sequence[SessionRunHook], stop_grace_period_secs: float):
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.tf_sess: BaseSession | None = None
        self.coord: Coordinator | None = None

    def create_session(self) -> CoordinatedSession:
        self.tf_sess = session = self._session_creator.create_session()
        # Whatever ends a thread is raised, the end of its input too.
        self.coord = coord = Coordinator(clean_stop_exception_types=[])
        if get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(session, coord)
        for hook in self._hooks:
            hook.after_create_session(session, coord)
        hooked = HookedSession(session, self._hooks)
        if isinstance(session, BaseSession):  # not what a program has wrapped around one
            session.run_ahead(partial(_runs_at_once, hooked, _step_cell(session.graph)))
        return CoordinatedSession(hooked, coord, self._stop_grace_period_secs)


def _step_cell(graph: Graph) -> StateVariable | None:
    """The cell of the global step, where it is a variable."""
    step = get_global_step(graph)
    return step.cell if isinstance(step, Variable) else None


def _runs_at_once(hooked: HookedSession, step: StateVariable | None, state: StateStore) -> int | None:
    """How many runs a session's hooks leave it alone; None: no limit."""
    value = None if step is None else state.get(step)
    return hooked.steps_until_session_use(0 if value is None or step is None else int(step.joined(value)))


class _MonitoredSession:
    """What ``MonitoredSession`` and ``SingularMonitoredSession`` have in common.

    Args:
      session_creator: makes the session.
      hooks: called in this order.
      should_recover: whether a session is made again after AbortedError and UnavailableError.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.
    """

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ):
        graph = get_default_graph()
        if graph.executing_eagerly:
            raise RuntimeError(
                f"{type(self).__name__} runs a graph, and operations are executed eagerly here: build the model and "
                "the session inside `with tf.Graph().as_default():`."
            )
        self._graph_was_finalized = graph.finalized
        self._hooks = list(hooks or [])
        if SCREEN.display is not None:
            self._hooks.append(ProgressHook(SCREEN.display, self._hooks))
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: WrappedSession | None = (
            RecoverableSession(self._coordinated_creator)
            if should_recover
            else self._coordinated_creator.create_session()
        )

    @property
    def graph(self) -> Graph | None:
        """The graph of the session; None when it is closed."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: messages.RunOptions | None = None,
        run_metadata: messages.RunMetadata | None = None,
    ) -> Any:
        """As ``Session.run``, with the hooks called before and after.

        Raises:
          RuntimeError: it is closed, or should stop; a tensor is fed by two hooks, or by a hook and here.
        """
        return self._open().run(fetches, feed_dict, options, run_metadata)

    def run_step_fn(self, step_fn: StepFn[T]) -> T:
        """Calls a function that runs steps by a ``StepContext``, with hooks or without; returns what it returns.

        Args:
          step_fn: a function of one argument, called ``step_context``.

        Raises:
          ValueError: its argument is another. StopIteration: it called ``step_context.request_stop()``.
        """
        arguments = tuple(inspect.signature(step_fn).parameters)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's "
                f"an instance method. Got {arguments} instead."
            )
        return self._open().run_step_fn(step_fn, self._tf_sess(), None)

    def should_stop(self) -> bool:
        """Whether a hook or a thread has asked to stop, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Calls ``end`` of the hooks, ends threads and closes the session. Raises RuntimeError where it is closed."""
        self._close_internal()

    def __enter__(self) -> Self:
        PROGRESS.stops += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        ended = kind in (None, OutOfRangeError, StopIteration)
        PROGRESS.stops -= 1
        self._close_internal(None if ended else kind)
        if ended and PROGRESS.reached_stop():
            raise SystemExit(128 + signal.SIGTERM)  # all processes were told to end, and what there is has been saved
        return ended

    def _close_internal(self, exception_type: type[BaseException] | None = None) -> None:
        """Closes the session; ``end`` of the hooks is called unless an exception has ended the run."""
        try:
            if exception_type is None:
                # None where it was closed before, which is what hooks are given then.
                session = cast(SessionLike, self._tf_sess())
                for hook in self._hooks:
                    hook.end(session)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> BaseSession | None:
        """The session that computes; None when it is closed."""
        return self._coordinated_creator.tf_sess

    def _open(self) -> WrappedSession:
        if self._sess is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._sess


class MonitoredSession(_MonitoredSession):
    """A session that is prepared by itself, calls hooks, and is made again where its devices were lost.

    When it is made it calls ``begin`` of the hooks, finalizes the graph, restores or initializes variables, starts
    queue runners, and calls ``after_create_session``. OutOfRangeError and StopIteration end a ``with`` of it quietly.

    Args:
      session_creator: default ``ChiefSessionCreator()``.
      hooks: called in this order.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.

    Raises:
      RuntimeError: operations are executed eagerly.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """``MonitoredSession`` without recovery, which gives the session that computes to its caller.

    Args:
      hooks: called in this order.
      scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: as of ``ChiefSessionCreator``.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: messages.ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> BaseSession | None:
        """The session that computes: its ``run`` calls no hooks. None when it is closed."""
        return self._tf_sess()
