r"""Arrays of strings in a checkpoint: lengths as varints, a masked CRC-32C of the lengths, then the strings end to end.

    >>> data, checksum = encode(np.array([b"ab", b"c"], object))
    >>> data[:2], data[6:]
    (b'\x02\x01', b'abc')
    >>> decode(memoryview(data), 2, checksum)
    array([b'ab', b'c'], dtype=object)

Both checksums, the inner one and that of the index entry, sum the lengths as integers of four bytes (eight from 4 GiB
on) and not as the varints that are stored. Source: ``tensor_bundle.cc``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from towerstrat.checkpoints.varint import read_varint, write_varint
from towerstrat.platform.checksums import masked_crc

_LONG = 1 << 32


def encode(array: np.ndarray[Any, Any]) -> tuple[bytes, int]:
    """Encode an array of bytes or ``str`` (as UTF-8); return its bytes and the checksum for the index entry."""
    strings = [_as_bytes(s) for s in array.reshape(-1)]
    lengths = _lengths(strings)
    checksum = struct.pack("<I", masked_crc(lengths))
    body = b"".join(strings)
    return b"".join(write_varint(len(s)) for s in strings) + checksum + body, masked_crc(lengths, checksum, body)


def decode(data: memoryview, count: int, checksum: int | None) -> np.ndarray[Any, Any]:
    """Decode ``count`` strings to an object array of bytes, ``[count]``.

    Args:
      data: the bytes of one tensor: the strings' lengths as varints, a checksum of the lengths, the strings.
      count: the number of strings.
      checksum: of the index entry; None: not verified.

    Raises:
      ValueError: the data are too short or too long, or have another checksum.
    """
    # Each length takes a byte at least: a damaged count is refused before anything of its size is allocated.
    if count > len(data):
        raise ValueError(f"{count} strings in {len(data)} bytes")
    offset = 0
    lengths = []
    for _ in range(count):
        length, offset = read_varint(data, offset)
        lengths.append(length)
    if offset + 4 + sum(lengths) != len(data):
        raise ValueError(f"strings of {sum(lengths)} bytes in {len(data)}")
    stored = bytes(data[offset : offset + 4])
    offset += 4
    strings = np.empty(count, object)
    for i, length in enumerate(lengths):
        strings[i] = bytes(data[offset : offset + length])
        offset += length
    if checksum is not None and masked_crc(_lengths(strings), stored, b"".join(strings)) != checksum:
        raise ValueError("wrong checksum")
    return strings


def _lengths(strings: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack("<I" if len(s) < _LONG else "<Q", len(s)) for s in strings)


def _as_bytes(text: object) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
