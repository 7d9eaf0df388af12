"""``tf.contrib.summary``: operations that write events themselves, to the writer that is the default."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from towerstrat.graph.ir.context_stacks import get_default_session
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int64, string
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.ops.math.arithmetic import equal
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.platform import logs, messages
from towerstrat.training.base.global_step import get_or_create_global_step
from towerstrat.training.summaries import recording_state, summary_protos
from towerstrat.training.summaries.recording_state import CURRENT, SUMMARIES, SummaryWriter, record_if, recorded
from towerstrat.training.summaries.shared_writers import shared_file, shared_files
from towerstrat.training.summaries.summary_names import summary_scope
from towerstrat.training.summaries.write_ops import write_strings

_INITIALIZERS = "_SUMMARY_WRITER_V2"


# ---- writers ---------------------------------------------------------------------------------------------------------


def create_file_writer(
    logdir: str | None,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of event files. Eagerly its file begins now, in graphs with its initializer or the first event.

    Args:
      logdir: the folder; None: nothing is written.
      max_queue: changes nothing: events do not wait.
      flush_millis: how often a remote file is written anew, by default every two minutes.
      filename_suffix: the end of the file's name, by default ``.v2``.
      name: writers of one name in a graph share a file, and the first one's arguments hold; by default that of the
        folder.
    """
    if logdir is None:
        return SummaryWriter()
    graph = get_default_graph()
    seconds = 120.0 if flush_millis is None else float(recording_state.known(flush_millis)) / 1000
    writer = SummaryWriter(shared_file(graph, name, os.fsdecode(logdir), seconds, filename_suffix))
    initializer = writer.init()
    if not graph.executing_eagerly:
        graph.add_to_collection(_INITIALIZERS, initializer)
    return writer


def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """The earlier name of ``create_file_writer``."""
    logs.warning("Deprecation Warning: create_summary_file_writer was renamed to create_file_writer")
    return create_file_writer(*args, **kwargs)


def initialize(graph: Graph | messages.GraphDef | None = None, session: Session | None = None) -> None:
    """Runs the initializers of all writers; does nothing where operations are executed eagerly.

    Args:
      graph: written too, for step 0.
      session: by default the default session.

    Raises:
      RuntimeError: there is no default writer.
      ValueError: there is no session.
    """
    if get_default_graph().executing_eagerly:
        return
    if CURRENT.file is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    runner = session or get_default_session()
    if runner is None:
        raise ValueError("session must be passed if no default session exists")
    runner.run(summary_writer_initializer_op())
    if graph is not None:
        CURRENT.file.add(messages.Event(wall_time=time.time(), graph_def=recording_state.serialized(graph)))


def summary_writer_initializer_op() -> Sequence[Operation]:
    """The operations that begin the files of the graph's writers. Raises RuntimeError eagerly."""
    graph = get_default_graph()
    if graph.executing_eagerly:
        raise RuntimeError("tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode.")
    return graph.get_collection(_INITIALIZERS)


def all_summary_ops() -> Sequence[Tensor] | None:
    """What was recorded in the default graph, for a session to run; None eagerly."""
    graph = get_default_graph()
    return None if graph.executing_eagerly else graph.get_collection(SUMMARIES)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Operation | None:
    """The operation after which readers find what was recorded.

    Args:
      writer: by default the thread's.
    """
    if writer is not None:
        return writer.flush()
    return no_op() if CURRENT.file is None else recording_state.flush_file(CURRENT.file, name)


def flush_all() -> list[Operation]:
    """The operations after which readers find what all writers of the default graph recorded."""
    found = [recording_state.flush_file(file) for file in shared_files(get_default_graph())]
    return [op for op in found if op is not None]


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The folder for summaries of an evaluation."""
    return os.path.join(model_dir, "eval" if not name else f"eval_{name}")


# ---- conditions ------------------------------------------------------------------------------------------------------


def should_record_summaries() -> Any:
    """Whether something is recorded: a truth or a scalar bool tensor; False where no function below says so."""
    return recording_state.should_record(False)


def always_record_summaries() -> AbstractContextManager[None]:
    """Inside, everything is recorded."""
    return record_if(True)


def never_record_summaries() -> AbstractContextManager[None]:
    """Inside, nothing is recorded."""
    return record_if(False)


@contextmanager
def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """Inside, values are recorded in steps that ``n`` divides.

    Args:
      global_step: by default the global step, which is made where there is none.
    """
    step = get_or_create_global_step() if global_step is None else global_step
    with record_if(equal(step % n, 0)):
        yield


# ---- what is recorded ------------------------------------------------------------------------------------------------


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Tensor | Operation:
    """Records a number.

    Args:
      name: the tag is this name with those of the scopes around.
      family: TensorBoard's group of the tag, which begins with it.
      step: by default the global step, which is made where there is none.

    Returns:
      A scalar bool, whether it was recorded; an operation that does nothing where there is no writer.
    """
    return _record("WriteScalarSummary", name, tensor, family, step, summary_protos.of_number)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Tensor | Operation:
    """Records the distribution of a tensor's values. As ``scalar``."""
    return _record("WriteHistogramSummary", name, tensor, family, step, summary_protos.of_distribution)


