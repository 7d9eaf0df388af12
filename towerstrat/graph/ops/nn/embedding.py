"""Lookups of rows in a table, whole or in parts, alone or combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.node_def import NoNodesError
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape, size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import bfloat16, bool_, float16, float32, int32
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.arrays import expand_dims, identity, ones_like, where
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.op_builder import add, add_op
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.indexing.gather_scatter import gather, unique
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.math.arithmetic import equal, logical_and, minimum
from towerstrat.graph.variables.partitioned import PartitionedVariable
from towerstrat.graph.variables.variables import Variable


def _places_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    ids = inputs[0]
    if not ids.dtype.is_integer:
        raise TypeError(f"Expected integer ids, got {ids.dtype.name}.")
    return [Signature(int32, ids.dims), *[Signature(ids.dtype, ids.dims)] * len(attrs["sizes"])]


def _places(ids: Any, *, sizes: tuple[int, ...], strategy: str) -> tuple[Any, ...]:
    """The part that holds each id, and per part the row there; ids of other parts get a row past its end.

    Such rows are read as some row and thrown away, and their gradients are dropped: no row is touched for them.
    """
    kind = ids.dtype
    count = np.asarray(len(sizes), kind)
    if strategy == "mod":
        part, row = ids % count, ids // count
    else:
        total = sum(sizes)
        each, extras = np.asarray(total // len(sizes), kind), np.asarray(total % len(sizes), kind)
        larger = each + np.asarray(1, kind)
        part = jnp.maximum(ids // larger, (ids - extras) // np.maximum(each, np.asarray(1, kind)))
        row = jnp.where(part < extras, ids % larger, (ids - extras) % np.maximum(each, np.asarray(1, kind)))
    past = np.asarray(input_checks.PADDING, kind)
    rows = (jnp.where(part == np.asarray(p, kind), row, past) for p in range(len(sizes)))
    return part.astype(jnp.int32), *rows


def _stitch_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    first = TensorShape(inputs[1].dims)
    for other in inputs[2:]:
        first = first.merge_with(other.dims)
    return [Signature(inputs[1].dtype, first.raw)]


def _stitch(part: Any, *rows: Any) -> Any:
    part = part.reshape(part.shape + (1,) * (rows[0].ndim - part.ndim))
    result = rows[0]
    for p, found in enumerate(rows[1:], 1):
        result = jnp.where(part == np.int32(p), found, result)
    return result


define_op(
    "EmbeddingPlaces", _places_rule, _places, differentiable=False,
    check=input_checks.indices(lambda op, values: sum(op.attrs["sizes"]), 0),
)  # fmt: skip


def _stitch_formula(part: Tensor, *rows: Tensor) -> Tensor:
    if rows[0].dims is None or part.dims is None:
        raise NoNodesError("Rows of several tables of unknown rank have no nodes of the original.")
    for _ in range(len(rows[0].dims) - len(part.dims)):
        part = expand_dims(part, -1)
    result = rows[0]
    for p, table in enumerate(rows[1:], 1):
        mine = logical_and(equal(part, constant(p, part.dtype)), ones_like(table, bool_))
        result = where(mine, table, result)
    return result


define_op("ParallelDynamicStitch", _stitch_rule, _stitch, derivative="linear", nodes=expansion(_stitch_formula))


def _clip_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _clip_rows(rows: Any, *, ids_rank: int, max_norm: float) -> Any:
    axes = tuple(range(ids_rank, rows.ndim))
    limit = np.asarray(max_norm, rows.dtype)
    squares = jnp.sum(rows * rows, axes, dtype=rows.dtype, keepdims=True)
    some = squares > 0
    norm = jnp.where(some, jnp.sqrt(jnp.where(some, squares, np.ones((), rows.dtype))), squares)
    return rows * limit / jnp.where(norm >= limit, norm, limit)


define_op("ClipRowsByNorm", _clip_rule, _clip_rows)


def _row_lookup(table: Any, ids: Tensor) -> Tensor:
    sparse = getattr(table, "sparse_read", None)
    return gather(table, ids) if sparse is None else sparse(ids)


def _part_lookup(table: Any, size: Any, rows: Tensor) -> Tensor:
    """Rows of one part of a table. Those past its end, which are thrown away, are the last one of a plain tensor."""
    if getattr(table, "sparse_read", None) is None:
        rows = minimum(rows, size - 1)
    return _row_lookup(table, rows)


def _clipped(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    if max_norm is None:
        return rows
    if ids.dims is None:
        raise ValueError("max_norm needs ids of a known rank; use set_shape.")
    return add_op("ClipRowsByNorm", [rows], {"ids_rank": len(ids.dims), "max_norm": float(max_norm)})


def _tables(params: Any) -> list[Any]:
    if isinstance(params, PartitionedVariable):
        return list(params)
    return list(params) if isinstance(params, list | tuple) else [params]


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:  # fmt: skip
    """Rows of a table: ``[*ids.shape, *row]``, ragged where ids are. Gradients of variables are IndexedSlices.

    Args:
      params: a tensor or variable, a partitioned variable, or a list of the table's parts.
      ids: integers. A run raises InvalidArgumentError where one is outside of the table.
      partition_strategy: which part holds an id. "mod": id % parts; "div": the parts hold consecutive ids.
      validate_indices: changes nothing.
      max_norm: rows with a larger norm are scaled down to it.

    Raises:
      ValueError: no params, or an unknown strategy.
    """
    if isinstance(ids, Partitioned):
        return ids._map_flat(
            lambda values: embedding_lookup(params, values, partition_strategy, name, validate_indices, max_norm)
        )
    tables = _tables(params) if params is not None else []
    if not tables:
        raise ValueError(f"Need at least one table of embeddings, got {params!r}.")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Expected partition_strategy 'mod' or 'div', got {partition_strategy!r}.")
    with get_default_graph().name_scope(name or "embedding_lookup"):
        ids = convert_to_tensor(ids, name="ids")
        if len(tables) == 1:
            return identity(_clipped(_row_lookup(tables[0], ids), ids, max_norm))
        tables = [t if isinstance(t, Variable) or hasattr(t, "sparse_read") else convert_to_tensor(t) for t in tables]
        sizes = [size_at(t.shape, 0) for t in tables]
        if None in sizes:
            raise ValueError("The number of rows of each part of a table must be known; use set_shape.")
        part, *rows = add("EmbeddingPlaces", [ids], {"sizes": tuple(sizes), "strategy": partition_strategy})
        found = [_part_lookup(table, size, row) for table, size, row in zip(tables, sizes, rows, strict=True)]
        return _clipped(add_op("ParallelDynamicStitch", [part, *found], None, "Reshape_1"), ids, max_norm)


# ---- rows combined by example ----------------------------------------------------------------------------------------

_FEWEST = 8


def _bucket(size: int) -> int:
    """The size that so many entries are filled up to, one of few: a power of two."""
    return 0 if size == 0 else max(_FEWEST, 1 << (size - 1).bit_length())


def _filled(values: Any, filling: Any) -> Any:
    return np.concatenate([values, np.full(_bucket(len(values)) - len(values), filling, values.dtype)])


def _buckets_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    ids, _ = inputs
    if not ids.dtype.is_integer:
        raise TypeError(f"Expected integer ids, got {ids.dtype.name}.")
    return [Signature(ids.dtype, (None,)), Signature(int32, (None,)), Signature(int32, (None,)), Signature(int32, ())]


def _buckets(ids: Any, examples: Any) -> list[Any]:
    """The different ids, the place of each id among them, its example, and the number of examples.

    All but the last are filled up: ids by one of them, which nothing uses; examples by a number past the last.

    Raises:
      ValueError: examples that are not in order.
    """
    if (np.diff(examples) < 0).any():
        raise ValueError("segment ids are not increasing")
    count = int(examples[-1]) + 1 if len(examples) else 0
    different, places = np.unique(ids, return_inverse=True)
    ids = _filled(different, different[0] if len(different) else 0)
    return [
        ids,
        _filled(places.reshape(-1).astype(np.int32), 0),
        _filled(examples.astype(np.int32), count),
        np.asarray(count, np.int32),
    ]


def _combined_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    rows = inputs[0]
    return [Signature(rows.dtype, None if rows.dims is None else (None, *rows.dims[1:]))]


def _combined(rows: Any, places: Any, examples: Any, count: Any, *, combiner: str) -> Any:
    found = rows.at[places].get(mode="clip")
    result = jnp.zeros((int(count), *rows.shape[1:]), rows.dtype).at[examples].add(found, mode="drop")
    if combiner == "sum":
        return result
    sizes = jnp.zeros(int(count), rows.dtype).at[examples].add(np.ones((), rows.dtype), mode="drop")
    sizes = jnp.maximum(sizes, np.ones((), rows.dtype)).reshape(-1, *[1] * (rows.ndim - 1))
    return result / (jnp.sqrt(sizes) if combiner == "sqrtn" else sizes)


# Numpy alone makes the buckets: where it knows the ids, what follows is a program for all that fill the same ones.
define_op("LookupBuckets", _buckets_rule, numpy=_buckets, differentiable=False)
define_op("CombineRows", _combined_rule, _combined, static=(3,))


_COMBINED = {
    "mean": segments.sparse_segment_mean,
    "sqrtn": segments.sparse_segment_sqrt_n,
    "sum": segments.sparse_segment_sum,
}
"""Combiners of rows that all have the weight 1."""


def _summable(rows: Tensor) -> Tensor:
    return arithmetic.cast(rows, float32) if rows.dtype in (float16, bfloat16) else rows


def _sizes_change(ids: SparseTensor) -> bool:
    """Whether the number of ids may be another one each time, where the host may take part: in no body or tower."""
    graph = get_default_graph()
    if graph.executing_eagerly:
        return True
    return size_at(ids.values.shape, 0) is None and graph.axis is None and graph.block is graph.root


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod", name: str | None = None,
    combiner: str | None = None, max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """Rows of a table, looked up by the ids of an example and combined to one: ``[examples, *row]``.

    Float16 and bfloat16 rows are combined in float32. The number of examples is that of the last one with an id, so
    that it depends on values (see ``tf.where``). Gradients of variables are IndexedSlices, a row for each id. Where the
    number of ids is not known when the graph is built, some rows more, of zeros, so that runs with other numbers use
    the same program.

    Args:
      params, partition_strategy, max_norm: as of ``embedding_lookup``.
      sp_ids: a SparseTensor of integers; the first index is the example's.
      sp_weights: a SparseTensor of floats like ``sp_ids``; None: all weights are 1.
      combiner: "sum" of the weighted rows; "mean", that over the sum of the weights; "sqrtn", that over the root of
        the sum of their squares. None: "mean".

    Raises:
      TypeError: ids or weights that are no SparseTensor.
      ValueError: an unknown combiner, or weights of another shape than the ids.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINED:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}.")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be a SparseTensor, got {sp_ids!r}.")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights must be either None or a SparseTensor, got {sp_weights!r}.")
    with get_default_graph().name_scope(name or "embedding_lookup_sparse") as scope:
        examples = arithmetic.cast(sp_ids.indices[:, 0], int32)
        if sp_weights is None and _sizes_change(sp_ids):
            ids, places, examples, count = add("LookupBuckets", [sp_ids.values, examples])
            rows = _summable(embedding_lookup(params, ids, partition_strategy, max_norm=max_norm))
            return add_op("CombineRows", [rows, places, examples, count], {"combiner": combiner}, scope)
        ids, places = unique(sp_ids.values)
        rows = _summable(embedding_lookup(params, ids, partition_strategy, max_norm=max_norm))
        if sp_weights is None:
            return _COMBINED[combiner](rows, places, examples, name=scope)
        sp_ids.values.shape.assert_is_compatible_with(sp_weights.values.shape)
        rows = gather(rows, places)
        weights = arithmetic.cast(sp_weights.values, rows.dtype)
        if rows.dims is None:
            raise ValueError("Weights need a table of a known rank; use set_shape.")
        for _ in rows.dims[1:]:
            weights = expand_dims(weights, -1)
        if combiner == "sum":
            return segments.segment_sum(rows * weights, examples, name=scope)
        total = segments.segment_sum(rows * weights, examples)
        squared = combiner == "sqrtn"
        size = segments.segment_sum(weights * weights if squared else weights, examples)
        return arithmetic.div(total, arithmetic.sqrt(size) if squared else size, name=scope)
