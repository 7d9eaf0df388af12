"""The checksum of the original's files: CRC-32C, masked so that data which contain checksums can be summed too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import google_crc32c
import numpy as np

_DELTA = 0xA282EAD8


def masked_crc(data: Any, *more: bytes) -> int:
    """The masked checksum of the bytes of a buffer, and of those that follow.

    >>> hex(masked_crc(b"123456789"))
    '0xc78ab0e5'
    """
    # Of the buffers it takes bytes and arrays only.
    crc = google_crc32c.value(data if type(data) is bytes else np.asarray(memoryview(data)))
    for part in more:
        crc = google_crc32c.extend(crc, part)
    return masked(crc)


def masked_crcs(texts: Sequence[bytes]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The masked checksums of several texts.

    >>> masked_crcs([b"123456789"]).tolist() == [masked_crc(b"123456789")]
    True
    """
    crcs = np.fromiter(map(google_crc32c.value, texts), np.uint32, len(texts))
    return (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(_DELTA)


def masked(crc: int) -> int:
    """A checksum as files store it."""
    return ((crc >> 15 | crc << 17) + _DELTA) & 0xFFFFFFFF
