"""Python in a program: ``tf.py_func`` between device programs, ``tf.Print`` and ``tf.print`` from inside of them."""

from __future__ import annotations

import pprint
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from absl import logging

from towerstrat.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    UnsupportedError,
)
from towerstrat.graph import nest
from towerstrat.graph.convert import convert_to_tensor, numpy_value
from towerstrat.graph.core import get_default_graph
from towerstrat.graph.elements import Operation, Tensor
from towerstrat.graph.lowering import Lowering
from towerstrat.graph.ops.checks import entry, shown
from towerstrat.graph.registry import Signature, define, nothing
from towerstrat.graph.types import as_dtype, resource, string

_LIKE: tuple[tuple[type[Exception], type[OpError]], ...] = (
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
)
"""What an exception of the user's function becomes."""


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Calls a Python function on the host with numpy arrays.

    Args:
      func: takes the values of ``inp`` (strings as bytes), returns an array or a sequence of them.
      Tout: the element type of the result, or a list of them for several results.
      stateful: whether the result may differ for the same input; nothing is cached either way.

    Returns:
      A tensor of unknown shape, or a list of them. No gradient goes through it (see tf.RegisterGradient).

    Raises:
      UnsupportedError: inside of towers, branches and loops, which run on the device in one piece.
    """
    graph = get_default_graph()
    single = not isinstance(Tout, list | tuple)
    kinds = [as_dtype(t) for t in ([Tout] if single else Tout)]
    if graph.block is not graph.root or graph.axis is not None:
        where = graph.block.what if graph.block is not graph.root else "a tower"
        raise UnsupportedError(
            f"tf.py_func inside {where} is not supported: that runs on the device in one piece. Call it outside and "
            "pass its result in, or do the work in the input pipeline."
        )
    attrs = {"_func": func, "Tout": tuple(kinds)}
    inputs = [convert_to_tensor(x) for x in inp]
    op = graph.add("PyFunc" if stateful else "PyFuncStateless", inputs, attrs, name)
    if not kinds:
        return op
    return op.outputs[0] if single else op.outputs


def _call(session: Any, op: Operation, values: Sequence[Any]) -> list[Any]:
    try:
        found = op.attrs["_func"](*(np.array(v) if np.ndim(v) else v for v in map(_host, values)))
    except Exception as error:
        if isinstance(error, OpError):
            raise
        kind: Any = next((k for cause, k in _LIKE if isinstance(error, cause)), UnknownError)
        raise kind(None, op, f"{type(error).__name__}: {error}") from error
    kinds = op.attrs["Tout"]
    results = list(found) if isinstance(found, list | tuple) else [] if found is None and not kinds else [found]
    if len(results) != len(kinds):
        raise InvalidArgumentError(
            None,
            op,
            f"The function of {op.name} returned {len(results)} values, but expects to see {len(kinds)} values.",
        )
    return [_checked(op, i, value, kind) for i, (value, kind) in enumerate(zip(results, kinds, strict=True))]


def _host(value: Any) -> Any:
    array = np.asarray(value)
    return array if array.ndim or array.dtype != object else array[()]


def _checked(op: Operation, index: int, value: Any, kind: Any) -> Any:
    if kind is string:
        return numpy_value(
            value if isinstance(value, str | bytes | list | tuple) else np.asarray(value, object), string
        )
    array = np.asarray(value)
    if not isinstance(value, np.ndarray | np.generic) and array.dtype != kind.np and array.dtype.kind in "fiub":
        python = {"f": np.float64, "i": np.int64, "u": np.uint64, "b": np.bool_}[array.dtype.kind]
        array = array.astype(python)
    if array.dtype != kind.np:
        raise InvalidArgumentError(
            None, op, f"{index}-th value returned by {op.name} is {array.dtype.name}, but expects {kind.name}"
        )
    return array


for _type in ("PyFunc", "PyFuncStateless"):
    define(
        _type,
        lambda inputs, attrs: [Signature(kind, None) for kind in attrs["Tout"]],
        host=_call,
        stateful=True,
        differentiable=False,
        hidden=("_func",),
    )


# ---- printing --------------------------------------------------------------------------------------------------


def _emit(lowering: Lowering, op: Operation, write: Callable[..., None]) -> None:
    """Calls ``write`` with the values of an operation's data whenever the program comes here."""
    if lowering.quiet:
        return
    tensors = [t for t in op.inputs[op.attrs["_skip"] :] if t.dtype is not resource]
    values = [lowering.value(t) for t in tensors]
    moving = [i for i, v in enumerate(values) if isinstance(v, jax.Array)]

    def call(*arrays: Any) -> None:
        full = list(values)
        for i, array in zip(moving, arrays, strict=True):
            full[i] = np.asarray(array)
        write(*full)

    jax.debug.callback(call, *(jnp.asarray(values[i]) for i in moving))


