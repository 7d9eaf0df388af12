"""Checks of values and axes that reductions over replicas take, and sums along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bool_, int64, string
from towerstrat.graph.ops.array.arrays import rank, shape
from towerstrat.graph.ops.math.reductions import reduce_prod, reduce_sum


def check_numbers(value: Tensor) -> None:
    """Raises TypeError for truths and strings, which have no sum."""
    if value.dtype in (bool_, string):
        raise TypeError(
            f"Expected numbers to reduce over replicas, got {value.dtype.name} values. Cast truths with tf.cast(value, "
            "tf.int32); the parts of a value are strategy.experimental_local_results(value)."
        )


def summed(value: Any, axis: Any) -> Tensor:
    """A sum along an axis. Raises ValueError where there is no such axis, TypeError for what is no number."""
    value = convert_to_tensor(value)
    check_numbers(value)
    known = len(value.dims or ())
    for a in () if value.dims is None else (axis,) if isinstance(axis, int) else axis:
        if not -known <= a < known:
            raise ValueError(
                f"Invalid reduction dimension {a} for input with {known} dimensions: expected `axis` to be one of "
                f"[{-known}, {known}), got {axis!r}."
            )
    return reduce_sum(value, axis)


def entries(value: Any, axis: Any) -> Tensor:
    """The number of entries that a reduction along ``axis`` combines, int64."""
    value = convert_to_tensor(value)
    axes = [axis] if isinstance(axis, int) else list(axis)
    sizes = shape(value, out_type=int64)
    known = None if value.dims is None else len(value.dims)
    places = [a if a >= 0 or known is None else a + known for a in axes]
    return reduce_prod([sizes[a] if a >= 0 else sizes[a + rank(value)] for a in places])


def checked_axis(axis: Any) -> Any:
    """The axis of a reduction. Raises TypeError unless it is None, an integer, or a tuple or list of such."""
    if axis is None:
        return None
    if isinstance(axis, int | np.integer):
        return int(axis)
    if isinstance(axis, tuple | list) and all(isinstance(a, int | np.integer) for a in axis):
        return tuple([int(a) for a in axis])
    raise TypeError(f"Expected `axis` to be None, an integer, a tuple or a list of integers, got {axis!r}.")


def checked_dimension(axis: Any) -> int:
    """The axis that values are joined along: an integer, or a scalar tensor that is known.

    Raises:
      ValueError: None. TypeError: something else.
    """
    if axis is None:
        raise ValueError("None values not supported: expected `axis` to be the number of a dimension.")
    known: Any = constant_value(axis) if isinstance(axis, Tensor) else axis
    if np.ndim(known) or not np.issubdtype(np.asarray(known).dtype, np.integer):
        raise TypeError(f"Expected `axis` to be an integer, got {axis!r}.")
    return int(known)
