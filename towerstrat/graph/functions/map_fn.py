"""Loops over the first dimension: ``tf.map_fn``, ``tf.scan``, ``tf.foldl``, ``tf.foldr``.

Each is a ``while_loop`` over TensorArrays of the rows, as in the original: rows are computed one after the other, so
that the function may write variables; ``vectorized_map`` computes them at once. ``elems`` may be a structure of tensors
with one first dimension. ``scan`` and the folds begin with the first row, unless an initial value is there:

>>> from towerstrat.graph.eager import mode
>>> with mode.eager_mode():
...     rows = constant([1, 2, 3])
...     map_fn(lambda row: row * row, rows).numpy(), scan(lambda total, row: total + row, rows).numpy()
...     int(foldl(lambda a, row: a - row, rows)), int(foldr(lambda a, row: a - row, rows))
(array([1, 4, 9], dtype=int32), array([1, 3, 6], dtype=int32))
(-4, 0)

Of no rows an eager ``map_fn`` traces the function once, to learn the shape of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import Structure, TensorLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ops.array import arrays as array
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.control.while_loop import while_loop
from towerstrat.graph.ops.indexing import slicing  # noqa: F401  (registers the subscript operator)
from towerstrat.graph.ops.math import arithmetic


def _as_elems(fn: object, elems: Structure[TensorLike]) -> tuple[list[Tensor], int | Tensor, list[TensorArray]]:
    """``elems`` as (tensors, size of the first dimension, TensorArrays of their rows)."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
    for tensor in flat:
        if tensor.dims == ():
            raise ValueError(f"elems must be a 1+ dimensional Tensor, not a scalar: {tensor!r}.")
    first = TensorShape(None)
    for tensor in flat:
        if tensor.dims is not None:
            first = first.merge_with(tensor.dims[:1])
    known = first.raw
    count = known[0] if known and known[0] is not None else array.shape(flat[0])[0]
    return flat, count, [TensorArray(e.dtype, size=count).unstack(e) for e in flat]


def _with_length(results: Sequence[Tensor], elems: Sequence[Tensor]) -> list[Tensor]:
    """The results with the first dimension of ``elems``, where that is known."""
    length = TensorShape(None)
    for elem in elems:
        if elem.dims is not None:
            length = length.merge_with(elem.dims[:1])
    for result in results:
        if length.raw is not None:
            row_shape = TensorShape(None) if result.dims is None else TensorShape(result.dims[1:])
            result.set_shape(length.concatenate(row_shape))
    return list(results)


