"""A tensor beside a ragged one: what of it goes to each of the flat values."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.sparse.ordering import required


def aligned(x: Any, other: Any) -> Any:
    """``other`` in a shape that broadcasts with the flat values of ``x``.

    Args:
      other: a number, or a tensor whose shape broadcasts with that of ``x`` from the right and has size 1 in each
        ragged dimension, so that it has one value for a row, or for all.

    Raises:
      ValueError: another shape.
    """
    if not isinstance(other, Tensor) and not hasattr(other, "dtype") and not np.ndim(other):
        return other
    dense = convert_to_tensor(other, None if hasattr(other, "dtype") else x.dtype)
    rank, partitions = x.shape.ndims, x.ragged_rank
    if dense.dims is None or rank is None:
        if dense.dims == ():
            return dense
        raise ValueError(f"Expected a known rank beside the RaggedTensor of shape {x.shape}, got {dense!r}.")
    if len(dense.dims) < rank - partitions:
        return dense
    dims = (*[1] * (rank - len(dense.dims)), *dense.dims)
    if len(dims) > rank or any(size != 1 for size in dims[1 : partitions + 1]):
        raise ValueError(
            f"A tensor of shape {dense.shape} does not broadcast with a RaggedTensor of shape {x.shape} here: its size "
            "must be 1 in each ragged dimension. Make the RaggedTensor a tensor by to_tensor()."
        )
    inner = arrays.shape(dense)[len(dense.dims) - (rank - partitions - 1) :]
    rows = arrays.reshape(dense, arrays.concat([[-1], inner], 0))
    return rows if dims[0] == 1 else _of_values(x, rows)


def _of_values(x: Any, rows: Tensor) -> Tensor:
    """The row of ``rows`` that belongs to each flat value; a single one belongs to all."""
    *outer, ids = x.nested_value_rowids()
    for each in reversed(outer):
        ids = rows_at(each, ids)
    count = arrays.shape(rows, out_type=ids.dtype)[0]
    single = arithmetic.equal(count, 1)
    fits = arithmetic.logical_or(single, arithmetic.equal(count, x.nrows(ids.dtype)))
    with required(fits, "Unable to broadcast: rows of the tensor and of the RaggedTensor", count, x.nrows()):
        zero = constant(np.zeros((), ids.dtype.np), ids.dtype)
        return rows_at(rows, arrays.where(single, zero + arrays.zeros_like(ids), ids))
