"""``tf.summary`` of 2.x: records values as tensors, with metadata that say which plugin of TensorBoard shows them."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import HostArray, float32, string
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.platform import messages
from towerstrat.platform.event_files import EventFile
from towerstrat.training.summaries import recording_state, summary_protos
from towerstrat.training.summaries.png_wav import png, wav
from towerstrat.training.summaries.recording_state import CURRENT, SummaryWriter, recorded

Data = Any
"""A tensor, or a function that gives one, called only where it is recorded."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_.\\/-]")
_COUNT = itertools.count()
_BUCKETS = 30
_WAV = b"\x10\x0b"
"""The bytes of ``AudioPluginData(encoding=WAV)``."""


# ---- writers and what is current -------------------------------------------------------------------------------------


def create_file_writer(
    logdir: str,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """A writer of event files in a folder. Eagerly its file begins now, in graphs with ``init`` or the first event.

    Args:
      max_queue: changes nothing: events do not wait.
      flush_millis: how often a remote file is written anew, by default every two minutes.
      filename_suffix: the end of the file's name, by default ``.v2``.
      name: changes nothing: each writer has a file of its own.
      experimental_trackable: changes nothing: what a function writes to lives as long as the function.

    Raises:
      UnsupportedError: ``experimental_mesh`` is given.
    """
    if experimental_mesh is not None:
        raise UnsupportedError("create_file_writer(experimental_mesh=): there is no DTensor; leave it out.")
    suffix = f".{os.getpid()}.{next(_COUNT)}{'.v2' if filename_suffix is None else filename_suffix}"
    seconds = 120.0 if flush_millis is None else float(recording_state.known(flush_millis)) / 1000
    writer = SummaryWriter(EventFile(os.fsdecode(logdir), seconds, suffix))
    if get_default_graph().executing_eagerly:
        writer.init()
    return writer


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing."""
    return SummaryWriter()


def set_step(step: Any) -> None:
    """Sets the thread's default step: a number, a variable, or None for none."""
    CURRENT.step = step


def get_step() -> Any:
    """The thread's default step, None where there is none."""
    return CURRENT.step


def should_record_summaries() -> Tensor:
    """Whether something is recorded: there is a writer, and the condition of ``record_if`` holds. A scalar bool."""
    return convert_to_tensor(CURRENT.file is not None and recording_state.should_record(True))


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> Operation | None:
    """Afterwards readers find what was recorded.

    Args:
      writer: by default the thread's.
    """
    return recording_state.flush_file(CURRENT.file, name) if writer is None else writer.flush()


@contextmanager
def summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Iterator[tuple[str, str]]:
    """Opens a name scope for a summary; yields its tag, the name with those of the scopes around it, and the scope."""
    around = get_default_graph().get_name_scope()
    name = name or default_name
    with name_scope(_ILLEGAL.sub("", name) or None, default_name, values) as scope:
        yield f"{around}/{name}" if around else name, scope


# ---- what is recorded ------------------------------------------------------------------------------------------------


def write(tag: str, tensor: Data, step: Any = None, metadata: Any = None, name: str | None = None) -> Tensor:
    """Records a tensor of any type.

    Args:
      tag: usually from ``summary_scope``.
      step: by default that of ``set_step``.
      metadata: a ``SummaryMetadata`` that says who shows the tensor, or its bytes.

    Returns:
      A scalar bool: whether it was recorded.

    Raises:
      ValueError: there is no step.
    """
    given = recording_state.metadata_bytes(metadata)
    return _record(tensor, step, lambda value: summary_protos.of_tensor(tag, value, given), name)


def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Tensor:
    """Records a ``Summary`` as it is.

    Args:
      tensor: a scalar string, the bytes of a ``Summary``.
    """
    return _record(tensor, step, lambda value: recording_state.parsed(messages.Summary, value), name)


def _record(data: Data, step: Any, form: Callable[[HostArray], messages.Summary], name: str | None) -> Tensor:
    """Records what ``form`` makes of the value of a tensor. Raises ValueError where there is no step."""
    file = CURRENT.file
    if file is None:
        return constant(False)
    step = CURRENT.step if step is None else step

    def record() -> Operation | None:
        if step is None:
            raise ValueError(
                "No step set. Please specify one either through the `step` argument or through "
                "tf.summary.experimental.set_step()"
            )
        return recording_state.write("WriteSummary", file, step, data() if callable(data) else data, form, name)

    return recorded(record, True, "summary_cond")


def _shown(
    name: str, default_name: str, data: Data, step: Any, metadata: messages.SummaryMetadata, description: str | None,
    form: Callable[[HostArray], HostArray],
) -> Tensor:  # fmt: skip
    """Records what ``form`` makes of a tensor, as another tensor, for a plugin."""
    described = messages.SummaryMetadata(summary_description=description or "")
    described.MergeFrom(metadata)
    given = described.SerializeToString()
    with summary_scope(name, default_name, [step]) as (tag, _):
        return _record(data, step, lambda value: summary_protos.of_tensor(tag, form(value), given), None)


def _plugin(name: str, content: bytes = b"") -> messages.SummaryMetadata:
    return messages.SummaryMetadata(plugin_data={"plugin_name": name, "content": content})


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Records a number, as float32.

    Args:
      name: the tag is this name with those of the scopes around.
      step: by default that of ``set_step``.
      description: Markdown.

    Returns:
      A scalar bool: whether it was recorded.

    Raises:
      ValueError: not a scalar; there is no step.
    """

    def number() -> Tensor:
        value = cast(data, float32)
        if value.dims not in ((), None):
            raise ValueError(f"Expected a scalar for the summary {name!r}, got shape {value.shape}.")
        return value

    return _shown(name, "scalar_summary", number, step, _plugin("scalars"), description, lambda value: value)


def histogram(
    name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None
) -> Tensor:
    """Records the distribution of a tensor's values in buckets of one width. As ``scalar``.

    Args:
      buckets: how many, by default 30. Where all values are equal, the last one has them.
    """
    count = max(0, _BUCKETS if buckets is None else int(recording_state.known(buckets)))
    return _shown(
        name, "histogram_summary", data, step, _plugin("histograms"), description, lambda value: _buckets(value, count)
    )


def _buckets(values: HostArray, count: int) -> HostArray:
    """Rows of left end, right end and number of values: float64 ``[count, 3]``."""
    flat = np.asarray(values, np.float64).reshape(-1)
    if not flat.size or not count:
        return np.zeros((count, 3))
    low, high = flat.min(), flat.max()
    edges = np.append(np.linspace(low, high, count + 1)[:-1], high)
    if low == high:
        places = np.full(flat.size, count - 1)
    else:
        places = np.minimum(np.floor((flat - low) / ((high - low) / count)).astype(np.int64), count - 1)
    return np.stack([edges[:-1], edges[1:], np.bincount(places, minlength=count)], axis=1)


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> Tensor:
    """Records the first images of a batch. As ``scalar``.

    Args:
      data: ``[batch, height, width, channels]`` with 1, 3 or 4 channels: uint8, or floats from 0 to 1.
      max_outputs: how many images at most.

    Raises:
      ValueError: another shape.
    """

    def form(images: HostArray) -> HostArray:
        height, width = images.shape[1:3]
        shown = [png(_pixels(entry)) for entry in images[:max_outputs]]
        return np.array([str(width).encode(), str(height).encode(), *shown], object)

    def batch() -> Tensor:
        tensor = convert_to_tensor(data)
        if tensor.dims is not None and len(tensor.dims) != 4:
            raise ValueError(f"Expected a batch of images of rank 4 for the summary {name!r}, got {tensor.shape}.")
        return tensor

    return _shown(name, "image_summary", batch, step, _plugin("images"), description, form)


def _pixels(image: HostArray) -> HostArray:
    """An image in uint8; of floats, 1 is 255."""
    if image.dtype == np.uint8:
        return image
    return np.clip(image.astype(np.float32) * np.float32(255.5), 0, 255).astype(np.uint8)


def audio(
    name: str, data: Any, sample_rate: Any, step: Any = None, max_outputs: int = 3, encoding: str | None = None,
    description: str | None = None,
) -> Tensor:  # fmt: skip
    """Records the first sounds of a batch. As ``scalar``.

    Args:
      data: float32 ``[batch, frames, channels]`` from -1 to 1.
      sample_rate: frames per second.
      max_outputs: how many sounds at most.
      encoding: "wav", which is the default.

    Raises:
      ValueError: another encoding, or another shape.
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}. Expected 'wav'.")
    rate = int(recording_state.known(sample_rate))

    def form(sounds: HostArray) -> HostArray:
        rows = [[wav(samples, rate), b""] for samples in sounds[:max_outputs]]
        return np.array(rows, object).reshape(-1, 2)

    def batch() -> Tensor:
        tensor = convert_to_tensor(data)
        if tensor.dims is not None and len(tensor.dims) != 3:
            raise ValueError(f"Expected a batch of sounds of rank 3 for the summary {name!r}, got {tensor.shape}.")
        return tensor

    return _shown(name, "audio_summary", batch, step, _plugin("audio", _WAV), description, form)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Records strings, which TensorBoard shows as Markdown; vectors and matrices as tables. As ``scalar``."""
    return _shown(
        name, "text_summary", lambda: convert_to_tensor(data, string), step, _plugin("text"), description, lambda x: x
    )


def graph(graph_data: Graph | messages.GraphDef) -> Tensor:
    """Records a graph, for step 0. Returns a scalar bool: whether it was recorded.

    Raises:
      ValueError: inside of a graph, or for something else.
    """
    if not get_default_graph().executing_eagerly:
        raise ValueError("graph() cannot be invoked inside a graph context.")
    if CURRENT.file is None or not recording_state.should_record(True):
        return constant(False)
    if not isinstance(graph_data, Graph | messages.GraphDef):
        raise ValueError(
            "Argument 'graph_data' is not tf.Graph or tf.compat.v1.GraphDef. Received "
            f"graph_data={graph_data} of type {type(graph_data).__name__}."
        )
    CURRENT.file.add(messages.Event(wall_time=time.time(), graph_def=recording_state.serialized(graph_data)))
    return constant(True)
