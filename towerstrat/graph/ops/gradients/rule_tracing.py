"""Trace gradient functions: a Python function called once, symbolically, becomes a region of the graph.

The function of ``tf.RegisterGradient`` or ``tf.custom_gradient`` gets the operation and one ``Cotangent`` placeholder
for each of its outputs, and returns the cotangents of its inputs. What it builds goes into a region (``Block``) beside
the operation, which runs in the backward pass alone.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     clipped = tf.identity(tf.constant(2.0))
...     rule = trace_rule(clipped.op, lambda op, dy: tf.clip_by_value(dy, -1.0, 1.0))
>>> [op.type for op in rule.block.ops if op.type != "Const"]
['Cotangent', 'Minimum', 'Maximum']
>>> len(rule.cotangents), len(rule.grads)                   # one per output, one per input
(1, 1)
"""

from __future__ import annotations

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.lowering.python_gradients import Gradient, GradientFunction, Source, TracedRule


def trace_rule(op: Operation, function: GradientFunction, block: Block | None = None) -> TracedRule:
    """Call a gradient function once, symbolically, in a new region below ``block`` (default: the current one).

    Raises:
      ValueError: it returns another number of gradients than the operation has inputs.
    """
    traced: TracedRule | None = op.attrs.get("_traced_gradient")
    if traced is not None:
        return traced
    graph = op.graph
    saved = graph.block, graph.axis
    if block is not None:
        graph.block, graph.axis = block, op.axis
    try:
        with graph.name_scope(f"{op.name.rpartition('/')[2]}_grad"), graph.body(f"the gradient of {op.name}") as region:
            cotangents = [graph.add("Cotangent", (), {"_of": out}, "grad_ys").outputs[0] for out in op.outputs]
            gradients = function(op, *cotangents)
            listed = gradients if isinstance(gradients, list | tuple) else [gradients]
            grads = [_as_gradient(g) for g in listed]
            region.finish([t for g in grads if g is not None for t in (g if isinstance(g, tuple) else (g,))])
    finally:
        graph.block, graph.axis = saved
    start, stop = op.attrs.get("_gradient_places", (0, len(op.inputs)))
    if len(grads) != stop - start:
        raise ValueError(
            f"Num gradients {len(grads)} generated for op {op.name} (created at {op.line}) do not match num inputs "
            f"{stop - start}"
        )
    return TracedRule(region, tuple(cotangents), (*(None for _ in range(start)), *grads))


def _as_gradient(value: Source | None) -> Gradient:
    if value is None:
        return None
    capture = get_default_graph().own
    if isinstance(value, IndexedSlices):
        return (capture(value.values), capture(value.indices))
    return capture(convert_to_tensor(value))


def _like_output(attrs: Attrs) -> Signature:
    out = attrs["_of"]
    return Signature(out.dtype, out.dims)


def _variance(op: Operation) -> list[bool]:
    inside = op.axis is not None and op.axis.size > 1
    return [inside or op.attrs["_of"].varies]


define_op(
    "Cotangent",
    lambda inputs, attrs: [_like_output(attrs)],
    lower=lambda lowering, op: [lowering.value(op.outputs[0])],
    varying=_variance,
    differentiable=False,
    is_placeholder=True,
    hidden=("_of",),
)
