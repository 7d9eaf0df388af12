"""Run-time checks that programs ask for: ``tf.Assert``, ``tf.check_numerics``.

A device program cannot raise. A check is a bool in the program and some entries of values for its message; the first
that fails is written to the error record, masks all later writes, and is raised by the host when it looks at the
record:

    Assert(reduce_all(x > 0.), ["x is", x])      program: not all(x > 0), x[:3]    record: which check, x[:3]
    InvalidArgumentError              "assertion failed: [x is] [-1 0 2...]"; variables are as before the run

The text is made on the host, from shapes and at most 64 entries of each value.

>>> shown(np.arange(5)), shown(np.eye(2)), shown(np.arange(5), summarize=-1)
('[0 1 2...]', '[[1 0][0...]]', '[0 1 2 3 4]')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.given_arguments import check_given, one_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, nothing
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, HostArray, bfloat16, bool_, float16, float32, float64
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.building.op_builder import add_op

_SHOWN = 3
"""Entries of a value that a message shows, unless ``summarize`` says another number."""
_MOST_SHOWN = 64
"""Entries of a value that a compiled program hands out for a message at most."""
_ALL = tuple(range(64))


def shown(value: object, summarize: int | None = None) -> str:
    """The first entries of a numpy value, in nested brackets."""
    array = np.asarray(value)
    limit = _SHOWN if summarize is None else summarize
    if limit < 0:
        limit = array.size
    if array.ndim == 0:
        return f"[{entry(array[()])}]"
    left = [limit]
    return _brackets(array, left)


def _brackets(array: HostArray, left: list[int]) -> str:
    """An array in brackets. ``left[0]`` counts down the entries that may still be shown."""
    parts = []
    for item in array:
        if left[0] <= 0:
            parts.append("...")
            break
        if array.ndim == 1:
            left[0] -= 1
            parts.append(entry(item))
        else:
            parts.append(_brackets(item, left))
    joined = (" " if array.ndim == 1 else "").join(parts).replace(" ...", "...")
    return f"[{joined}]"


def entry(value: object) -> str:
    """One element as text: strings bare, whole floats without a point."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    text = str(value)
    return text.removesuffix(".0") if isinstance(value, float | np.floating) else text


class _Text:
    """The message of a failed ``Assert``: words, and entries of tensors' values.

    Args:
      data: its parts: strings, tensors of the operation and others that are known, Python values.
      summarize: number of entries of a value, by default 3.

    Attributes:
      parts: words, or indices among the operation's inputs. The condition is input 0.
      tensors: the further inputs.
    """

    def __init__(self, data: Sequence[object], summarize: int | None):
        self.summarize = summarize
        self.tensors: list[Tensor] = []
        self.parts: list[str | int] = []
        for item in data:
            if item is None:
                raise ValueError("None values not supported: expected a string, a number, an array or a tensor.")
            known = constant_value(item) if isinstance(item, Tensor) else item
            if isinstance(item, Tensor) and known is None:
                self.tensors.append(item)
                self.parts.append(len(self.tensors))
            elif isinstance(known, str | bytes):
                self.parts.append(f"[{entry(known)}]" if known else "")
            else:
                self.parts.append(shown(known, summarize))

    def entries(self, value: Array) -> Array:
        """The first entries of an input's value, at most ``_MOST_SHOWN``; none of complex numbers and strings."""
        if np.dtype(value.dtype).kind in "cOSU":
            return value.reshape(-1)[:0]
        limit = _SHOWN if self.summarize is None else self.summarize
        return value.reshape(-1)[: _MOST_SHOWN if limit < 0 else min(limit, _MOST_SHOWN)]

    def words(self) -> int:
        """The most elements of the error record that the message needs."""
        limit = _SHOWN if self.summarize is None else self.summarize
        return (_MOST_SHOWN if limit < 0 else min(limit, _MOST_SHOWN)) * len(self.tensors)

    def said(self, shapes: Sequence[tuple[int, ...]], values: Sequence[HostArray]) -> str:
        """The message. Args: the inputs' shapes, and their entries from the record."""
        parts = []
        for part in self.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            shape, value = shapes[part - 1], values[part - 1]
            size = int(np.prod(shape))
            if len(value) == 0 < size:
                parts.append(f"[{self.tensors[part - 1].name}]")
                continue
            array = np.resize(value, shape) if size else np.zeros(shape, value.dtype)
            limit = self.summarize if self.summarize is not None and self.summarize >= 0 else len(value)
            parts.append(shown(array, min(limit, len(value)) if size > len(value) else self.summarize))
        return f"assertion failed: {' '.join(p for p in parts if p)}".rstrip(": ")


def _test_assert(op: Operation, values: Sequence[Array]) -> CheckResult:
    condition, *data = values
    text: _Text = op.attrs["text"]
    texts: Sequence[_Text] = op.attrs.get("_own", ())
    xp = np if isinstance(condition, np.ndarray | np.generic) else jnp
    shapes = [tuple(np.shape(v)) for v in data]
    return CheckResult(
        xp.logical_not(xp.all(condition)),
        tuple(text.entries(v) for v in data),
        lambda *shown: text.said(shapes, shown),
        [lambda *shown, shard_text=shard_text: shard_text.said(shapes, shown) for shard_text in texts],
    )


