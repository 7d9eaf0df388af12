"""Strings that hold something else: tensors, compressed bytes, messages as JSON."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from google.protobuf import json_format

from towerstrat.errors import DataLossError, InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.node_def import shape_proto
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.tensor_proto import make_ndarray
from towerstrat.graph.ir.types import DType, DTypeLike, HostArray, as_dtype, string
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.text.string_kernels import each
from towerstrat.platform import messages
from towerstrat.platform.compressed import KINDS, WINDOW_BITS

Inputs = Sequence[Tensor]


def _each_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(string, inputs[0].dims)]


# ---- tensors ---------------------------------------------------------------------------------------------------------


def _serialize(tensor: HostArray) -> bytes:
    kind = string if tensor.dtype == object else as_dtype(tensor.dtype)
    proto = messages.TensorProto(dtype=kind.as_datatype_enum, tensor_shape=shape_proto(tensor.shape))
    if kind is string:
        proto.string_val.extend(tensor.ravel().tolist())
    else:
        proto.tensor_content = tensor.tobytes()
    return bytes(proto.SerializeToString())


def _parse(serialized: HostArray, *, out_type: DType) -> HostArray:
    text = serialized.item()
    try:
        proto = messages.TensorProto.FromString(text)
    except Exception:  # google.protobuf.message.DecodeError, which is not imported for it
        raise ValueError(f"Could not parse `serialized` as TensorProto: '{text.decode(errors='replace')}'") from None
    if proto.dtype != out_type.as_datatype_enum:
        found = as_dtype(proto.dtype).name if proto.dtype else "none"
        raise ValueError(f"Type mismatch between parsed tensor ({found}) and dtype ({out_type.name})")
    return make_ndarray(proto)


def _parse_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if inputs[0].dims:
        raise InvalidArgumentError(
            None, None, f"Expected `serialized` to be a scalar, got shape: {list(inputs[0].dims)}"
        )
    return [Signature(attrs["out_type"], None)]


define_op("SerializeTensor", lambda inputs, attrs: [Signature(string, ())], numpy=_serialize, differentiable=False)
define_op("ParseTensor", _parse_rule, numpy=_parse, differentiable=False)


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as a serialized ``TensorProto``, a scalar string."""
    return add_op("SerializeTensor", [convert_to_tensor(tensor)], {}, name)


def parse_tensor(serialized: Any, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that a serialized ``TensorProto`` holds.

    Args:
      serialized: a scalar string.
      out_type: its element type.

    Raises:
      InvalidArgumentError: another element type, no such message, or ``serialized`` is no scalar.
    """
    return add_op("ParseTensor", [convert_to_tensor(serialized, string)], {"out_type": as_dtype(out_type)}, name)


# ---- compressed bytes ------------------------------------------------------------------------------------------------


def _decompress(texts: HostArray, *, compression_type: str) -> HostArray:
    def inflated(text: bytes) -> bytes:
        try:
            return zlib.decompress(text, WINDOW_BITS[compression_type])
        except zlib.error as error:
            said = str(error).replace("Error", "error").replace(" while decompressing data", "")
            raise DataLossError(None, None, f"inflate() failed with {said}") from None

    return each(inflated, texts) if compression_type else texts


define_op("DecodeCompressed", _each_rule, numpy=_decompress, differentiable=False)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Compressed strings as what they hold.

    Args:
      compression_type: "", "GZIP" or "ZLIB".

    Raises:
      InvalidArgumentError: another type of compression. DataLossError: a string is not compressed so.
    """
    if compression_type not in KINDS:
        raise InvalidArgumentError(
            None, None, f"Only ZLIB, GZIP or NONE are supported compressions, got {compression_type!r}"
        )
    return add_op("DecodeCompressed", [convert_to_tensor(bytes, string)], {"compression_type": compression_type}, name)


# ---- JSON ------------------------------------------------------------------------------------------------------------


def _of_json(texts: HostArray) -> HostArray:
    def message(text: bytes) -> bytes:
        try:
            return bytes(json_format.Parse(text, messages.Example()).SerializeToString())
        except json_format.ParseError as error:
            raise ValueError(f"Error while parsing JSON: {error}") from None

    return each(message, texts)


define_op("DecodeJSONExample", _each_rule, numpy=_of_json, differentiable=False)


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """``Example`` messages as JSON, as serialized ones. Raises InvalidArgumentError where one is none."""
    return add_op("DecodeJSONExample", [convert_to_tensor(json_examples, string)], {}, name)
