"""Rows of a table: gather, scatter, and the sum of rows with equal indices (a segment sum by sorting).

Shapes are fixed in a compiled program, so ``sum_repeated`` returns as many rows as it gets: the sums first, by
ascending index, then zeros whose indices lie past the end of every table (``PADDING``), which scatters drop.

>>> values, indices = sum_repeated(jnp.array([1.0, 2.0, 4.0]), jnp.array([5, 3, 5]))
>>> values.tolist(), indices[:2].tolist()
([2.0, 5.0, 0.0], [3, 5])
>>> write_rows(jnp.zeros(6), indices, "add", values, distinct=True).tolist()
[0.0, 0.0, 0.0, 2.0, 0.0, 5.0]

``CellRows`` is what optimizers write their update rules on: the same code changes a whole table or the rows of a sparse
gradient. ``RowSum`` adds dense where the table is small beside the number of rows (``DENSE_BELOW``).

Source: ``_deduplicate_indexed_slices`` in ``tensorflow/python/training/optimizer.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.lowering.input_checks import PADDING

DENSE_BELOW = 16
"""Tables with fewer than this many rows per given row add a dense sum faster than they add row by row."""

Method = Literal["add", "divide", "max", "min", "multiply", "set", "subtract"]


def read_rows(table: jax.Array, indices: jax.Array) -> jax.Array:
    """``table[indices]``; indices out of range are clipped."""
    rows: jax.Array = table.at[indices].get(mode="clip", wrap_negative_indices=False)
    return rows


def write_rows(
    table: jax.Array, indices: jax.Array, method: Method, updates: jax.Array, *, distinct: bool = False
) -> jax.Array:
    """``table`` with rows changed by a method of ``table.at[indices]``; indices out of range are dropped.

    Args:
      table: ``[n, *row]``.
      indices: integers of any shape.
      method: "set" to replace rows, "add" and the like to combine them with the updates.
      updates: ``[*indices.shape, *row]``, of the table's dtype.
      distinct: indices ascend and none comes twice, as those of ``sum_repeated`` do.
    """
    write: Callable[..., jax.Array] = getattr(table.at[indices], method)
    return write(
        updates, mode="drop", indices_are_sorted=distinct, unique_indices=distinct, wrap_negative_indices=False
    )


def drop_if(failed: jax.Array | None, indices: jax.Array) -> jax.Array:
    """The indices of rows to write; where ``failed`` all past the end of every table. None: no check can fail."""
    return indices if failed is None else jnp.where(failed, left_over(indices), indices)


def left_over(indices: jax.Array) -> jax.Array:
    """Padding indices of the same shape and type: ascending, distinct, past the end of every table."""
    places = jnp.reshape(lax.iota(indices.dtype, indices.size), indices.shape)
    return places + np.asarray(PADDING - indices.size, indices.dtype)


def are_distinct(indices: Tensor) -> bool:
    """Whether ``deduplicate`` made these indices: they ascend, and none comes twice."""
    return _is_of_graph(indices) and indices.op.type == "DeduplicateRows"


def of_lookups(indices: Tensor) -> bool:
    """Whether these are the indices of a gradient all of whose rows come from lookups, which have checked them.

    Also of those gathered from all shards.
    """
    return _is_of_graph(indices) and lookup_source(indices) is not None


def _is_of_graph(tensor: Tensor) -> bool:
    """False of an eager tensor, which is made by nothing."""
    return hasattr(tensor, "graph")


def lookup_source(indices: Tensor) -> Tensor | None:
    """The table, or variable's handle, that was looked up by indices of which ``of_lookups`` is true."""
    if are_distinct(indices):
        indices = indices.op.inputs[1]
    indices = from_positions(indices)[-1]
    op = indices.op
    if op.type != "Gradients" or op.attrs["rules"] or any(op.attrs["seed_indices"]):
        return None
    kinds = zip(op.attrs["xs"], op.attrs["sparse"], strict=True)
    of_outputs: list[Tensor] = [x for x, index_type in kinds for _ in range(1 if index_type is None else 2)]
    return of_outputs[indices.value_index]


def scale_of(op: Operation) -> Tensor | None:
    """The scalar by which an operation multiplies or divides other floats; None of other operations."""
    scales = op.type in ("Mul", "RealDiv") and op.outputs[0].dtype.is_floating
    scalars = [t for t in op.inputs if t.dims == ()] if scales else []
    return scalars[0] if len(scalars) == 1 and (op.type == "Mul" or scalars[0] is op.inputs[1]) else None


def from_positions(tensor: Tensor) -> list[Tensor]:
    """The chain from a tensor with the values of all shards, one after the other, to the varying tensor of each.

    On the chain values may be multiplied and divided by scalars. For any other tensor ``[tensor]``.
    """
    way = [tensor]
    while (op := way[-1].op).type == "Identity" or scale_of(op) is not None:
        way.append(next(t for t in op.inputs if t is not scale_of(op)))
    if op.type == "AllConcat" and op.attrs["dim"] == 0:
        return [*way, op.inputs[0]]
    if op.type == "ConcatV2" and op.attrs["axis"] == 0 and all(t.op.type == "SelectPosition" for t in op.inputs):
        selections = [t.op for t in op.inputs]
        sources = {s.inputs[0] for s in selections}
        if len(sources) == 1 and [s.attrs["position"] for s in selections] == list(
            range(selections[0].attrs["axis"].size)
        ):
            return [*way, *op.inputs, *sources]
    return [tensor]


