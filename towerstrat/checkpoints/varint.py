"""Varints: integers as one to ten bytes of seven bits each, lowest first; the top bit says that one more follows.

Checkpoints have their lengths and offsets in this form (``sorted_tables``, ``string_codec``, ``snappy``), and so have
datasets that are kept in files (``data/files/element_files.py``). Small numbers take one byte:

>>> write_varint(5).hex(), write_varint(300).hex()          # 300 = 2 * 128 + 44
('05', 'ac02')
>>> read_varint(bytes.fromhex("05ac02"), 1)                 # the number at place 1, and the place behind it
(300, 3)

The data may be damaged: a number that does not end is a ValueError, which the readers of checkpoints turn into a
DataLossError that names the file. Source: "Base 128 Varints", https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

_LONGEST = 10


def read_varint(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    """Decode the varint at ``offset``; return it and the offset behind it.

    Raises:
      ValueError: the data end within it, or it has more than ten bytes.
    """
    result = 0
    for i in range(_LONGEST):
        if offset + i >= len(data):
            raise ValueError("the data end in the middle of a number")
        byte = data[offset + i]
        result |= (byte & 127) << 7 * i
        if byte < 128:
            return result, offset + i + 1
    raise ValueError("a number of more than 64 bits")


def write_varint(number: int) -> bytes:
    """Encode a non-negative integer of at most 64 bits."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
