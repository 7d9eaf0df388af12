"""Decompression of Snappy blocks, in which the original's first format keeps its tables.

Source: ``format_description.txt`` of github.com/google/snappy.
"""

from __future__ import annotations

from towerstrat.checkpoints.varint import read_varint

_LIMIT = 64
"""The most that a byte of a block can stand for: a copy of 64 bytes takes two."""


def decompress(block: bytes) -> bytes:
    """The bytes that a block stands for.

    Raises:
      ValueError: it is no such block.
    """
    size, place = read_varint(block, 0)
    if size > _LIMIT * len(block):
        raise ValueError(f"{len(block)} compressed bytes cannot stand for {size}")
    out = bytearray()
    while place < len(block):
        tag = block[place]
        place += 1
        if tag & 3 == 0:
            length, place = _literal(block, place, tag >> 2)
            out += block[place : place + length]
            place += length
        else:
            length, distance, place = _copy(block, place, tag)
            _repeat(out, distance, length)
        if len(out) > size:
            break
    if len(out) != size:
        raise ValueError(f"expected {size} bytes, got {len(out)}")
    return bytes(out)


def _literal(block: bytes, place: int, code: int) -> tuple[int, int]:
    """The length of a run of plain bytes and where it begins."""
    if code < 60:
        return code + 1, place
    width = code - 59
    return int.from_bytes(block[place : place + width], "little") + 1, place + width


def _copy(block: bytes, place: int, tag: int) -> tuple[int, int, int]:
    """Length and distance of a copy, and where the next element begins."""
    kind = tag & 3
    if kind == 1:
        return (tag >> 2 & 7) + 4, tag >> 5 << 8 | int.from_bytes(block[place : place + 1], "little"), place + 1
    width = 2 if kind == 2 else 4
    return (tag >> 2) + 1, int.from_bytes(block[place : place + width], "little"), place + width


def _repeat(out: bytearray, distance: int, length: int) -> None:
    if not 0 < distance <= len(out):
        raise ValueError(f"a copy from {distance} bytes back, of {len(out)}")
    while length > 0:
        piece = out[len(out) - distance :][:length]
        out += piece
        length -= len(piece)
