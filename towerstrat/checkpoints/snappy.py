"""Snappy decompression, for the blocks of V1 checkpoints. (Nothing here writes compressed blocks.)

A compressed block is its decompressed size (varint) and a sequence of elements: literals, whose bytes follow, and
copies of bytes already written, by distance and length. A copy may overlap what it writes: distance 1 repeats a byte.

    >>> decompress(bytes([9, 0 << 2, ord("a"), (8 - 4) << 2 | 1, 1]))    # literal "a", copy of 8 from 1 back
    b'aaaaaaaaa'

The size is checked against what the block could hold at most, before memory grows. Source: ``format_description.txt``
of github.com/google/snappy.
"""

from __future__ import annotations

from towerstrat.checkpoints.varint import read_varint

_LIMIT = 64
"""Bound of the compression ratio: no element yields more than 64 bytes per byte of it."""


def decompress(block: bytes) -> bytes:
    """Decompress a block.

    Raises:
      ValueError: it is no Snappy block, or a damaged one.
    """
    size, offset = read_varint(block, 0)
    if size > _LIMIT * len(block):
        raise ValueError(f"{len(block)} compressed bytes cannot stand for {size}")
    out = bytearray()
    while offset < len(block):
        tag = block[offset]
        offset += 1
        if tag & 3 == 0:
            length, offset = _literal(block, offset, tag >> 2)
            out += block[offset : offset + length]
            offset += length
        else:
            length, distance, offset = _copy(block, offset, tag)
            _repeat(out, distance, length)
        if len(out) > size:
            break
    if len(out) != size:
        raise ValueError(f"expected {size} bytes, got {len(out)}")
    return bytes(out)


def _literal(block: bytes, offset: int, code: int) -> tuple[int, int]:
    """Length of a literal, and where its bytes begin."""
    if code < 60:
        return code + 1, offset
    width = code - 59
    return int.from_bytes(block[offset : offset + width], "little") + 1, offset + width


def _copy(block: bytes, offset: int, tag: int) -> tuple[int, int, int]:
    """Length and distance of a copy, and where the next element begins. Lengths of 4 to 11 have a form of two bytes."""
    kind = tag & 3
    if kind == 1:
        return (tag >> 2 & 7) + 4, tag >> 5 << 8 | int.from_bytes(block[offset : offset + 1], "little"), offset + 1
    width = 2 if kind == 2 else 4
    return (tag >> 2) + 1, int.from_bytes(block[offset : offset + width], "little"), offset + width


def _repeat(out: bytearray, distance: int, length: int) -> None:
    if not 0 < distance <= len(out):
        raise ValueError(f"a copy from {distance} bytes back, of {len(out)}")
    # A copy longer than its distance overlaps what it writes: the last ``distance`` bytes repeat.
    while length > 0:
        piece = out[len(out) - distance :][:length]
        out += piece
        length -= len(piece)