def sum_repeated(values: jax.Array, indices: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sums of rows ``[n, ...]`` by index, and the indices, which ascend: ``n`` of both.

    Rows of one index are added in the order in which they come. The padding at the end has values of zero and distinct
    indices past the end of every table.
    """
    count = indices.shape[0]
    if count == 0:
        return values, indices
    places = lax.iota(jnp.int32, count)
    ordered, order = lax.sort((indices, places), num_keys=1, is_stable=True)
    starts = jnp.concatenate([jnp.zeros((1,), jnp.int32), (ordered[1:] != ordered[:-1]).astype(jnp.int32)])
    group = jnp.cumsum(starts, dtype=jnp.int32)
    group_of = jnp.zeros_like(group).at[order].set(group, unique_indices=True, mode="promise_in_bounds")
    summed = jnp.zeros_like(values).at[group_of].add(values, mode="promise_in_bounds")
    return summed, left_over(indices).at[group].set(ordered, indices_are_sorted=True, mode="promise_in_bounds")


class CellRows:
    """The rows of a table that an update changes: all of them, or those of an index.

    Adding to rows does not read them first: the scatter does.

    Args:
      table: ``[n, ...]``.
      indices: integers ``[m]``; None for all rows.
      distinct: as of ``write_rows``.
      failed: scalar bool: nothing changes where it is true; None: it cannot be.
      given: bool ``[n]`` or ``[n, ...]``: mask of the entries that change, of all rows; None: all.

    Attributes:
      table: the whole table, as changed so far.
    """

    def __init__(
        self, table: jax.Array, indices: jax.Array | None = None, distinct: bool = False,
        failed: jax.Array | None = None, given: jax.Array | None = None,
    ):  # fmt: skip
        self.table = table
        self._given = given if given is None else lax.expand_dims(given, range(given.ndim, table.ndim))
        self._indices = indices if indices is None else drop_if(failed, indices)
        self._distinct = distinct
        self._failed = failed

    @property
    def value(self) -> jax.Array:
        """The rows before the change: ``[m, ...]``, or the table."""
        return self.table if self._indices is None else read_rows(self.table, self._indices)

    def set(self, value: jax.Array) -> jax.Array:
        """Replace the rows, and return the array to compute with: of all rows the masked one.

        So XLA computes a slot once, in its old place, which it would copy for two computations with the old value.
        """
        value = value.astype(self.table.dtype)
        self.table = self.mask_table(value) if self._indices is None else self._write("set", value)
        return self.table if self._indices is None else value

    def add(self, change: jax.Array) -> None:
        change = change.astype(self.table.dtype)
        self.table = self.mask_table(self.table + change) if self._indices is None else self._write("add", change)

    def subtract(self, change: jax.Array) -> None:
        change = change.astype(self.table.dtype)
        self.table = self.mask_table(self.table - change) if self._indices is None else self._write("subtract", change)

    def mask_table(self, table: jax.Array) -> jax.Array:
        """The new table, masked: the old one where nothing may change."""
        if self._given is not None:
            table = jnp.where(self._given, table, self.table)
        return table if self._failed is None else jnp.where(self._failed, self.table, table)

    def decay(self, factor: jax.Array, rows: RowSum, function: Callable[[jax.Array], jax.Array]) -> None:
        """``table * factor + function(rows)``, of the whole table."""
        self.table = rows.added_to(self.mask_table(self.table * factor), function)

    def _write(self, method: Method, updates: jax.Array) -> jax.Array:
        assert self._indices is not None
        return write_rows(self.table, self._indices, method, updates, distinct=self._distinct)


class RowSum(NamedTuple):
    """Rows summed by index, ready to be added to whole tables of one shape.

    Attributes:
      values: of ``indices``, or of the table's shape.
      indices: ascending and distinct, or None for all rows of the table.
    """

    values: jax.Array
    indices: jax.Array | None

    @classmethod
    def of(cls, table: jax.Array, values: jax.Array, indices: jax.Array, failed: jax.Array | None = None) -> RowSum:
        """The sum for a table: dense if the table is small beside the number of rows; no row where ``failed``."""
        indices = drop_if(failed, indices)
        if table.shape[0] < DENSE_BELOW * indices.shape[0]:
            return cls(write_rows(jnp.zeros_like(table), indices, "add", values), None)
        return cls(*sum_repeated(values, indices))

    @classmethod
    def whole(cls, total: jax.Array, failed: jax.Array | None = None) -> RowSum:
        """A sum that is a dense table already; zeros where ``failed``."""
        return cls(total if failed is None else jnp.where(failed, jnp.zeros_like(total), total), None)

    def added_to(self, table: jax.Array, function: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """``table + function(sum)``, where ``function`` is element-wise and gives zero for zero."""
        change = function(self.values)
        return table + change if self.indices is None else write_rows(table, self.indices, "add", change, distinct=True)


def repeated(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The inputs of ``deduplicate`` that gave these rows; other rows as they are."""
    if are_distinct(indices) and values.op is indices.op:
        values, indices = indices.op.inputs
    return values, indices
