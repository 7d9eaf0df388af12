"""Sparse gradients of row lookups inside differentiated branches and loops.

A branch or loop is differentiated as a whole, by ``jax.vjp``, which would return a dense cotangent of an embedding
table that it looks rows up in. Instead the table is a constant of the vjp, and zeros are added to the rows of each
lookup as independent variables: their cotangents are the rows' ones.

    rows = table[ids] + zeros          zeros: [n, d]
    vjp  -> d_zeros: [n, d]            the gradient is IndexedSlices(values=d_zeros, indices=ids), of n rows

Shapes are fixed: a first abstract evaluation finds how many rows are looked up (``shapes``). The indices leave the
region beside its results; those of a branch that is not taken, and of iterations after a loop's end, are ``PADDING``,
which updates skip. A compiled loop of n iterations takes its zeros as ``[n, ...]`` (``split``) and returns its indices
likewise (``join``); in an unrolled one each iteration is a ``Place`` of its own.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     table = tf.get_variable("table", [1000, 2], use_resource=True)
...     lookup = tf.gather(table, [3, 1]).op
>>> lookups = Lookups({table.handle: [lookup]}, zeros={}, axis=None)        # as in the first evaluation
>>> lookups.read(lookup, np.float32([[5, 6], [7, 8]]), np.array([3, 1])).tolist()
[[5.0, 6.0], [7.0, 8.0]]
>>> lookups.shapes[lookup, ()], lookups.indices[lookup, ()].tolist()
(((2, 2), dtype('float32')), [3, 1])
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.types import Array, DType, int32, int64
from towerstrat.graph.lowering.differentiability import carries_gradient, sources_of
from towerstrat.graph.lowering.input_checks import PADDING
from towerstrat.graph.lowering.python_gradients import passes_gradient, rule_of
from towerstrat.graph.lowering.tape import RowCotangent

Place = tuple[tuple[Operation, int], ...]
"""The loops that are unrolled around an operation, with the numbers of the iterations."""
Key = tuple[Operation, Place]
"""A lookup at a place."""
Shapes = dict[Key, tuple[tuple[int, ...], np.dtype[Any]]]
"""Shape and element type of the rows of each lookup."""


def index_type_of(op: Operation) -> DType:
    """The element type of the indices of a lookup's rows."""
    return int64 if op.inputs[1].dtype is int64 else int32


def rows_of(
    lookups: Collection[Operation], keys: Sequence[Key], values: Sequence[Array], indices: Sequence[Array], table: Array
) -> RowCotangent:
    """The sparse cotangent of a variable: the rows of all lookups in ``lookups``, one after the other.

    Args:
      lookups: the row lookups of this variable.
      keys: all lookups of the region, each at its place.
      values: the cotangent of each key's zeros.
      indices: the rows that each key has read.
      table: the variable's value, for shape and dtype where ``lookups`` has none of the keys.
    """
    parts = [(v, i) for k, v, i in zip(keys, values, indices, strict=True) if k[0] in lookups]
    if not parts:
        return RowCotangent.none_of(table)
    return RowCotangent(jnp.concatenate([v for v, _ in parts]), jnp.concatenate([i for _, i in parts]))


def rows_back(step: Operation, rows: RowCotangent) -> list[tuple[Tensor, RowCotangent]]:
    """Sparse cotangents of the inputs of an operation that passes rows on, from the one of its result."""
    values = rows.values
    if step.type == "Neg":
        values = -values
    elif step.type == "Cast":
        values = values.astype(step.inputs[0].dtype.np)
    return [(t, rows._replace(values=values)) for t in step.inputs]


def passes_rows(op: Operation) -> bool:
    """Whether a sparse cotangent of the result is passed on as a sparse one of each input, as in the original."""
    if op.type == "Cast":
        return op.inputs[0].dtype.is_floating and op.outputs[0].dtype.is_floating
    return op.definition.passes_rows and (op.definition.additive or len(op.inputs) == 1)


def looks_up_rows(op: Operation) -> bool:
    """Whether it gathers rows along dimension 0 of a tensor of its own context: its cotangent is sparse."""
    if op.type not in ("GatherV2", "GatherNd") or op.axis is not op.inputs[0].op.axis or op.attrs.get("batch_dims"):
        return False
    if op.type == "GatherNd":  # of a list of coordinates of one number each, as the original has it
        dims = op.inputs[1].dims
        return dims is not None and len(dims) == 2 and dims[1] == 1
    return op.attrs["axis"] == 0 and "_dense_gradient" not in op.attrs


def lookups_in(op: Operation, handle: Tensor) -> tuple[Operation, ...] | None:
    """The row lookups through which a branch's or loop's results depend on a variable; None where others do, too."""
    if op.type not in ("If", "While") or rule_of(op) is not None:
        return None
    lookups: dict[Operation, None] = {}
    for body in op.bodies if op.type == "If" else op.bodies[1:]:
        if not _find(body, handle, lookups):
            return None
    return tuple(lookups)


