"""Computing with sparse tensors: sums, products, extremes, reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.given_arguments import one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.integer_arguments import integers
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, define_operator
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor, SparseTensorValue
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import HostArray, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add
from towerstrat.graph.ops.indexing import gather_scatter, segments
from towerstrat.graph.ops.indexing.gather_scatter import rows_at
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.sparse.concat_split import retained
from towerstrat.graph.ops.sparse.ordering import rank_of, required

Inputs = Sequence[Tensor]


def _equal(x: Tensor, y: Tensor) -> Tensor:
    return reductions.reduce_all(arithmetic.equal(x, y))


def is_sparse(x: Any) -> bool:
    return isinstance(x, SparseTensor | SparseTensorValue)


# ---- places of several tensors -------------------------------------------------------------------------------------


def _distinct_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    return [Signature(int64, (None, size_at(inputs[0].shape, 1))), Signature(int64, (size_at(inputs[0].shape, 0),))]


def _distinct(indices: Any) -> tuple[HostArray, HostArray]:
    found, place = np.unique(np.asarray(indices), axis=0, return_inverse=True)
    return found, place.reshape(-1).astype(np.int64)


define_op("SparseDistinct", _distinct_rule, _distinct, numpy=_distinct, dynamic=True, differentiable=False)


def _distinct_places(indices: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows of ``[n, rank]`` in order, and for each row which of them it is."""
    places, which = add("SparseDistinct", [indices])
    return places, which


class _Union:
    """The places that two sparse tensors of one shape have, in row-major order.

    Args:
      a, b: the tensors; a run raises InvalidArgumentError where their shapes differ.
    """

    def __init__(self, a: SparseTensor, b: SparseTensor):
        with required(_equal(a.dense_shape, b.dense_shape), "Operands' shapes do not match:",
                      a.dense_shape, b.dense_shape):  # fmt: skip
            self.places, which = _distinct_places(arrays.concat([a.indices, b.indices], 0))
        count = arrays.shape(a.indices)[0]
        self._which = which[:count], which[count:]
        self._values = a.values, b.values
        self._shape = a.dense_shape

    def values(self, index: int) -> Tensor:
        """The values of one of the two at all places, 0 where it has none."""
        count = arrays.shape(self.places)[0]
        return segments.unsorted_segment_sum(self._values[index], self._which[index], count)

    def shared(self) -> Tensor:
        """True for the places that both have."""
        count = arrays.shape(self.places)[0]
        seen = [segments.unsorted_segment_sum(arrays.ones_like(w), w, count) > 0 for w in self._which]
        return arithmetic.logical_and(*seen)

    def with_values(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self.places, values, self._shape)


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors, one of them sparse at least.

    Args:
      a, b: SparseTensors of one shape, or one of them and a tensor of its shape.
      threshold: leave out sums of two entries whose magnitude is smaller; by default none. ``thresh`` is an old name.

    Returns:
      A SparseTensor of two; else a tensor.

    Raises:
      TypeError: two tensors. A run raises InvalidArgumentError for shapes that differ.
    """
    threshold = one_of(threshold, thresh, "threshold", "thresh")
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not (is_sparse(a) and is_sparse(b)):
        sparse, dense = (a, b) if is_sparse(a) else (b, a)
        x = SparseTensor.from_value(sparse)
        other = convert_to_tensor(dense, x.dtype)
        with _same_shape(x, other):
            return gather_scatter.tensor_scatter_nd_add(other, x.indices, x.values)
    x, y = SparseTensor.from_value(a), SparseTensor.from_value(b)
    union = _Union(x, y)
    total = union.with_values(union.values(0) + union.values(1))
    if threshold is None or (not isinstance(threshold, Tensor) and threshold == 0):
        return total
    least = convert_to_tensor(threshold, x.dtype.real_dtype, name="threshold")
    small = arithmetic.logical_and(union.shared(), arithmetic.abs(total.values) < least)
    return retained(total, arithmetic.logical_not(small))


def _same_shape(x: SparseTensor, dense: Tensor) -> Any:
    x.shape.assert_is_compatible_with(dense.shape)
    same = _equal(x.dense_shape, arrays.shape(dense, out_type=int64))
    return required(same, "Operands' shapes do not match:", x.dense_shape, arrays.shape(dense))


def _extreme(name: str, choose: Callable[[Tensor, Tensor], Tensor], word: str) -> Callable[..., SparseTensor]:
    def function(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
        with get_default_graph().name_scope(name or scope):
            union = _Union(SparseTensor.from_value(sp_a), SparseTensor.from_value(sp_b))
            return union.with_values(arrays.stop_gradient(choose(union.values(0), union.values(1))))

    scope = f"SparseSparse{word}"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The {word.lower()} of two sparse tensors of a shape, place by place; missing entries are 0; no gradient.\n\n"
        "Args:\n  sp_a, sp_b: SparseTensors."
    )
    return function


sparse_maximum = _extreme("sparse_maximum", arithmetic.maximum, "Maximum")
sparse_minimum = _extreme("sparse_minimum", arithmetic.minimum, "Minimum")


# ---- with tensors --------------------------------------------------------------------------------------------------


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a matrix: ``[n, m]`` and ``[m, k]`` to ``[n, k]``.

    Args:
      sp_a: SparseTensor.
      b: a tensor; where it is the sparse one, the result is that of the two with ``sp_a`` first all the same.
      adjoint_a, adjoint_b: use the conjugate transpose instead.

    Raises:
      ValueError: static sizes that do not fit. A run raises InvalidArgumentError for others, and for indices outside.
    """
    if is_sparse(b):
        product = sparse_tensor_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
        return arrays.matrix_transpose(product, conjugate=True)
    x = SparseTensor.from_value(sp_a)
    with get_default_graph().name_scope(name or "SparseTensorDenseMatMul"):
        dense = convert_to_tensor(b, x.dtype, name="b")
        dense.shape.assert_has_rank(2)
        x.shape.assert_has_rank(2)
        dense = arrays.matrix_transpose(dense, conjugate=True) if adjoint_b else dense
        values = arithmetic.conj(x.values) if adjoint_a else x.values
        row, column = (1, 0) if adjoint_a else (0, 1)
        x.shape[column : column + 1].assert_is_compatible_with(dense.shape[:1])
        inner = arrays.shape(dense, out_type=int64)[0]
        fits = arithmetic.equal(x.dense_shape[column], inner)
        with required(fits, "Cannot multiply A and B because inner dimension does not match:", x.dense_shape, inner):
            products = rows_at(dense, x.indices[:, column]) * arrays.expand_dims(values, 1)
            return segments.unsorted_segment_sum(products, x.indices[:, row], x.dense_shape[row])


