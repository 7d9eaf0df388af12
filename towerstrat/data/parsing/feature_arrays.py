"""Features of many ``Example`` messages as columns: one array of all values, and how many each message has.

A message is taken apart by protobuf into its features, and these stay bytes; those of one name are then decoded
together by numpy. Nearly all writers write a feature in one way (a list, packed, in one piece), whose first bytes
follow from its length; others are parsed by protobuf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.graph.ir.types import DType, HostArray, float32, int64, string
from towerstrat.platform import messages

KINDS = {string: "bytes_list", float32: "float_list", int64: "int64_list"}
"""The element types that features have, and the fields of ``Feature`` that hold them."""
_NUMBERS = {kind: number for number, kind in enumerate(KINDS.values(), 1)}
_DTYPES = {kind: dtype for dtype, kind in KINDS.items()}


class Column(NamedTuple):
    """The values of a feature in many messages.

    Attributes:
      values: of all messages, flat.
      counts: how many each message has, int64.
      missing: the places of the messages without the feature.
    """

    values: HostArray
    counts: HostArray
    missing: list[int]


class FeatureError(Exception):
    """A feature of one message is not what it should be.

    Args:
      place: of the message.
      said: what is wrong.
    """

    def __init__(self, place: int, said: str):
        super().__init__(said)
        self.place = place


class MissingFeatureError(FeatureError):
    """A message has no such feature, and there is no default."""


def column(features: Sequence[bytes], dtype: DType) -> Column:
    """Decodes serialized ``Feature`` messages, empty where a message has none.

    Raises:
      FeatureError: a feature has another element type, or is no message.
    """
    if dtype is string:
        return _strings(features)
    joined, sizes, missing = _packed(features, KINDS[dtype])
    if dtype is float32:
        if sizes.size and (sizes % 4).any():
            raise FeatureError(int(np.flatnonzero(sizes % 4)[0]), "Can't parse serialized Example.")
        return Column(joined.view("<f4").astype(np.float32, copy=False), sizes // 4, missing)
    return Column(*_varints(joined, sizes), missing)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def frame(length: int) -> bytes:
    """What stands before so many bytes that are an entry of a repeated field 1."""
    return b"\n" + _varint(length)


class _Heads(dict[int, bytes]):
    """Length -> ``_head`` of it."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind

    def __missing__(self, length: int) -> bytes:
        found = self[length] = _head(length, self.kind)
        return found


def _head(length: int, kind: str) -> bytes:
    """How a feature of so many bytes begins that is one list, and the list one piece; the rest is that piece."""
    for width in range(1, 6):
        rest = _varint(length - 1 - width) if length > width else b""
        if len(rest) == width:
            break
    else:
        return b"\xff"
    inner = _head(length - 1 - width, "") if kind else b""
    return (bytes([_NUMBERS[kind] << 3 | 2]) if kind else b"\n") + rest + inner


_HEADS = {kind: _Heads(kind) for kind in _NUMBERS}


def _packed(features: Sequence[bytes], kind: str) -> tuple[HostArray, HostArray, list[int]]:
    """The packed numbers of all features joined, the size of each in bytes, and the places that have none."""
    length = len(features[0]) if features else 0
    head = _HEADS[kind][length]
    if len(head) <= length and len(set(map(len, features))) == 1:
        rows = np.frombuffer(b"".join(features), np.uint8).reshape(-1, length)
        if (rows[:, : len(head)] == np.frombuffer(head, np.uint8)).all():
            rest = np.ascontiguousarray(rows[:, len(head) :])
            return rest.reshape(-1), np.full(len(features), rest.shape[1], np.int64), []
    found, missing = _pieces(features, kind), []
    for place, piece in enumerate(found):
        if piece is None:
            values = _parsed(features[place], kind, place)
            if values is None:
                missing.append(place)
            found[place] = _repacked(values, kind) if values else b""
    sizes = np.fromiter(map(len, found), np.int64, len(found))
    return np.frombuffer(b"".join(found), np.uint8), sizes, missing


