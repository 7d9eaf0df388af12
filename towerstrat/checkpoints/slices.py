"""Slices: parts of an array that a checkpoint saves one by one (partitioned variables, collective saves).

A slice has a start and a length in each dimension, length -1 for the whole dimension. In the index the array's own
entry lists its slices; the entry with the bytes of one has a key made of the array's name and the slice. The key is in
ordered code, in which encoded tuples sort as bytes as the tuples do: strings are escaped and terminated, and a signed
number begins with as many ones (zeros, if negative) as it has bytes, above its sign.

    >>> part = Slice(starts=(4, 0), lengths=(2, -1))                # rows 4 and 5, all columns
    >>> part.within((10, 3))
    (slice(4, 6, None), slice(0, 3, None))
    >>> part.key("w").hex(" ")                                      # 0, "w", 2 dimensions, (4, 2), (0, -1)
    '00 77 00 01 01 02 84 82 80 7f'

Source: ``tensorflow/core/lib/strings/ordered_code.h``, ``tensorflow/core/util/saved_tensor_slice_util.h``.
"""

from __future__ import annotations

from typing import NamedTuple

from towerstrat.platform import messages

_ESCAPED = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}
_END = b"\x00\x01"
_HEADERS = (0, 0x80, 0xC0, 0xE0, 0xF0, 0xF8, 0xFC, 0xFE, 0xFF)
"""Mask that is XORed into the first byte of a signed number, by its length in bytes: the sign and the length."""


class Slice(NamedTuple):
    """A part of an array: start and length in each dimension, length -1 (start 0) for all of a dimension."""

    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, message: messages.TensorSliceProto) -> Slice:
        """Convert a ``TensorSliceProto``."""
        extents = [(e.start, e.length if e.HasField("length") else -1) for e in message.extent]
        return cls(tuple(s for s, _ in extents), tuple(n for _, n in extents))

    def enter(self, message: messages.TensorSliceProto) -> None:
        """Fill an empty ``TensorSliceProto`` with this slice."""
        for start, length in zip(self.starts, self.lengths, strict=True):
            extent = message.extent.add()
            if length >= 0:
                extent.start, extent.length = start, length

    def within(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        """The numpy index of this part in an array of ``shape``. Raises ValueError where it is out of bounds."""
        if len(self.starts) != len(shape):
            raise ValueError(f"a slice of {len(self.starts)} dimensions of an array of shape {list(shape)}")
        index = []
        for start, length, size in zip(self.starts, self.lengths, shape, strict=True):
            end = size if length < 0 else start + length
            if not 0 <= start <= end <= size:
                raise ValueError(f"a slice from {start} to {end} of a dimension of {size}")
            index.append(slice(start, end))
        return tuple(index)

    def key(self, name: str) -> bytes:
        """Key of this part of array ``name`` in a checkpoint's index (V2) or table (V1)."""
        parts = [_number(0), _string(name.encode()), _number(len(self.starts))]
        for start, length in zip(self.starts, self.lengths, strict=True):
            parts += [_encode_signed(start if length >= 0 else 0), _encode_signed(length)]
        return b"".join(parts)


def _number(number: int) -> bytes:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _string(text: bytes) -> bytes:
    return b"".join(_ESCAPED.get(byte, bytes([byte])) for byte in text) + _END


def _encode_signed(number: int) -> bytes:
    magnitude = ~number if number < 0 else number
    size = magnitude.bit_length() // 7 + 1
    if size > 8:
        raise ValueError(f"expected a number of at most 55 bits, got {number}")
    data = (number & (1 << 8 * size) - 1).to_bytes(size, "big")
    return bytes([data[0] ^ _HEADERS[size]]) + data[1:]