def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None, step: Any = None
) -> Tensor | Operation:
    """Records the first images of a batch. As ``scalar``.

    Args:
      tensor: as that of ``tf.summary.image``.
      bad_color: what is shown where a value is not finite: uint8, by default red.
    """
    color = np.asarray(summary_protos.BAD_COLOR if bad_color is None else recording_state.known(bad_color), np.uint8)
    return _record(
        "WriteImageSummary",
        name,
        tensor,
        family,
        step,
        lambda tag, value: summary_protos.of_images(tag, value, max_images, color),
    )


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None
) -> Tensor | Operation:
    """Records the first sounds of a batch. As ``scalar``.

    Args:
      tensor: as that of ``tf.summary.audio``.
      sample_rate: frames per second.
    """
    rate = np.asarray(recording_state.known(sample_rate), np.float32)
    return _record(
        "WriteAudioSummary",
        name,
        tensor,
        family,
        step,
        lambda tag, value: summary_protos.of_sounds(tag, value, rate, max_outputs),
    )


def generic(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Tensor | Operation:
    """Records a tensor of any type. As ``scalar``.

    Args:
      metadata: a ``SummaryMetadata`` that says who shows it, or its bytes.
    """
    given = recording_state.metadata_bytes(metadata)
    return _record(
        "WriteSummary", name, tensor, family, step, lambda tag, value: summary_protos.of_tensor(tag, value, given)
    )


def _record(
    type: str, name: str, tensor: Any, family: str | None, step: Any,
    form: Callable[[str, np.ndarray[Any, Any]], messages.Summary],
) -> Tensor | Operation:  # fmt: skip
    """Records what ``form(tag, value)`` makes of a value."""
    file = CURRENT.file
    if file is None:
        return no_op()
    graph = get_default_graph()
    around = graph.get_name_scope()

    def write() -> Operation | None:
        with (
            graph.name_scope(f"{around}/" if around else None),
            summary_scope(name, family, values=[tensor]) as (tag, scope),
        ):
            return recording_state.write(type, file, _step(step), tensor, lambda value: form(tag, value), scope)

    return recorded(write, False, "")


def _step(step: Any) -> Any:
    return get_or_create_global_step() if step is None else step


def graph(param: Any, step: Any = None, name: str | None = None) -> Operation | None:
    """Writes a graph, whatever the condition.

    Args:
      param: a string tensor, the bytes of a ``GraphDef``; eagerly a ``Graph``, ``GraphDef`` or bytes too.
      step: by default the global step.

    Raises:
      TypeError: in a graph, something else than a tensor.
    """
    eager = get_default_graph().executing_eagerly
    if not eager and not isinstance(param, Tensor):
        raise TypeError(f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}")
    file = CURRENT.file
    if file is None:
        return no_op()
    data = recording_state.serialized(param) if isinstance(param, Graph | messages.GraphDef) else param

    def write(step: np.ndarray[Any, Any], data: np.ndarray[Any, Any]) -> None:
        file.add(messages.Event(wall_time=time.time(), step=int(step), graph_def=data.item()))

    inputs = [convert_to_tensor(_step(step), int64), convert_to_tensor(data, string)]
    return write_strings("WriteGraphSummary", inputs, write, name)


def import_event(tensor: Any, name: str | None = None) -> Operation | None:
    """Writes an event as it is, whatever the condition.

    Args:
      tensor: a scalar string, the bytes of an ``Event``.

    Raises:
      RuntimeError: there is no default writer.
      InvalidArgumentError: when it runs: these are no such bytes.
    """
    file = CURRENT.file
    if file is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")

    def write(data: np.ndarray[Any, Any]) -> None:
        file.add(recording_state.parsed(messages.Event, data))

    return write_strings("ImportEvent", [convert_to_tensor(tensor, string)], write, name)
