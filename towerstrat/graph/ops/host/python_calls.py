"""Python in a program: ``tf.py_func`` between device programs, ``tf.Print`` and ``tf.print`` from inside of them.

``py_func`` outside of towers is a host operation: the plan cuts the program there and calls the function with numpy
arrays. Inside of towers the program is one piece, and calls back (``tower_callbacks``). Printing never cuts a program:
it is a ``jax.debug.callback``, ordered only on a single device, as JAX orders calls there alone.

    y = py_func(f, [x], tf.float32)    program 1 -> x     f(x) on the host     program 2 <- y
    z = tf.Print(z, [z], "z = ")       one program; "z = [1 2 3...]" on standard error while it runs

An exception of the function becomes an error of ``tf.errors``, of the class that the original gives it (``_LIKE``).
"""

from __future__ import annotations

import pprint
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TextIO

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    UnsupportedError,
)
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import ArrayLike, TensorLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import several_devices
from towerstrat.graph.ir.op_registry import Signature, define_op, nothing
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor, numpy_value
from towerstrat.graph.ir.types import Array, DType, HostArray, as_dtype, resource, string
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.host.runtime_checks import entry, shown
from towerstrat.platform import logs
from towerstrat.platform.storage import storage_of

_LIKE: tuple[tuple[type[Exception], type[OpError]], ...] = (
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
)
"""Exception of the user's function -> class of ``tf.errors``, as in the original."""


