"""Embeddings of sparse ids, of which rows may have none."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn.embedding import embedding_lookup_sparse
from towerstrat.graph.ops.sparse.concat_split import retained, sparse_fill_empty_rows
from towerstrat.graph.ops.sparse.ordering import rank_of, sparse_reshape


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None,
    combiner: str = "mean", default_id: Any = None, name: str | None = None, partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """``embedding_lookup_sparse`` of ids ``[..., n]``: ``[..., *row]``, with rows for those without an id, too.

    Negative ids are left out, and (unless sums are taken) those whose weight is not positive.

    Args:
      embedding_weights: the table, or a list of its parts.
      default_id: the id of rows that have none; None: their result is 0.
      combiner, partition_strategy, max_norm: those of ``embedding_lookup_sparse``.

    Raises:
      ValueError: no table, or ids of rank 1.
    """
    if embedding_weights is None or (isinstance(embedding_weights, list | tuple) and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    rank = rank_of(sparse_ids)
    if rank < 2:
        raise ValueError(f"Expected sparse_ids of rank 2 or more, got shape {sparse_ids.shape}.")
    with get_default_graph().name_scope(name or "embedding_lookup"):
        outer = sparse_ids.dense_shape[: rank - 1]
        ids, weights = sparse_ids, None
        if rank > 2:
            flat = arrays.stack([reductions.reduce_prod(outer), sparse_ids.dense_shape[rank - 1]])
            ids = sparse_reshape(sparse_ids, flat)
        kept = arithmetic.greater_equal(ids.values, 0)
        if sparse_weights is not None:
            weights = ids.with_values(sparse_weights.values)
            if combiner != "sum":
                kept = arithmetic.logical_and(kept, arithmetic.greater(weights.values, 0))
            weights, _ = sparse_fill_empty_rows(retained(weights, kept), 1.0)
        default = convert_to_tensor(0 if default_id is None else default_id, ids.dtype)
        ids, empty = sparse_fill_empty_rows(retained(ids, kept), default)
        found = embedding_lookup_sparse(
            embedding_weights, ids, weights, partition_strategy, combiner=combiner, max_norm=max_norm
        )
        if default_id is None:
            found = arrays.where(empty, arrays.zeros_like(found), found)
        if rank == 2:
            return arrays.identity(found)
        return arrays.reshape(found, arrays.concat([arithmetic.cast(outer, "int32"), arrays.shape(found)[1:]], 0))
