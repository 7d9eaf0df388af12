"""Constant folding while the graph is built: shape rules and public functions read shapes from its results.

``constant_value`` evaluates the numpy forms of a tensor's ancestors, where constants and static shapes determine all of
them. ``partial_value`` goes on where some entries of a shape are unknown: numpy computes on an array of objects, in
which an unknown entry is an object whose arithmetic gives itself.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.placeholder(tf.float32, [None, 3])
...     twice, last = tf.shape(x) * 2, tf.shape(x)[-1]
>>> constant_value(twice), partial_value(twice), int(constant_value(last))
(None, (None, 6), 3)

It stops after ``_DEPTH`` operations and at values of more than ``_LARGEST`` elements.

Source: ``constant_value`` in ``tensorflow/python/framework/tensor_util.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.types import HostArray

_DEPTH = 40
"""Operations that are followed backwards before a value counts as unknown."""
_LARGEST = 4096
"""Elements up to which a value is folded."""


class _Unknown:
    """An integer that is not known yet. Arithmetic with it gives an unknown one."""

    def _same(self, *others: object) -> _Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __neg__ = _same


_UNKNOWN = _Unknown()


def constant_value(tensor: object, depth: int = _DEPTH) -> HostArray | None:
    """The value of a tensor if constants and static shapes determine it, else None. Callers must not write to it.

    Feeds are ignored: a constant that is fed has another value when it runs.
    """
    if not isinstance(tensor, Tensor):
        return None
    value = _value(tensor, depth, {})
    # ``tf.shape(x)[1:]`` with an unknown first size: entries may all be known where an input is not.
    if value is None and tensor.dtype.is_integer and tensor.op.definition.numpy_takes_objects:
        parts = _partial(tensor, depth)
        if parts is not None and parts.size and not any(v is _UNKNOWN for v in parts.ravel()):
            value = parts.astype(tensor.dtype.np)
    return value


def _value(tensor: Tensor, depth: int, seen: dict[Tensor, HostArray | None]) -> HostArray | None:
    """The value of a tensor whose inputs are all known, else None; ``seen`` memoises it."""
    if tensor in seen:
        return seen[tensor]
    op = tensor.op
    if op.type == "Const":
        value: HostArray | None = op.attrs["value"]
        return value
    result = None
    if op.type in ("Shape", "Size", "Rank"):
        result = _of_shape(tensor)
    elif depth > 0 and op.definition.numpy is not None and not op.definition.is_placeholder and _small(tensor):
        args: list[HostArray] = []
        for source in op.inputs:
            value = _value(source, depth - 1, seen)
            if value is None or value.size > _LARGEST or value.dtype == object:
                break
            args.append(value)
        else:
            result = _compute(tensor, args)
    seen[tensor] = result
    return result


def _small(tensor: Tensor) -> bool:
    """Whether a tensor has up to ``_LARGEST`` elements; unknown sizes count as 1."""
    size = 1
    for dim in tensor.dims or ():
        size *= dim or 1
    return size <= _LARGEST


def _compute(tensor: Tensor, args: list[HostArray]) -> HostArray | None:
    """The numpy form of a tensor's operation on known inputs; None where it does not accept them."""
    op = tensor.op
    attrs = op.arguments
    assert op.definition.numpy is not None
    try:
        outputs = op.definition.numpy(*args, **attrs)
    except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
        return None
    if isinstance(outputs, tuple | list):
        outputs = outputs[tensor.value_index]
    return np.asarray(outputs)


def _of_shape(tensor: Tensor) -> HostArray | None:
    """The value of a Shape, Size or Rank operation if the static shape of its input determines it."""
    dims = tensor.op.inputs[0].dims
    kind = tensor.dtype.np
    if dims is None:
        return None
    if tensor.op.type == "Rank":
        return np.asarray(len(dims), kind)
    if tensor.op.type == "Size":
        if 0 in dims:
            return np.asarray(0, kind)
        return None if None in dims else np.asarray(math.prod(d or 0 for d in dims), kind)
    return None if None in dims else np.array(dims, kind)


def _partial(tensor: Tensor, depth: int) -> HostArray | None:
    """The value of an integer tensor as an array of objects: integers, and ``_UNKNOWN`` for unknown entries.

    None where not even the shape is known. The numpy forms of ``numpy_takes_objects`` operations run on such arrays
    unchanged, because numpy hands their arithmetic to the objects: ``tf.shape(x)[1] * 2`` is followed through an
    unknown batch.
    """
    known = _value(tensor, depth, {})
    if known is not None:
        return known.astype(object)
    op = tensor.op
    dims = op.inputs[0].dims if op.inputs else None
    if op.type == "Shape" and dims is not None:
        return _objects([_UNKNOWN if d is None else d for d in dims])
    if op.type == "Size" and dims is not None:
        return np.array(_UNKNOWN, object)
    entries = None
    if depth > 0 and op.type == "Cast" and tensor.dtype.is_integer and op.inputs[0].dtype.is_integer:
        entries = _partial(op.inputs[0], depth - 1)
    elif depth > 0 and op.definition.numpy_takes_objects:
        args = [_partial(t, depth - 1) if t.dtype.is_integer else None for t in op.inputs]
        arguments = [_to_integers(a) for a in args if a is not None]
        if len(arguments) == len(args):
            entries = _compute(tensor, arguments)
    if entries is not None and entries.dtype == object:
        return entries
    if entries is not None:
        return entries.astype(object)
    # A vector of known length and unknown entries still gives a rank.
    if shapes.known(tensor.dims) and len(tensor.dims or ()) <= 1:
        return _objects([_UNKNOWN] * math.prod(d or 0 for d in tensor.dims or ())).reshape(tensor.shape.as_list())
    return None


def _objects(values: list[Any]) -> HostArray:
    """A vector of objects; ``np.array`` would look for numbers in them."""
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _to_integers(array: HostArray) -> HostArray:
    """An array of objects as int64 if all its entries are known: numpy takes only integers as an index or axis."""
    return array if any(v is _UNKNOWN for v in array.ravel()) else array.astype(np.int64)


def partial_value(tensor: object) -> tuple[int | None, ...] | None:
    """The entries of an integer vector or scalar, None for unknown ones; None where not even the length is known."""
    entries = partial_values(tensor)
    return None if entries is None or entries.ndim > 1 else tuple(entries.reshape(-1).tolist())


def partial_values(tensor: object) -> HostArray | None:
    """An integer tensor as an array of integers, None for unknown entries; None where not even the shape is known."""
    entries = _partial(tensor, _DEPTH) if isinstance(tensor, Tensor) else None
    if entries is None:
        return None
    return _objects([None if v is _UNKNOWN else int(v) for v in entries.reshape(-1)]).reshape(entries.shape)


def constant_value_as_dims(tensor: object) -> Dims:
    """The static shape that an integer vector describes, None for entries that are negative or unknown."""
    entries = partial_value(tensor)
    return None if entries is None else tuple(None if v is None or v < 0 else v for v in entries)
