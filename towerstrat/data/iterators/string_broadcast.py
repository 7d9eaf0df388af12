"""Texts that processes tell each other: on devices there are none."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from towerstrat.graph.ir.mesh import Axis

_LENGTH = struct.Struct("<I")


def broadcast_strings(axis: Axis, own: Sequence[Sequence[bytes]], counts: Sequence[int]) -> list[list[bytes]]:
    """The texts of all positions, of which each process has those of its own. All processes come to it together.

    Args:
      own: the texts of each position of this process.
      counts: how many there are at each position of all.
    """
    data = [b"".join(_LENGTH.pack(len(text)) + text for text in texts) for texts in own]
    words = max((-(-len(each) // 4) for each in data), default=0)
    rows = np.zeros((len(data), int(axis.told([words]).max())), np.int32)
    for row, each in zip(rows, data, strict=True):
        row.view(np.uint8)[: len(each)] = np.frombuffer(each, np.uint8)
    found = axis.told(rows) if rows.shape[1] else np.zeros((len(counts), 0), np.int32)
    return [_texts(row.tobytes(), count) for row, count in zip(found, counts, strict=True)]


def _texts(data: bytes, count: int) -> list[bytes]:
    """So many texts, each after its length."""
    found, at = [], 0
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        found.append(data[at : at + length])
        at += length
    return found
