"""Rows of a table: how they are read and written, and the sum of those that repeat.

Source: ``_deduplicate_indexed_slices`` in ``tensorflow/python/training/optimizer.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.lowering.input_checks import PADDING

DENSE_BELOW = 16
"""Tables with fewer than this many rows per given row add a dense sum faster than they add row by row."""

Method = Literal["add", "divide", "max", "min", "multiply", "set", "subtract"]


def read_rows(table: jax.Array, indices: jax.Array) -> jax.Array:
    """``table[indices]``; indices out of range are clipped."""
    return table.at[indices].get(mode="clip", wrap_negative_indices=False)


def write_rows(
    table: jax.Array, indices: jax.Array, method: Method, updates: jax.Array, *, distinct: bool = False
) -> jax.Array:
    """``table`` with rows changed by a method of ``table.at[indices]``; indices out of range are dropped.

    Args:
      indices: integers of any shape.
      updates: ``[*indices.shape, *row]``, of the table's dtype.
      distinct: indices ascend and none comes twice, as those of ``sum_repeated`` do.
    """
    write = getattr(table.at[indices], method)
    return write(
        updates, mode="drop", indices_are_sorted=distinct, unique_indices=distinct, wrap_negative_indices=False
    )


def drop_if(failed: jax.Array | None, indices: jax.Array) -> jax.Array:
    """Indices of rows to write; where ``failed`` all different ones past the end of every table. None: none has."""
    return indices if failed is None else jnp.where(failed, left_over(indices), indices)


def left_over(indices: jax.Array) -> jax.Array:
    """As many indices past the end of every table, ascending, of the same type."""
    places = jnp.reshape(lax.iota(indices.dtype, indices.size), indices.shape)
    return places + np.asarray(PADDING - indices.size + 1, indices.dtype)


def are_distinct(indices: Tensor) -> bool:
    """True of the indices that ``deduplicate`` made: they ascend, and none comes twice."""
    return not get_default_graph().executing_eagerly and indices.op.type == "DeduplicateRows"


def of_lookups(indices: Tensor) -> bool:
    """True of the indices of a gradient all of whose rows come from lookups, which have checked them."""
    if get_default_graph().executing_eagerly:
        return False
    op = indices.op.inputs[1].op if are_distinct(indices) else indices.op
    return op.type == "Gradients" and not op.attrs["rules"] and not any(op.attrs["seed_indices"])


def sum_repeated(values: jax.Array, indices: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sums of rows ``[n, ...]`` by index, and the indices, which ascend: ``n`` of both.

    Rows of one index are added in the order in which they come. What is left over at the end has values of zero and
    indices past the end of every table; they are all different.
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

    Attributes:
      table: the whole table, as changed so far.
    """

    def __init__(
        self, table: jax.Array, indices: jax.Array | None = None, distinct: bool = False,
        failed: jax.Array | None = None,
    ):  # fmt: skip
        self.table = table
        self._indices = indices if indices is None else drop_if(failed, indices)
        self._distinct = distinct
        self._failed = failed

    @property
    def value(self) -> jax.Array:
        """``[m, ...]``, or the table."""
        return self.table if self._indices is None else read_rows(self.table, self._indices)

    def set(self, value: jax.Array) -> None:
        value = value.astype(self.table.dtype)
        self.table = self.kept(value) if self._indices is None else self._write("set", value)

    def add(self, change: jax.Array) -> None:
        change = change.astype(self.table.dtype)
        self.table = self.kept(self.table + change) if self._indices is None else self._write("add", change)

    def subtract(self, change: jax.Array) -> None:
        change = change.astype(self.table.dtype)
        self.table = self.kept(self.table - change) if self._indices is None else self._write("subtract", change)

    def kept(self, table: jax.Array) -> jax.Array:
        """A new table; the old one where nothing may change."""
        return table if self._failed is None else jnp.where(self._failed, self.table, table)

    def decay(self, factor: jax.Array, rows: RowSum, function: Callable[[jax.Array], jax.Array]) -> None:
        """``table * factor + function(rows)``, of the whole table."""
        self.table = rows.added_to(self.kept(self.table * factor), function)

    def _write(self, method: Method, updates: jax.Array) -> jax.Array:
        assert self._indices is not None
        return write_rows(self.table, self._indices, method, updates, distinct=self._distinct)


class RowSum(NamedTuple):
    """A sum of rows that repeat, ready to be added to whole tables of one shape.

    Attributes:
      values: of ``indices``, or of the table's shape.
      indices: ascending and distinct, or None for all rows of the table.
    """

    values: jax.Array
    indices: jax.Array | None

    @classmethod
    def of(cls, table: jax.Array, values: jax.Array, indices: jax.Array, failed: jax.Array | None = None) -> RowSum:
        """The sum for a table: dense where the table is small beside the number of rows; of no row where ``failed``."""
        indices = drop_if(failed, indices)
        if table.shape[0] < DENSE_BELOW * indices.shape[0]:
            return cls(write_rows(jnp.zeros_like(table), indices, "add", values), None)
        return cls(*sum_repeated(values, indices))

    def added_to(self, table: jax.Array, function: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """``table + function(sum)``, where ``function`` is element-wise and gives zero for zero."""
        change = function(self.values)
        return table + change if self.indices is None else write_rows(table, self.indices, "add", change, distinct=True)


def _deduplicate_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    values, indices = inputs
    if not indices.dtype.is_integer:
        raise TypeError(f"Expected integer indices, got {indices.dtype.name}.")
    return [Signature(values.dtype, values.dims), Signature(indices.dtype, indices.dims)]


define_op(
    "DeduplicateRows",
    _deduplicate_rule,
    lambda values, indices: sum_repeated(jnp.asarray(values), jnp.asarray(indices)),
    differentiable=False,
)


def deduplicate(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that no index repeats, of the same shapes: ``(summed values, indices)``.

    Rows of one index are added up. What then is left over at the end has values of zero and an index that is past the
    end of every table, so that updates skip it; the number of rows stays known, which compiled loops need.
    """
    summed, distinct = get_default_graph().add("DeduplicateRows", [values, indices], None, "deduplicate").outputs
    return summed, distinct


def repeated(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The rows from which ``deduplicate`` made these; rows of another origin as they are."""
    if are_distinct(indices) and values.op is indices.op:
        values, indices = indices.op.inputs
    return values, indices
