"""The row lookups inside a loop whose cotangents stay rows: zeros go in, indices come out.

Of a gather of 8 rows of 64 columns in the body of a loop of three iterations:

    in     float32[3, 8, 64]    zeros that are added to the rows; their cotangents are those of the rows
    out    int32[3, 8]          the rows that were read

Compiled loops scan over both; in an unrolled one each iteration has lookups of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.row_cotangents import Lookups


class LoopLookups:
    """The row lookups inside of one loop; none where no cotangents of rows are asked for.

    Args:
      lookups: those of the evaluation that the loop is in, or None.
      op: the loop.
    """

    def __init__(self, lookups: Lookups | None, op: Operation):
        self._lookups = lookups
        self._op = op
        self._keys = [] if lookups is None else lookups.keys_in(op)
        self._iteration: Lookups | None = None
        """Those of the iteration that was traced last."""

    def enter(self, child: Lowering, zeros: Sequence[Array]) -> None:
        """Let an iteration of a compiled loop look up rows, with its slice of the zeros."""
        if self._lookups is not None:
            self._iteration = self._lookups.step(dict(zip(self._keys, zeros, strict=True)))
            child.vjp.lookups = self._iteration

    def enter_unrolled(self, child: Lowering, iteration: int) -> None:
        """Let an iteration of an unrolled loop look up rows."""
        if self._lookups is not None:
            child.vjp.lookups = self._lookups.region((self._op, iteration))

    def leave_unrolled(self, child: Lowering) -> None:
        """Enter the indices that an iteration of an unrolled loop has looked up."""
        if self._lookups is not None:
            self._lookups.take(child.vjp.lookups)

    def indices(self, child: Lowering) -> list[Array]:
        """The indices that an iteration of a compiled loop has looked up."""
        return [] if child.vjp.lookups is None else child.vjp.lookups.of(self._keys)

    def zeros(self, count: int) -> list[Array]:
        """The zeros of ``count`` iterations."""
        return [] if self._lookups is None else self._lookups.split(self._keys, count)

    def padding(self, zeros: Sequence[Array]) -> list[Array]:
        """The indices of an iteration that does not run."""
        return [] if self._lookups is None else self._lookups.skipped(self._keys, zeros)

    def padding_of_all(self, count: int) -> list[Array]:
        """The indices of ``count`` iterations none of which runs."""
        padding = self.padding([zeros[0] for zeros in self.zeros(count)])
        return [jnp.broadcast_to(r, (count, *r.shape)) for r in padding]

    def note(self, indices: Sequence[Array], count: int) -> None:
        """Enter the indices that ``count`` iterations have looked up, stacked."""
        if self._lookups is not None and self._iteration is not None:
            self._lookups.join(self._keys, indices)
            self._lookups.repeat(self._iteration, count)