def map_fn(
    fn: Callable[..., Any],
    elems: Structure[TensorLike],
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """``fn`` of each row of ``elems``, stacked.

    Args:
      fn: takes a row, returns a tensor or a structure of them.
      elems: a tensor or a structure of tensors with one first dimension; ``fn`` gets the structure of their rows.
      dtype: the element types of what ``fn`` returns, in its structure; needed where it differs from that of ``elems``.
      parallel_iterations: scheduling of the original; changes no value.
      back_prop: whether gradients go through it.
      swap_memory: likewise.
      infer_shape: check that the results have one shape.
      name: of the name scope; by default "map".
    """
    graph = get_default_graph()
    with graph.name_scope(name or "map"):
        flat, count, arrays = _as_elems(fn, elems)
        if graph.executing_eagerly and count == 0:
            # There is no row to call fn with: trace it, to learn the shape of its result.
            return function(lambda e: map_fn(fn, e, dtype, infer_shape=infer_shape), autograph=False)(
                nest.pack_sequence_as(elems, flat)
            )
        dtypes = nest.map_structure(lambda e: convert_to_tensor(e).dtype, elems) if dtype is None else dtype
        results = [TensorArray(d, size=count, infer_shape=infer_shape) for d in nest.flatten(dtypes)]

        def compute(i: Tensor, outputs: Sequence[TensorArray]) -> tuple[Tensor, list[TensorArray]]:
            value = fn(nest.pack_sequence_as(elems, [a.read(i) for a in arrays]))
            nest.assert_same_structure(dtypes, value)
            return arithmetic.add(i, 1), [a.write(i, v) for a, v in zip(outputs, nest.flatten(value), strict=True)]

        _, final = while_loop(
            lambda i, _: arithmetic.less(i, count), compute, (constant(0), results), back_prop=back_prop
        )
        return nest.pack_sequence_as(dtypes, _with_length([a.stack() for a in final], flat))


def scan(
    fn: Callable[..., Any],
    elems: Structure[TensorLike],
    initializer: Structure[TensorLike] | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """``a = fn(a, row)`` over the rows of ``elems``; all values of ``a``, stacked.

    Args:
      fn: returns a value of the structure, dtypes and shapes of ``a``.
      elems: a tensor or a structure of tensors with one first dimension.
      initializer: the first ``a``; by default the first row, with which ``fn`` is then not called.
      parallel_iterations: scheduling of the original; changes no value.
      back_prop: whether gradients go through it.
      swap_memory: likewise.
      infer_shape: check that the values have one shape.
      reverse: from the last row to the first.
      name: of the name scope; by default "scan".
    """
    graph = get_default_graph()
    with graph.name_scope(name or "scan"):
        flat, count, arrays = _as_elems(fn, elems)
        like = elems if initializer is None else initializer
        last = arithmetic.subtract(count, 1)
        if initializer is None:
            begin = last if reverse else constant(0)
            values = [a.read(begin) for a in arrays]
            i = arithmetic.subtract(count, 2) if reverse else constant(1)
        else:
            values = [convert_to_tensor(v) for v in nest.flatten(initializer)]
            i = last if reverse else constant(0)
        outputs = [
            TensorArray(v.dtype, size=count, element_shape=v.shape if infer_shape else None, infer_shape=infer_shape)
            for v in values
        ]
        if initializer is None:
            outputs = [a.write(begin, v) for a, v in zip(outputs, values, strict=True)]

        def compute(
            i: Tensor, values: Sequence[Tensor], outputs: Sequence[TensorArray]
        ) -> tuple[Tensor, list[Any], list[TensorArray]]:
            rows = nest.pack_sequence_as(elems, [a.read(i) for a in arrays])
            value = fn(nest.pack_sequence_as(like, values), rows)
            nest.assert_same_structure(like, value)
            new_values = nest.flatten(value)
            written = [a.write(i, v) for a, v in zip(outputs, new_values, strict=True)]
            return arithmetic.subtract(i, 1) if reverse else arithmetic.add(i, 1), new_values, written

        def goes_on(i: Tensor, values: object, outputs: object) -> Tensor:
            condition: Tensor = arithmetic.greater_equal(i, 0) if reverse else arithmetic.less(i, count)
            return condition

        _, _, final = while_loop(goes_on, compute, (i, values, outputs), back_prop=back_prop)
        return nest.pack_sequence_as(like, _with_length([a.stack() for a in final], flat))


def foldl(
    fn: Callable[..., Any],
    elems: Structure[TensorLike],
    initializer: Structure[TensorLike] | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """``a = fn(a, row)`` over the rows of ``elems``, from the first on; the last ``a``.

    Args:
      fn: returns a value of the structure, dtypes and shapes of ``a``.
      elems: a tensor or a structure of tensors with one first dimension.
      initializer: the first ``a``; by default the first row.
      parallel_iterations: scheduling of the original; changes no value.
      back_prop: whether gradients go through it.
      swap_memory: likewise.
      name: of the name scope; by default "foldl".
    """
    graph = get_default_graph()
    with graph.name_scope(name or "foldl"):
        _, count, arrays = _as_elems(fn, elems)
        start = nest.pack_sequence_as(elems, [a.read(0) for a in arrays]) if initializer is None else initializer

        def compute(i: Tensor, value: object) -> list[Any]:
            return [arithmetic.add(i, 1), fn(value, nest.pack_sequence_as(elems, [a.read(i) for a in arrays]))]

        first = constant(1 if initializer is None else 0)
        return while_loop(lambda i, _: arithmetic.less(i, count), compute, [first, start], back_prop=back_prop)[1]


def foldr(
    fn: Callable[..., Any],
    elems: Structure[TensorLike],
    initializer: Structure[TensorLike] | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """``a = fn(a, row)`` over the rows of ``elems``, from the last to the first; the last ``a``.

    Args:
      fn: returns a value of the structure, dtypes and shapes of ``a``.
      elems: a tensor or a structure of tensors with one first dimension.
      initializer: the first ``a``; by default the last row.
      parallel_iterations: scheduling of the original; changes no value.
      back_prop: whether gradients go through it.
      swap_memory: likewise.
      name: of the name scope; by default "foldr".
    """
    graph = get_default_graph()
    with graph.name_scope(name or "foldr"):
        _, count, arrays = _as_elems(fn, elems)
        i = convert_to_tensor(count)
        start = initializer
        if initializer is None:
            i = arithmetic.subtract(i, 1)
            start = nest.pack_sequence_as(elems, [a.read(i) for a in arrays])

        def compute(i: Tensor, value: object) -> list[Any]:
            i = arithmetic.subtract(i, 1)
            return [i, fn(value, nest.pack_sequence_as(elems, [a.read(i) for a in arrays]))]

        return while_loop(lambda i, _: arithmetic.greater(i, 0), compute, [i, start], back_prop=back_prop)[1]