def py_func(
    func: Callable[..., Any], inp: Sequence[TensorLike], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function on the host with numpy arrays.

    Args:
      func: takes the values of ``inp`` (strings as bytes), returns an array or a sequence of them.
      inp: tensors, or values that can be converted.
      Tout: the element type of the result, or a list of them for several results.
      stateful: whether the result may differ for the same input; nothing is cached either way.
      name: of the operation; by default "PyFunc", "PyFuncStateless" where it is not stateful.

    Returns:
      A tensor of unknown shape, or a list of them. No gradient goes through it (see tf.RegisterGradient).

    In branches and loops the host carries these out, one iteration after the other. Inside of towers and step loops,
    which run on the devices in one piece, the program calls Python once for each tower. For results without a known
    shape (``set_shape``) the host does so between two programs, outside of branches, loops and steps.
    """
    graph = get_default_graph()
    single = not isinstance(Tout, list | tuple)
    kinds = [as_dtype(t) for t in ([Tout] if single else Tout)]
    inputs = [convert_to_tensor(x) for x in inp]
    if graph.axis is not None or graph.block.in_steps:
        attrs = {"_func": func, "Tout": tuple(kinds), "_failures": []}
        op = graph.add("PyFuncInPlace", inputs, attrs, name or "PyFunc")
    else:
        op = graph.add("PyFunc" if stateful else "PyFuncStateless", inputs, {"_func": func, "Tout": tuple(kinds)}, name)
    if not kinds:
        return op
    return op.outputs[0] if single else op.outputs[: len(kinds)]


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """``py_func`` under its later name. Eagerly it is called at once, and the results have types of their own."""
    if not get_default_graph().executing_eagerly:
        return py_func(func, inp, Tout, stateful, name)
    result = func(*(np.array(convert_to_tensor(x).numpy()) for x in inp))
    if result is None:
        return None
    return [convert_to_tensor(f) for f in result] if isinstance(result, list | tuple) else convert_to_tensor(result)


def check_place(function: str) -> None:
    """Raise UnsupportedError where Python cannot be called: inside of towers."""
    graph = get_default_graph()
    if graph.axis is not None:
        where = graph.block.what if graph.block is not graph.root else "a tower"
        raise UnsupportedError(
            f"{function} inside {where} is not supported: that runs on the device in one piece. Call it outside and "
            "pass its result in, or do the work in the input pipeline."
        )


def raised(error: Exception, op: Operation | None) -> OpError:
    """The error of ``tf.errors`` for an exception of the user's function, of the class that the original gives it."""
    if isinstance(error, OpError):
        return error
    kind: Callable[..., OpError] = next((k for cause, k in _LIKE if isinstance(error, cause)), UnknownError)
    return kind(None, op, f"{type(error).__name__}: {error}")


def counted(returned: object, kinds: Sequence[DType], op: Operation) -> list[Any]:
    """The list of values that a function returned.

    Raises:
      InvalidArgumentError: their number is not that of the declared element types.
    """
    results = list(returned) if isinstance(returned, list | tuple) else [] if returned is None else [returned]
    if len(results) != len(kinds):
        raise InvalidArgumentError(
            None,
            op,
            f"The function of {op.name} returned {len(results)} values, but expects to see {len(kinds)} values.",
        )
    return results


def call_function(op: Operation, values: Sequence[Array]) -> list[HostArray]:
    """Call the function of a ``py_func``; return its results, checked against the declared element types."""
    try:
        returned = op.attrs["_func"](*(np.array(v) if np.ndim(v) else v for v in map(_host, values)))
    except Exception as error:
        raise raised(error, op) from error
    kinds: tuple[DType, ...] = op.attrs["Tout"]
    results = counted(returned, kinds, op)
    return [_to_declared_type(op, i, value, kind) for i, (value, kind) in enumerate(zip(results, kinds, strict=True))]


def _host(value: Array) -> HostArray | bytes:
    array = np.asarray(value)
    return array if array.ndim or array.dtype != object else array[()]


def _to_declared_type(op: Operation, index: int, value: ArrayLike, kind: DType) -> HostArray:
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
    define_op(
        _type,
        lambda inputs, attrs: [Signature(kind, None) for kind in attrs["Tout"]],
        host=lambda session, op, values: call_function(op, values),
        stateful=True,
        differentiable=False,
        hidden=("_func",),
    )


# ---- printing --------------------------------------------------------------------------------------------------


def emit(lowering: Lowering, op: Operation, write: Callable[..., None]) -> None:
    """Call ``write`` whenever the program comes here, with this replica's message and the operation's data.

    Args:
      lowering: of the program that comes here; a quiet one calls nothing.
      op: its attribute ``_own`` has the replicas' messages; its inputs from number ``_skip`` on are the data.
      write: (message or the like, values).
    """
    if lowering.suppress_prints:
        return
    tensors = [t for t in op.inputs[op.attrs["_skip"] :] if t.dtype is not resource]
    values = [lowering.value(t) for t in tensors]
    said = op.attrs.get("_own", (op.attrs[op.definition.own or ""],))
    if lowering.host_calls_inline:
        write(said[0], *values)
        return
    moving = [i for i, v in enumerate(values) if isinstance(v, jax.Array)]

    def call(position: Array, *arrays: Array) -> None:
        full = list(values)
        for i, array in zip(moving, arrays, strict=True):
            full[i] = np.asarray(array)
        write(said[int(position)], *full)

    position = lowering.position() if len(said) > 1 else 0
    # JAX keeps the order of calls on one device only.
    jax.debug.callback(call, position, *(jnp.asarray(values[i]) for i in moving), ordered=not several_devices())


def _lower_print(lowering: Lowering, op: Operation) -> list[Array]:
    def write(message: str, *values: Array) -> None:
        first_n = op.attrs["first_n"]
        count = op.attrs["_count"]
        count[0] += 1
        if 0 <= first_n < count[0]:
            return
        parts = "".join(shown(v, op.attrs["summarize"]) for v in values)
        _write_text(f"{message}{parts}", "\n", sys.stderr)

    emit(lowering, op, write)
    return [lowering.value(op.inputs[0])]


define_op(
    "Print",
    lambda inputs, attrs: [Signature(inputs[0].dtype, inputs[0].dims)],
    lower=_lower_print,
    stateful=True,
    callback=True,
    own="message",
    hidden=("_count", "_skip"),
)


def Print(
    input_: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """``input_``; prints ``data`` to standard error each time it is evaluated, on every tower.

    Args:
      input_: a tensor, or a value that can be converted.
      data: a list of such, the values to print.
      message: goes before the values.
      first_n: stop after that many times; negative or None: never.
      summarize: how many entries of each value, by default 3; negative: all.
      name: of the operation; by default "Print".
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


def _lower_print_v2(lowering: Lowering, op: Operation) -> list[Array]:
    emit(lowering, op, lambda write, *values: write(*values))
    return []


define_op(
    "PrintV2",
    nothing,
    lower=_lower_print_v2,
    stateful=True,
    callback=True,
    differentiable=False,
    own="_write",
    hidden=("_write", "_skip"),
)


def _entry(value: Any, quoted: bool) -> str:
    """One element as text: floats by C's ``%g``, shorter if that reads back equal; strings in quotes if ``quoted``."""
    if isinstance(value, bytes):
        text = value.decode(errors="replace")
        return f'"{text}"' if quoted else text
    kind = np.asarray(value).dtype
    if kind.kind != "f" and "float" not in kind.name:
        return entry(value)
    wide, short, full = (np.float64, 15, 17) if kind == np.float64 else (np.float32, 6, 9)
    text = f"{float(value):.{short}g}"
    return text if wide(text) == wide(value) else f"{float(value):.{full}g}"


def formatted(value: ArrayLike, summarize: int, quoted: bool) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return _entry(array[()], quoted)
    edges = summarize if summarize >= 0 else max(array.size, 1)
    with np.printoptions(threshold=0 if summarize >= 0 else sys.maxsize, edgeitems=edges, linewidth=sys.maxsize):
        return np.array2string(array, formatter={"all": partial(_entry, quoted=True)}, separator=" ")


def print_v2(*inputs: Any, **kwargs: Any) -> Operation | None:
    """``tf.print``: prints its inputs, eagerly at once, in a graph or function each time the operation runs.

    Args:
      *inputs: tensors, Python values and structures of them.
      **kwargs: the keywords below; others are refused.
      output_stream: ``sys.stderr`` (default) or ``sys.stdout``, a function of ``tf.logging`` (info, warning, error), or
        ``"file://..."``: a file that is appended to.
      summarize: how many entries from each end of a dimension, by default 3; -1: all.
      sep, end: between the inputs (by default a space) and after them (a new line).
      name: of the operation; by default "PrintV2".

    Returns:
      The operation; None eagerly.

    Raises:
      ValueError: another keyword, or another stream.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", None)
    separator, end = kwargs.pop("sep", " "), kwargs.pop("end", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    write = _writer(stream)
    tensors = [x for x in nest.flatten(list(inputs)) if _is_printed_when_run(x)]

    def show(*values: Array) -> None:
        left = iter(values)
        texts = [_text(x, left, 3 if summarize is None else summarize, quoted=len(inputs) > 1) for x in inputs]
        write(separator.join(texts), "\n" if end is None else end)

    graph = get_default_graph()
    printed = [convert_to_tensor(t) for t in tensors]
    if graph.executing_eagerly:
        show(*(t.numpy() for t in printed))
        return None
    return graph.add("PrintV2", printed, {"_write": show, "_skip": 0}, name or "PrintV2")


def _is_printed_when_run(value: object) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


class _Bare(str):
    """A text that prints without quotes inside of structures."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(value: Any, values: Iterator[Array], summarize: int, quoted: bool) -> str:
    """An input of ``tf.print``, with the next of ``values`` for each tensor in it.

    Args:
      value: a string is printed as it is; a structure as Python prints it.
      values: of the tensors that are printed when the program runs, in the order of all inputs.
      summarize: how many entries from each end of a dimension; -1: all.
      quoted: whether a tensor that is one string has quotes around it.
    """
    if isinstance(value, str):
        return value
    if _is_printed_when_run(value):
        return formatted(next(values), summarize, quoted)
    leaves = [
        _Bare(formatted(next(values), summarize, quoted=True)) if _is_printed_when_run(x) else x
        for x in nest.flatten(value)
    ]
    return pprint.pformat(nest.pack_sequence_as(value, leaves))


def _write_text(text: str, end: str, stream: TextIO) -> None:
    """Write text and end in one call, since replicas print from threads of their own."""
    stream.write(text + end)
    stream.flush()


def _writer(stream: Any) -> Callable[[str, str], None]:
    """The function (text, end) that writes to a stream of ``tf.print``. Raises ValueError for an unknown stream."""
    if isinstance(stream, str) and stream.startswith("file://"):
        return partial(_append, stream.removeprefix("file://"))
    if stream in (sys.stdout, sys.__stdout__):
        return lambda text, end: _write_text(text, end, sys.stdout)
    if stream in (sys.stderr, sys.__stderr__):
        return lambda text, end: _write_text(text, end, sys.stderr)
    levels = {"info": logs.info, "warning": logs.warning, "warn": logs.warning, "error": logs.error}
    log = levels.get(getattr(stream, "__name__", ""))
    if log is None:
        raise ValueError(
            f"Unsupported output stream {stream!r}: use sys.stderr, sys.stdout, tf.logging.info, tf.logging.warning, "
            "tf.logging.error or 'file://' and a path."
        )
    return lambda text, end: log("%s", text)


def _append(path: str, text: str, end: str) -> None:
    with storage_of(path).open(path, "ab") as file:
        file.write((text + end).encode())