define_op(
    "Assert",
    nothing,
    lower=lambda lowering, op: [],
    numpy=lambda *values: (),
    check=InputCheck(_test_assert, _ALL, lambda op: op.attrs["text"].words()),
    stateful=True,
    differentiable=False,
    own="text",
    hidden=("text",),
)


def Assert(
    condition: TensorLike, data: Sequence[object], summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """An operation that raises InvalidArgumentError when it runs and ``condition`` is false.

    The error is raised when the run is done, and the variables are as they were before it. Run it with
    ``tf.control_dependencies``. Eagerly it is raised at once, and there is no operation: None is returned.

    Args:
      condition: a scalar bool tensor.
      data: what the message says: strings, constants (with their values) and other tensors (with their names).
      summarize: how many entries of a constant to show, by default 3.
      name: of the name scope; by default "Assert".
    """
    graph = get_default_graph()
    condition = convert_to_tensor(condition, name="Condition")
    if condition.dtype is not bool_:
        raise TypeError(f"condition must be a bool tensor, got {condition!r}.")
    if not condition.shape.is_compatible_with(()):
        raise ValueError(f"condition must be a scalar, got {condition!r}. Use tf.reduce_all.")
    with graph.name_scope(name or "Assert"):
        return assert_all(condition, data, summarize)


def assert_all(condition: Tensor, data: Sequence[object], summarize: int | None = None) -> Operation | None:
    """As ``Assert``, of a condition of any shape: every entry must be true."""
    text = _Text(data, summarize)
    if get_default_graph().executing_eagerly:
        if not np.all(condition):
            raise InvalidArgumentError(None, None, text.said([], []))
        return None
    attrs = {"text": text, "_summarize": summarize}
    return get_default_graph().add("Assert", [condition, *text.tensors], attrs, "Assert")


# ---- numbers that are none -------------------------------------------------------------------------------------


def _not_finite(value: Array) -> Array | bool:
    """Whether an entry is NaN or infinite."""
    if isinstance(value, jax.Array):
        return jnp.logical_not(jnp.all(jnp.isfinite(value)))
    return not np.all(np.isfinite(np.asarray(value, np.float64)))


def _numerics_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    if inputs[0].dtype not in (float16, bfloat16, float32, float64):
        raise TypeError(f"Expected a floating tensor, got {inputs[0].dtype.name}.")
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _test_numerics(op: Operation, values: Sequence[Array]) -> CheckResult:
    message, *messages = _said(op, "{} : Tensor had NaN or Inf values")
    return CheckResult(_not_finite(values[0]), (), message, messages)


def _said(op: Operation, words: str) -> list[Callable[[], str]]:
    """The error's text with the operation's message in it, followed by each replica's own where they differ."""
    return [partial(words.format, message) for message in (op.attrs["message"], *op.attrs.get("_own", ()))]


def _numerics_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, Array]:
    """Pass the cotangent on, and check it too."""
    (cotangent,) = cotangents
    words = "Not a number (NaN) or infinity (Inf) values detected in gradient. : Tensor had NaN or Inf values ({})"
    message, *messages = _said(op, words)
    lowering.errors.find(op, CheckResult(_not_finite(cotangent), (), message, messages))
    return {op.inputs[0]: cotangent}


define_op(
    "CheckNumerics",
    _numerics_rule,
    lower=lambda lowering, op: [lowering.value(op.inputs[0])],
    backward=_numerics_backward,
    check=InputCheck(_test_numerics, backward=True),
    stateful=True,
    own="message",
)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """``tensor``; the run raises InvalidArgumentError with ``message`` where it, or its gradient, has NaN or Inf.

    The error is raised when the run is done, and the variables are as they were before it.
    """
    tensor = convert_to_tensor(tensor)
    return add_op("CheckNumerics", [tensor], {"message": message}, name or "CheckNumerics")


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """``check_numerics`` under its older name. ``t`` and ``msg`` are old names of ``x`` and ``message``."""
    t, msg = one_of(x, t, "x", "t"), one_of(message, msg, "message", "msg")
    check_given("verify_tensor_all_finite", x=t, message=msg)
    graph = get_default_graph()
    with graph.name_scope(name or "VerifyFinite"):
        tensor = convert_to_tensor(t, name="t")
        check = check_numerics(tensor, msg)
        with graph.control_dependencies([check]):
            return identity(tensor)


def add_check_numerics_ops() -> Operation:
    """An operation that checks every floating tensor of the graph for NaN and Inf, in order.

    Raises:
      ValueError: the graph has branches or loops: check inside of them. RuntimeError: there is no graph.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        raise RuntimeError("add_check_numerics_ops() is not supported with eager execution. Use tf.check_numerics.")
    check: list[Operation] = []
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype not in (float16, float32, float64):
                continue
            if op.block is not graph.root:
                raise ValueError(
                    "`tf.add_check_numerics_ops()` is not compatible with TensorFlow control flow operations such as "
                    f"`tf.cond()` or `tf.while_loop()`: {op.name} (created at {op.line}) is inside {op.block.what}."
                )
            with graph.control_dependencies(check):
                check = [check_numerics(output, f"{op.name}:{output.value_index}").op]
    with graph.control_dependencies(check):
        return graph.add("NoOp", (), None, "group_deps")
