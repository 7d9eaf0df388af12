"""Operations that give ``Summary`` messages as bytes: the device computes values, the host makes messages of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Rule, Signature, define_op, scalar
from towerstrat.graph.ir.types import (
    DType,
    HostArray,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from towerstrat.platform import messages
from towerstrat.training.summaries import summary_protos

REAL = (float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, float16, uint32, uint64)
IMAGES = (uint8, float32, float16, float64)


def taking(types: Collection[DType], parameter: str, position: int, outputs: Sequence[Signature] = ()) -> Rule:
    """The shape rule of types one input of which is of some element types. Others raise TypeError."""

    def rule(inputs: Sequence[Tensor], attrs: Attrs) -> Sequence[Signature]:
        dtype = inputs[position].dtype
        if dtype not in types:
            raise TypeError(
                f"Value passed to parameter '{parameter}' has DataType {dtype.name} not in list of allowed values: "
                f"{', '.join(t.name for t in types)}"
            )
        return outputs

    return rule


def _text(message: messages.Summary) -> HostArray:
    """The bytes of a message as a scalar."""
    array = np.empty((), object)
    array[()] = message.SerializeToString()
    return array


def _scalar(tags: HostArray, values: HostArray) -> HostArray:
    if tags.shape != values.shape:
        shapes = f"{list(tags.shape)} != {list(values.shape)}"
        raise ValueError(f"tags and values not the same shape: {shapes} (tag '{_tag(tags)}')")
    return _text(summary_protos.of_number(_tag(tags), values))


def _tag(tag: HostArray) -> str:
    return tag.item().decode()


def _histogram(tag: HostArray, values: HostArray) -> HostArray:
    return _text(summary_protos.of_distribution(_tag(tag), values))


def _images(tag: HostArray, tensor: HostArray, max_images: int, bad_color: HostArray) -> HostArray:
    return _text(summary_protos.of_images(_tag(tag), tensor, max_images, bad_color))


def _sounds(tag: HostArray, tensor: HostArray, sample_rate: HostArray, max_outputs: int) -> HostArray:
    return _text(summary_protos.of_sounds(_tag(tag), tensor, sample_rate, max_outputs))


def _tensor(tag: HostArray, tensor: HostArray, serialized_summary_metadata: HostArray) -> HostArray:
    return _text(summary_protos.of_tensor(_tag(tag), tensor, serialized_summary_metadata.item()))


def _merge(*inputs: HostArray, N: int) -> HostArray:
    return _text(summary_protos.merged([summary for array in inputs for summary in array.reshape(-1).tolist()]))


_OUTPUT = [Signature(string, ())]
define_op("ScalarSummary", taking(REAL, "values", 1, _OUTPUT), numpy=_scalar, differentiable=False)
define_op("HistogramSummary", taking(REAL, "values", 1, _OUTPUT), numpy=_histogram, differentiable=False)
define_op("ImageSummary", taking(IMAGES, "tensor", 1, _OUTPUT), numpy=_images, differentiable=False)
define_op("AudioSummaryV2", taking((float32,), "tensor", 1, _OUTPUT), numpy=_sounds, differentiable=False)
define_op("TensorSummaryV2", scalar(string), numpy=_tensor, differentiable=False)
define_op("MergeSummary", taking((string,), "inputs", 0, _OUTPUT), numpy=_merge, differentiable=False)
