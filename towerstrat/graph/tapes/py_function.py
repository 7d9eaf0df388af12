"""``tf.py_function``: Python on eager tensors, called from graphs and functions; differentiable.

As ``tf.py_func`` it is a host operation, but the function gets eager tensors and may use TensorFlow. Its gradient is a
second call of the function under a ``GradientTape`` (``_backward``), since a run records none of its operations.
So a program with a gradient through it runs operation by operation:

    y = py_function(lambda x: x * x, [x], tf.float32)      run: call on eager x              9.0 for x = 3.0
    gradients(y, x)                                        call again under a tape, dy = 1   6.0

Eagerly the function is called at once; its results are converted to the types that are declared:

>>> with mode.eager_mode():
...     py_function(lambda x: [x * x, int(x)], [3.0], ["float32", "int64"])
[<tf.Tensor: shape=(), dtype=float32, numpy=9.0>, <tf.Tensor: shape=(), dtype=int64, numpy=3>]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.eager import mode
from towerstrat.graph.eager.context import EagerContext, Executed
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import Array, as_dtype
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.host.python_calls import check_place, counted, raised
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.tapes.gradient_tape import GradientTape


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """Call a Python function on eager tensors: eagerly now, else on the host each time the operation runs.

    It is differentiable, by a tape over the function's operations. A program that takes a gradient through it runs
    operation by operation, uncompiled, and calls the function a second time for the gradient.

    Args:
      func: takes the values of ``inp`` as eager tensors; its results are converted to tensors of ``Tout``.
      inp: a list of tensors and values that can be converted.
      Tout: the element type of the result, or a list of them for several (or no) results.
      name: of the operation; by default "EagerPyFunc".

    Returns:
      A tensor (of unknown shape in graphs), or a list of them.

    Raises:
      UnsupportedError: inside towers.
      OpError: the function raised, or returned values of other types; the subclass nearest to the exception.
    """
    graph = get_default_graph()
    single = not isinstance(Tout, list | tuple)
    attrs = {"_func": func, "Tout": tuple(as_dtype(t) for t in ([Tout] if single else Tout))}
    check_place("tf.py_function")
    outputs = graph.add("EagerPyFunc", [convert_to_tensor(x) for x in inp], attrs, name or "EagerPyFunc").outputs
    return outputs[0] if single else outputs


def _results(op: Operation, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Call the function on eager tensors and convert its results to the declared types."""
    kinds = op.attrs["Tout"]
    try:
        values = counted(op.attrs["_func"](*inputs), kinds, op)
        return [convert_to_tensor(value, kind) for value, kind in zip(values, kinds, strict=True)]
    except Exception as error:
        raise raised(error, op) from error


def _eager(values: Sequence[Array], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Eager tensors of a graph's tensors with these values."""
    return [constant(value, tensor.dtype) for value, tensor in zip(values, tensors, strict=True)]


def _call(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    with mode.eager_mode():
        return [t.numpy() for t in _results(op, _eager(values, op.inputs))]


def _backward(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array | None], outer: Operation
) -> Mapping[Tensor, Array]:
    """Call the function once more, under a tape, and return the cotangents of the inputs."""
    with mode.eager_mode():
        inputs = _eager([lowering.value(t) for t in op.inputs], op.inputs)
        with GradientTape() as tape:
            for tensor in inputs:
                if tensor.dtype.is_floating or tensor.dtype.is_complex:
                    tape.watch(tensor)
            results = _results(op, inputs)
        seeded = [(r, c) for r, c in zip(results, cotangents, strict=True) if c is not None]
        gradients = tape.gradient([r for r, _ in seeded], inputs, [constant(c) for _, c in seeded])
        return {
            tensor: jnp.asarray(convert_to_tensor(gradient).numpy())
            for tensor, gradient in zip(op.inputs, gradients, strict=True)
            if gradient is not None
        }


def _execute(context: EagerContext, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Tensor]:
    return _results(Executed(context, op_registry.lookup("EagerPyFunc"), inputs, attrs, []), inputs)


define_op(
    "EagerPyFunc",
    lambda inputs, attrs: [Signature(kind, None) for kind in attrs["Tout"]],
    host=_call,
    backward=_backward,
    execute=_execute,
    stateful=True,
    hidden=("_func",),
)
