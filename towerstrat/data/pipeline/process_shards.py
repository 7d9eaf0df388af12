"""Which parts of the elements for all positions of an axis a process makes: those of its own positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.uneven_shards import UnevenShards


class LocalIndices:
    """A process' positions among those that elements have a part for.

    Args:
      count: the number of all positions.
      own: those of this process, in order; None: all.

    Attributes:
      whole: whether all are.
    """

    def __init__(self, count: int, own: Sequence[int] | None = None):
        self.count = count
        self.own = tuple(range(count)) if own is None else tuple(own)
        self.whole = self.own == tuple(range(count))
        first, last = (self.own[0], self.own[-1] + 1) if self.own else (0, 0)
        together = self.own == tuple(range(first, last))
        self._rows: Any = slice(first, last) if together else list(self.own)

    def of(self, parts: Any) -> Any:
        """The own parts of a value with one for each position: an array ``[own, ...]``.

        The shapes of an ``UnevenShards`` stay those of all positions. Texts stay as they are: they are on no device,
        and each process has all of them.
        """
        if self.whole or parts.dtype.hasobject:
            return parts
        if isinstance(parts, UnevenShards):
            return UnevenShards(np.asarray(parts.padded)[self._rows], parts.shapes)
        return parts[self._rows]
