"""Sparse tensors with the arguments of 2.x."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ops.sparse import arithmetic, concat_split, embedding
from towerstrat.graph.ops.sparse import crosses as cross_


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum of two tensors, one of them sparse at least; sums of two entries below ``threshold`` are left out."""
    return arithmetic.sparse_add(a, b, threshold)


def concat(axis: Any, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None) -> SparseTensor:
    """Sparse tensors joined along a dimension; ``expand_nonconcat_dims`` lets the others differ."""
    return concat_split.sparse_concat(axis, sp_inputs, name, expand_nonconcat_dims)


def cross(inputs: Any, name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Every combination of the entries of features in a row, as strings with a ``separator`` ("_X_") between them."""
    return cross_.crossed(cross_.sparse_first(inputs), name, separator="_X_" if separator is None else separator)


def reduce_max(
    sp_input: Any, axis: Any = None, keepdims: bool | None = None, output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The maximum along dimensions of a sparse tensor, as a tensor or (``output_is_sparse``) a SparseTensor."""
    return arithmetic.reduced("Max", output_is_sparse, sp_input, axis, keepdims, name)


def reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: bool | None = None, output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The sum along dimensions of a sparse tensor, as a tensor or (``output_is_sparse``) a SparseTensor."""
    return arithmetic.reduced("Sum", output_is_sparse, sp_input, axis, keepdims, name)


def split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None
) -> list[SparseTensor]:  # fmt: skip
    """The parts of a sparse tensor along a dimension. Raises as ``sparse_split`` of 1.x."""
    return concat_split.sparse_split(sp_input=sp_input, num_split=num_split, axis=axis, name=name)


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: SparseTensor | None = None,
    combiner: str = "mean", default_id: Any = None, max_norm: float | None = None, name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Any:  # fmt: skip
    """``safe_embedding_lookup_sparse`` of 1.x, with parts by "div".

    Args:
      allow_fast_lookup: changes nothing: ids in order are looked up alike.
    """
    return embedding.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )
