"""Pixels as PNG and samples as WAV, byte for byte what browsers show and play."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from towerstrat.graph.ir.types import HostArray

_COLORS = {1: 0, 3: 2, 4: 6}
"""Channels -> PNG's type of colour: grey, red green blue, and with alpha."""
_LARGEST = 1 << 15


def png(pixels: HostArray) -> bytes:
    """An image of 1, 3 or 4 channels as PNG.

    Args:
      pixels: uint8 ``[height, width, channels]``.
    """
    height, width, channels = pixels.shape
    head = struct.pack(">IIBBBBB", width, height, 8, _COLORS[channels], 0, 0, 0)
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def wav(samples: HostArray, sample_rate: int) -> bytes:
    """Sound as 16-bit WAV.

    Args:
      samples: floats ``[frames, channels]`` from -1 to 1; what is beyond is cut off.
      sample_rate: frames per second.
    """
    scaled = samples.astype(np.float32) * np.float32(_LARGEST)
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # halves away from zero
    data = np.clip(rounded, -_LARGEST, _LARGEST - 1).astype("<i2").tobytes()
    frame = 2 * samples.shape[1]
    form = struct.pack("<IHHIIHH", 16, 1, samples.shape[1], sample_rate, sample_rate * frame, frame, 16)
    return (
        b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    )
