"""Values whose shape differs by position along an axis, as they travel between the stages of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.mesh import everywhere
from towerstrat.graph.ir.types import Array, HostArray


def exactly(shape: Sequence[int]) -> tuple[slice, ...]:
    """The index that undoes padding: it takes the leading part of this shape out of a larger array."""
    return tuple([slice(n) for n in shape])


class UnevenShards:
    """One array per position, of one rank and dtype: padded with zeros to the largest shape and stacked.

    Args:
      padded: ``[positions, ...]``, on the host or on devices.
      shapes: the shape at each position.

    >>> UnevenShards.of([np.ones(2), np.ones(1)]).part(1)
    array([1.])
    """

    __slots__ = ("padded", "shapes")

    def __init__(self, padded: Array, shapes: Sequence[Sequence[int]]):
        self.padded = padded
        self.shapes = tuple([tuple(s) for s in shapes])

    @classmethod
    def of(cls, parts: Sequence[Array]) -> UnevenShards:
        """The value with these arrays, one per position. Raises ValueError where their ranks differ."""
        shapes = [np.shape(p) for p in parts]
        if len({len(s) for s in shapes}) > 1:
            raise ValueError(f"Expected values of one rank on all positions, got shapes {shapes}.")
        largest = [max(sizes) for sizes in zip(*shapes, strict=True)]
        padded = np.zeros((len(parts), *largest), np.asarray(parts[0]).dtype)
        for i, part in enumerate(parts):
            padded[i, ...][exactly(np.shape(part))] = part
        return cls(padded, shapes)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.padded.dtype

    @property
    def shape(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """(padded shape, shape at each position): the part of a program's key that an array's shape is elsewhere."""
        return (self.padded.shape, self.shapes)

    def part(self, position: int) -> HostArray:
        """The array at one position, on the host."""
        return np.asarray(everywhere(self.padded))[position][exactly(self.shapes[position])]

    def __repr__(self) -> str:
        return f"<Uneven {self.dtype} {list(self.shapes)}>"


def of_parts(parts: Sequence[Array]) -> Any:
    """The value with these arrays, one per position: stacked where their shapes are alike."""
    return np.stack(parts) if all(p.shape == parts[0].shape for p in parts[1:]) else UnevenShards.of(parts)
