"""Parts of arrays: a variable of several pieces is one array in a checkpoint, saved piece by piece.

The bytes of a piece are found by a key in which numbers sort as bytes. Source: ``tensorflow/core/lib/strings/
ordered_code.h``, ``tensorflow/core/util/saved_tensor_slice_util.h``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_ESCAPED = {0x00: b"\x00\xff", 0xFF: b"\xff\x00"}
_END = b"\x00\x01"
_HEADERS = (0, 0x80, 0xC0, 0xE0, 0xF0, 0xF8, 0xFC, 0xFE, 0xFF)
"""What the first byte of a signed number is combined with, by its length in bytes."""


class Slice(NamedTuple):
    """A part of an array: where it starts in each dimension, and how far it goes; -1 for all of a dimension."""

    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, message: Any) -> Slice:
        """The slice that a ``TensorSliceProto`` says."""
        extents = [(e.start, e.length if e.HasField("length") else -1) for e in message.extent]
        return cls(tuple(s for s, _ in extents), tuple(n for _, n in extents))

    def enter(self, message: Any) -> None:
        """Writes itself into a ``TensorSliceProto``."""
        for start, length in zip(self.starts, self.lengths, strict=True):
            extent = message.extent.add()
            if length >= 0:
                extent.start, extent.length = start, length

    def within(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        """The index of this part in an array of ``shape``. Raises ValueError where it reaches outside."""
        if len(self.starts) != len(shape):
            raise ValueError(f"a slice of {len(self.starts)} dimensions of an array of shape {list(shape)}")
        found = []
        for start, length, size in zip(self.starts, self.lengths, shape, strict=True):
            end = size if length < 0 else start + length
            if not 0 <= start <= end <= size:
                raise ValueError(f"a slice from {start} to {end} of a dimension of {size}")
            found.append(slice(start, end))
        return tuple(found)

    def key(self, name: str) -> bytes:
        """Under which the index of a checkpoint has this part of array ``name``."""
        parts = [_number(0), _string(name.encode()), _number(len(self.starts))]
        for start, length in zip(self.starts, self.lengths, strict=True):
            parts += [_signed(start if length >= 0 else 0), _signed(length)]
        return b"".join(parts)


def _number(number: int) -> bytes:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _string(text: bytes) -> bytes:
    return b"".join(_ESCAPED.get(byte, bytes([byte])) for byte in text) + _END


def _signed(number: int) -> bytes:
    magnitude = ~number if number < 0 else number
    size = magnitude.bit_length() // 7 + 1
    if size > 8:
        raise ValueError(f"expected a number of at most 55 bits, got {number}")
    data = (number & (1 << 8 * size) - 1).to_bytes(size, "big")
    return bytes([data[0] ^ _HEADERS[size]]) + data[1:]
