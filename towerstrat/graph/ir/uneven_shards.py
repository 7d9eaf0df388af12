"""Ragged shards: values whose shape differs by axis index, as they travel between the stages of a run.

A batch of 5 on two towers is 3 and 2 rows. A program along an axis takes one array for all shards, so these are padded
with zeros to the largest and stacked; the true shapes are part of the program's key, and the program slices by them
(see ``lowering/shard_classes.py``):

>>> batch = UnevenShards.of([np.array([1, 2, 3]), np.array([4, 5])])
>>> batch.padded.tolist(), batch.shapes
([[1, 2, 3], [4, 5, 0]], ((3,), (2,)))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.mesh import everywhere
from towerstrat.graph.ir.types import Array, HostArray


def exactly(shape: Sequence[int]) -> tuple[slice, ...]:
    """The index that undoes padding: the leading part of this shape of a larger array."""
    return tuple([slice(n) for n in shape])


class UnevenShards:
    """One array per shard, of one rank and dtype: padded with zeros to the largest shape and stacked.

    Args:
      padded: ``[shards, ...]``, on the host or on devices.
      shapes: the shape of each shard.

    >>> UnevenShards.of([np.ones(2), np.ones(1)]).part(1)
    array([1.])
    """

    __slots__ = ("padded", "shapes")

    def __init__(self, padded: Array, shapes: Sequence[Sequence[int]]):
        self.padded = padded
        self.shapes = tuple([tuple(s) for s in shapes])

    @classmethod
    def of(cls, parts: Sequence[Array]) -> UnevenShards:
        """The value with these arrays, one per shard. Raises ValueError where their ranks differ."""
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
        """(padded shape, shape of each shard): takes the place of an array's shape in a program's key."""
        return (self.padded.shape, self.shapes)

    def part(self, position: int) -> HostArray:
        """The array of one shard, on the host."""
        padded: HostArray = np.asarray(everywhere(self.padded))[position]
        part: HostArray = padded[exactly(self.shapes[position])]
        return part

    def __repr__(self) -> str:
        return f"<Uneven {self.dtype} {list(self.shapes)}>"


def of_parts(parts: Sequence[Array]) -> Array | UnevenShards:
    """The value with these arrays, one per shard: stacked where their shapes are equal, else ``UnevenShards``."""
    return np.stack(parts) if all(p.shape == parts[0].shape for p in parts[1:]) else UnevenShards.of(parts)
