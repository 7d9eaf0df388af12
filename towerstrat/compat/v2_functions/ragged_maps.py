"""``tf.map_fn`` over ragged tensors: their rows differ in length, so that the host takes one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ir.types import DType, as_dtype, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor, RaggedTensorSpec
from towerstrat.graph.tapes.py_function import py_function


def has_ragged(elems: Any) -> bool:
    """Whether a structure has a ragged tensor in it."""
    return any(isinstance(each, RaggedTensor) for each in nest.flatten(elems))


def map_rows(fn: Callable[..., Any], elems: Any, signature: Any = None) -> Any:
    """``fn`` of each row of ragged tensors, stacked or, where ``fn`` returns rows of different lengths, ragged.

    Args:
      fn: is called eagerly; it must not use tensors of the function around it. A row of a tensor whose ragged rank is
        1 is a tensor, other rows are ragged.
      elems: ragged tensors and tensors.
      signature: for each result an element type, a ``tf.TensorSpec``, or a ``tf.RaggedTensorSpec`` of one row, with
        ``ragged_rank=0`` for tensors of different lengths. None: as ``elems``.
    """
    leaves = [e if isinstance(e, RaggedTensor) else convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
    wanted = elems if signature is None else signature
    kinds = [_kind(each) for each in (leaves if signature is None else nest.flatten(signature))]

    def compute(*parts: Any) -> list[Any]:
        rest = list(parts)
        columns = [_rows(leaf, rest) for leaf in leaves]
        made = [nest.flatten(fn(nest.pack_sequence_as(elems, list(row)))) for row in zip(*columns, strict=True)]
        return [part for i, kind in enumerate(kinds) for part in kind.joined([row[i] for row in made])]

    inputs = [part for e in leaves for part in (e._tensors() if isinstance(e, RaggedTensor) else (e,))]
    found = list(py_function(compute, inputs, [each for kind in kinds for each in kind.types]))
    return nest.pack_sequence_as(wanted, [kind.result(found) for kind in kinds])


def _rows(leaf: Any, parts: list[Tensor]) -> Sequence[Any]:
    """The rows of the next of ``parts``: of one tensor, or of the flat values and splits of a ragged one."""
    if not isinstance(leaf, RaggedTensor):
        values = parts.pop(0)
        return [values[i] for i in range(values.shape[0])]
    own = [parts.pop(0) for _ in leaf._tensors()]
    whole = leaf._like(own)
    return [whole.values[a:b] for a, b in pairwise(own[1].numpy().tolist())]


class _Kind(NamedTuple):
    """What one result of ``fn`` is.

    Attributes:
      depth: how many ragged dimensions the rows together have.
      inner: the static shape of what lies below them.
    """

    dtype: DType
    depth: int
    inner: TensorShape

    @property
    def types(self) -> list[DType]:
        """Of the parts: flat values, and the lengths of rows of each ragged dimension."""
        return [self.dtype, *[int64] * self.depth]

    def joined(self, rows: Sequence[Any]) -> list[Tensor]:
        """The parts of all rows together."""
        if not rows:
            shape = [0, *(size or 0 for size in self.inner.raw or ())]
            return [constant(np.zeros(shape, self.dtype.np), self.dtype), *[constant([], int64)] * self.depth]
        if not self.depth:
            return [arrays.stack([convert_to_tensor(row, self.dtype) for row in rows])]
        each = [self._parts(row) for row in rows]
        return [arrays.concat(list(parts), 0) for parts in zip(*each, strict=True)]

    def _parts(self, row: Any) -> list[Tensor]:
        rank = row.ragged_rank if isinstance(row, RaggedTensor) else 0
        if rank != self.depth - 1:
            raise ValueError(
                f"Expected rows of ragged_rank={self.depth - 1}, as fn_output_signature says, got {row!r}."
            )
        if not isinstance(row, RaggedTensor):
            row = convert_to_tensor(row, self.dtype)
            return [row, arrays.shape(row, out_type=int64)[:1]]
        lengths = [arrays.reshape(row.nrows(int64), [1]), *row.with_row_splits_dtype(int64).nested_row_lengths()]
        return [row.flat_values, *lengths]

    def result(self, parts: list[Tensor]) -> Any:
        """A tensor or a ragged one of the next of ``parts``."""
        own = [parts.pop(0) for _ in self.types]
        own[0].set_shape(TensorShape([None]).concatenate(self.inner))
        for lengths in own[1:]:
            lengths.set_shape([None])
        return RaggedTensor.from_nested_row_lengths(own[0], own[1:], validate=False) if self.depth else own[0]


def _kind(leaf: Any) -> _Kind:
    if isinstance(leaf, RaggedTensor):
        return _Kind(leaf.dtype, leaf.ragged_rank, leaf.flat_values.shape[1:])
    if isinstance(leaf, RaggedTensorSpec):
        return _Kind(leaf.dtype, leaf.ragged_rank + 1, leaf.shape[leaf.ragged_rank + 1 :])
    if isinstance(leaf, Tensor):
        return _Kind(leaf.dtype, 0, leaf.shape[1:])
    if isinstance(leaf, TensorSpec):
        return _Kind(leaf.dtype, 0, leaf.shape)
    return _Kind(as_dtype(leaf), 0, TensorShape(None))
