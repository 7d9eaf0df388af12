r"""TFRecord framing: files of records, each between its length and two checksums. ``tf.data`` and event files use it.

    a record    length (uint64), masked CRC-32C of the length, data, masked CRC-32C of the data

    >>> framed(b"abc")[:8], len(framed(b"abc"))                    # 12 bytes before the data, 4 after
    (b'\x03\x00\x00\x00\x00\x00\x00\x00', 19)
    >>> import io
    >>> list(records(io.BytesIO(framed(b"abc") + framed(b"")), "name", 0))
    [(b'abc', 19), (b'', 35)]

``blocks`` is the fast path: it reads 256 KiB at a time, cuts them into records, and compares their checksums in one
numpy expression. Records before a damaged one are always delivered first, and a file that merely ends within a record
is told apart from a damaged one: its writer may still be at work (``TruncatedRecordError``).
"""

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
    """The file ends within a record: its writer is still at work, or was killed."""


def framed(data: bytes) -> bytes:
    """Frame a record's data as it is stored in a file.

    >>> len(framed(b"abc"))
    19
    """
    length = struct.pack("<Q", len(data))
    return b"".join((length, _FOOT.pack(masked_crc(length)), data, _FOOT.pack(masked_crc(data))))


@lru_cache(maxsize=4096)
def _length(head: bytes) -> int:
    """Decode the head of a record: the length of its data, -1 where the checksum of the length differs."""
    length, check = _HEAD.unpack(head)
    return int(length) if masked_crc(head[:8]) == check else -1


Block: TypeAlias = "tuple[list[bytes], list[int]]"
"""Consecutive records, and the position in the file behind each."""


def records(file: IO[bytes], name: str, position: int) -> Iterator[tuple[bytes, int]]:
    """Yield each record of a file with the position behind it. See ``blocks``."""
    for contents, positions in blocks(file, name, position):
        yield from zip(contents, positions, strict=True)


def blocks(file: IO[bytes], name: str, position: int) -> Iterator[Block]:
    """Yield the records of a file in lists, one list per read.

    Args:
      file: open for reading at the beginning of a record.
      name: its path, for errors.
      position: of the file at this moment; positions that are yielded count from it.

    Raises (after the records before):
      TruncatedRecordError: the file ends inside of a record.
      DataLossError: a checksum differs.
    """
    read = getattr(file, "read1", file.read)  # Where reading fails further on, what comes before it is given first.
    remaining, size = b"", _BLOCK
    while block := read(size):
        data = remaining + block
        ends, size = _ends(data)
        contents, good = _split(data, ends)
        yield contents[:good], [position + end for end in ends[:good]]
        if good < len(contents):
            position += ends[good - 1] if good else 0
            raise DataLossError(None, None, f"corrupted record at {position + _HEAD.size} in {name}")
        end = ends[-1] if ends else 0
        remaining, position = data[end:], position + end
        if size < 0:
            raise DataLossError(None, None, f"corrupted record at {position} in {name}")
    if remaining:
        raise TruncatedRecordError(None, None, f"truncated record at {position} in {name}")


def _ends(data: bytes) -> tuple[list[int], int]:
    """End offsets of the complete records in ``data``, and how many bytes to read next (-1: a length is damaged)."""
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


def _split(data: bytes, ends: Sequence[int]) -> tuple[list[bytes], int]:
    """The records that end at ``ends``, and the number of intact ones before the first damaged one."""
    contents = [data[start + _HEAD.size : end - _FOOT.size] for start, end in zip([0, *ends], ends, strict=False)]
    feet = np.frombuffer(data, np.uint8)[np.array(ends, np.int64)[:, None] + np.arange(-_FOOT.size, 0)]
    damaged = np.flatnonzero(masked_crcs(contents) != feet.view("<u4")[:, 0])
    return contents, int(damaged[0]) if len(damaged) else len(contents)