def _lower_print(lowering: Lowering, op: Operation) -> list[Any]:
    def write(*values: Any) -> None:
        first_n = op.attrs["first_n"]
        count = op.attrs["_count"]
        count[0] += 1
        if 0 <= first_n < count[0]:
            return
        parts = "".join(shown(v, op.attrs["summarize"]) for v in values)
        print(f"{op.attrs['message']}{parts}", file=sys.stderr, flush=True)

    _emit(lowering, op, write)
    return [lowering.value(op.inputs[0])]


define(
    "Print",
    lambda inputs, attrs: [Signature(inputs[0].dtype, inputs[0].dims)],
    lower=_lower_print,
    stateful=True,
    callback=True,
    hidden=("_count", "_skip"),
)


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """``input_``; prints ``data`` to standard error each time it is evaluated, on every tower.

    Args:
      message: goes before the values.
      first_n: stop after that many times; negative or None: never.
      summarize: how many entries of each value, by default 3; negative: all.
    """
    inputs = [convert_to_tensor(input_), *(convert_to_tensor(d) for d in data)]
    attrs = {
        "message": message or "",
        "first_n": -1 if first_n is None else first_n,
        "summarize": 3 if summarize is None else summarize,
        "_skip": 1,
        "_count": [0],
    }
    return get_default_graph().add("Print", inputs, attrs, name or "Print").outputs[0]


def _lower_print_v2(lowering: Lowering, op: Operation) -> list[Any]:
    _emit(lowering, op, op.attrs["_write"])
    return []


define(
    "PrintV2",
    nothing,
    lower=_lower_print_v2,
    stateful=True,
    callback=True,
    differentiable=False,
    hidden=("_write", "_skip"),
)


def _formatted(value: Any, summarize: int) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return entry(array[()])
    formatter: Any = {"all": entry}
    edges = summarize if summarize >= 0 else max(array.size, 1)
    with np.printoptions(threshold=0 if summarize >= 0 else sys.maxsize, edgeitems=edges, linewidth=sys.maxsize):
        return np.array2string(array, formatter=formatter, separator=" ")


def print_v2(*inputs: Any, **kwargs: Any) -> Operation:
    """``tf.print``: an operation that prints its inputs each time it runs.

    Args:
      inputs: tensors, Python values and structures of them, joined by spaces.
      output_stream: ``sys.stderr`` (default) or ``sys.stdout``, or a function of ``tf.logging`` (info, warning, error).
      summarize: how many entries from each end of a dimension, by default 3; -1: all.
      name: the operation's name.

    Raises:
      ValueError: another keyword, or another stream.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    write = _writer(stream)
    tensors = [x for x in nest.flatten(list(inputs)) if isinstance(x, Tensor) or hasattr(x, "_as_graph_element")]

    def show(*values: Any) -> None:
        texts = iter([_formatted(v, -1 if summarize is None else summarize) for v in values])
        write(" ".join(_text(x, texts) for x in inputs))

    attrs = {"_write": show, "_skip": 0}
    return get_default_graph().add("PrintV2", [convert_to_tensor(t) for t in tensors], attrs, name or "PrintV2")


class _Bare(str):
    """A text that prints without quotes inside of structures."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(value: Any, texts: Any) -> str:
    if isinstance(value, str):
        return value
    leaves = [
        _Bare(next(texts)) if isinstance(x, Tensor) or hasattr(x, "_as_graph_element") else x
        for x in nest.flatten(value)
    ]
    if not nest.is_sequence(value):
        return str(leaves[0]) if isinstance(leaves[0], _Bare) else pprint.pformat(leaves[0])
    return pprint.pformat(nest.pack_sequence_as(value, leaves))


def _writer(stream: Any) -> Callable[[str], None]:
    if stream in (sys.stdout, sys.__stdout__):
        return lambda text: print(text, file=sys.stdout, flush=True)
    if stream in (sys.stderr, sys.__stderr__):
        return lambda text: print(text, file=sys.stderr, flush=True)
    levels = {"info": logging.info, "warning": logging.warning, "warn": logging.warning, "error": logging.error}
    log = levels.get(getattr(stream, "__name__", ""))
    if log is None:
        raise ValueError(
            f"Unsupported output stream {stream!r}: use sys.stderr, sys.stdout, tf.logging.info, tf.logging.warning or "
            "tf.logging.error."
        )
    return partial(log, "%s")
