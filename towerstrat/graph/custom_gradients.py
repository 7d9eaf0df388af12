"""Gradients of one's own: ``tf.custom_gradient``, ``tf.RegisterGradient``, ``tf.NotDifferentiable``; and hessians."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph import nest
from towerstrat.graph.convert import constant, convert_to_tensor
from towerstrat.graph.core import Graph, get_default_graph
from towerstrat.graph.elements import Operation, Tensor
from towerstrat.graph.gradient_rules import register_rule, trace_rule
from towerstrat.graph.gradients import gradients
from towerstrat.graph.ops import array, math, slicing  # noqa: F401  (registers the subscript operator)
from towerstrat.graph.ops.loops import while_loop
from towerstrat.graph.ops.tensor_array import TensorArray
from towerstrat.graph.registry import Signature, define
from towerstrat.graph.variables import GraphKeys


class RegisterGradient:
    """Decorator: the gradient function of an operation type's name.

    The function takes the operation and the cotangents of its outputs, and returns those of its inputs (None where
    there is none). Use the name with ``graph.gradient_override_map({"Type": name})``; the operations that are made
    inside of that get this gradient.

    Raises:
      KeyError: the name has a gradient already.
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        register_rule(self._op_type, f)
        return f


def NotDifferentiable(op_type: str) -> None:
    """Says that no gradient goes through operations whose gradient is overridden with this name."""
    register_rule(op_type, None)


NoGradient = NotDifferentiable


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function with a gradient of its own.

    Args:
      f: takes tensors, returns ``(result, grad_fn)``; ``grad_fn(*dresults)`` returns a cotangent for each argument of
        ``f``. If ``f`` reads variables, ``grad_fn`` takes them as ``variables=`` too and returns
        ``(dargs, dvariables)``.

    Returns:
      A function of the same arguments that returns ``result``.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when eager execution is "
                f"enabled: got {sorted(kwargs)}. Pass them with functools.partial or a closure."
            )
        return _decorated(f, args)

    return decorated


def _decorated(f: Callable[..., Any], args: Sequence[Any]) -> Any:
    graph = get_default_graph()
    inputs = [convert_to_tensor(a) for a in args]
    before = len(graph.get_operations())
    result, grad_fn = f(*inputs)
    handles, variables = _variables_read(graph, graph.get_operations()[before:])
    names = inspect.getfullargspec(grad_fn)
    takes = "variables" in (*names.args, *names.kwonlyargs) or names.varkw is not None
    if handles and not takes:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a keyword "
            f"argument 'variables'. It uses: {', '.join(h.op.name for h in handles)}."
        )

    def rule(op: Operation, *grads: Any) -> list[Any]:
        if not handles:
            return nest.flatten(grad_fn(*grads))
        input_grads, variable_grads = grad_fn(*grads, variables=variables)
        if len(variable_grads) != len(variables):
            raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        return [*nest.flatten(input_grads), *variable_grads]

    flat = [convert_to_tensor(r) for r in nest.flatten(result)]
    outputs = _add(graph, flat, [*inputs, *handles], rule)
    return nest.pack_sequence_as(result, outputs) if nest.is_sequence(result) else outputs[0]


def _add(graph: Graph, results: Sequence[Tensor], sources: Sequence[Tensor], rule: Callable[..., Any]) -> list[Tensor]:
    """The results again, with a gradient of their own. In a loop or branch what the gradient uses is computed there."""
    attrs: dict[str, Any] = {
        "results": len(results),
        "flows": (frozenset(sources),) * len(results),
        "_gradient_function": rule,
        "_gradient_places": (len(results), len(results) + len(sources)),
    }
    op = graph.add("CustomGradient", [*results, *sources], attrs, "IdentityN")
    if graph.block is graph.root and not graph.building_function:
        return op.outputs
    traced = trace_rule(op, rule)
    captured = [t for t in traced.block.captures() if t.op is not op and t not in op.inputs]
    again = graph.add("CustomGradient", [*results, *sources, *captured], attrs, "IdentityN")
    again.attrs["_traced_gradient"] = traced._replace(grads=(*traced.grads, *(None for _ in captured)))
    return again.outputs


def _variables_read(graph: Graph, ops: Sequence[Operation]) -> tuple[list[Tensor], list[Any]]:
    """The handles of the trainable variables that operations read, and the variables."""
    known: dict[Tensor, Any] = {}
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        known.update((v.handle, v) for v in graph.get_collection(key) if hasattr(v, "handle"))
    read = dict.fromkeys(op.inputs[0] for op in ops if op.type in ("ReadVariableOp", "ResourceGather"))
    handles = [h for h in read if getattr(known.get(h), "trainable", True)]
    return handles, [known.get(h, h) for h in handles]


define(
    "CustomGradient",
    lambda inputs, attrs: [Signature(t.dtype, t.dims) for t in inputs[: attrs["results"]]],
    lower=lambda lowering, op: [lowering.value(t) for t in op.inputs[: op.attrs["results"]]],
    hidden=("flows",),
)


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Second derivatives of the sum of ``ys``: for each x a tensor of shape ``[*x.shape, *x.shape]``.

    ``colocate_gradients_with_ops``, ``gate_gradients``, ``aggregation_method``: scheduling of the original; they change
    no value.
    """
    graph = get_default_graph()
    xs = list(xs) if isinstance(xs, list | tuple) else [xs]
    results = []
    with graph.name_scope(name):
        for first, x in zip(gradients(ys, xs), xs, strict=True):
            if first is None:
                raise ValueError(f"{x!r} has no second derivative: ys do not depend on it.")
            results.append(_rows(array.reshape(first, [-1]), x))
    return results


def _rows(flat: Tensor, x: Any) -> Tensor:
    value = convert_to_tensor(x)
    count = array.size(value)

    def compute(j: Tensor, rows: TensorArray) -> Any:
        (row,) = gradients(flat[j], x)
        row = array.zeros_like(value) if row is None else convert_to_tensor(row)
        return math.add(j, 1), rows.write(j, row)

    rows = TensorArray(value.dtype, size=count)
    _, rows = while_loop(lambda j, _: math.less(j, count), compute, [constant(0), rows])
    shape = array.shape(value)
    result = array.reshape(rows.stack(), array.concat([shape, shape], 0))
    if value.dims is not None:
        result.set_shape((*value.dims, *value.dims))
    return result
