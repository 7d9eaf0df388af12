"""Feeds of ``Session.run``: flatten them to (tensor, value) pairs, and check and convert the values.

Conversion is the original's, as numpy's with one exception: a single Python integer must fit the dtype exactly, while
integers in a list wrap.

>>> from towerstrat.graph.ir.types import uint8
>>> _read([300, 1], uint8), _read(7, uint8)
(array([44,  1], dtype=uint8), array(7, dtype=uint8))
>>> _read(300, uint8)
Traceback (most recent call last):
    ...
TypeError: Type of feed value 300 with type <class 'int'> is not compatible with Tensor type dtype('uint8'): uint8 ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import numpy_value
from towerstrat.graph.ir.types import DType, HostArray, string
from towerstrat.graph.runtime.sessions.fetch_conversions import conversion_of, fed_parts


def feed_pairs(feed_dict: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield (tensor, value) pairs: of tuples entry by entry, of composite values (sparse, ragged) part by part."""
    for key, value in feed_dict.items():
        if isinstance(key, IndexedSlices | SparseTensor):
            yield from zip(key._tensors(), value, strict=False)
        elif isinstance(key, Partitioned):
            yield from zip(key._tensors(), (value.flat_values, *value.nested_row_splits), strict=True)
        elif isinstance(key, tuple):
            yield from zip(nest.flatten(key), nest.flatten_up_to(key, value), strict=True)
        else:
            conversion = conversion_of(key)
            yield from [(key, value)] if conversion is None else fed_parts(conversion, key, value)


def fed_array(tensor: Tensor, value: Any) -> HostArray:
    """A copy of ``value`` as an array of the tensor's dtype.

    Python values are read as numpy reads them for the element type: True feeds an integer, 1.5 feeds one as 1.

    Raises:
      TypeError: a value of another kind, or a single integer that the element type cannot hold.
      ValueError: text that is no number, nested sequences of unequal lengths, or a shape that does not fit.
      OverflowError: numbers beyond 64 bits.
    """
    kind = tensor.dtype
    if isinstance(value, np.ndarray) and value.dtype == kind.np and kind is not string:
        array = value.copy()
    else:
        try:
            array = _read(value, kind)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"Cannot feed {tensor!r} (created at {tensor.op.line}): {error}") from None
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {TensorShape(array.shape)} for Tensor '{tensor.name}' (created at "
            f"{tensor.op.line}), which has shape '{tensor.shape}'."
        )
    return array


def _read(value: Any, dtype: DType) -> HostArray:
    """A Python value, or an array of another element type, as an array of ``dtype``."""
    if isinstance(value, Tensor):
        raise TypeError(
            f"The value of a feed cannot be a tf.Tensor object ({value!r}). Acceptable are Python scalars, "
            "strings, lists and numpy arrays; run the tensor first."
        )
    if dtype is string:
        return np.array(numpy_value(value, string))
    if isinstance(value, int):
        return _integer(value, dtype)
    try:
        return np.array(value, dtype.np)
    except OverflowError:
        array = np.asarray(value)
        if array.ndim == 0 or array.dtype.kind not in "iu":
            raise
        return array.astype(dtype.np)  # integers in lists wrap as those in arrays do


def _integer(value: int, dtype: DType) -> HostArray:
    """A Python integer as a scalar array. Raises TypeError where ``dtype`` cannot hold it exactly."""
    try:
        array = np.array(value, dtype.np)
        exact = array.item() == value
    except OverflowError:
        exact = False
    if not exact:
        raise TypeError(
            f"Type of feed value {value!r} with type {type(value)} is not compatible with Tensor type {dtype.np!r}: "
            f"{dtype.name} does not hold it. Try explicitly setting the type of the feed tensor to a larger type "
            "(e.g. int64)."
        )
    return array
