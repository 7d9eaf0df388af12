"""Masked CRC-32C, the checksum of checkpoints, TFRecord and event files.

Masking rotates the CRC by 15 bits and adds a constant, since the CRC of a string that contains its own CRC is weak:
files embed checksums in data that is itself summed. Source: ``tensorflow/core/lib/hash/crc32c.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import google_crc32c
import numpy as np

_DELTA = 0xA282EAD8


def masked_crc(data: Any, *following: bytes) -> int:
    """Masked checksum of a buffer (bytes, memoryview, contiguous array) and the bytes that follow it.

    >>> hex(masked_crc(b"123456789"))
    '0xc78ab0e5'
    """
    # google_crc32c takes bytes and arrays, and no memoryviews.
    crc = google_crc32c.value(data if type(data) is bytes else np.asarray(memoryview(data)))
    for part in following:
        crc = google_crc32c.extend(crc, part)
    return mask_crc(crc)


def masked_crcs(texts: Sequence[bytes]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Masked checksums of several byte strings, ``uint32[len(texts)]``.

    >>> masked_crcs([b"123456789"]).tolist() == [masked_crc(b"123456789")]
    True
    """
    crcs = np.fromiter(map(google_crc32c.value, texts), np.uint32, len(texts))
    return (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(_DELTA)


def mask_crc(crc: int) -> int:
    """Mask a CRC-32C."""
    return ((crc >> 15 | crc << 17) + _DELTA) & 0xFFFFFFFF
