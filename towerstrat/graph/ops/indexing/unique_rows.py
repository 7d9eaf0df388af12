"""Unique values in compiled programs: as many as there are values, of which those that are left over nobody uses.

The number of unique values is not known before a program runs. Where all that is made of them is rows for them, which
are written to a table, summed by the places that came with them, or picked by these, rows that are left over change
nothing.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import int32, int64
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import varying_shape
from towerstrat.graph.lowering.position_values import settled
from towerstrat.graph.variables.rows import left_over


def rows_of_unique(op: Operation, lowering: Lowering) -> set[Tensor] | None:
    """The tensors that have a row for each unique value; None where something else is made of them.

    What is differentiated has finite derivatives: those of rows that are left over get cotangents of zero.
    """
    values, places, *counts = op.outputs
    rows, sizes = {values, *counts}, set[Tensor]()
    stack = [values, *counts]
    waiting: list[tuple[Operation, Tensor]] = []
    while stack:
        tensor = stack.pop()
        if tensor in tensor.op.block.results:
            return None
        waiting += [(use, tensor) for use in tensor._consumers]
        for use, of in list(waiting):
            ends = _picks(use, of, places) or _writes(use, values)
            measures = use.type in ("Shape", "StridedSlice") and (of in sizes) is (use.type == "StridedSlice")
            if not ends and not measures and not _gives_rows(use, of, rows, sizes, places):
                continue  # What it takes beside may turn out to have such rows as well.
            waiting.remove((use, of))
            differentiated = lowering.vjp.active or use in lowering.tape.paths.operations
            if differentiated and use.definition.entrywise and not use.definition.polynomial:
                return None
            if not ends:
                found = sizes if measures else rows
                stack += [made for made in use.outputs if made not in found]
                found.update(use.outputs)
    return None if waiting else rows


def _picks(use: Operation, tensor: Tensor, places: Tensor) -> bool:
    """Whether rows are picked by the places of the values: none that is left over."""
    return use.type == "GatherV2" and use.attrs["axis"] == 0 and use._inputs[:2] == (tensor, places)


def _writes(use: Operation, values: Tensor) -> bool:
    """Whether rows are written to a table by the values themselves: what is left over has indices past its end."""
    if not use.type.startswith("ResourceScatter") or use.type.startswith("ResourceScatterNd"):
        return False
    indices = use._inputs[1]
    while indices.op.type in ("Cast", "Identity"):
        indices = indices.op._inputs[0]
    return indices is values


def _gives_rows(use: Operation, tensor: Tensor, rows: set[Tensor], sizes: set[Tensor], places: Tensor) -> bool:
    """Whether an operation makes rows for the values: by entry, of a table, or as sums by their places."""
    inputs = use._inputs
    if tensor in sizes:
        return use.type.startswith("UnsortedSegment") and inputs[1] is places and inputs[2] is tensor
    if use.type in ("GatherV2", "ResourceGather"):
        return use.attrs.get("axis", 0) == 0 and inputs[1] is tensor and inputs[0] not in rows
    # Types without a derivative, whole quotients and comparisons, would make indices in range of those past the end.
    smooth = use.definition.entrywise and use.definition.differentiable
    return smooth and all(t in rows or t.dims == () for t in inputs)


def lower_unique(lowering: Lowering, op: Operation) -> Any:
    """The unique values in the order in which they come first, the place of each value among them, their counts.

    Raises:
      UnsupportedError: their number has to be known, and is not.
    """
    (x,) = settled(lowering, op, [lowering.value(op.inputs[0])])
    if lowering.axis is None or not isinstance(x, jax.core.Tracer):
        return lowering.apply(op, [x])
    rows = rows_of_unique(op, lowering) if op.inputs[0].dtype in (int32, int64) else None
    if rows is None:
        raise varying_shape(op)
    lowering.padded_tensors.update(rows)
    size = x.shape[0]
    at = lax.iota(jnp.int32, size)
    ordered, order = lax.sort((x, at), num_keys=1, is_stable=True)
    starts = jnp.concatenate([jnp.ones((min(size, 1),), bool), ordered[1:] != ordered[:-1]])
    # Of equal values, which are neighbors now, the first comes first: its place in ``x`` is that of all.
    first_sorted = lax.cummax(jnp.where(starts, at, 0))
    first = jnp.zeros_like(at).at[order].set(order[first_sorted], unique_indices=True)
    rank = jnp.cumsum((first == at).astype(jnp.int32)) - 1
    places = rank[first]
    values = left_over(x).at[places].set(x, mode="promise_in_bounds")
    counts = [jnp.zeros_like(at).at[places].add(1)] if len(op.outputs) > 2 else []
    return [values, *(each.astype(op.outputs[1].dtype.np) for each in (places, *counts))]
