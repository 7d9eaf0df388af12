"""``tf.train.QueueRunner``: threads that fill a queue.

Source: ``tensorflow/python/training/queue_runner_impl.py``.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from towerstrat.data.queues.queues import QueueBase
from towerstrat.errors import OpError, OutOfRangeError, UnsupportedError
from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.default_graph import add_to_collection, get_collection
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.runtime.sessions.session import BaseSession
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.platform import logs
from towerstrat.platform.coordinator import Coordinator

_NO_MESSAGES = "messages of queue runners are not supported; make the QueueRunner from its queue and operations"


class QueueRunner:
    """Runs operations that add to a queue, again and again, each in a thread of its own.

    Args:
      queue: the queue.
      enqueue_ops: the operations; one that is there twice gets two threads.
      close_op, cancel_op: close the queue, and cancel what is pending; default ``queue.close(...)``.
      queue_closed_exception_types: errors of these types end a thread; after the last one the queue is closed. By
        default OutOfRangeError, the end of the input.

    Raises:
      RuntimeError: eagerly.
      ValueError: no queue or no operations.
      TypeError: exception types that are no tuple of such of ``tf.errors``.
    """

    def __init__(
        self, queue: QueueBase | None = None, enqueue_ops: Sequence[Any] | None = None, close_op: Any = None,
        cancel_op: Any = None, queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Any = None, import_scope: str | None = None,
    ):  # fmt: skip
        if get_default_graph().executing_eagerly:
            raise RuntimeError(
                "QueueRunners are not supported when eager execution is enabled. Instead, please use tf.data to get "
                "data into your model."
            )
        if queue_runner_def is not None or import_scope is not None:
            raise UnsupportedError(f"QueueRunner(queue_runner_def=): {_NO_MESSAGES}.")
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = queue_closed_exception_types
        if types is not None and not (
            isinstance(types, tuple) and types and all(isinstance(t, type) and issubclass(t, OpError) for t in types)
        ):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: "
                f"{queue_closed_exception_types}"
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._types: tuple[type[OpError], ...] = types or (OutOfRangeError,)
        self._lock = threading.Lock()
        self._running: weakref.WeakKeyDictionary[BaseSession, int] = weakref.WeakKeyDictionary()
        self._errors: list[Exception] = []

    @property
    def queue(self) -> QueueBase:
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        return self._types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """What ended threads that no coordinator was told of."""
        return self._errors

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._queue.name

    def create_threads(
        self, sess: BaseSession, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that run the operations in a session; none where such threads are running.

        Args:
          coord: is told of exceptions; the threads stop with it, which cancels what they wait for.
          daemon: whether the process may end before them.
          start: whether they are started.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._errors = []
        name = f"QueueRunnerThread-{self.name}-"
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=name + op.name, daemon=daemon)
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop, args=(sess, coord), name=f"{name}close_on_stop", daemon=daemon
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, session: BaseSession, op: Any, coordinator: Coordinator | None) -> None:
        """What a thread does."""
        enqueue = session.make_callable(op)
        ended = False
        try:
            while not (coordinator is not None and coordinator.should_stop()):
                enqueue()
        except self._types:
            ended = True
        except Exception as error:
            if coordinator is not None:
                coordinator.request_stop(error)
                return
            logs.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._errors.append(error)
            raise
        finally:
            self._leave(session, ended)

    def _leave(self, session: BaseSession, ended: bool) -> None:
        """Ends a thread; the last one closes the queue where the input has ended."""
        with self._lock:
            self._running[session] -= 1
            last = self._running[session] == 0
        if ended and last:
            self._try(session, self._close_op)

    def _close_on_stop(self, session: BaseSession, coordinator: Coordinator) -> None:
        coordinator.wait_for_stop()
        self._try(session, self._cancel_op)

    def _try(self, session: BaseSession, op: Any) -> None:
        """Closes the queue, if its session is still there."""
        try:
            session.run(op)
        except (OpError, RuntimeError) as error:
            logs.debug("Queue %s was not closed: %s", self.name, error)

    def to_proto(self, export_scope: str | None = None) -> Any:
        raise UnsupportedError(f"QueueRunner.to_proto: {_NO_MESSAGES}.")

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> Any:
        raise UnsupportedError(f"QueueRunner.from_proto: {_NO_MESSAGES}.")


def add_queue_runner(qr: QueueRunner, collection: Any = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a queue runner to a collection, from which ``start_queue_runners`` takes it."""
    add_to_collection(collection, qr)


def start_queue_runners(
    sess: BaseSession | None = None, coord: Coordinator | None = None, daemon: bool = True, start: bool = True,
    collection: Any = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:  # fmt: skip
    """Starts the threads of all queue runners of a collection.

    Args:
      sess: default the default session.
      coord, daemon, start: see ``QueueRunner.create_threads``.

    Returns:
      The threads; none for a monitored session, which starts them itself.

    Raises:
      RuntimeError: eagerly.
      ValueError: no session. TypeError: something else.
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError("Queues are not compatible with eager execution.")
    session: Any = get_default_session() if sess is None else sess
    if session is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
            "explicit session to tf.start_queue_runners(sess=sess)"
        )
    if type(session).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
        return []  # They have started them.
    if not isinstance(session, BaseSession):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(session)}")
    with session.graph.as_default():
        runners = get_collection(collection)
        if not runners:
            logs.warning("tf.train.start_queue_runners was called, and no queue runners are there.")
        return [t for r in runners for t in r.create_threads(session, coord=coord, daemon=daemon, start=start)]
