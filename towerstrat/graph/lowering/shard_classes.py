"""Shard classes: the partition of a mesh axis by the shapes of each shard's inputs, and by what each shard runs.

A batch of 8 on three towers is 3, 3 and 2 rows. Inside one SPMD program all shards have one shape, so these are padded
to 3, and the shards form two classes: those with 3 rows and that with 2. While the program is traced, a
value that depends on such an input is a ``ByClass``: one value per class, at its exact shape.

>>> from towerstrat.graph.ir.uneven_shards import UnevenShards
>>> axis = Axis("tower", jax.devices()[:1] * 3)
>>> classes = ShardClasses(axis, [UnevenShards.of([np.ones(3), np.ones(3), np.ones(2)])])
>>> classes.count, classes.table, classes.shapes
(2, (0, 0, 1), (((3,), (2,)),))

Shards that run different operations (``Operation.axis_indices``) or select different tensors are of different classes,
too.

``padded_value`` makes one padded, varying value of a ``ByClass``. It and ``mark_equal`` are calls of jitted functions
by whose names ``class_switch`` recognises them in the jaxpr, when it turns the trace into a program in which each shard
runs its own class.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.types import Array
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.platform import compilers

JOINED = "towerstrat_joined"
SAME = "towerstrat_same"
"""Names of the jitted functions by which ``switch_by_class`` recognises ``padded_value`` and ``mark_equal``."""
_SCOPE = "towerstrat_kind_"


def tracing(number: int) -> AbstractContextManager[None]:
    """A named scope whose equations belong to a class even if no operand does (an effect on constants)."""
    return jax.named_scope(f"{_SCOPE}{number}")


def shard_classes_in_scope(names: object) -> set[int]:
    """The classes of the ``tracing`` scopes in an equation's name stack."""
    return {int(number) for number in re.findall(f"{_SCOPE}([0-9]+)", str(names))}


class ByClass:
    """The values of one tensor or state variable, one per shard class; their shapes may differ."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Array]):
        self.values = tuple(values)

    def at(self, number: int) -> Array:
        return self.values[number]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple([np.shape(v) for v in self.values])


def at(value: Array | ByClass, number: int) -> Array:
    """The value for one shard class; a value that is no ``ByClass`` is the same for all."""
    return value.at(number) if isinstance(value, ByClass) else value


T = TypeVar("T")


def index_sets(operations: Iterable[Operation], axis: Axis) -> list[tuple[int, ...]]:
    """Per axis index which of the operations that shards do not run alike it runs; all empty where there are none."""
    columns: list[list[int]] = []
    stack = list(operations)
    while stack:
        op = stack.pop()
        if op.axis_indices is not None:
            columns.append([i in op.axis_indices for i in range(axis.size)])
        elif op.definition.index_dependent:
            ids = [id(t) for t in op.inputs]
            columns.append([ids.index(i) for i in ids])
        stack += [inner for body in op.bodies for inner in body.needed]
    return list(zip(*columns, strict=True)) if columns else [()] * axis.size


class ShardClasses:
    """The partition of an axis by the shapes of each shard's inputs, and by the operations that each runs.

    Args:
      axis: the mesh axis.
      inputs: the inputs of the program whose shape differs by shard.
      does: per axis index a key of the operations that it runs (``index_sets``); None: all run the same.

    Attributes:
      count: the number of classes.
      table: the class of each axis index.
      shapes: for each input, its shape in each class.
    """

    def __init__(self, axis: Axis, inputs: Sequence[UnevenShards], does: Sequence[Hashable] | None = None):
        self.axis = axis
        shapes = list(zip(*(u.shapes for u in inputs), strict=True)) if inputs else [()] * axis.size
        together = list(zip(shapes, does or [()] * axis.size, strict=True))
        distinct = list(dict.fromkeys(together))
        self.table = tuple([distinct.index(both) for both in together])
        self.count = len(distinct)
        self.shapes = tuple(zip(*(of_class for of_class, _ in distinct), strict=True))

    def first_of(self, number: int) -> int:
        """The first axis index of a class."""
        return self.table.index(number)

    def of(self, op: Operation) -> list[int]:
        """The classes of the shards that run an operation."""
        return [k for k in range(self.count) if op.axis_indices is None or self.first_of(k) in op.axis_indices]

    def by_position(self, by_class: Sequence[T]) -> list[T]:
        """One entry per axis index from one per class."""
        return [by_class[number] for number in self.table]

    def index(self) -> jax.Array:
        """The class of this shard (int32 scalar), inside of the mapped program."""
        return jnp.asarray(np.array(self.table, np.int32))[lax.axis_index(self.axis.name)]

    def padded_value(self, value: Array | ByClass, marked: bool = True) -> Array:
        """A ``ByClass`` as one varying array of the largest shape: on each shard its class's value, padded with zeros.

        Args:
          value: an array is returned as it is.
          marked: leave a mark for ``switch_by_class``, which selects by a switch instead of computing all classes
            everywhere. False where derivatives are taken through it: ``jax.vjp`` of a marked call makes more calls of
            that name, with other operands.

        Raises:
          ValueError: the ranks differ.
        """
        if not isinstance(value, ByClass):
            return value
        if len({len(s) for s in value.shapes}) > 1:
            raise ValueError(f"Expected values of one rank at all positions, got shapes {value.shapes}.")
        arrays: list[jax.Array] = [vary(jnp.asarray(v), self.axis) for v in value.values]
        if self.count == 1:
            return arrays[0]
        # One program has one shape for all shards: zeros fill up those of the smaller classes.
        selected: jax.Array = (_joined if marked else _join)(self.index(), *arrays)
        return selected


def padded(value: Array, shape: Sequence[int]) -> Array:
    """The value with zeros appended in each dimension, up to ``shape``."""
    if np.shape(value) == tuple(shape):
        return value
    widths = [(0, int(n - m), 0) for n, m in zip(shape, np.shape(value), strict=True)]
    return lax.pad(value, jnp.zeros((), value.dtype), widths)


def largest(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The element-wise maximum of shapes of one rank."""
    return tuple([max(sizes) for sizes in zip(*shapes, strict=True)])


def _join(index: jax.Array, *values: jax.Array) -> jax.Array:
    shape = largest([v.shape for v in values])
    return lax.select_n(index, *(padded(v, shape) for v in values))


_join.__name__ = JOINED
_joined = compilers.mark(_join)


def _identity(value: Array) -> Array:
    return value


_identity.__name__ = SAME
_same = compilers.mark(_identity)


def mark_equal(value: Array) -> Array:
    """A value of the first class that all share, marked for ``switch_by_class``: every shard computes it."""
    return _same(value) if isinstance(value, jax.core.Tracer) else value


def shard_classes_of(
    axis: Axis | None, inputs: Sequence[UnevenShards], operations: Iterable[Operation]
) -> ShardClasses | None:
    """The shard classes of a program; None where no input is uneven and all shards run the same operations."""
    if axis is None:
        return None
    does = index_sets(operations, axis)
    return ShardClasses(axis, inputs, does) if inputs or does[0] else None


def has_collective(op: Operation) -> bool:
    """Whether a branch or loop has a collective inside: all shards have to run it together."""
    if op.definition.handles_shard_classes:
        return False
    inside = (inner for body in op.bodies for inner in body.needed)
    return any(inner.definition.collective or has_collective(inner) for inner in inside)


def steps_of_gradients(op: Operation) -> Iterator[Operation]:
    """The operations on the paths of gradients, of an operation itself and inside its bodies."""
    yield from op.attrs.get("path", ())
    for body in op.bodies:
        for inner in body.needed:
            yield from steps_of_gradients(inner)
