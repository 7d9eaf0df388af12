"""Python's builtin functions on tensors, in converted code.

``OVERLOADS`` maps the ``id`` of a builtin to the function that converted code calls: ``len(x)`` of a tensor is its
first dimension, ``range`` of tensors ``tf.range``, ``max``, ``min`` and ``sum`` reduce; of Python values each is the
builtin itself. Types may bring forms of their own (``Overloading``, as datasets do for ``zip`` and ``map``). Builtins
that look at the caller's frame (``locals``, ``eval``, ...) are called in the frame of the converted function
(``IN_CALLER``).
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, SupportsAbs

from towerstrat.errors import UnsupportedError
from towerstrat.graph.autograph.values import is_staged
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import bool_, float32, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.tensor_array import TensorArray
from towerstrat.graph.ops.host.python_calls import print_v2
from towerstrat.graph.ops.indexing.sorting import sort
from towerstrat.graph.ops.math.arithmetic import abs as tensor_abs
from towerstrat.graph.ops.math.arithmetic import cast, maximum, minimum, not_equal
from towerstrat.graph.ops.math.reductions import reduce_max, reduce_min, reduce_sum


class Overloading:
    """Base of types with their own forms of builtin functions (``next``, ``zip``, ``map``, ...) in converted code.

    Attributes:
      converted_builtins: builtin -> function with the builtin's arguments that is called in its place. A builtin of
        several iterables is replaced where all of them have a replacement.
    """

    converted_builtins: ClassVar[Mapping[Callable[..., Any], Callable[..., Any]]] = {}


def _overload(function: Callable[..., Any], arguments: tuple[object, ...]) -> Callable[..., Any] | None:
    overloading = [a for a in arguments if isinstance(a, Overloading) and function in a.converted_builtins]
    if overloading and len(overloading) == len(arguments):
        return overloading[0].converted_builtins[function]
    return None


def _abs(x: SupportsAbs[Any]) -> Any:
    return tensor_abs(x) if is_staged(x) else abs(x)


def _float(*args: Any) -> Any:
    return cast(args[0], float32) if args and is_staged(args[0]) else float(*args)


def _int(*args: Any, **kwargs: Any) -> Any:
    if not args or not is_staged(args[0]):
        return int(*args, **kwargs)
    if kwargs or len(args) > 1:
        raise UnsupportedError("int(x, base) of a tensor is not supported; use tf.strings.to_number.")
    return cast(args[0], int32)


def _bool(*args: Any) -> Any:
    if not args or not is_staged(args[0]):
        return bool(*args)
    tensor = convert_to_tensor(args[0])
    return tensor if tensor.dtype is bool_ else not_equal(tensor, convert_to_tensor(0, tensor.dtype))


def _len(x: Any) -> Any:
    if isinstance(x, TensorArray):
        return x.size()
    if not is_staged(x):
        return len(x)
    tensor = convert_to_tensor(x)
    if tensor.dims == ():
        raise ValueError(f"len() needs a tensor with a first dimension, got the scalar {tensor!r}.")
    known = tensor.dims[0] if tensor.dims is not None else None
    return arrays.shape(tensor)[0] if known is None else known


def _range(*args: Any) -> Any:
    if not any(is_staged(a) for a in args):
        return range(*args)
    if len(args) == 3:
        return arrays.range(*args)
    start, stop = args if len(args) == 2 else (0, args[0])
    return arrays.range(start, maximum(start, stop))


def _extreme(
    function: Callable[..., Any], reduce: Callable[..., Any], pairwise: Callable[..., Any]
) -> Callable[..., Any]:
    def extreme(*args: Any, **kwargs: Any) -> Any:
        if not any(is_staged(a) for a in args):
            return function(*args, **kwargs)
        if kwargs:
            raise UnsupportedError(
                f"{function.__name__}() of tensors takes no keyword arguments, got {sorted(kwargs)}."
            )
        if len(args) > 1:
            return functools.reduce(pairwise, args)
        tensor = convert_to_tensor(args[0])
        if tensor.dims is None or len(tensor.dims) > 1:
            raise ValueError(f"{function.__name__}() needs a vector or a scalar, got {tensor!r}.")
        return reduce(tensor, axis=0) if tensor.dims else tensor

    return extreme


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    if not is_staged(iterable):
        return sum(iterable, start)
    total = reduce_sum(iterable, axis=0)
    return total if isinstance(start, int) and start == 0 else total + start


def _sorted(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> Any:
    if not is_staged(iterable):
        return sorted(iterable, key=key, reverse=reverse)
    if key is not None:
        raise UnsupportedError("sorted() of a tensor takes no key; use tf.argsort and tf.gather.")
    return sort(iterable, direction="DESCENDING" if reverse else "ASCENDING")


def _plain(function: Callable[..., Any], first: int = 0) -> Callable[..., Any]:
    """A builtin that knows no tensors, only types that overload it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        replacement = _overload(function, args[first:])
        return (replacement or function)(*args, **kwargs)

    return call


def _first(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin whose first argument decides."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return (_overload(function, args[:1]) or otherwise)(*args, **kwargs)

    return call


def print_(*args: Any, **kwargs: Any) -> Any:
    """``print`` with ``Feature.BUILTIN_FUNCTIONS``: of tensors when the program runs."""
    if any(isinstance(x, Tensor) and is_staged(x) for x in nest.flatten(list(args))):
        return print_v2(*args, output_stream=kwargs.get("file") or sys.stdout)
    return print(*args, **kwargs)


_REPLACED: dict[Any, Callable[..., Any]] = {
    abs: _first(abs, _abs),
    float: _float,
    int: _int,
    bool: _bool,
    len: _first(len, _len),
    range: _range,
    max: _extreme(max, reduce_max, maximum),
    min: _extreme(min, reduce_min, minimum),
    sum: _sum,
    sorted: _first(sorted, _sorted),
    any: _first(any, any),
    all: _first(all, all),
    next: _first(next, next),
    iter: _first(iter, iter),
    enumerate: _first(enumerate, enumerate),
    zip: _plain(zip),
    map: _plain(map, 1),
    filter: _plain(filter, 1),
}
OVERLOADS = {id(function): replacement for function, replacement in _REPLACED.items()}
"""``id`` of a builtin -> the function that converted code calls instead."""


def in_caller(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, depth: int) -> Any:
    """``globals``, ``locals``, ``vars``, ``dir``, ``eval`` and ``exec`` as called by converted code."""
    frame = sys._getframe(depth + 1)
    if function is globals:
        return frame.f_globals
    if function is locals or (function is vars and not args):
        return dict(frame.f_locals)
    if function is dir and not args:
        return sorted(frame.f_locals)
    if function in (builtins.eval, builtins.exec) and len(args) == 1 and not kwargs:
        return function(args[0], frame.f_globals, dict(frame.f_locals))
    return function(*args, **(kwargs or {}))


IN_CALLER = frozenset(map(id, (globals, locals, vars, dir, eval, exec)))
