"""The places of a sparse tensor's entries: sorted, permuted, reshaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import size_at
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import HostArray, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.math import arithmetic, reductions

Inputs = Sequence[Tensor]


@contextmanager
def required(condition: Tensor, words: str, *shown: Tensor) -> Iterator[None]:
    """Context whose operations run after an assertion; InvalidArgumentError where the condition does not hold."""
    known = constant_value(condition)
    check = None if known is not None and known.all() else Assert(condition, [words, *shown])
    with get_default_graph().control_dependencies([] if check is None else [check]):
        yield


def rank_of(x: SparseTensor) -> int:
    """The static rank. Raises ValueError where it is not known."""
    rank = size_at(x.dense_shape.shape, 0)
    rank = size_at(x.indices.shape, 1) if rank is None else rank
    if rank is None:
        raise ValueError(f"The rank of {x!r} must be known; give sparse_placeholder a shape such as [None, None].")
    return rank


def axis_of(x: SparseTensor, axis: Any) -> int:
    """An axis, counted from the front. Raises ValueError where it is not known or not there."""
    known, rank = constant_value(convert_to_tensor(axis)), rank_of(x)
    if known is None:
        raise ValueError(f"The axis of a sparse tensor must be known while the graph is built, got {axis!r}.")
    if not -rank <= int(known) < rank:
        raise ValueError(f"Expected an axis in [{-rank}, {rank}), got {int(known)}.")
    return int(known) % rank


def int64_tensor(value: Any, name: str | None = None) -> Tensor:
    """Integers as an int64 tensor."""
    return arithmetic.cast(convert_to_tensor(value, name=name), int64)


# ---- sorted --------------------------------------------------------------------------------------------------------


def _order_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    return [Signature(int64, (None if dims is None else dims[0],))]


def _order(numpy: Any) -> Any:
    def kernel(indices: Any) -> Any:
        if not indices.shape[1]:
            return numpy.arange(indices.shape[0], dtype=np.int64)
        columns = [indices[:, i] for i in reversed(range(indices.shape[1]))]
        return numpy.lexsort(columns).astype(np.int64)

    return kernel


define_op("SparseOrder", _order_rule, _order(jnp), numpy=_order(np), differentiable=False)


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same entries in row-major order of their indices.

    Args:
      sp_input: SparseTensor.
    """
    x = SparseTensor.from_value(sp_input)
    with get_default_graph().name_scope(name or "SparseReorder"):
        order = add_op("SparseOrder", [x.indices])
        return SparseTensor(
            gather_scatter.gather(x.indices, order), gather_scatter.rows_at(x.values, order), x.dense_shape
        )


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The sparse tensor with its dimensions permuted.

    Args:
      sp_input: SparseTensor.
      perm: integers ``[rank]``; None: the dimensions in reverse order.
    """
    x = SparseTensor.from_value(sp_input)
    with get_default_graph().name_scope(name or "SparseTranspose"):
        perm = arrays.range(rank_of(x) - 1, -1, -1) if perm is None else convert_to_tensor(perm)
        places = gather_scatter.gather(x.indices, perm, axis=1)
        return sparse_reorder(SparseTensor(places, x.values, gather_scatter.gather(x.dense_shape, perm)))


# ---- reshaped ------------------------------------------------------------------------------------------------------


def _reshape_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    indices, _, wanted = inputs
    known, rank = constant_value(wanted), size_at(wanted.shape, 0)
    if known is not None and (known < 0).sum() > 1:
        raise ValueError(f"Cannot infer multiple unknown dimensions in shape {known.tolist()}.")
    return [Signature(int64, (size_at(indices.shape, 0), rank)), Signature(int64, (rank,))]


def _reshape(numpy: Any) -> Any:
    def kernel(indices: Any, shape: Any, wanted: Any) -> Any:
        known = numpy.prod(numpy.where(wanted < 0, np.int64(1), wanted), dtype=np.int64)
        size = numpy.prod(shape, dtype=np.int64)
        sizes = numpy.where(wanted < 0, size // numpy.maximum(known, np.int64(1)), wanted)
        flat = numpy.zeros(indices.shape[:1], np.int64)
        for i in range(shape.shape[0]):
            flat = flat * shape[i] + indices[:, i]
        columns = []
        for i in reversed(range(sizes.shape[0])):
            divisor = numpy.maximum(sizes[i], np.int64(1))
            columns.append(flat % divisor)
            flat = flat // divisor
        places = numpy.stack(columns[::-1], 1) if columns else numpy.zeros((indices.shape[0], 0), np.int64)
        return places, sizes

    return kernel


define_op("SparseReshape", _reshape_rule, _reshape(jnp), numpy=_reshape(np), differentiable=False)


def _check_sizes(shape: HostArray | None, wanted: HostArray | None) -> None:
    """Raises ValueError for static shapes of different sizes."""
    if shape is None or wanted is None:
        return
    size, known = int(np.prod(shape)), int(np.prod(wanted[wanted >= 0]))
    fits = (known == 0 or size % known == 0) if (wanted < 0).any() else size == known
    if not fits:
        raise ValueError(f"Cannot reshape a tensor with {size} elements to shape {wanted.tolist()} ({known} elements).")


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same values in row-major order in another shape.

    Args:
      sp_input: SparseTensor.
      shape: integers ``[new rank]``; one of them may be -1.

    Raises:
      ValueError: several -1, or static shapes of other sizes. A run raises InvalidArgumentError for the latter.
    """
    x = SparseTensor.from_value(sp_input)
    wanted = int64_tensor(shape, "shape")
    _check_sizes(constant_value(x.dense_shape), constant_value(wanted))
    with get_default_graph().name_scope(name or "SparseReshape") as scope:
        places, sizes = get_default_graph().add("SparseReshape", [x.indices, x.dense_shape, wanted]).outputs
        same = arithmetic.equal(reductions.reduce_prod(sizes), reductions.reduce_prod(x.dense_shape))
        with required(same, "Input to reshape is a SparseTensor of shape", x.dense_shape, wanted):
            values = arrays.identity(x.values, name=f"{scope}Identity")
            return SparseTensor(places, values, arrays.identity(sizes))


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The sparse tensor with a dimension of size 1 inserted at ``axis``; None: at the end.

    Raises:
      TypeError: ``axis`` is no integer.
      ValueError: ``axis`` is outside of ``[-rank - 1, rank]``.
    """
    x = SparseTensor.from_value(sp_input)
    rank = rank_of(x)
    if not isinstance(axis, int | np.integer | Tensor | None):
        raise TypeError("axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]")
    known = -1 if axis is None else constant_value(convert_to_tensor(axis))
    if known is None or not -rank - 1 <= int(known) <= rank:
        raise ValueError(f"Expected a known axis in [{-rank - 1}, {rank}], got {axis!r}.")
    place = int(known) % (rank + 1)
    with get_default_graph().name_scope(name or "expand_dims"):
        column = arrays.zeros_like(x.indices[:, :1])
        places = arrays.concat([x.indices[:, :place], column, x.indices[:, place:]], 1)
        one_more = constant([1], int64)
        return SparseTensor(
            places, x.values, arrays.concat([x.dense_shape[:place], one_more, x.dense_shape[place:]], 0)
        )  # fmt: skip


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The sparse tensor in a larger shape, or (None) in the smallest that holds its entries.

    Args:
      new_shape: integers ``[rank]``, in no dimension smaller than the shape.

    Raises:
      ValueError: a static ``new_shape`` of another rank, or smaller. A run raises InvalidArgumentError for the latter.
    """
    x = SparseTensor.from_value(sp_input)
    places, values = arrays.identity(x.indices), arrays.identity(x.values)
    if new_shape is None:
        least = reductions.reduce_max(places, 0)
        return SparseTensor(places, values, arithmetic.maximum(constant(0, int64), least + 1))
    wanted = int64_tensor(new_shape)
    wanted.shape.assert_has_rank(1)
    wanted.shape.assert_is_compatible_with(x.dense_shape.shape)
    static = constant_value(wanted), constant_value(x.dense_shape)
    if static[0] is not None and static[1] is not None and (static[0] < static[1]).any():
        raise ValueError(f"new_shape {static[0].tolist()} is smaller than the shape {static[1].tolist()}.")
    fits = reductions.reduce_all(arithmetic.less_equal(x.dense_shape, wanted))
    with required(fits, "new_shape is smaller than the shape", wanted, x.dense_shape):
        return SparseTensor(arrays.identity(places), arrays.identity(values), arrays.identity(wanted))
