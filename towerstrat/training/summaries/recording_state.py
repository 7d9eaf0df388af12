"""Whether, where and for which step values are recorded: what is current in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import DecodeError, Message

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import HostArray, string
from towerstrat.graph.ops.control import branches
from towerstrat.platform import messages
from towerstrat.platform.event_files import EventFile
from towerstrat.platform.threads import ThreadState
from towerstrat.training.summaries.write_ops import write_numbers, write_strings

SUMMARIES = "_SUMMARY_V2"
"""The collection of operations that record something."""


class _Current(ThreadState):
    """What is current in this thread: where events go, for which step by default, and under which condition."""

    def __init__(self) -> None:
        self.file: EventFile | None = None
        self.step: Any = None
        self.condition: Any = None


CURRENT = _Current()


class SummaryWriter:
    """Writes what is recorded while it is the default writer.

    Args:
      file: None: nowhere.
    """

    def __init__(self, file: EventFile | None = None):
        self._file = file
        self._closed = False

    def set_as_default(self, step: Any = None) -> None:
        """Makes this the thread's writer.

        Args:
          step: the default step from now on; None leaves it.

        Raises:
          RuntimeError: the writer is closed.
        """
        self._check_open()
        CURRENT.file = self._file
        if step is not None:
            CURRENT.step = step

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Makes this the thread's writer inside, and flushes it at the end. As ``set_as_default``."""
        self._check_open()
        saved = CURRENT.file, CURRENT.step
        CURRENT.file = self._file
        if step is not None:
            CURRENT.step = step
        try:
            yield self
            self.flush()
        finally:
            CURRENT.file = saved[0]
            if step is not None:
                CURRENT.step = saved[1]

    def init(self) -> Operation | None:
        """The operation that begins the file; None where operations are executed eagerly: it has begun."""
        self._check_open()
        return None if self._file is None else open_file(self._file)

    def flush(self) -> Operation | None:
        """The operation after which readers find what was recorded; None where it is done."""
        return None if self._closed else flush_file(self._file)

    def close(self) -> Operation | None:
        """The operation that flushes and ends the file; None where it is done."""
        if self._file is None or self._closed:
            return None
        graph = get_default_graph()
        self._closed = graph.executing_eagerly
        return write_strings("CloseSummaryWriter", [], self._file.close)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("SummaryWriter is already closed")


def open_file(file: EventFile) -> Operation | None:
    return write_strings("CreateSummaryFileWriter", [], file.open)


def flush_file(file: EventFile | None, name: str | None = None) -> Operation | None:
    return None if file is None else write_numbers("FlushSummaryWriter", [], file.flush, name)


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Records only where ``condition`` holds.

    Args:
      condition: a truth, a scalar bool tensor, or a function that gives one, which is called for each summary.
    """
    saved = CURRENT.condition
    CURRENT.condition = condition
    try:
        yield
    finally:
        CURRENT.condition = saved


def should_record(default: bool) -> Any:
    """The condition as a truth, or a scalar bool tensor; ``default`` where there is none."""
    condition = CURRENT.condition() if callable(CURRENT.condition) else CURRENT.condition
    if condition is None:
        return default
    known = constant_value(condition) if isinstance(condition, Tensor) else condition
    return condition if known is None else bool(known)


def recorded(write: Callable[[], Operation | None], default: bool, name: str | None) -> Tensor:
    """Whether something was recorded: a scalar bool, which runs ``write`` where the condition holds.

    Args:
      write: adds the operation that writes.
      default: the condition where none is set.
      name: of the branch.
    """
    graph = get_default_graph()

    def record() -> Tensor:
        with graph.control_dependencies([op] if (op := write()) is not None else []):
            return constant(True)

    condition = should_record(default)
    if graph.executing_eagerly or isinstance(condition, bool):
        return _collected(record() if condition else constant(False))
    return _collected(branches.cond(condition, record, lambda: constant(False), name=name))


def _collected(done: Tensor) -> Tensor:
    graph = get_default_graph()
    if not graph.executing_eagerly:
        graph.add_to_collection(SUMMARIES, done)
    return done


def write(
    type: str, file: EventFile, step: Any, value: Any, form: Callable[[HostArray], messages.Summary], name: str | None
) -> Operation | None:
    """Adds the operation that writes what ``form`` makes of a value; one of strings runs on the host.

    Returns:
      The operation; None where operations are executed eagerly: it is done.
    """

    def add(step: HostArray, value: HostArray) -> None:
        file.add(messages.Event(wall_time=time.time(), step=int(step), summary=form(value)))

    tensor = convert_to_tensor(value)
    at = convert_to_tensor(step)
    if type == "WriteSummary" and tensor.dtype is string:
        return write_strings("WriteStringSummary", [at, tensor], add, name)
    return write_numbers(type, [at, tensor], add, name)


def known(value: Any) -> Any:
    """An argument that must be known when an operation is made. Raises ValueError for a tensor that is not constant."""
    found = constant_value(value) if isinstance(value, Tensor) else value
    if found is None:
        raise ValueError(f"Expected a value that is known when the graph is built, got {value!r}.")
    return found


def metadata_bytes(metadata: messages.SummaryMetadata | bytes | None) -> bytes:
    if metadata is None:
        return b""
    return metadata if isinstance(metadata, bytes) else metadata.SerializeToString()


def parsed(kind: type[Message], data: HostArray) -> Any:
    """The message in a scalar string. Raises ValueError where these are not its bytes."""
    try:
        return kind.FromString(data.item())
    except DecodeError as error:
        raise ValueError(f"These are not the bytes of a message {kind.DESCRIPTOR.name}: {error}") from None


def serialized(graph: Graph | messages.GraphDef) -> bytes:
    """The bytes of a graph's definition, with shapes."""
    definition = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
    return definition.SerializeToString()
