"""What outlives a run: cells, and the store of their values that a session owns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir.mesh import Axis, Parts
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import DType


class Cell:
    """One value that outlives a run: a variable's, a random counter, an error flag. Identity is what counts.

    Args:
      name: shown in messages.
      dtype: element type.
      dims: shape, as far as known.
      axis: None, or the named axis along which there is one value per position (stored stacked, leading dimension).
      default: the value before the first write; None where reading first is an error.
      combine: how the values along the axis are seen from outside as one: "sum", "mean" or "first".

    Attributes:
      own: the axis whose positions may come to write values of their own, each to its copy; None: they may not.
      parts: into how many parts each dimension is split over the logical devices of a position; None: not at all.
    """

    __slots__ = ("__weakref__", "axis", "combine", "default", "dims", "dtype", "name", "own", "parts")

    def __init__(
        self, name: str, dtype: DType, dims: Dims, axis: Axis | None = None, default: Any = None, combine: str = "first"
    ):
        self.name = name
        self.dtype = dtype
        self.dims = dims
        self.axis = axis
        self.default = default
        self.combine = combine
        self.own: Axis | None = None
        self.parts: Parts = None

    @property
    def per_position(self) -> bool:
        """Whether the store holds one value per position of an axis of more than one."""
        return self.axis is not None and self.axis.size > 1

    @property
    def may_differ(self) -> bool:
        """Whether positions may write values of their own, now or from the first such write on."""
        return self.per_position or self.own is not None

    def stacked(self, value: Any) -> Any:
        """A stored value with one value per position; what was stored as one is every position's."""
        if not self.per_position or self.dims is None or value is None or len(np.shape(value)) > len(self.dims):
            return value
        assert self.axis is not None
        return np.broadcast_to(np.asarray(value), (self.axis.size, *np.shape(value)))

    def joined(self, value: Any) -> Any:
        """A stored value as it is seen from outside."""
        if not self.per_position:
            return value
        stacked = np.asarray(self.stacked(value))
        if self.combine == "first":
            return stacked[0]
        total = stacked.sum(axis=0, dtype=stacked.dtype)
        if self.combine == "sum":
            return total
        if self.dtype.is_integer:
            return total // stacked.dtype.type(len(stacked))
        return (total * stacked.dtype.type(1.0 / len(stacked))).astype(stacked.dtype)

    def __repr__(self) -> str:
        return f"<Cell {self.name} {self.dtype.name} {self.dims}>"


class _Layouts:
    """Counts cells that came to have a value per position after they had one for all: older programs are void."""

    def __init__(self) -> None:
        self.count = 0

    def changed(self) -> None:
        self.count += 1


layouts = _Layouts()


class Flag(Cell):
    """An error that a device program found: raised on the host, after the program.

    Attributes:
      op: the operation that found it.
      message: what to say.
    """

    __slots__ = ("message", "op")

    op: Any
    message: str


class StateStore:
    """The values of cells. Entries are ``jax.Array``s; a cell without an entry was never written."""

    def __init__(self) -> None:
        self._values: dict[Cell, Any] = {}
        self.lent: set[Cell] = set()
        """Cells whose array somebody else holds too: it must not be given away."""
        self.lost: str | None = None
        """What was lost in a device failure, in words."""
        self.last: tuple[Any, list[Any], list[Any]] | None = None
        """The program that made the newest change, and what it takes next: what it writes and what it reads."""

    def get(self, cell: Cell) -> Any:
        """The value, its default if it was never written, or None."""
        value = self._values.get(cell)
        if value is None and cell.default is not None:
            if cell.axis is not None and cell.axis.size > 1:
                return np.broadcast_to(cell.default, (cell.axis.size, *np.shape(cell.default)))
            return cell.default
        return value

    def lend(self, cell: Cell) -> Any:
        """As ``get``; the caller keeps the value, so that no program may take its memory."""
        if cell in self._values and cell not in self.lent:
            self.lent.add(cell)
            self.last = None
        return self.get(cell)

    def update(self, values: dict[Cell, Any]) -> None:
        self._values.update(values)
        if self.lent:
            self.lent.difference_update(values)
        self.last = None

    def discard(self, cell: Cell) -> None:
        self._values.pop(cell, None)
        self.lent.discard(cell)
        self.last = None

    def is_gone(self, cell: Cell) -> bool:
        """Whether the device no longer has the value: it was given to a program that failed."""
        value = self._values[cell]
        return isinstance(value, jax.Array) and value.is_deleted()

    def __contains__(self, cell: Cell) -> bool:
        return cell in self._values

    def __iter__(self) -> Iterator[Cell]:
        return iter(tuple(self._values))

    def by_name(self) -> dict[str, Cell]:
        """The cells that have a value, by name. Of several with one name the one written last."""
        return {cell.name: cell for cell in self._values}

    def nbytes(self) -> int:
        """Bytes of all values together, copies on several devices counted once."""
        return sum(v.nbytes for v in self._values.values())
