"""Values whose shape differs by position along an axis, as runs hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def exactly(shape: Sequence[int]) -> tuple[Any, ...]:
    """The index that takes what is of this shape out of a larger array."""
    return tuple([slice(n) for n in shape])


class Uneven:
    """One array per position, of one rank and type: padded with zeros to the largest and stacked.

    Args:
      padded: ``[positions, ...]``, on the host or on a device.
      shapes: the shape at each position.

    >>> Uneven.of([np.ones(2), np.ones(1)]).part(1)
    array([1.])
    """

    __slots__ = ("padded", "shapes")

    def __init__(self, padded: Any, shapes: Sequence[Sequence[int]]):
        self.padded = padded
        self.shapes = tuple([tuple(s) for s in shapes])

    @classmethod
    def of(cls, parts: Sequence[Any]) -> Uneven:
        """The value with these arrays at the positions. Raises ValueError where their ranks differ."""
        shapes = [np.shape(p) for p in parts]
        if len({len(s) for s in shapes}) > 1:
            raise ValueError(f"Expected values of one rank on all positions, got shapes {shapes}.")
        largest = [max(sizes) for sizes in zip(*shapes, strict=True)]
        padded = np.zeros((len(parts), *largest), np.asarray(parts[0]).dtype)
        for i, part in enumerate(parts):
            padded[i, ...][exactly(np.shape(part))] = part
        return cls(padded, shapes)

    @property
    def dtype(self) -> Any:
        return self.padded.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """What tells programs for different sizes apart: the padded shape, and each position's."""
        return (self.padded.shape, self.shapes)

    def part(self, position: int) -> Any:
        """The array at one position, on the host."""
        return np.asarray(self.padded)[position][exactly(self.shapes[position])]

    def __repr__(self) -> str:
        return f"<Uneven {self.dtype} {list(self.shapes)}>"
