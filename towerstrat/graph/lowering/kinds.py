"""Values whose shape differs by position, inside of a program: one value for each kind of position.

Positions whose inputs have the same shapes are of one kind. While a program is traced, what depends on such an input is
evaluated once per kind at its exact shapes; ``switched`` makes a program of it in which a position runs its kind only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.uneven import Uneven

JOINED = "towerstrat_joined"
SAME = "towerstrat_same"
"""Names by which ``switched`` finds ``Kinds.joined`` and ``same`` in what was traced."""
_SCOPE = "towerstrat_kind_"


def tracing(kind: int) -> AbstractContextManager[Any]:
    """What is traced inside belongs to a kind, even where it takes nothing that does."""
    return jax.named_scope(f"{_SCOPE}{kind}")


def kinds_around(names: Any) -> set[int]:
    """The kinds that something was traced for, from the scopes around it."""
    return {int(number) for number in re.findall(f"{_SCOPE}([0-9]+)", str(names))}


class ByKind:
    """The values of one tensor or cell, one per kind of position."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Any]):
        self.values = tuple(values)

    def at(self, kind: int) -> Any:
        return self.values[kind]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple([np.shape(v) for v in self.values])


def at(value: Any, kind: int) -> Any:
    """What positions of a kind see of a value."""
    return value.at(kind) if isinstance(value, ByKind) else value


class Kinds:
    """Which positions along an axis get inputs of the same shapes.

    Attributes:
      table: the kind of each position.
      shapes: for each input, its shape in each kind.
    """

    def __init__(self, axis: Axis, inputs: Sequence[Uneven]):
        self.axis = axis
        together = list(zip(*(u.shapes for u in inputs), strict=True))
        distinct = list(dict.fromkeys(together))
        self.table = tuple([distinct.index(shapes) for shapes in together])
        self.count = len(distinct)
        self.shapes = tuple(zip(*distinct, strict=True))

    def by_position(self, of_kinds: Sequence[Any]) -> list[Any]:
        """What is known of each kind, for each position."""
        return [of_kinds[kind] for kind in self.table]

    def index(self) -> Any:
        """The kind of this position."""
        return jnp.asarray(np.array(self.table, np.int32))[lax.axis_index(self.axis.name)]

    def joined(self, value: Any, found: bool = True) -> Any:
        """The value at each position as one that differs by position, padded with zeros to the largest shape.

        Args:
          found: whether ``switched`` finds it; where derivatives are taken through it there would be others like it.

        Raises:
          ValueError: the ranks differ.
        """
        if not isinstance(value, ByKind):
            return value
        if len({len(s) for s in value.shapes}) > 1:
            raise ValueError(f"Expected values of one rank at all positions, got shapes {value.shapes}.")
        arrays = [vary(jnp.asarray(v), self.axis) for v in value.values]
        if self.count == 1:
            return arrays[0]
        return (_joined if found else _join)(self.index(), *arrays)


def padded(value: Any, shape: Sequence[int]) -> Any:
    """The value with zeros after it, up to a shape."""
    if np.shape(value) == tuple(shape):
        return value
    widths = [(0, int(n - m), 0) for n, m in zip(shape, np.shape(value), strict=True)]
    return lax.pad(value, jnp.zeros((), value.dtype), widths)


def largest(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The smallest shape that all of these fit into."""
    return tuple([max(sizes) for sizes in zip(*shapes, strict=True)])


def _join(index: Any, *values: Any) -> Any:
    shape = largest([v.shape for v in values])
    return lax.select_n(index, *(padded(v, shape) for v in values))


_join.__name__ = JOINED
_joined = jax.jit(_join)


def _as_it_is(value: Any) -> Any:
    return value


_as_it_is.__name__ = SAME
_same = jax.jit(_as_it_is)


def same(value: Any) -> Any:
    """A value that was computed for the first kind, and that is the same in all kinds."""
    return _same(value) if isinstance(value, jax.core.Tracer) else value
