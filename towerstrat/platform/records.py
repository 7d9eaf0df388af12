"""Files of records, each between its length and checksums (TFRecord): what ``tf.data`` reads, and event files are."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import IO

from towerstrat.errors import DataLossError
from towerstrat.platform.checksums import masked_crc

_HEAD = struct.Struct("<QI")
_FOOT = struct.Struct("<I")


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
    """The records of a file, each with the position after it.

    Args:
      position: where the file is.

    Raises:
      TruncatedRecordError: the file ends inside of a record.
      DataLossError: a checksum differs.
    """
    while head := file.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise TruncatedRecordError(None, None, f"truncated record at {position} in {name}")
        length = _length(head)
        if length < 0:
            raise DataLossError(None, None, f"corrupted record at {position} in {name}")
        data = file.read(length)
        foot = file.read(_FOOT.size)
        if len(foot) < _FOOT.size:
            raise TruncatedRecordError(None, None, f"truncated record at {position} in {name}")
        if masked_crc(data) != _FOOT.unpack(foot)[0]:
            raise DataLossError(None, None, f"corrupted record at {position + 12} in {name}")
        position += _HEAD.size + length + _FOOT.size
        yield data, position
