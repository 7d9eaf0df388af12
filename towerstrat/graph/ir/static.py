"""Values known while the graph is built: what rules and public functions learn shapes from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.shapes import Dims

Array = np.ndarray[Any, Any]

_DEPTH = 40
"""How many operations back a value is followed."""
_LARGEST = 4096
"""Elements up to which a value is computed."""


class _Unknown:
    """A number that is not known yet; arithmetic with it gives another."""

    def _same(self, *others: Any) -> _Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __neg__ = _same


_UNKNOWN = _Unknown()


def constant_value(tensor: Any, depth: int = _DEPTH) -> Array | None:
    """The value of a tensor as numpy where constants and static shapes decide it, else None. Never written to.

    Feeds are not known yet: a constant that is fed has another value when it runs.
    """
    if not isinstance(tensor, Tensor):
        return None
    found = _value(tensor, depth, {})
    if found is None and tensor.dtype.is_integer and tensor.op.definition.entrywise:
        parts = _partial(tensor, depth)
        if parts is not None and parts.size and not any(v is _UNKNOWN for v in parts.ravel()):
            found = parts.astype(tensor.dtype.np)
    return found


def _value(tensor: Tensor, depth: int, seen: dict[Tensor, Array | None]) -> Array | None:
    if tensor in seen:
        return seen[tensor]
    op = tensor.op
    if op.type == "Const":
        return op.attrs["value"]
    result = None
    if op.type in ("Shape", "Size", "Rank"):
        result = _of_shape(tensor)
    elif depth > 0 and op.definition.numpy is not None and not op.definition.given and _small(tensor):
        args = []
        for source in op.inputs:
            value = _value(source, depth - 1, seen)
            if value is None or value.size > _LARGEST or value.dtype == object:
                break
            args.append(value)
        else:
            result = _computed(tensor, args)
    seen[tensor] = result
    return result


def _small(tensor: Tensor) -> bool:
    size = 1
    for dim in tensor.dims or ():
        size *= dim or 1
    return size <= _LARGEST


def _computed(tensor: Tensor, args: list[Any]) -> Any:
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


def _of_shape(tensor: Tensor) -> Array | None:
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


def _partial(tensor: Tensor, depth: int) -> Array | None:
    """The value as objects: integers, and _UNKNOWN where an entry is not known. None where even its shape is not."""
    known = _value(tensor, depth, {})
    if known is not None:
        return known.astype(object)
    op = tensor.op
    dims = op.inputs[0].dims if op.inputs else None
    if op.type == "Shape" and dims is not None:
        return _objects([_UNKNOWN if d is None else d for d in dims])
    if op.type == "Size" and dims is not None:
        return np.array(_UNKNOWN, object)
    found = None
    if depth > 0 and op.type == "Cast" and tensor.dtype.is_integer and op.inputs[0].dtype.is_integer:
        found = _partial(op.inputs[0], depth - 1)
    elif depth > 0 and op.definition.entrywise:
        args = [_partial(t, depth - 1) if t.dtype.is_integer else None for t in op.inputs]
        if all(a is not None for a in args):
            found = _computed(tensor, [_settled(a) for a in args])
    if found is not None and found.dtype == object:
        return found
    if found is not None:
        return found.astype(object)
    if shapes.known(tensor.dims) and len(tensor.dims or ()) <= 1:
        return _objects([_UNKNOWN] * math.prod(d or 0 for d in tensor.dims or ())).reshape(tensor.shape.as_list())
    return None


def _objects(values: list[Any]) -> Array:
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _settled(array: Any) -> Array:
    """Integers again where every entry is one, so that it can serve as an index or an axis."""
    return array if any(v is _UNKNOWN for v in array.ravel()) else array.astype(np.int64)


def partial_value(tensor: Any) -> tuple[int | None, ...] | None:
    """The entries of an integer vector (or the only one of a scalar), None for those that are not known.

    None where not even the length is known.
    """
    found = _partial(tensor, _DEPTH) if isinstance(tensor, Tensor) else None
    if found is None or found.ndim > 1:
        return None
    return tuple(None if v is _UNKNOWN else int(v) for v in found.reshape(-1))


def constant_value_as_dims(tensor: Any) -> Dims:
    """The shape that an integer vector describes, with None for entries that are -1 or not known."""
    entries = partial_value(tensor)
    return None if entries is None else tuple(None if v is None or v < 0 else v for v in entries)