def _find(body: Block, handle: Tensor, lookups: dict[Operation, None]) -> bool:
    """Add the lookups of a region to ``lookups``; False where there is another use, or a gradient inside."""
    if any(inner.type == "Gradients" for inner in body.needed):
        return False
    seen: set[Tensor] = set()
    stack = list(body.results)
    while stack:
        tensor = stack.pop()
        op = tensor.op
        if tensor in seen or not carries_gradient(tensor) or not body.encloses(op.block) or not passes_gradient(op):
            continue
        seen.add(tensor)
        if handle not in set(op.inputs):
            stack += op.inputs if rule_of(op) is not None else sources_of(tensor, op)
        elif op.type == "ResourceGather" and rule_of(op) is None:
            lookups[op] = None
        elif (inside := lookups_in(op, handle)) is not None:
            lookups.update(dict.fromkeys(inside))
            stack += (t for t in sources_of(tensor, op) if t is not handle)
        else:
            return False
    return True


class Lookups:
    """The row lookups that one evaluation of a region makes.

    Args:
      by_handle: variable -> its lookups, whose cotangents are sparse.
      zeros: key -> the zeros added to the rows, ``[n, *row]``; empty in a first evaluation, which finds the shapes.
      axis: indices are cast to varying along it.
      shapes: key -> shape and element type of the rows, to be filled.

    Attributes:
      indices: key -> ``[n]``, integers: the rows that were read.
    """

    def __init__(
        self,
        by_handle: Mapping[Tensor, Sequence[Operation]],
        zeros: Mapping[Key, Array],
        axis: Axis | None,
        place: Place = (),
        shapes: Shapes | None = None,
    ):
        self.by_handle = by_handle
        self.zeros = zeros
        self.axis = axis
        self.place = place
        self.shapes = {} if shapes is None else shapes
        self.indices: dict[Key, Array] = {}

    def region(self, *unrolled: tuple[Operation, int]) -> Lookups:
        """The lookups of a nested region, or of one iteration of an unrolled loop, ``(loop, iteration)``."""
        return Lookups(self.by_handle, self.zeros, self.axis, (*self.place, *unrolled), self.shapes)

    def step(self, zeros: Mapping[Key, Array]) -> Lookups:
        """The lookups of one iteration of a compiled loop, with that iteration's slice of the zeros."""
        return Lookups(self.by_handle, zeros, self.axis, self.place)

    def read(self, op: Operation, rows: Array, indices: Array) -> Array:
        """The rows that a lookup has read, with its zeros added; notes their indices and shape."""
        if op not in self.by_handle.get(op.inputs[0], ()):
            return rows
        key = (op, self.place)
        row = np.shape(rows)[np.ndim(indices) :]
        flat = jnp.reshape(jnp.asarray(indices, index_type_of(op).np), (-1,))
        self.indices[key] = vary(flat, self.axis)
        self.shapes[key] = ((flat.size, *row), rows.dtype)
        return rows + jnp.reshape(self.zeros[key], np.shape(rows)) if key in self.zeros else rows

    def keys_in(self, op: Operation) -> list[Key]:
        """The lookups with zeros inside of a branch, or of a loop that is not unrolled."""
        inside, depth = _inside(op), len(self.place)
        here = [k for k in self.zeros if k[0] in inside and k[1][:depth] == self.place]
        return [k for k in here if not any(loop is op for loop, _ in k[1][depth : depth + 1])]

    def of(self, keys: Iterable[Key]) -> list[Array]:
        """The indices ``[n]`` of each lookup; ``PADDING`` for those that were not made."""
        return [self.indices[k] if k in self.indices else self._padding(k, self.zeros[k]) for k in keys]

    def skipped(self, keys: Sequence[Key], zeros: Sequence[Array]) -> list[Array]:
        """The indices where none of these lookups is made: all ``PADDING``."""
        return [self._padding(k, z) for k, z in zip(keys, zeros, strict=True)]

    def _padding(self, key: Key, zeros: Array) -> Array:
        padding: Array = vary(jnp.full((zeros.shape[0],), PADDING, index_type_of(key[0]).np), self.axis)
        return padding

    def split(self, keys: Iterable[Key], count: int) -> list[Array]:
        """The zeros of a compiled loop of ``count`` iterations, ``[count, n, *row]``."""
        return [jnp.reshape(z, (count, z.shape[0] // count, *z.shape[1:])) for z in (self.zeros[k] for k in keys)]

    def join(self, keys: Sequence[Key], stacked: Sequence[Array]) -> None:
        """Enter the indices that left a region: ``[n]``, or stacked per iteration, ``[count, n]``."""
        self.indices.update(zip(keys, (jnp.reshape(s, (-1,)) for s in stacked), strict=True))

    def take(self, region: Lookups | None) -> None:
        """Enter the indices of a region that was evaluated in the same trace."""
        assert region is not None
        self.indices.update(region.indices)

    def repeat(self, step: Lookups, count: int) -> None:
        """Enter the shapes of the lookups of a compiled loop: ``count`` times those of one iteration, ``step``."""
        for key, ((size, *row), dtype) in step.shapes.items():
            self.shapes[key] = ((size * count, *row), dtype)


def _inside(op: Operation) -> set[Operation]:
    """The operations in the bodies of an operation, nested ones included."""
    return {o for body in op.bodies for inner in body.needed for o in (inner, *_inside(inner))}