def _broadcast(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[SparseTensor, Any], SparseTensor]:
    """An operator of a sparse tensor and a tensor that broadcasts to its shape: at the sparse one's entries alone."""

    def computed(sparse: SparseTensor, dense: Any) -> SparseTensor:
        with get_default_graph().name_scope(name):
            other = arrays.broadcast_to(convert_to_tensor(dense, sparse.dtype), sparse.dense_shape)
            return sparse.with_values(function(sparse.values, gather_scatter.gather_nd(other, sparse.indices)))

    return computed


for _operator, _scope, _function in (
    ("mul", "SparseDenseCwiseMul", arithmetic.multiply),
    ("truediv", "SparseDenseCwiseDiv", arithmetic.truediv),
):
    define_operator(f"SparseTensor.__{_operator}__", _broadcast(_scope, _function))


# ---- reductions ----------------------------------------------------------------------------------------------------


def _kept_axes(x: SparseTensor, axis: Any) -> tuple[list[int], list[int]]:
    """(the dimensions that a reduction leaves, those that it reduces). Raises ValueError for an unknown axis."""
    rank = rank_of(x)
    given = range(rank) if axis is None else integers(axis)
    if given is None:
        raise ValueError(f"The axes of a sparse reduction must be known while the graph is built, got {axis!r}.")
    for place in given:
        if not -rank <= place < rank:
            raise ValueError(f"Invalid reduction dimension {place} for input with {rank} dimensions.")
    gone = sorted({place % rank for place in given})
    return [i for i in range(rank) if i not in gone], gone


def _left(x: SparseTensor, kept: list[int], gone: list[int], keepdims: Any) -> tuple[Tensor, Tensor]:
    """The indices and the shape that a reduction leaves."""
    if keepdims:
        mask = constant(np.array([i in kept for i in range(len(kept) + len(gone))], np.int64))
        return x.indices * mask, arithmetic.maximum(x.dense_shape * mask, 1 - mask)
    order = constant(np.array(kept, np.int32))
    return gather_scatter.gather(x.indices, order, axis=1), gather_scatter.gather(x.dense_shape, order)


