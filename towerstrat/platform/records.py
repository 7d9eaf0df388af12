"""Files of records, each between its length and checksums (TFRecord): what ``tf.data`` reads, and event files are."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import IO

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


def records(file: IO[bytes], name: str, position: int) -> Iterator[tuple[bytes, int]]:
    """The records of a file, each with the position after it; the file is read block by block.

    Args:
      position: where the file is.

    Raises:
      TruncatedRecordError: the file ends inside of a record.
      DataLossError: a checksum differs.
    """
    rest, wanted = b"", _BLOCK
    while block := file.read(wanted):
        data = rest + block
        ends, wanted = _ends(data)
        yield from _checked(data, ends, name, position)
        end = ends[-1] if ends else 0
        rest, position = data[end:], position + end
        if wanted < 0:
            raise DataLossError(None, None, f"corrupted record at {position} in {name}")
    if rest:
        raise TruncatedRecordError(None, None, f"truncated record at {position} in {name}")


def _ends(data: bytes) -> tuple[list[int], int]:
    """Where the records end that are there as a whole, and how many bytes to read next (-1: a length is damaged)."""
    ends: list[int] = []
    first = _HEAD.size
    while first <= len(data):
        length = _length(data[first - _HEAD.size : first])
        if length < 0:
            return ends, -1
        end = first + length + _FOOT.size
        if end > len(data):
            return ends, max(_BLOCK, end - len(data))
        ends.append(end)
        first = end + _HEAD.size
    return ends, _BLOCK


def _checked(data: bytes, ends: Sequence[int], name: str, position: int) -> Iterator[tuple[bytes, int]]:
    """The records that end at some places, each with the position after it. Raises DataLossError at a damaged one.

    Args:
      position: of the data in the file.
    """
    starts = [0, *ends]
    found = [data[start + _HEAD.size : end - _FOOT.size] for start, end in zip(starts, ends, strict=False)]
    feet = np.frombuffer(b"".join([data[end - _FOOT.size : end] for end in ends]), "<u4")
    damaged = np.flatnonzero(masked_crcs(found) != feet)
    good = int(damaged[0]) if len(damaged) else len(found)
    yield from zip(found[:good], map(position.__add__, ends), strict=False)
    if len(damaged):
        raise DataLossError(None, None, f"corrupted record at {position + starts[good] + _HEAD.size} in {name}")
