"""Arrays as serialized ``TensorProto`` messages, with all elements as one string of bytes."""

from __future__ import annotations

import itertools

import numpy as np

from towerstrat.checkpoints.varint import read_varint, write_varint
from towerstrat.graph.ir.node_def import shape_proto
from towerstrat.graph.ir.tensor_proto import make_ndarray
from towerstrat.graph.ir.types import HostArray, as_dtype, string
from towerstrat.platform import messages


def tensor_text(array: HostArray) -> bytes:
    """The message of an array; the bytes of strings come after their lengths."""
    kind = string if array.dtype == object else as_dtype(array.dtype)
    content = array.tobytes() if kind is not string else _joined(array.ravel().tolist())
    proto = messages.TensorProto(dtype=kind.as_datatype_enum, tensor_shape=shape_proto(array.shape))
    proto.tensor_content = content
    return bytes(proto.SerializeToString())


def _joined(texts: list[bytes]) -> bytes:
    return b"".join([*map(write_varint, map(len, texts)), *texts])


def tensor_of(text: bytes) -> HostArray:
    """The array of a message. Raises ValueError for what is none."""
    try:
        proto = messages.TensorProto.FromString(text)
        kind = as_dtype(proto.dtype)
    except Exception:  # google.protobuf.message.DecodeError, which is not imported for it
        raise ValueError("Could not parse serialized proto") from None
    if kind is not string or not proto.tensor_content:
        return make_ndarray(proto)
    content, place, sizes = proto.tensor_content, 0, []
    shape = [d.size for d in proto.tensor_shape.dim]
    count = int(np.prod(shape, dtype=np.int64))
    for _ in range(count):
        size, place = read_varint(content, place)
        sizes.append(size)
    ends = place + np.cumsum([0, *sizes])
    found = np.empty(count, object)
    found[:] = [content[a:b] for a, b in itertools.pairwise(ends)]
    return found.reshape(shape)
