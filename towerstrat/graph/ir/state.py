"""Session state: state variables (a variable or a random counter), and the store of their values that a session owns.

A state variable is *replicated*, one value for all shards of an axis, or *varying* (``is_varying``): one value per
shard, stored stacked along a new leading dimension. ``combine`` says which one value of these a checkpoint or a fetch
outside of the towers sees, and ``divided`` is its inverse:

>>> axis = Axis("tower", jax.devices()[:1] * 2)
>>> total = StateVariable("total", int32, (), axis, combine="sum")
>>> total.divided(5).tolist(), int(total.joined(np.array([3, 2])))
([3, 2], 5)

A program donates the arrays of the variables that it writes, so the store must know which arrays somebody else holds,
too (``share_buffer``): these are copied first. ``reusable_arguments`` lets a program that is called again, with nothing
changed in between, skip collecting its state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import jax
import numpy as np

from towerstrat.graph.ir.mesh import Axis, Parts, everywhere
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import Array, DType, HostArray, int32

_NUMBERS = itertools.count()


class StateVariable:
    """A slot of state: a variable or a random counter. Compared by identity, not by name.

    It is either *replicated*, one value for all shards of an axis, or *varying*, one value per shard, stored stacked
    along a new leading dimension. A replicated one with ``own`` becomes varying when shards first write different
    values (``graph_elements.make_varying``).

    Args:
      name: its name in messages and checkpoints.
      dtype: element type.
      dims: static shape of the value on one shard.
      axis: the axis of a varying one, else None.
      default: the value before the first write; None where reading first is an error.
      combine: how values per shard become the one that is seen from outside: "sum", "mean" or "first".

    Attributes:
      own: the axis whose shards may come to write values of their own; None: they may not.
      parts: number of parts of each dimension over the logical devices of a shard; None: not split.
      number: its place in order of creation.
    """

    __slots__ = ("__weakref__", "axis", "combine", "default", "dims", "dtype", "name", "number", "own", "parts")

    def __init__(
        self,
        name: str,
        dtype: DType,
        dims: Dims,
        axis: Axis | None = None,
        default: Any = None,
        combine: str = "first",
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
    def is_varying(self) -> bool:
        """Whether it is varying: the store holds one value per shard, of an axis with more than one."""
        return self.axis is not None and self.axis.size > 1

    @property
    def may_differ(self) -> bool:
        """Whether shards may write different values, now or from the first such write on."""
        return self.is_varying or self.own is not None

    def stacked(self, value: Array) -> Array:
        """A stored value as ``[shards, ...]`` if it is varying; one value is repeated for each."""
        if not self.is_varying or self.dims is None or value is None or len(np.shape(value)) > len(self.dims):
            return value
        assert self.axis is not None
        return np.broadcast_to(np.asarray(value), (self.axis.size, *np.shape(value)))

    def joined(self, value: Array) -> Array:
        """A stored value as one, combined over the shards as ``combine`` says.

        The mean of integers is rounded down; of floats it is the sum times 1/n in the variable's own type.
        """
        if not self.is_varying:
            return value
        stacked: HostArray = np.asarray(everywhere(self.stacked(value)))
        if self.combine == "first":
            first: HostArray = stacked[0]
            return first
        total: HostArray = stacked.sum(axis=0, dtype=stacked.dtype)
        if self.combine == "sum":
            return total
        if self.dtype.is_integer:
            rounded: HostArray = total // stacked.dtype.type(len(stacked))
            return rounded
        mean: HostArray = (total * stacked.dtype.type(1.0 / len(stacked))).astype(stacked.dtype)
        return mean

    def divided(self, value: Array) -> Array:
        """The stored form of one value, so that ``joined`` gives it again: a sum is divided over the shards.

        Of an integer that does not divide the first shard gets the rest.
        """
        if not self.is_varying or self.combine != "sum":
            return self.stacked(value)
        assert self.axis is not None
        count = self.axis.size
        total = np.asarray(value)
        if not self.dtype.is_integer:
            return self.stacked((total * total.dtype.type(1.0 / count)).astype(total.dtype))
        parts = np.array(self.stacked(total // count))
        parts[0] += total - total // count * count
        return parts

    def __repr__(self) -> str:
        return f"<Cell {self.name} {self.dtype.name} {self.dims}>"


class _Layouts:
    """Counter of variables that have become varying. Programs and traces keyed on an older count are void."""

    def __init__(self) -> None:
        self.count = 0

    def changed(self) -> None:
        self.count += 1


layouts = _Layouts()


class _Fault(StateVariable):
    """The state variable of a program's error record. No store holds it; along an axis each shard has its own."""

    __slots__ = ()

    @property
    def is_varying(self) -> bool:
        return True