def _pieces(features: Sequence[bytes], kind: str) -> list[Any]:
    """What is in the one piece of each feature; None for a feature that is not written so."""
    heads = list(map(_HEADS[kind].__getitem__, map(len, features)))
    if all(map(bytes.startswith, features, heads)):
        return list(map(bytes.removeprefix, features, heads))
    return [
        feature[len(head) :] if feature.startswith(head) else None
        for feature, head in zip(features, heads, strict=True)
    ]


def _parsed(feature: bytes, kind: str, place: int) -> Any:
    """The values of a feature by protobuf; None where it has none of any kind. Raises FeatureError."""
    try:
        message = messages.Feature.FromString(feature)
    except Exception:  # google.protobuf.message.DecodeError, which is not imported for it
        raise FeatureError(place, "Can't parse serialized Example.") from None
    found = message.WhichOneof("kind")
    if found is None:
        return None
    if found != kind:
        raise FeatureError(
            place,
            f"Data types don't match. Data type: {_named(_DTYPES[found])} but expected type: {_named(_DTYPES[kind])}",
        )
    return getattr(message, kind).value


def _named(dtype: DType) -> str:
    return "float" if dtype is float32 else dtype.name


def _repacked(values: Any, kind: str) -> bytes:
    if kind == "float_list":
        return np.array(values, "<f4").tobytes()
    return b"".join(_varint(value % (1 << 64)) for value in values)


def _varints(data: HostArray, sizes: HostArray) -> tuple[HostArray, HostArray]:
    """The int64 numbers that bytes write in base 128, lowest digits first, and how many each of the pieces has.

    Args:
      data: all pieces, joined. sizes: of each.

    Raises:
      FeatureError: a piece ends inside of a number.
    """
    last = data < 128
    if last.all():
        return data.astype(np.int64), sizes
    borders = np.cumsum(sizes)
    cut = np.flatnonzero((sizes > 0) & ~last[borders - 1])
    if len(cut):
        raise FeatureError(int(cut[0]), "Can't parse serialized Example.")
    if np.count_nonzero(last) == len(sizes) and sizes.all():  # one number in each piece
        numbers = messages.Int64List.FromString(frame(len(data)) + data.tobytes()).value
        return np.fromiter(numbers, np.int64, len(numbers)), np.ones(len(sizes), np.int64)
    ends = np.flatnonzero(last)
    starts = np.concatenate([[0], ends[:-1] + 1])
    places = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    digits = (data & 127).astype(np.uint64) << (7 * places).astype(np.uint64)
    values = np.add.reduceat(digits, starts).view(np.int64)
    return values, np.diff(np.searchsorted(ends, borders), prepend=0)


def _strings(features: Sequence[bytes]) -> Column:
    pieces = _pieces(features, "bytes_list")
    counts = np.ones(len(features), np.int64)
    if None not in pieces:
        return Column(_objects(pieces), counts, [])
    found, missing = [], []
    for place, piece in enumerate(pieces):
        if piece is not None:
            found.append(piece)
            continue
        values = _parsed(features[place], "bytes_list", place)
        if values is None:
            missing.append(place)
        counts[place] = len(values or ())
        found += values or ()
    return Column(_objects(found), counts, missing)


# ---- columns as tensors ----------------------------------------------------------------------------------------------


def sparse(found: Column) -> tuple[HostArray, HostArray, HostArray]:
    """(indices, values, dense shape) of the sparse tensor ``[messages, most values]``."""
    counts = found.counts
    rows = np.repeat(np.arange(len(counts)), counts)
    indices = np.stack([rows, places(counts)], 1)
    return indices, found.values, np.array([len(counts), counts.max(initial=0)], np.int64)