def reduced(kind: str, sparse: bool, sp_input: Any, axis: Any, keepdims: Any, name: str | None = None) -> Any:
    """A reduction of a sparse tensor.

    Args:
      kind: "Sum" or "Max". sparse: the result is a SparseTensor.
    """
    x = SparseTensor.from_value(sp_input)
    combine = {"Sum": segments.unsorted_segment_sum, "Max": segments.unsorted_segment_max}[kind]
    with get_default_graph().name_scope(name or f"SparseReduce{kind}{'Sparse' if sparse else ''}"):
        indices, shape = _left(x, *_kept_axes(x, axis), keepdims)
        places, which = _distinct_places(indices) if sparse else (None, flat_places(indices, shape))
        count = reductions.reduce_prod(shape) if places is None else arrays.shape(places)[0]
        values = combine(x.values, which, count)
        if kind == "Max":
            filled = segments.unsorted_segment_sum(arrays.ones_like(which), which, count) > 0
            values = arrays.stop_gradient(arrays.where(filled, values, arrays.zeros_like(values)))
        return arrays.reshape(values, shape) if places is None else SparseTensor(places, values, shape)


def _reduction(kind: str, sparse: bool) -> Callable[..., Any]:
    def function(
        sp_input: Any, axis: Any = None, keepdims: bool | None = None, reduction_axes: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:  # fmt: skip
        axis = one_of(axis, reduction_axes, "axis", "reduction_axes")
        return reduced(kind, sparse, sp_input, axis, one_of(keepdims, keep_dims, "keepdims", "keep_dims"))

    function.__name__ = function.__qualname__ = f"sparse_reduce_{kind.lower()}{'_sparse' if sparse else ''}"
    function.__doc__ = (
        f"The {'sum' if kind == 'Sum' else 'maximum'} along dimensions of a sparse tensor, "
        f"as a {'sparse ' if sparse else ''}tensor.\n\n"
        "Places without an entry count for nothing; where there is none at all the result is 0.\n\n"
        "Args:\n  sp_input: SparseTensor.\n  axis: an integer, a list, or (None) all dimensions.\n"
        "  keepdims: keep them with size 1. ``reduction_axes`` and ``keep_dims`` are old names."
    )
    return function


def flat_places(indices: Tensor, shape: Tensor) -> Tensor:
    """Indices ``[n, rank]`` as int64 row-major places ``[n]``."""
    steps = reductions.cumprod(shape, exclusive=True, reverse=True)
    return reductions.reduce_sum(indices * steps, 1)


sparse_reduce_sum = _reduction("Sum", sparse=False)
sparse_reduce_sum_sparse = _reduction("Sum", sparse=True)
sparse_reduce_max = _reduction("Max", sparse=False)
sparse_reduce_max_sparse = _reduction("Max", sparse=True)


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax along the last dimension over the entries that are there, in row-major order.

    Args:
      sp_input: SparseTensor of floats, of rank 2 or more.
    """
    x = SparseTensor.from_value(sp_input)
    if rank_of(x) < 2:
        raise ValueError(f"Expected a SparseTensor of rank 2 or more, got shape {x.shape}.")
    with get_default_graph().name_scope(name or "SparseSoftmax"):
        rows = flat_places(x.indices[:, :-1], x.dense_shape[:-1])
        count = reductions.reduce_prod(x.dense_shape[:-1])
        largest = arrays.stop_gradient(segments.unsorted_segment_max(x.values, rows, count))
        powers = arithmetic.exp(x.values - rows_at(largest, rows))
        total = segments.unsorted_segment_sum(powers, rows, count)
        return x.with_values(powers / rows_at(total, rows))


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """``op`` of the values of sparse tensors with the same indices, ``[n]`` to ``[n]``.

    Args:
      args, kwargs: what ``op`` takes; SparseTensors among them are replaced by their values.

    Raises:
      ValueError: none of them is a SparseTensor. A run raises InvalidArgumentError where indices or shapes differ.
    """
    given = [a for a in (*args, *kwargs.values()) if isinstance(a, SparseTensor)]
    if not given:
        raise ValueError("No SparseTensor in argument list of map_values")

    def values(a: Any) -> Any:
        return a.values if isinstance(a, SparseTensor) else a

    first = given[0]
    alike = constant(True)
    for other in given[1:]:
        other.indices.shape.assert_is_compatible_with(first.indices.shape)
        alike = arithmetic.logical_and(alike, _equal(first.indices, other.indices))
        alike = arithmetic.logical_and(alike, _equal(first.dense_shape, other.dense_shape))
    with required(alike, "SparseTensor argument components are not compatible."):
        return first.with_values(op(*map(values, args), **{k: values(v) for k, v in kwargs.items()}))
