"""``tf.train.Supervisor``: prepares a session, and saves and writes summaries in threads beside the program.

Source: ``tensorflow/python/training/supervisor.py``.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from towerstrat.data.queues.queue_runner import QueueRunner
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.default_graph import add_to_collection, get_collection
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.tables.table_classes import tables_initializer
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.variables.variable_ops import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs, messages
from towerstrat.platform.coordinator import Coordinator, LooperThread
from towerstrat.training.base.global_step import get_global_step
from towerstrat.training.base.global_step import global_step as value_of_step
from towerstrat.training.saving.meta_graphs import export_meta_graph, write_graph
from towerstrat.training.saving.saver import Saver
from towerstrat.training.sessions.session_manager import SessionManager
from towerstrat.training.sessions.supervisor_threads import CheckpointService, StepCounterService, SummaryService
from towerstrat.training.summaries.file_writer import FileWriter
from towerstrat.training.summaries.summary import merge_all

_DEFAULT = 0
"""Stands for the usual piece: the first of its collection, else a new one that is added there."""


class Supervisor:
    """Prepares sessions of a graph, which is final from then on, and runs services in threads.

    Pieces that may be ``Supervisor.USE_DEFAULT`` are then the first of their collection, or made and added there; None
    leaves them out.

    Args:
      graph: default the default graph.
      ready_op, ready_for_local_init_op, local_init_op: as of ``SessionManager``; the second is not made.
      is_chief: whether this program initializes, saves and writes summaries; others wait for that.
      init_op, init_feed_dict, init_fn: initialize where no checkpoint is; ``init_fn`` is called with the session.
      logdir: the folder of checkpoints and summaries; None: neither.
      summary_op: a serialized ``Summary``. saver: a ``Saver``. global_step: the variable that counts steps.
      save_summaries_secs, save_model_secs: seconds between two; 0: none are written.
      recovery_wait_secs: seconds between two looks for a checkpoint, or at whether the model is ready.
      stop_grace_secs: how many seconds threads have to end.
      checkpoint_basename: the name of checkpoints.
      session_manager: default a ``SessionManager`` of these pieces.
      summary_writer: a ``FileWriter``; default one for ``logdir``.
      local_init_run_options: ``RunOptions`` of the run of ``local_init_op``.

    Raises:
      RuntimeError: operations are executed eagerly.
    """

    USE_DEFAULT = _DEFAULT

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = _DEFAULT,
        ready_for_local_init_op: Any = _DEFAULT,
        is_chief: bool = True,
        init_op: Any = _DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = _DEFAULT,
        logdir: str | None = None,
        summary_op: Any = _DEFAULT,
        saver: Any = _DEFAULT,
        global_step: Any = _DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = _DEFAULT,
        init_fn: Callable[[SessionLike], object] | None = None,
        local_init_run_options: messages.RunOptions | None = None,
    ):
        graph = get_default_graph() if graph is None else graph
        if graph.executing_eagerly:
            raise RuntimeError(
                "A Supervisor runs a graph, and operations are executed eagerly here: build the model and the "
                "Supervisor inside `with tf.Graph().as_default():`."
            )
        with graph.as_default():
            self._ready_op: Tensor | None = _piece(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op: Tensor | None = _piece(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op: Operation | None = _piece(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op: Operation | None = _piece(
                local_init_op, GraphKeys.LOCAL_INIT_OP,
                lambda: group(local_variables_initializer(), tables_initializer()),
            )  # fmt: skip
            self._saver: Saver | None = _piece(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op: Tensor | None = _piece(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = _piece(global_step, GraphKeys.GLOBAL_STEP, get_global_step)
        self._graph = graph
        saver_def = self._saver.saver_def if self._saver else None
        self._meta_graph_def = export_meta_graph(saver_def=saver_def, graph=graph, collection_list=[])
        is_chief = is_chief or PROCESSES.in_lockstep  # Then all do what the chief does, and the first one writes.
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(logdir, checkpoint_basename) if is_chief and logdir else None
        self._summary_writer: FileWriter | None = None
        if is_chief and summary_writer is not _DEFAULT:
            self._summary_writer = summary_writer
        elif self._logdir:
            self._summary_writer = FileWriter(self._logdir)
        self._graph_written = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        graph.finalize()

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        return self._coord

    @property
    def init_op(self) -> Operation | None:
        return self._init_op

    @property
    def init_feed_dict(self) -> Mapping[Any, Any] | None:
        return self._init_feed_dict

    @property
    def ready_op(self) -> Tensor | None:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Tensor | None:
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> FileWriter | None:
        return self._summary_writer

    @property
    def summary_op(self) -> Tensor | None:
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        return self._global_step

    @property
    def saver(self) -> Saver | None:
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        return self._save_path

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: messages.ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """A session that is ready: the chief restores or initializes it, others wait.

        Args:
          master, config: of the session. wait_for_checkpoint, max_wait_secs: as of ``SessionManager``.
          start_standard_services: whether the services and the queue runners are started.
        """
        # The threads of a session before this one have stopped.
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                logs.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(master, config, max_wait_secs)
        if start_standard_services:
            logs.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        """Writes the graph to the folder, and once to the events."""
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_written:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_written = True

    def start_standard_services(self, sess: SessionLike) -> list[LooperThread] | None:
        """Starts the threads that save, write summaries and count steps; None where there is no folder.

        Raises:
          RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            logs.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            log = messages.SessionLog(status=messages.SessionLog.START)
            self._summary_writer.add_session_log(log, value_of_step(sess, self._global_step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SummaryService(self, sess))
            if self._global_step is not None:
                threads.append(StepCounterService(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(CheckpointService(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(
        self, sess: Session, queue_runners: Iterable[QueueRunner] | None = None
    ) -> list[threading.Thread]:
        """Starts the threads of queue runners, by default those of the graph; they stop with the supervisor."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        return [t for r in runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls ``target`` each so many seconds, until the supervisor stops; None: at once."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and waits for them; raises what has ended one of them.

        Args:
          threads: to wait for besides its own. close_summary_writer: whether the writer is closed.
          ignore_live_threads: whether those that have not ended in time are let go; else RuntimeError.
        """
        self._coord.request_stop()
        try:
            self._coord.join(threads, self._stop_grace_secs, ignore_live_threads)
        finally:
            # Last: a thread may have been using it.
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(messages.SessionLog(status=messages.SessionLog.STOP))
                self._summary_writer.close()
                self._graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """As of ``Coordinator``."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """As of ``Coordinator``."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """As of ``Coordinator``."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """As of ``Coordinator``."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: SessionLike, summary: Any, global_step: int | None = None) -> None:
        """Writes a ``Summary``, or the bytes of one, at a step; default the global step.

        Raises:
          RuntimeError: there is no writer.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = value_of_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: messages.ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """A session that is ready, closed at the end; an exception stops the threads, and is raised after that.

        OutOfRangeError, the end of the input, is not raised. Arguments as of ``prepare_or_wait_for_session`` and
        ``stop``.
        """
        session: Session | None = None
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _piece(given: Any, key: str, make: Callable[[], Any]) -> Any:
    """What was given, or the first of a collection, or what ``make`` returns, which is added there."""
    if given is not _DEFAULT:
        return given
    found = get_collection(key)
    if len(found) > 1:
        logs.info("Found %d %s operations. Returning the first one.", len(found), key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        add_to_collection(key, made)
    return made