def places(counts: HostArray) -> HostArray:
    """0, 1, ... in each of several pieces of so many entries, joined."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


def fixed(found: Column, dims: Sequence[int], default: HostArray | None) -> HostArray:
    """The values as ``[messages, *dims]``.

    Args:
      default: of messages without the feature, of the shape ``dims``; None: there is none.

    Raises:
      FeatureError: another number of values. MissingFeatureError: no default, and it is needed.
    """
    missing, size = found.missing, math.prod(dims)
    if missing and default is None:
        raise MissingFeatureError(missing[0], "is required but could not be found.")
    wrong = found.counts != size
    if missing:
        wrong[missing] = False
    if wrong.any():
        place = int(np.argmax(wrong))
        raise FeatureError(place, _unexpected(found.counts[place], dims))
    if default is None or not missing:
        return found.values.reshape(len(found.counts), *dims)
    result = np.empty((len(found.counts), size), found.values.dtype)
    present = np.ones(len(result), bool)
    present[missing] = False
    result[present] = found.values.reshape(-1, size)
    result[missing] = np.reshape(default, -1)
    return result.reshape(-1, *dims)


def padded(found: Column, dims: Sequence[int], filling: HostArray) -> HostArray:
    """The values as ``[messages, most entries, *dims]``, filled up with a scalar.

    Raises:
      FeatureError: the number of values is no multiple of the size of an entry.
    """
    stride = math.prod(dims)
    uneven = found.counts % stride != 0
    if uneven.any():
        place = int(np.argmax(uneven))
        raise FeatureError(place, _uneven(found.counts[place], dims))
    width = int(found.counts.max(initial=0))
    result = np.full((len(found.counts), width), filling[()], found.values.dtype)
    result[np.arange(width) < found.counts[:, None]] = found.values
    return result.reshape(len(result), width // stride, *dims)


def _unexpected(count: int, dims: Sequence[int]) -> str:
    return f"Number of values != expected.  Values size: {count} but output shape: {shown(dims)}"


def _uneven(count: int, dims: Sequence[int]) -> str:
    return (
        f"Number of values is not a multiple of stride length. Saw {count} values but output shape is: "
        f"{shown((None, *dims))}"
    )


def shown(dims: Sequence[int | None]) -> str:
    """A shape as messages show it."""
    return f"[{','.join('?' if d is None else str(d) for d in dims)}]"


# ---- one message -----------------------------------------------------------------------------------------------------


def values(feature: bytes, dtype: DType) -> HostArray | None:
    """The values of one serialized ``Feature``, flat; None where it has none. Raises FeatureError as ``column``."""
    kind = KINDS[dtype]
    head = _HEADS[kind][len(feature)]
    if not feature.startswith(head):
        found = _parsed(feature, kind, 0)
        return None if found is None else _objects(found) if dtype is string else np.array(found, dtype.np)
    piece = feature[len(head) :]
    if dtype is string:
        return _objects([piece])
    if dtype is int64:
        return np.array(_numbers(piece), np.int64) if len(piece) < 32 else column([feature], dtype).values
    if len(piece) % 4:
        raise FeatureError(0, "Can't parse serialized Example.")
    return np.frombuffer(piece, "<f4").astype(np.float32, copy=False)


def shaped(feature: bytes, dtype: DType, dims: Sequence[int], default: HostArray | None) -> HostArray:
    """The values of one serialized ``Feature`` as an array of a shape, or its default where it has none.

    Raises:
      FeatureError: another number of values. MissingFeatureError: no default, and it is needed.
    """
    found = values(feature, dtype)
    if found is None:
        if default is None:
            raise MissingFeatureError(0, "is required but could not be found.")
        return default
    if len(found) != math.prod(dims):
        raise FeatureError(0, _unexpected(len(found), dims))
    return found.reshape(dims)


def entries(feature: bytes, dtype: DType, dims: Sequence[int]) -> HostArray:
    """The values of one serialized ``Feature`` as ``[entries, *dims]``. Raises FeatureError where some are left."""
    found = values(feature, dtype)
    if found is None:
        return np.zeros((0, *dims), dtype.np)
    if len(found) % math.prod(dims):
        raise FeatureError(0, _uneven(len(found), dims))
    return found.reshape(-1, *dims)


def _objects(texts: Sequence[bytes]) -> HostArray:
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def _numbers(piece: bytes) -> list[int]:
    """A few int64 numbers in base 128. Raises FeatureError where the last one does not end."""
    found, number, shift = [], 0, 0
    for digit in piece:
        number |= (digit & 127) << shift
        shift += 7
        if digit < 128:
            number &= (1 << 64) - 1
            found.append(number - (1 << 64) if number >> 63 else number)
            number = shift = 0
    if shift:
        raise FeatureError(0, "Can't parse serialized Example.")
    return found
