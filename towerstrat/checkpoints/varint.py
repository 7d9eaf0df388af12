"""Varints: integers as one to ten bytes of seven bits each, lowest first; the top bit says that one more follows."""

from __future__ import annotations

_LONGEST = 10


def read_varint(data: bytes | memoryview, place: int) -> tuple[int, int]:
    """Decode the varint at ``place``; return it and the place behind it.

    Raises:
      ValueError: the data end within it, or it has more than ten bytes.

    >>> read_varint(bytes([0xAC, 0x02]), 0)
    (300, 2)
    """
    result = 0
    for i in range(_LONGEST):
        if place + i >= len(data):
            raise ValueError("the data end in the middle of a number")
        byte = data[place + i]
        result |= (byte & 127) << 7 * i
        if byte < 128:
            return result, place + i + 1
    raise ValueError("a number of more than 64 bits")


def write_varint(number: int) -> bytes:
    """Encode a non-negative integer of at most 64 bits.

    >>> write_varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
