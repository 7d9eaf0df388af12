"""Ragged tensors from Python lists, ranges and parts, and functions of their flat values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import constant as constant_tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, placeholder
from towerstrat.graph.ir.types import DType, HostArray, as_dtype, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.ragged import ragged_reductions, row_partitions
from towerstrat.graph.ops.ragged.ragged_tensor import RaggedTensor, as_values
from towerstrat.graph.ops.ragged.value import RaggedTensorValue

# ---- from Python lists ---------------------------------------------------------------------------------------------


def _depth(value: Any) -> int:
    """Depth of a nested list; of a scalar 0. Raises ValueError where scalars and lists stand side by side."""
    if isinstance(value, np.ndarray):
        return value.ndim
    if not isinstance(value, list | tuple):
        return 0
    depths = {_depth(v) for v in value if not _is_empty(v)}
    if 0 in depths and (len(depths) > 1 or any(_is_empty(v) for v in value)):
        raise ValueError("all scalar values must have the same nesting depth")
    return 1 + max(depths | {_depth(v) for v in value}, default=0)


def _is_empty(value: Any) -> bool:
    """Whether a nested list holds no scalar."""
    return isinstance(value, list | tuple) and all(map(_is_empty, value))


def _scalar_depths(value: Any, depth: int = 0) -> set[int]:
    if isinstance(value, np.ndarray):
        return {depth + value.ndim}
    if not isinstance(value, list | tuple):
        return {depth}
    return {d for v in value for d in _scalar_depths(v, depth + 1)}


def _parts(
    pylist: Any, ragged_rank: int | None, inner_shape: Sequence[int] | None
) -> tuple[list[Any], list[list[int]]]:  # fmt: skip
    """(the values inside the ragged dimensions as one list, the splits of each)."""
    if len(_scalar_depths(pylist)) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    depth = max(_depth(pylist), 1)
    inner = None if inner_shape is None else len(inner_shape)
    rank = (depth - 1 - (inner or 0)) if ragged_rank is None else ragged_rank
    if not 0 <= rank < depth:
        raise ValueError(f"ragged_rank={rank} must be in [0, {depth}): the nesting depth of the list is {depth}.")
    if inner is not None and ragged_rank is not None and not _is_empty(pylist) and rank + 1 + inner != depth:
        raise ValueError(f"ragged_rank={rank} and inner_shape={inner_shape} do not fit a list of depth {depth}.")
    splits = []
    values = list(pylist)
    for _ in range(rank):
        splits.append(np.cumsum([0, *(len(v) for v in values)]).tolist())
        values = [inner for v in values for inner in v]
    return values, splits


def constant(
    pylist: Any, dtype: Any = None, ragged_rank: int | None = None, inner_shape: Sequence[int] | None = None,
    name: str | None = None, row_splits_dtype: Any = int64,
) -> Any:  # fmt: skip
    """A ragged tensor of nested lists, whose scalars are equally deep; of a scalar a tensor.

    Args:
      ragged_rank: the number of ragged dimensions; by default all but the first, and those of ``inner_shape``. 0
        gives a tensor.
      inner_shape: the shape of each flat value.

    Raises:
      ValueError: scalars of different depths, or a ``ragged_rank`` that does not fit.
    """
    if not isinstance(pylist, list | tuple | np.ndarray) and not ragged_rank:
        return convert_to_tensor(pylist, dtype)
    with get_default_graph().name_scope(name or "RaggedConstant"):
        values, splits = _parts(pylist, ragged_rank, inner_shape)
        flat = _flat(values, dtype, inner_shape)
        kind = as_dtype(row_splits_dtype)
        return RaggedTensor.from_nested_row_splits(
            flat, [constant_tensor(np.array(s, kind.np), kind) for s in splits], validate=False
        )


def _flat(values: list[Any], dtype: Any, inner_shape: Sequence[int] | None) -> Tensor:
    if inner_shape is None:
        return convert_to_tensor(values, dtype)
    if not values:
        return arrays.zeros([0, *inner_shape], as_dtype(dtype or "float32"))
    return arrays.reshape(convert_to_tensor(values, dtype), [-1, *inner_shape])


def constant_value(
    pylist: Any, dtype: Any = None, ragged_rank: int | None = None, inner_shape: Sequence[int] | None = None,
    row_splits_dtype: Any = "int64",
) -> RaggedTensorValue | HostArray:  # fmt: skip
    """``constant`` as a RaggedTensorValue of numpy arrays. Raises as that."""
    if not isinstance(pylist, list | tuple | np.ndarray) and not ragged_rank:
        return np.array(pylist, None if dtype is None else as_dtype(dtype).np)
    values, splits = _parts(pylist, ragged_rank, inner_shape)
    flat = np.array(values, None if dtype is None else as_dtype(dtype).np)
    if inner_shape is not None:
        flat = flat.reshape(-1, *inner_shape)
    kind = as_dtype(row_splits_dtype).np
    return RaggedTensorValue.nested([flat, *(np.array(s, kind) for s in splits)]) if splits else flat


def ragged_placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """A ragged tensor that must be fed, by a RaggedTensorValue.

    Args:
      value_shape: the static shape of each flat value. Splits are int64.
    """
    with get_default_graph().name_scope(name or "RaggedPlaceholder"):
        flat = placeholder(dtype, TensorShape([None]).concatenate(value_shape), "flat_values")
        splits = [placeholder(int64, [None], f"row_splits_{i}") for i in range(ragged_rank)]
        return RaggedTensor.from_nested_row_splits(flat, splits, validate=False)


# ---- from ranges and segments --------------------------------------------------------------------------------------


def ragged_range(
    starts: Any, limits: Any = None, deltas: Any = 1, dtype: Any = None, name: str | None = None,
    row_splits_dtype: Any = int64,
) -> RaggedTensor:  # fmt: skip
    """Rows of numbers: row i is ``range(starts[i], limits[i], deltas[i])``.

    Args:
      starts, limits, deltas: scalars or vectors of one length; without ``limits`` rows begin at 0 and end at
        ``starts``. A run raises InvalidArgumentError for a step of 0.
      dtype: element type.
    """
    given = [
        convert_to_tensor(0 if limits is None else starts),
        convert_to_tensor(starts if limits is None else limits),
    ]
    given.append(convert_to_tensor(deltas))
    if dtype is None:
        order: list[DType] = [int32, int64]
        kinds = [t.dtype for t in given]
        to = max(kinds, key=lambda t: (t.is_floating, t.np.itemsize, t not in order))
    else:
        to = as_dtype(dtype)
    first, last, step = (arithmetic.cast(t, to) for t in given)
    splits, values = row_partitions.ranges(first, last, step, as_dtype(row_splits_dtype))
    return RaggedTensor(values, splits)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The row of each value ``[n]`` of splits ``[rows + 1]``."""
    found = row_partitions.integers(splits)
    found.shape.assert_has_rank(1)
    if found.dims == (0,):
        raise ValueError("Invalid row_splits: []")
    rows = arrays.range(arrays.shape(found, out_type=found.dtype)[0] - 1)
    ids = arrays.repeat(rows, found[1:] - found[:-1])
    return ids if out_type is None else arithmetic.cast(ids, out_type)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Splits ``[rows + 1]`` of increasing rows of values ``[n]``; ``num_segments`` says how many rows there are."""
    ids = row_partitions.integers(segment_ids)
    ids.shape.assert_has_rank(1)
    made = RaggedTensor.from_value_rowids(ids, ids, num_segments, validate=False).row_splits
    return made if out_type is None else arithmetic.cast(made, out_type)


# ---- of flat values, and of several --------------------------------------------------------------------------------


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``op`` of the flat values of ragged tensors with the same partitions.

    Args:
      args, kwargs: what ``op`` takes; RaggedTensors among them are replaced by their flat values. Without one ``op`` is
        called as it is.

    Raises:
      ValueError: numbers of ragged dimensions that differ, or a result with another number of values. A run raises
        InvalidArgumentError for splits that differ.
    """
    first = next((a for a in (*args, *kwargs.values()) if isinstance(a, RaggedTensor)), None)
    return op(*args, **kwargs) if first is None else first.over_flat(op, *args, **kwargs)


