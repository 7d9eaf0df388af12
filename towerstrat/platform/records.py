"""Files of records, each between its length and checksums (TFRecord): what ``tf.data`` reads, and event files are."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import IO, TypeAlias

import numpy as np

from towerstrat.errors import DataLossError
from towerstrat.platform.checksums import masked_crc, masked_crcs

_HEAD = struct.Struct("<QI")
_FOOT = struct.Struct("<I")
_BLOCK = 1 << 18


class TruncatedRecordError(DataLossError):
    """The file ends inside of a record: its writer is at work, or was killed."""


def framed(data: bytes) -> bytes:
    """A record as it stands in a file.

    >>> len(framed(b"abc"))
    19
    """
    length = struct.pack("<Q", len(data))
    return b"".join((length, _FOOT.pack(masked_crc(length)), data, _FOOT.pack(masked_crc(data))))


@lru_cache(maxsize=4096)
def _length(head: bytes) -> int:
    """The length of a record by what stands before it; -1 where the checksum differs."""
    length, check = _HEAD.unpack(head)
    return int(length) if masked_crc(head[:8]) == check else -1


Block: TypeAlias = "tuple[list[bytes], list[int]]"
"""Records that follow each other, and the positions after them."""


def records(file: IO[bytes], name: str, position: int) -> Iterator[tuple[bytes, int]]:
    """The records of a file, each with the position after it. See ``blocks``."""
    for found, positions in blocks(file, name, position):
        yield from zip(found, positions, strict=True)


def blocks(file: IO[bytes], name: str, position: int) -> Iterator[Block]:
    """The records of a file, as many at a time as are read together.

    Args:
      position: where the file is.

    Raises (after the records before):
      TruncatedRecordError: the file ends inside of a record.
      DataLossError: a checksum differs.
    """
    read = getattr(file, "read1", file.read)  # Where reading fails further on, what comes before it is given first.
    rest, wanted = b"", _BLOCK
    while block := read(wanted):
        data = rest + block
        ends, wanted = _ends(data)
        found, good = _checked(data, ends)
        yield found[:good], [position + end for end in ends[:good]]
        if good < len(found):
            position += ends[good - 1] if good else 0
            raise DataLossError(None, None, f"corrupted record at {position + _HEAD.size} in {name}")
        end = ends[-1] if ends else 0
        rest, position = data[end:], position + end
        if wanted < 0:
            raise DataLossError(None, None, f"corrupted record at {position} in {name}")
    if rest:
        raise TruncatedRecordError(None, None, f"truncated record at {position} in {name}")


def _ends(data: bytes) -> tuple[list[int], int]:
    """Where the records end that are there as a whole, and how many bytes to read next (-1: a length is damaged)."""
    ends: list[int] = []
    before, around, size = _HEAD.size, _HEAD.size + _FOOT.size, len(data)
    start = 0
    while start + before <= size:
        length = _length(data[start : start + before])
        if length < 0:
            return ends, -1
        start += length + around
        if start > size:
            return ends, max(_BLOCK, start - size)
        ends.append(start)
    return ends, _BLOCK


def _checked(data: bytes, ends: Sequence[int]) -> tuple[list[bytes], int]:
    """The records that end at some places, and how many come before the first that is damaged."""
    found = [data[start + _HEAD.size : end - _FOOT.size] for start, end in zip([0, *ends], ends, strict=False)]
    feet = np.frombuffer(data, np.uint8)[np.array(ends, np.int64)[:, None] + np.arange(-_FOOT.size, 0)]
    damaged = np.flatnonzero(masked_crcs(found) != feet.view("<u4")[:, 0])
    return found, int(damaged[0]) if len(damaged) else len(found)
