"""``tf.summary.FileWriter``: adds summaries, graphs and session logs to event files."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.platform import logs, messages
from towerstrat.platform.event_files import EventFile, events
from towerstrat.training.saving.meta_graphs import export_meta_graph
from towerstrat.training.summaries.shared_writers import shared_file


class FileWriter:
    """Adds events to a file in a folder, which begins with the first event.

    Each event is in the file when the method returns: nothing waits in this process, so that a run that is killed
    loses none.

    Args:
      logdir: the folder; made where it is missing.
      graph: added as by ``add_graph``, and once more as a ``MetaGraphDef``.
      max_queue: changes nothing: events do not wait.
      flush_secs: how often a remote file is written anew. Local files have each event at once.
      graph_def: a ``GraphDef`` instead of ``graph``.
      filename_suffix: the end of the file's name.
      session: the file is shared with the other writers of this folder in the session's graph, also those of
        ``tf.contrib.summary``. The first of them decides about its name.

    Raises:
      RuntimeError: operations are executed eagerly.
    """

    def __init__(
        self,
        logdir: str,
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: messages.GraphDef | None = None,
        filename_suffix: str | None = None,
        session: Session | None = None,
    ):
        if get_default_graph().executing_eagerly:
            raise RuntimeError(
                "tf.summary.FileWriter is not compatible with eager execution. Use tf.contrib.summary instead."
            )
        self._logdir = os.fsdecode(logdir)
        if session is None:
            self._file = EventFile(self._logdir, flush_secs, filename_suffix or "")
        else:
            self._file = shared_file(session.graph, None, self._logdir, flush_secs, filename_suffix)
        if filename_suffix or session is not None:
            self._file.open()
        self._closed = False
        self._described: set[str] = set()
        self._run_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            given = graph_def if graph is None else graph
            whole = isinstance(given, Graph)
            self.add_meta_graph(
                export_meta_graph(graph=given) if whole else export_meta_graph(graph_def=given, collection_list=[])
            )

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """The folder of the files."""
        return self._logdir

    # ---- what is added

    def add_summary(self, summary: messages.Summary | bytes, global_step: Any = None) -> None:
        """Adds a ``Summary``, or its bytes as summary operations give them. A tag's metadata are kept once."""
        message = messages.Summary.FromString(summary) if isinstance(summary, bytes) else summary
        for value in message.value:
            if value.tag in self._described:
                value.ClearField("metadata")
            elif value.HasField("metadata"):
                self._described.add(value.tag)
        self._add(messages.Event(summary=message), global_step)

    def add_session_log(self, session_log: messages.SessionLog, global_step: Any = None) -> None:
        """Adds a ``SessionLog``. At ``START`` readers drop what was recorded of this step and later ones before."""
        self._add(messages.Event(session_log=session_log), global_step)

    def add_graph(
        self, graph: Graph | messages.GraphDef | None, global_step: Any = None, graph_def: Any = None
    ) -> None:
        """Adds a graph with the shapes of its tensors.

        Args:
          graph: a ``Graph``, or a ``GraphDef``.
          graph_def: instead of ``graph``.

        Raises:
          ValueError: both were given.
          TypeError: neither was.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph_def if graph is None else graph
        if isinstance(given, Graph):
            given = given.as_graph_def(add_shapes=True)
        elif isinstance(given, messages.GraphDef):
            logs.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as "
                "`sess.graph`."
            )
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, got "
                f"{type(given).__name__}."
            )
        self._add(messages.Event(graph_def=given.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: messages.MetaGraphDef, global_step: Any = None) -> None:
        """Adds a ``MetaGraphDef``. Raises TypeError for anything else."""
        if not isinstance(meta_graph_def, messages.MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(messages.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: messages.RunMetadata, tag: str, global_step: Any = None) -> None:
        """Adds what a run of the session reported. Raises ValueError where ``tag`` was used before."""
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = messages.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(messages.Event(tagged_run_metadata=tagged), global_step)

    def _add(self, event: messages.Event, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_event(self, event: messages.Event) -> None:
        """Adds an event as it is. After ``close`` it is dropped, with a warning."""
        if self._closed:
            logs.warning(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened."
            )
        else:
            self._file.add(event)

    # ---- the file

    def flush(self) -> None:
        """Afterwards readers find every event that was added."""
        self._file.flush()

    def close(self) -> None:
        """Flushes and closes the file."""
        self._file.close()
        self._closed = True

    def reopen(self) -> None:
        """Takes events again after ``close``, into another file; does nothing before."""
        self._closed = False


class FileWriterCache:
    """The writers of this process, one for each folder."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Closes the writers and forgets them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()

    @staticmethod
    def get(logdir: str) -> FileWriter:
        """The writer of a folder; a new one begins with the default graph."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._writers:
                FileWriterCache._writers[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._writers[logdir]


def summary_iterator(path: str) -> Iterator[messages.Event]:
    """The events of a file, in order.

    A record that is cut off at the end of the file, by a writer that is at work or was killed, ends it.

    Raises:
      NotFoundError: there is no such file.
      DataLossError: a record is damaged.
    """
    return events(os.fsdecode(path))
