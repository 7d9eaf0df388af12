"""All-reduce sparse gradients as a dense table, where that is cheaper than gathering the rows.

A sparse gradient is reduced over towers by an all-gather: rows and indices of each, one after the other. Adding up the
rows of equal index needs a sort of all. Where the table is not much larger than the rows of all towers together, each
tower scatters its own rows into a zero table, and one ``psum`` adds the tables: fewer bytes are sent, and nothing is
sorted.

    4 towers, 256 rows each, table [500, 8]      gathered: 1024 x 8 values, sorted      summed: 500 x 8 values

The choice is made while lowering, by static sizes (``ADDED_UP_TO``, ``JOINED_UP_TO``), so all towers choose alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.variables.rows import (
    from_positions,
    left_over,
    lookup_source,
    read_rows,
    repeated,
    scale_of,
    sum_repeated,
    write_rows,
)

ADDED_UP_TO, JOINED_UP_TO = 0.75, 2.0
"""A table is summed that has up to so many rows for each one that all shards give together, where rows are only
added, and where those that repeat have to be joined first. By the CPU's times (``benchmarks.replica_rows``)."""


class TableSum(NamedTuple):
    """A dense sum of rows.

    Attributes:
      values: ``[rows, *row]``, zeros where no row was given.
      given: bool ``[rows]``: whether some shard gave a row.
    """

    values: jax.Array
    given: jax.Array

    def rows(self, indices: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The given rows as ``sum_repeated`` has them, padded, at most the table's; ``indices``: of all shards."""
        size = self.given.shape[0]
        count = min(size, indices.shape[0])
        slots = jnp.where(self.given, jnp.cumsum(self.given, dtype=jnp.int32) - 1, count)
        present = left_over(indices[:count]).at[slots].set(lax.iota(indices.dtype, size), mode="drop")
        values = read_rows(self.values, present)
        held = jnp.reshape(present < size, (count, *(1,) * (values.ndim - 1)))
        return jnp.where(held, values, jnp.zeros_like(values)), present


def table_sum(
    lowering: Lowering, op: Operation, values: Tensor, indices: Tensor, added: bool = False
) -> TableSum | None:
    """The dense sum of the rows that an operation uses; None if they are not of all shards, or the table is too large.

    Args:
      lowering: has the values of each shard's own rows.
      op: adds up those that repeat, or gets them from ``deduplicate``.
      values: its rows, ``[n, *row]``.
      indices: which rows of the table these are, ``[n]``.
      added: whether it only adds rows, as many times as they come.
    """
    values, indices = repeated(values, indices)
    ways, source = [from_positions(values), from_positions(indices)], lookup_source(indices)
    axis = lowering.axis
    if source is None or axis is None or lowering.classes.partition is not None or lowering.vjp.active:
        return None
    local = [way.pop() for way in ways]
    between = [t for way in ways for t in way]
    scaled = [t.op for t in reversed(ways[0]) if scale_of(t.op) is not None]
    # What is fed has other values; in a branch that towers choose for themselves nothing is summed over them.
    if not all(ways) or any(t in lowering.fed or t.op.block is not op.block for t in between):
        return None
    dims = (source.op.attrs["cell"] if source.dtype is resource else source).dims
    if not all(map(lowering.is_known, local)) or not dims or dims[0] is None:
        return None
    size = dims[0]
    rows, places = (vary(jnp.asarray(lowering.value(t)), axis) for t in local)
    if size > (ADDED_UP_TO if added else JOINED_UP_TO) * axis.size * places.size:
        return None

    def make() -> TableSum:
        scaled_rows = reduce(partial(_scale, lowering), scaled, rows)
        table, mask = (vary(jnp.zeros((size, *shape), rows.dtype), axis) for shape in (rows.shape[1:], ()))
        table = write_rows(table, places, "add", scaled_rows)
        mask = write_rows(mask, places, "set", jnp.ones_like(rows, shape=places.shape))
        table, mask = lax.psum((table, mask), axis.name)
        return TableSum(table, mask > 0)

    result: TableSum = lowering.memoize(("table sum", values, indices), make)
    return result


def _scale(lowering: Lowering, rows: jax.Array, by: Operation) -> jax.Array:
    """One shard's rows multiplied or divided by the scalar by which an operation scales all shards' rows."""
    scale = scale_of(by)
    assert scale is not None
    return rows * lowering.value(scale) if by.type == "Mul" else rows / lowering.value(scale)


def _deduplicate_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    values, indices = inputs
    if not indices.dtype.is_integer:
        raise TypeError(f"Expected integer indices, got {indices.dtype.name}.")
    return [Signature(values.dtype, values.dims), Signature(indices.dtype, indices.dims)]


def _lower_deduplicate(lowering: Lowering, op: Operation) -> Sequence[Array]:
    values, indices = op.inputs
    inputs = [lowering.value(values), lowering.value(indices)]
    total = table_sum(lowering, op, values, indices)
    return lowering.apply(op, inputs) if total is None else total.rows(jnp.asarray(inputs[1]))


define_op(
    "DeduplicateRows",
    _deduplicate_rule,
    lambda values, indices: sum_repeated(jnp.asarray(values), jnp.asarray(indices)),
    lower=_lower_deduplicate,
    differentiable=False,
)


def deduplicate(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Sum rows with equal indices, at fixed shapes: ``(summed values, indices)``, as many as there were.

    The padding at the end has values of zero and indices past the end of every table, so that updates skip it; the
    number of rows stays known, which compiled loops need.
    """
    summed, distinct = get_default_graph().add("DeduplicateRows", [values, indices], None, "deduplicate").outputs
    return summed, distinct
