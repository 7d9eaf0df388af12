"""Mathematics, reductions and random numbers with the arguments of 2.x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.graph.ir.given_arguments import refuse
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, float32, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import histograms, segments
from towerstrat.graph.ops.indexing.gather_scatter import gather
from towerstrat.graph.ops.linalg import decompositions, products
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.ops.random import stateful


def _reduction(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
        return original(input_tensor, axis, keepdims, name)

    function.__name__ = function.__qualname__ = original.__name__
    words = (original.__doc__ or "").partition("\n")[0]
    function.__doc__ = f"{words}\n\n``keepdims`` keeps the dimensions with size 1."
    return function


reduce_sum = _reduction(reductions.reduce_sum)
reduce_mean = _reduction(reductions.reduce_mean)
reduce_prod = _reduction(reductions.reduce_prod)
reduce_max = _reduction(reductions.reduce_max)
reduce_min = _reduction(reductions.reduce_min)
reduce_all = _reduction(reductions.reduce_all)
reduce_any = _reduction(reductions.reduce_any)
reduce_logsumexp = _reduction(reductions.reduce_logsumexp)


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool | None = None, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """How many elements are not zero, along dimensions."""
    return reductions.count_nonzero(input, axis, keepdims, dtype, name)


def argmax(input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None) -> Tensor:
    """The index of the largest element (the first of equals) along ``axis``, or 0."""
    return reductions.argmax(input, axis, name, output_type=output_type)


def argmin(input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None) -> Tensor:
    """The index of the smallest element (the first of equals) along ``axis``, or 0."""
    return reductions.argmin(input, axis, name, output_type=output_type)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angle of complex numbers; of real ones 0, or pi where they are negative."""
    x = convert_to_tensor(input, name="input")
    if x.dtype.is_complex:
        return arithmetic.angle(x, name)
    below = arithmetic.less(x, arrays.zeros_like(x))
    return arrays.where_v2(below, np.asarray(np.pi).astype(x.dtype.np), arrays.zeros_like(x), name or "Angle")


def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Tensor:
    """The norm of vectors (``axis`` an integer, or None: all elements) or of matrices (a pair of dimensions)."""
    return decompositions.norm(tensor, ord, axis, keepdims, name)


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, output_type: Any = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The matrix product over the last two dimensions. ``output_type`` other than the factors' is refused."""
    a = convert_to_tensor(a, name="a")
    if output_type is not None:
        refuse("tf.matmul", "Use tf.cast.", output_type=(as_dtype(output_type), a.dtype))
    return products.matmul(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, a_is_sparse, b_is_sparse, name)


def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = int32, name: str | None = None) -> misc.TopKV2:
    """The ``k`` largest entries along the last dimension, largest first, and their indices (``index_type``)."""
    values, indices = misc.top_k(input, k, sorted, name)
    return misc.TopKV2(values, arithmetic.cast(indices, index_type))


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each target is among the ``k`` largest predictions; ties at the border count as among them."""
    return misc.in_top_k(predictions, targets, k, name)


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = int32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``[label, prediction]``: how often they occur together, or the sum of the ``weights`` of where they do."""
    return histograms.confusion_matrix(labels, predictions, num_classes, dtype, name, weights)


def poisson(shape: Any, lam: Any, dtype: Any = float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Values of Poisson distributions, ``shape`` of them for each rate: ``shape + lam's shape``."""
    return stateful.random_poisson(lam, shape, dtype, seed, name)


def _sparse_segment(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor:  # fmt: skip
        if sparse_gradient:
            data, indices = gather(data, indices), arrays.range(arrays.size(indices))
        return original(data, indices, segment_ids, name, num_segments)

    function.__name__ = function.__qualname__ = original.__name__.removeprefix("sparse_")
    words = (original.__doc__ or "").partition("\n")[0]
    function.__doc__ = f"{words}\n\n``sparse_gradient``: the gradient by ``data`` consists of rows."
    return function


segment_sum = _sparse_segment(segments.sparse_segment_sum)
segment_mean = _sparse_segment(segments.sparse_segment_mean)
segment_sqrt_n = _sparse_segment(segments.sparse_segment_sqrt_n)
