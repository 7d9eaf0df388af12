"""The tape of reverse-mode differentiation: a record per evaluated operation, and sums of cotangents.

The gradients of a program say beforehand what the tape records: the operations on their ``GradientPaths``. A
``Record`` is what ``jax.vjp`` left of one of them: its pullback, and the tensors that it maps between. ``reverse``
orders the records of a path, last evaluated first; ``pull_back`` applies one; ``Cotangents`` accumulates per tensor. A
cotangent is an array, or for row lookups a sparse one, rows with their indices:

>>> c = RowCotangent(values=jnp.ones((2, 3)), indices=jnp.array([1, 1]))
>>> c.dense(jnp.zeros((2, 3))).tolist()
[[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]]
>>> sums = Cotangents()
>>> sums.add("table", c)
>>> sums.add("table", c)
>>> sums.rows("table").values.shape                         # sparse summands are concatenated, not added up
(4, 3)

Source: Griewank and Walther, *Evaluating Derivatives*, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph_elements import Operation, Tensor, with_bodies
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.python_gradients import TracedRule


class RowCotangent(NamedTuple):
    """A sparse cotangent, as IndexedSlices: zero except for some rows; rows that repeat add up.

    Attributes:
      values: ``[n, ...]``, the rows.
      indices: ``[n]``, integers: the row that each entry belongs to.
    """

    values: Array
    indices: Array

    @classmethod
    def none_of(cls, table: Array) -> RowCotangent:
        """The zero cotangent of a table: no rows, ``[0, ...]``."""
        return cls(jnp.zeros((0, *table.shape[1:]), table.dtype), jnp.zeros((0,), jnp.int32))

    def dense(self, like: Array) -> Array:
        """The dense cotangent, of the shape of ``like``. Indices out of range (padding) are dropped."""
        zeros = jnp.zeros(like.shape, self.values.dtype)
        return zeros.at[self.indices].add(self.values, mode="drop", wrap_negative_indices=False)


Cotangent = Array | RowCotangent
Pull = Callable[[Sequence[Array]], Sequence[Cotangent | None]]
"""Cotangents of an operation's results -> cotangents of its sources."""


class Record(NamedTuple):
    """The tape's entry for one operation.

    Attributes:
      order: place in the order of evaluation within its region.
      pull: the vector-Jacobian product that ``jax.vjp`` returned, cotangents of ``results`` -> cotangents of
        ``sources``; None where the operation has a gradient rule of its own.
      sources, results: the inputs and outputs that ``pull`` maps between.
      primals: the values of ``results`` as they were computed, before feeds replaced any.
    """

    order: int
    pull: Pull | None
    sources: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    primals: tuple[Array, ...] = ()


class GradientPaths(NamedTuple):
    """The operations and tensors of a program on the path of some gradient.

    Attributes:
      operations: those that are recorded.
      tensors: those that a cotangent goes through.
      rules: operation -> its traced gradient function, for those that have one.
    """

    operations: frozenset[Operation] = frozenset()
    tensors: frozenset[Tensor] = frozenset()
    rules: Mapping[Operation, TracedRule] = {}

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> GradientPaths:
        """The paths of all gradients among operations, and in the bodies of their branches and loops."""
        recorded: set[Operation] = set()
        tensors: set[Tensor] = set()
        rules: dict[Operation, TracedRule] = {}
        for op in with_bodies(operations):
            if "path" in op.attrs:
                recorded.update(op.attrs["path"])
                tensors.update(op.attrs["active"])
                rules.update(op.attrs["rules"])
        return cls(frozenset(recorded), frozenset(tensors), rules)


class Tape:
    """The records of an evaluation.

    Attributes:
      paths: says which operations are recorded.
      records: operation -> its record.
      snapshots: operation -> the state that it read, for evaluating it again.
    """

    def __init__(self, paths: GradientPaths, clock: Iterator[int] | None = None):
        self.paths = paths
        self.records: dict[Operation, Record] = {}
        self.snapshots: dict[Operation, dict[StateVariable, Array]] = {}
        self._clock = itertools.count() if clock is None else clock

    def fork(self) -> Tape:
        """The tape of an evaluation inside of this one's: empty, with the same paths and order."""
        return Tape(self.paths, self._clock)

    def enter(
        self, op: Operation, pull: Pull | None = None, sources: Sequence[Tensor] = (), results: Sequence[Tensor] = (),
        primals: Sequence[Array] = (),
    ) -> None:  # fmt: skip
        """Record an operation, last in order; without ``pull`` its gradient rule or function is its only gradient."""
        self.records[op] = Record(next(self._clock), pull, tuple(sources), tuple(results), tuple(primals))

    def note(self, op: Operation) -> None:
        """Record an operation that was evaluated elsewhere, if it is on a path."""
        if op in self.paths.operations:
            self.enter(op)


class Cotangents:
    """Sums of cotangents by tensor."""

    def __init__(self) -> None:
        self._parts: dict[Tensor, list[Cotangent]] = {}

    def add(self, tensor: Tensor, value: Cotangent | None) -> None:
        """Add a summand; None stands for zeros."""
        if value is not None:
            self._parts.setdefault(tensor, []).append(value)

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor has a summand."""
        return tensor in self._parts

    def rows(self, tensor: Tensor) -> RowCotangent | None:
        """The sum as a sparse cotangent; None where there is none or a summand is dense."""
        parts = [p for p in self._parts.get(tensor, ()) if isinstance(p, RowCotangent)]
        if not parts or len(parts) < len(self._parts[tensor]):
            return None
        if len(parts) == 1:
            return parts[0]
        return RowCotangent(jnp.concatenate([p.values for p in parts]), jnp.concatenate([p.indices for p in parts]))

    def total(self, tensor: Tensor, like: Array) -> Array | None:
        """The sum as one dense array, None without summands; sparse ones take the shape of the array ``like``."""
        parts = self._parts.get(tensor)
        if not parts:
            return None
        arrays = [p.dense(like) if isinstance(p, RowCotangent) else p for p in parts]
        result = arrays[0]
        for other in arrays[1:]:
            result = result + other
        return result


def pull_back(
    record: Record, cotangents: Sequence[Array | None], axis: Axis | None
) -> Mapping[Tensor, Cotangent | None]:
    """Input cotangents of one recorded operation from those of its outputs; None stands for zeros."""
    assert record.pull is not None
    filled = []
    for cotangent, primal in zip(cotangents, record.primals, strict=True):
        if cotangent is None:
            cotangent = jnp.zeros(primal.shape, primal.dtype)
        filled.append(vary(jnp.asarray(cotangent, primal.dtype), axis))
    return dict(zip(record.sources, record.pull(filled), strict=True))


def masked(cotangent: Cotangent | None, where: Array) -> Cotangent | None:
    """The cotangent where a condition holds, zeros elsewhere."""
    if isinstance(cotangent, RowCotangent):
        return cotangent._replace(values=jnp.where(where, cotangent.values, jnp.zeros_like(cotangent.values)))
    return None if cotangent is None else jnp.where(where, cotangent, jnp.zeros_like(cotangent))


def ones_like(value: Array) -> Array:
    """Ones on the host: known while lowering, so that products with them fold."""
    return np.ones(np.shape(value), value.dtype)


def reverse(path: Sequence[Operation], records: Mapping[Operation, Record]) -> list[Operation]:
    """The recorded operations of a path, last evaluated first."""
    return sorted((op for op in path if op in records), key=lambda op: -records[op].order)
