"""Run-time checks: ``tf.Assert``, ``tf.check_numerics``. They set flags, which raise after the device program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.registry import Signature, define, nothing
from towerstrat.graph.ir.state import Flag
from towerstrat.graph.ir.static import constant_value
from towerstrat.graph.ir.types import Array, bfloat16, bool_, float16, float32, float64
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.array import identity

_SHOWN = 3
"""Entries of a value that a message shows, unless ``summarize`` says another number."""


def new_flag(graph: Graph, message: str, tensors: Sequence[Tensor]) -> Flag:
    """A flag for a check of some tensors; it has a value per position where a tensor varies along a mesh axis."""
    axis = graph.axis or next((t.op.axis for t in tensors if t.varies), None)
    flag = Flag("error", bool_, (), axis)
    flag.message = message
    return flag


def checked(type: str, inputs: Sequence[Tensor], message: str, attrs: Mapping[str, Any], name: str | None) -> Operation:
    """Adds an operation with a flag: a run in which it is set raises InvalidArgumentError with the message."""
    graph = get_default_graph()
    flag = new_flag(graph, message, inputs)
    op = graph.add(type, inputs, {**attrs, "flag": flag}, name or type)
    flag.op = op
    return op


def raise_flag(lowering: Lowering, op: Operation, fails: Callable[[Array], Any], value: Array) -> None:
    """Sets an operation's flag if ``fails(value)``.

    Raises:
      InvalidArgumentError: operations run one by one, so that the value is known now, and it fails.
    """
    flag = op.attrs["flag"]
    bad = fails(value)
    if lowering.eager:
        if bool(bad):
            raise InvalidArgumentError(None, op, flag.message)
    elif isinstance(bad, jax.core.Tracer) or bool(bad):  # a check that is known to pass costs the program nothing
        if flag.per_position or lowering.differentiated:
            bad = vary(jnp.asarray(bad), lowering.axis)
        lowering.write(flag, jnp.logical_or(lowering.state[flag], bad))


def _tested(lowering: Lowering, op: Operation, tensor: Tensor) -> Array:
    """The value that a check looks at: the position's own where the flag is per position, else the invariant one."""
    return lowering.value(tensor) if op.attrs["flag"].per_position else lowering.invariant(tensor)


def _lower_assert(lowering: Lowering, op: Operation) -> list[Array]:
    value = _tested(lowering, op, op.inputs[0])
    host = not isinstance(value, jax.Array)
    raise_flag(lowering, op, lambda v: not np.all(v) if host else jnp.logical_not(jnp.all(v)), value)
    return []


define("Assert", nothing, lower=_lower_assert, stateful=True, differentiable=False, hidden=("flag",))


def shown(value: Any, summarize: int | None = None) -> str:
    """The first entries of a numpy value, in nested brackets."""
    array = np.asarray(value)
    limit = _SHOWN if summarize is None else summarize
    if limit < 0:
        limit = array.size
    if array.ndim == 0:
        return f"[{entry(array[()])}]"
    left = [limit]
    return _nested(array, left)


def _nested(array: np.ndarray[Any, Any], left: list[int]) -> str:
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
            parts.append(_nested(item, left))
    joined = (" " if array.ndim == 1 else "").join(parts).replace(" ...", "...")
    return f"[{joined}]"


def entry(value: Any) -> str:
    """One element as text: strings bare, whole floats without a point."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    text = str(value)
    return text.removesuffix(".0") if isinstance(value, float | np.floating) else text


def _message(words: str, data: Sequence[Any], summarize: int | None) -> str:
    """The message of a failed ``Assert``. Tensors whose values are not known are shown by name."""
    parts = []
    for item in data:
        known = constant_value(item) if isinstance(item, Tensor) else item
        if known is None:
            parts.append(f"[{item.name}]")
        elif isinstance(item, str | bytes):
            parts.append(f"[{entry(item)}]" if item else "")
        else:
            parts.append(shown(known, summarize))
    return f"{words}: {' '.join(p for p in parts if p)}".rstrip(": ")


def Assert(condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None) -> Any:
    """An operation that raises InvalidArgumentError when it runs and ``condition`` is false.

    The error is raised when the run is done, and the variables are as they were before it. Run it with
    ``tf.control_dependencies``. Eagerly it is raised at once, and there is no operation: None is returned.

    Args:
      condition: a scalar bool tensor.
      data: what the message says: strings, constants (with their values) and other tensors (with their names).
      summarize: how many entries of a constant to show, by default 3.
    """
    graph = get_default_graph()
    condition = convert_to_tensor(condition, name="Condition")
    if condition.dtype is not bool_:
        raise TypeError(f"condition must be a bool tensor, got {condition!r}.")
    if not condition.shape.is_compatible_with(()):
        raise ValueError(f"condition must be a scalar, got {condition!r}. Use tf.reduce_all.")
    with graph.name_scope(name or "Assert"):
        return assert_all(condition, data, summarize)


def assert_all(condition: Tensor, data: Sequence[Any], summarize: int | None = None) -> Any:
    """As ``Assert``, of a condition of any shape: every entry must be true."""
    if get_default_graph().executing_eagerly:
        if not np.all(condition):
            raise InvalidArgumentError(None, None, _message("assertion failed", data, summarize))
        return None
    message = _message("assertion failed", data, summarize)
    tensors = [d for d in data if isinstance(d, Tensor)]
    return checked("Assert", [condition, *tensors], message, {}, "Assert")


# ---- numbers that are none -------------------------------------------------------------------------------------


def _not_finite(value: Array) -> Array | bool:
    """Whether an entry is NaN or infinite."""
    if isinstance(value, jax.Array):
        return jnp.logical_not(jnp.all(jnp.isfinite(value)))
    return not np.all(np.isfinite(np.asarray(value, np.float64)))


def _numerics_rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    if inputs[0].dtype not in (float16, bfloat16, float32, float64):
        raise TypeError(f"Expected a floating tensor, got {inputs[0].dtype.name}.")
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _lower_numerics(lowering: Lowering, op: Operation) -> list[Array]:
    raise_flag(lowering, op, _not_finite, _tested(lowering, op, op.inputs[0]))
    return [lowering.value(op.inputs[0])]


def _numerics_backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array], outer: Operation
) -> Mapping[Tensor, Array]:
    """Passes the cotangent on, and checks it too."""
    (cotangent,) = cotangents
    flag = op.attrs["flag"]
    if flag in lowering.state and (flag.per_position or lowering.axis is None):
        raise_flag(lowering, op, _not_finite, cotangent)
    return {op.inputs[0]: cotangent}


define(
    "CheckNumerics",
    _numerics_rule,
    lower=_lower_numerics,
    backward=_numerics_backward,
    stateful=True,
    hidden=("flag",),
)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """``tensor``; the run raises InvalidArgumentError with ``message`` where it, or its gradient, has NaN or Inf.

    The error is raised when the run is done, and the variables are as they were before it.
    """
    tensor = convert_to_tensor(tensor)
    words = f"{message} : Tensor had NaN or Inf values"
    return checked("CheckNumerics", [tensor], words, {"message": message}, name or "CheckNumerics").outputs[0]


def verify_tensor_all_finite(t: Any, msg: str, name: str | None = None) -> Tensor:
    """``check_numerics`` under its older name."""
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