def stack(values: Any, axis: Any = 0, name: str | None = None) -> RaggedTensor:
    """Tensors and ragged tensors of one rank along a new first dimension, which may differ in size.

    Raises:
      ValueError: another ``axis`` than 0, no values, or values of different ranks.
    """
    given = [as_values(v) for v in (values if isinstance(values, list | tuple) else [values])]
    if not given:
        raise ValueError("rt_inputs may not be empty.")
    if axis != 0:
        raise ValueError(f"tf.ragged.stack takes axis=0, got {axis!r}.")
    if len({v.shape.ndims for v in given}) != 1 or given[0].shape.ndims in (0, None):
        raise ValueError(f"Expected values of one known rank above 0, got shapes {[str(v.shape) for v in given]}.")
    ragged = next((v for v in given if isinstance(v, RaggedTensor)), None)
    kind = (int32 if given[0].shape.ndims == 1 else int64) if ragged is None else ragged.row_splits.dtype
    lengths = [v.nrows(kind) if isinstance(v, RaggedTensor) else arrays.shape(v, out_type=kind)[0] for v in given]
    if given[0].shape.ndims == 1:
        joined: Any = arrays.concat(given, 0)
    else:
        joined = ragged_reductions.concatenated(
            [v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v) for v in given], 0
        )
    return RaggedTensor.from_row_lengths(joined, arrays.stack(lengths), validate=False)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values where a mask is true.

    Args:
      data: a tensor or RaggedTensor.
      mask: bool: a vector that chooses rows; or a RaggedTensor, or a matrix for a tensor, that chooses values in rows.

    Raises:
      ValueError: a mask with several ragged dimensions.
    """
    x = as_values(data)
    chosen = mask if isinstance(mask, RaggedTensor) else convert_to_tensor(mask, "bool")
    if isinstance(chosen, RaggedTensor):
        if chosen.ragged_rank != 1:
            raise ValueError(f"Expected a mask with one ragged dimension, got {chosen.ragged_rank}.")
        x = x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x)
    elif chosen.shape.ndims == 2:
        x, chosen = (v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(v) for v in (x, chosen))
    elif chosen.shape.ndims != 1:
        raise ValueError(f"Expected a mask of rank 1 or 2, got shape {chosen.shape}.")
    return ragged_reductions.masked(x, chosen)