ERROR_RECORD = _Fault("fault", int32, None)
"""The error record, among the state of a lowering: see ``lowering/error_state.py``."""


class CachedProgram(Protocol):
    """A stage's compiled program, as a store remembers it: ``complete_for`` is the cache that it belongs to."""

    complete_for: Any


class StateStore:
    """Session state: state variable -> array. One without an entry was never written."""

    def __init__(self) -> None:
        self._values: dict[StateVariable, Array | np.generic] = {}
        # A program donates the arrays that it writes. One that somebody else holds too is copied first.
        self.shared_buffers: set[StateVariable] = set()
        """State variables whose array is held outside the store as well and must not be donated."""
        self.lost: str | None = None
        """The state lost in a device failure, as a message."""
        self.unwritten_since_restore: set[StateVariable] = set()
        """Restored state variables that have not been written since: a write takes them out."""
        self.pending_restores: dict[str, Array] = {}
        """The values of counters that have none yet, by name: from the run that this one resumes."""
        self.own_values: dict[str, HostArray] = {}
        """The values ``[shards, ...]`` by name of variables that were varying in that run."""
        # A program called again with nothing changed in between skips collecting its state variable by variable.
        self.reusable_arguments: tuple[CachedProgram, list[Array], list[Array]] | None = None
        """(program, arrays it donates next, arrays it reads) of the newest run; None after any other change."""

    def get(self, cell: StateVariable) -> Any:
        """The value of a state variable, its default where it was never written, or None."""
        value = self._values.get(cell)
        if value is None and cell.default is not None:
            if cell.name in self.pending_restores:
                return self.pending_restores[cell.name]
            if cell.axis is not None and cell.axis.size > 1:
                return np.broadcast_to(cell.default, (cell.axis.size, *np.shape(cell.default)))
            return cell.default
        return value

    def wait(self) -> None:
        """Block until the values are computed."""
        jax.block_until_ready([value for value in self._values.values() if isinstance(value, jax.Array)])

    def share_buffer(self, cell: StateVariable) -> Any:
        """``get`` for a caller that keeps the array: no program donates it from now on."""
        if cell in self._values and cell not in self.shared_buffers:
            self.shared_buffers.add(cell)
            self.reusable_arguments = None
        return self.get(cell)

    def has_shared_buffer(self, cell: StateVariable) -> bool:
        """Whether an array is shared: held outside of the store as well, so that it must not be donated."""
        return cell in self.shared_buffers

    def update(self, values: Mapping[StateVariable, Array | np.generic]) -> None:
        """Store new values; their arrays are not shared."""
        self.move(values)
        if self.unwritten_since_restore:
            self.unwritten_since_restore.difference_update(values)

    def move(self, values: Mapping[StateVariable, Array | np.generic]) -> None:
        """Store the same values as other arrays (another layout or device)."""
        self._values.update(values)
        if self.shared_buffers:
            self.shared_buffers.difference_update(values)
        self.reusable_arguments = None

    def discard(self, cell: StateVariable) -> None:
        """Forget the value of a state variable, if it has one."""
        self._values.pop(cell, None)
        self.shared_buffers.discard(cell)
        self.reusable_arguments = None

    def is_gone(self, cell: StateVariable) -> bool:
        """Whether the value was donated to a program that failed. Raises KeyError without an entry."""
        value = self._values[cell]
        return isinstance(value, jax.Array) and value.is_deleted()

    def __contains__(self, cell: StateVariable) -> bool:
        return cell in self._values

    def __iter__(self) -> Iterator[StateVariable]:
        return iter(tuple(self._values))

    def by_name(self) -> dict[str, StateVariable]:
        """The state variables with an entry, by name. Of several with one name the one first written last."""
        return {cell.name: cell for cell in self._values}

    def nbytes(self) -> int:
        """Total bytes of all values; copies on several devices count once."""
        return sum(v.nbytes for v in self._values.values())
