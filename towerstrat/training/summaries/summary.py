"""``tf.summary`` of 1.x: operations that give serialized ``Summary`` messages, for a ``FileWriter`` to add."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

import numpy as np
from google.protobuf import json_format

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import float32, string
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.collectives.all_reduce import select
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.platform import messages
from towerstrat.towers.engine import tower_contexts
from towerstrat.training.summaries import summary_ops  # noqa: F401 - the operation types
from towerstrat.training.summaries.summary_names import clean_tag, collect, summary_scope
from towerstrat.training.summaries.summary_protos import BAD_COLOR

_ALL = (GraphKeys.SUMMARIES,)


P = ParamSpec("P")


def _of_first_tower(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Makes a function give an empty summary, which is not collected, in towers after the first.

    So it is where a function is called for each tower; where one trace stands for all, the summary is of all of them.
    Source: ``skip_summary`` of ``tensorflow/python/ops/summary_op_util.py``.
    """

    @functools.wraps(function)
    def summary(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        tower = tower_contexts.get_tower_context()
        number = None if tower is None else tower._tower_id
        return constant("") if isinstance(number, int) and number > 0 else function(*args, **kwargs)

    return summary


@_of_first_tower
def scalar(name: str, tensor: Any, collections: Sequence[Any] | None = None, family: str | None = None) -> Tensor:
    """A summary of a number.

    Args:
      name: of the operation; the tag is its full name.
      tensor: a scalar real tensor.
      collections: where the summary is collected, by default ``GraphKeys.SUMMARIES``, which ``merge_all`` takes.
      family: TensorBoard's group of the tag, which begins with it.

    Returns:
      A scalar of type string: a serialized ``Summary``.

    Raises:
      TypeError: truths, strings or complex numbers.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        inputs = [_named(tag, scope, "tags"), convert_to_tensor(tensor, name=f"{scope}values/")]
        return _added("ScalarSummary", inputs, None, scope, collections)


@_of_first_tower
def histogram(name: str, values: Any, collections: Sequence[Any] | None = None, family: str | None = None) -> Tensor:
    """A summary of the distribution of a real tensor's values. Arguments and result as those of ``scalar``.

    Raises:
      InvalidArgumentError: when it runs: a value is not finite.
    """
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        inputs = [_named(tag, scope, "tag"), convert_to_tensor(values, None, f"{scope}values/", float32)]
        return _added("HistogramSummary", inputs, None, scope, collections)


@_of_first_tower
def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Sequence[Any] | None = None, family: str | None = None
) -> Tensor:
    """A summary of the first images of a batch: tags ``NAME/image/0``, ..., or ``NAME/image`` where one is asked for.

    Args:
      tensor: ``[batch, height, width, channels]`` with 1, 3 or 4 channels. uint8 is shown as it is. Of floats the
        largest value is white; where some are negative, 0 is grey. What is not finite is red.
      max_outputs: how many images at most.

    Raises:
      TypeError: another element type than uint8, float16, float32 and float64.
      ValueError: ``max_outputs`` is less than 1.
      InvalidArgumentError: when it runs: another shape.
    """
    attrs = {"max_images": _positive(max_outputs, "max_images", "ImageSummary"), "bad_color": _bad_color()}
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        inputs = [_named(tag, scope, "tag"), convert_to_tensor(tensor, None, f"{scope}tensor/", float32)]
        return _added("ImageSummary", inputs, attrs, scope, collections)


@_of_first_tower
def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Tensor:  # fmt: skip
    """A summary of the first sounds of a batch: tags ``NAME/audio/0``, ..., or ``NAME/audio`` where one is asked for.

    Args:
      tensor: float32 ``[batch, frames, channels]`` or ``[batch, frames]``, from -1 to 1.
      sample_rate: frames per second, a scalar.
      max_outputs: how many sounds at most.

    Raises:
      ValueError: ``max_outputs`` is less than 1.
      InvalidArgumentError: when it runs: another shape, or no positive rate.
    """
    attrs = {"max_outputs": _positive(max_outputs, "max_outputs", "AudioSummaryV2")}
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, float32, name=f"{scope}sample_rate/")
        inputs = [_named(tag, scope, "tag"), convert_to_tensor(tensor, name=f"{scope}tensor/"), rate]
        return _added("AudioSummaryV2", inputs, attrs, scope, collections)


@_of_first_tower
def text(name: str, tensor: Any, collections: Sequence[Any] | None = None) -> Tensor:
    """A summary of strings, which TensorBoard shows as Markdown; vectors and matrices as tables.

    Raises:
      ValueError: not a tensor of strings.
    """
    if tensor.dtype is not string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = messages.SummaryMetadata(plugin_data={"plugin_name": "text"})
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


@_of_first_tower
def tensor_summary(
    name: str, tensor: Any, summary_description: str | None = None, collections: Sequence[Any] | None = None,
    summary_metadata: messages.SummaryMetadata | None = None, family: str | None = None,
    display_name: str | None = None,
) -> Tensor:  # fmt: skip
    """A summary of a tensor of any type and shape, for the plugin of TensorBoard that its metadata name.

    Args:
      summary_description: Markdown.
      summary_metadata: says which plugin shows the tensor.
      display_name: what it is called there instead of the tag.
    """
    metadata = messages.SummaryMetadata()
    metadata.MergeFrom(summary_metadata or metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        inputs = [
            _named(tag, scope, "tag"),
            convert_to_tensor(tensor, name=f"{scope}tensor/"),
            _named(metadata.SerializeToString(), scope, "serialized_summary_metadata"),
        ]
        return _added("TensorSummaryV2", inputs, None, scope, collections)


def merge(inputs: Sequence[Any], collections: Sequence[Any] | None = None, name: str | None = None) -> Tensor:
    """The values of several summaries as one.

    Args:
      inputs: tensors of serialized ``Summary`` messages.
      collections: where it is collected, by default nowhere.

    Raises:
      RuntimeError: operations are executed eagerly.
      ValueError: no inputs.
      InvalidArgumentError: when it runs: two values have one tag.
    """
    _check_graph()
    if not inputs:
        raise ValueError("List argument 'inputs' to 'MergeSummary' Op with length 0 shorter than minimum length 1.")
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        tensors = [convert_to_tensor(summary) for summary in inputs]
        merged = _made("MergeSummary", tensors, {"N": len(tensors)}, name or "MergeSummary")
        collect(merged, collections, ())
        return merged


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """All summaries of the default graph's collection ``key`` as one; None where there are none.

    Args:
      scope: only those whose names match this expression from their start.

    Raises:
      RuntimeError: operations are executed eagerly.
    """
    _check_graph()
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def: messages.NodeDef) -> messages.SummaryDescription:
    """What a ``TensorSummary`` node says of its values. Raises ValueError for a node of another type."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return json_format.Parse(node_def.attr["description"].s.decode(), messages.SummaryDescription())


def _named(text: str | bytes, scope: str, argument: str) -> Tensor:
    """A constant of a summary's operation, named after the argument that it is."""
    return convert_to_tensor(text, string, name=f"{scope}{argument}/")


def _added(
    type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None, scope: str, collections: Sequence[Any] | None
) -> Tensor:
    """Adds a summary's operation, and collects it."""
    summary = _made(type, inputs, attrs, scope)
    collect(summary, collections, _ALL)
    return summary


def _made(type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None, name: str) -> Tensor:
    """An operation of summaries. In tower context it is that of the first tower; a step loop sees to its own."""
    graph = get_default_graph()
    axis = graph.axis
    if axis is None or graph.block is not graph.root:
        return add_op(type, inputs, attrs, name)
    with graph.under(None):
        return add_op(type, [select(t, axis, 0) if t.varies else t for t in inputs], attrs, name)


def _bad_color() -> np.ndarray[Any, Any]:
    return np.array(BAD_COLOR, np.uint8)


def _positive(count: int, attribute: str, type: str) -> int:
    if count < 1:
        raise ValueError(f"Attr '{attribute}' of '{type}' Op passed {count} less than minimum 1.")
    return count


def _check_graph() -> None:
    if get_default_graph().executing_eagerly:
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary instead."
        )
