"""``tf.map_fn`` over ragged tensors: their rows differ in length, so that the host takes one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import constant, convert_to_tensor
from towerstrat.graph.ir.types import DType, as_dtype, int64
from towerstrat.graph.ops import array
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorSpec
from towerstrat.graph.tapes.py_function import py_function


def has_ragged(elems: Any) -> bool:
    """Whether a structure has a ragged tensor in it."""
    return any(isinstance(each, RaggedTensor) for each in nest.flatten(elems))


def map_rows(fn: Callable[..., Any], elems: Any, signature: Any = None) -> Any:
    """``fn`` of each row of ragged tensors, stacked or, where ``fn`` returns rows of different lengths, ragged.

    Args:
      fn: is called eagerly; it must not use tensors of the function around it.
      elems: ragged tensors of ragged rank 1 and tensors.
      signature: for each result an element type, a ``tf.TensorSpec``, or for rows of different lengths a
        ``tf.RaggedTensorSpec`` of one row with ``ragged_rank=0``. None: as ``elems``.

    Raises:
      UnsupportedError: a higher ragged rank.
    """
    leaves = [e if isinstance(e, RaggedTensor) else convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
    deep = [e for e in leaves if isinstance(e, RaggedTensor) and e.ragged_rank != 1]
    wanted = elems if signature is None else signature
    kinds = [_kind(each) for each in nest.flatten(wanted)]
    if deep:
        raise UnsupportedError(
            f"tf.map_fn over {deep[0]!r}: ragged rank 1 is supported, {deep[0].ragged_rank} is not. Map its values: "
            "x.with_values(tf.map_fn(f, x.values))."
        )

    def compute(*parts: Any) -> list[Any]:
        rest = list(parts)
        columns = [_rows(rest, isinstance(leaf, RaggedTensor)) for leaf in leaves]
        made = [nest.flatten(fn(nest.pack_sequence_as(elems, list(row)))) for row in zip(*columns, strict=True)]
        found: list[Any] = []
        for i, (dtype, ragged) in enumerate(kinds):
            results = [convert_to_tensor(row[i], dtype) for row in made]
            join = array.concat if ragged else array.stack
            found.append(join(results, axis=0) if results else constant([], dtype))
            found += (
                [convert_to_tensor([array.size(each, out_type=int64) for each in results], int64)] if ragged else []
            )
        return found

    inputs = [part for e in leaves for part in ((e.values, e.row_splits) if isinstance(e, RaggedTensor) else (e,))]
    types = [each for dtype, ragged in kinds for each in ((dtype, int64) if ragged else (dtype,))]
    found = list(py_function(compute, inputs, types))
    results = [
        RaggedTensor.from_row_lengths(found.pop(0), found.pop(0)) if ragged else found.pop(0) for _, ragged in kinds
    ]
    return nest.pack_sequence_as(wanted, results)


def _kind(leaf: Any) -> tuple[DType, bool]:
    """A result's element type, and whether its rows differ in length."""
    if isinstance(leaf, RaggedTensorSpec) and leaf.ragged_rank != 0:
        raise UnsupportedError(f"tf.map_fn with rows of {leaf!r}: rows of ragged_rank=0 are supported.")
    return as_dtype(getattr(leaf, "dtype", leaf)), isinstance(leaf, RaggedTensor | RaggedTensorSpec)


def _rows(parts: list[Any], ragged: bool) -> Sequence[Any]:
    """The rows of the next tensor of ``parts``, or of the ragged one of the next two."""
    values = parts.pop(0)
    if not ragged:
        return [values[i] for i in range(values.shape[0])]
    splits = parts.pop(0).numpy().tolist()
    return [values[a:b] for a, b in pairwise(splits)]
