"""State: cells, and the store of their values that a session owns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import jax
import numpy as np

from towerstrat.graph.ir.mesh import Axis, Parts, everywhere
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import Array, DType, int32

_NUMBERS = itertools.count()


class StateVariable:
    """A slot of state: a variable or a random counter. Cells are compared by identity, not by name.

    A cell is either *replicated*, one value for all positions of an axis, or *per position*, one value each, stored
    stacked along a new leading dimension. A replicated cell with ``own`` becomes per position when positions first
    write different values (``graph_elements.make_varying``).

    Args:
      name: what messages and checkpoints call it.
      dtype: element type.
      dims: static shape of the value at one position.
      axis: the axis of a cell that is per position, else None.
      default: the value before the first write; None where reading first is an error.
      combine: how values per position become the one that is seen from outside: "sum", "mean" or "first".

    Attributes:
      own: the axis whose positions may come to write values of their own; None: they may not.
      parts: number of parts of each dimension over the logical devices of a position; None: not split.
      number: its place in the order in which cells were made.
    """

    __slots__ = ("__weakref__", "axis", "combine", "default", "dims", "dtype", "name", "number", "own", "parts")

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
        self.number = next(_NUMBERS)

    @property
    def per_position(self) -> bool:
        """True where the store holds one value per position, of an axis with more than one."""
        return self.axis is not None and self.axis.size > 1

    @property
    def may_differ(self) -> bool:
        """True where positions may write different values, now or from the first such write on."""
        return self.per_position or self.own is not None

    def stacked(self, value: Array) -> Array:
        """A stored value as ``[positions, ...]`` if the cell is per position; one value is repeated for each."""
        if not self.per_position or self.dims is None or value is None or len(np.shape(value)) > len(self.dims):
            return value
        assert self.axis is not None
        return np.broadcast_to(np.asarray(value), (self.axis.size, *np.shape(value)))

    def joined(self, value: Array) -> Array:
        """A stored value as one, combined over the positions as ``combine`` says.

        The mean of integers is rounded down; of floats it is the sum times 1/n in the cell's own type.
        """
        if not self.per_position:
            return value
        stacked = np.asarray(everywhere(self.stacked(value)))
        if self.combine == "first":
            return stacked[0]
        total = stacked.sum(axis=0, dtype=stacked.dtype)
        if self.combine == "sum":
            return total
        if self.dtype.is_integer:
            return total // stacked.dtype.type(len(stacked))
        return (total * stacked.dtype.type(1.0 / len(stacked))).astype(stacked.dtype)

    def divided(self, value: Array) -> Array:
        """One value as it is stored, so that ``joined`` gives it again: a sum is divided over the positions.

        Of an integer that does not divide the first position gets the rest.
        """
        if not self.per_position or self.combine != "sum":
            return self.stacked(value)
        assert self.axis is not None
        count = self.axis.size
        whole = np.asarray(value)
        if not self.dtype.is_integer:
            return self.stacked((whole * whole.dtype.type(1.0 / count)).astype(whole.dtype))
        parts = np.array(self.stacked(whole // count))
        parts[0] += whole - whole // count * count
        return parts

    def __repr__(self) -> str:
        return f"<Cell {self.name} {self.dtype.name} {self.dims}>"


class _Layouts:
    """Counts replicated cells that have become per position. Programs and traces keyed on an older count are void."""

    def __init__(self) -> None:
        self.count = 0

    def changed(self) -> None:
        self.count += 1


layouts = _Layouts()


class _Fault(StateVariable):
    """The cell of a program's record of failed checks. No store holds it; along an axis each position has its own."""

    __slots__ = ()

    @property
    def per_position(self) -> bool:
        return True


ERROR_RECORD = _Fault("fault", int32, None)
"""The record of failed checks, among the state of a lowering: see ``lowering/faults.py``."""


class Program(Protocol):
    """The compiled program of a stage, as a store remembers it: ``complete_for`` is the cache that it belongs to."""

    complete_for: Any


class StateStore:
    """The values of cells: arrays by cell. A cell without an entry was never written."""

    def __init__(self) -> None:
        self._values: dict[StateVariable, Array] = {}
        # A program donates the arrays that it writes. One that somebody else holds too is copied first.
        self.lent: set[StateVariable] = set()
        """Cells whose array is held outside the store as well and must not be donated."""
        self.lost: str | None = None
        """The state lost in a device failure, as a message."""
        self.watched: set[StateVariable] = set()
        """Cells that leave when they are written."""
        self.expected: dict[str, Any] = {}
        """The values of counters that have none yet, by name: those of a run that this one goes on with."""
        self.own_values: dict[str, Any] = {}
        """The values ``[positions, ...]`` by name of variables that such a run had by position."""
        # A program called again with nothing changed in between skips collecting its state cell by cell.
        self.last: tuple[Program, list[Array], list[Array]] | None = None
        """(program, arrays it donates next, arrays it reads) of the newest run; None after any other change."""

    def get(self, cell: StateVariable) -> Any:
        """The value of a cell, its default where it was never written, or None."""
        value = self._values.get(cell)
        if value is None and cell.default is not None:
            if cell.name in self.expected:
                return self.expected[cell.name]
            if cell.axis is not None and cell.axis.size > 1:
                return np.broadcast_to(cell.default, (cell.axis.size, *np.shape(cell.default)))
            return cell.default
        return value

    def wait(self) -> None:
        """Waits until the values are computed."""
        jax.block_until_ready([value for value in self._values.values() if isinstance(value, jax.Array)])

    def lend(self, cell: StateVariable) -> Any:
        """``get`` for a caller that keeps the array: no program donates it from now on."""
        if cell in self._values and cell not in self.lent:
            self.lent.add(cell)
            self.last = None
        return self.get(cell)

    def is_lent(self, cell: StateVariable) -> bool:
        """Whether the array of a cell is held outside the store as well."""
        return cell in self.lent

    def update(self, values: Mapping[StateVariable, Any]) -> None:
        """Stores new values; their cells are no longer lent."""
        self.move(values)
        if self.watched:
            self.watched.difference_update(values)

    def move(self, values: Mapping[StateVariable, Any]) -> None:
        """Stores the values that cells have already, as other arrays."""
        self._values.update(values)
        if self.lent:
            self.lent.difference_update(values)
        self.last = None

    def discard(self, cell: StateVariable) -> None:
        """Forgets the value of a cell, if it has one."""
        self._values.pop(cell, None)
        self.lent.discard(cell)
        self.last = None

    def is_gone(self, cell: StateVariable) -> bool:
        """True where the value was donated to a program that failed. Raises KeyError for a cell without an entry."""
        value = self._values[cell]
        return isinstance(value, jax.Array) and value.is_deleted()

    def __contains__(self, cell: StateVariable) -> bool:
        return cell in self._values

    def __iter__(self) -> Iterator[StateVariable]:
        return iter(tuple(self._values))

    def by_name(self) -> dict[str, StateVariable]:
        """The cells with an entry, by name. Of several with one name the one first written last."""
        return {cell.name: cell for cell in self._values}

    def nbytes(self) -> int:
        """Total bytes of all values; copies on several devices count once."""
        return sum(v.nbytes for v in self._values.values())
