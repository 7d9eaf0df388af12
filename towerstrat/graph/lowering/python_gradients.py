"""Gradient functions in Python: ``tf.RegisterGradient``, ``gradient_override_map`` and ``tf.custom_gradient``.

Each is called once, symbolically, where ``tf.gradients`` finds its operation on a path: on ``Cotangent`` placeholders,
in a region (``Block``) of the graph. The region is a ``TracedRule``, and ``rule_evaluation`` runs it in the backward
pass.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     clipped = tf.identity(tf.constant(2.0))
...     rule = trace_rule(clipped.op, lambda op, dy: tf.clip_by_value(dy, -1.0, 1.0))
>>> [op.type for op in rule.block.ops if op.type != "Const"]
['Cotangent', 'Minimum', 'Maximum']
>>> len(rule.cotangents), len(rule.grads)                   # one per output, one per input
(1, 1)

Which type is differentiable without one is a fact of its ``OpDef``; on which inputs an output depends so is in
``differentiability``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor

GradientFunction = Callable[..., Any]
"""``(op, *output_cotangents) -> input_cotangents``: a tensor, IndexedSlices or None each, alone or in a sequence."""
Source: TypeAlias = "TensorLike | IndexedSlices"
"""One entry of what is differentiated, or by what."""
Sources: TypeAlias = "Source | Sequence[Sources] | Mapping[Any, Sources]"
"""A nest of them."""
Seeds: TypeAlias = "Source | Sequence[Source | None] | None"
"""Cotangents of the results: None stands for ones."""
Derivative: TypeAlias = Tensor | IndexedSlices | None
"""A gradient: IndexedSlices of row lookups, None where no path leads from the source to the result."""
Gradient: TypeAlias = Tensor | tuple[Tensor, Tensor] | None
"""A traced cotangent: a tensor, (values, indices) of rows, or None for zeros."""

_RULES: dict[str, GradientFunction | None] = {}


class TracedRule(NamedTuple):
    """A gradient function as a region of the graph.

    Attributes:
      block: the region.
      cotangents: placeholders inside it for the cotangents of the operation's outputs.
      grads: the cotangent of each input.
    """

    block: Block
    cotangents: tuple[Tensor, ...]
    grads: tuple[Gradient, ...]

    @property
    def computes_again(self) -> bool:
        """Whether it recomputes: an operation waits for the cotangents, as in ``tf.contrib.layers.recompute_grad``."""
        cotangent_ops = {t.op for t in self.cotangents}
        return any(not cotangent_ops.isdisjoint(op.control_inputs) for op in self.block.ops)


def register_rule(op_type: str, function: GradientFunction | None) -> None:
    """Register a gradient function under a type name, as ``tf.RegisterGradient`` does; None: not differentiable.

    Raises:
      TypeError: ``op_type`` is not a string.
      KeyError: the name has a gradient already.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    if op_type in _RULES or op_type in op_registry.types():
        raise KeyError(f"Registering two gradient with name '{op_type}'! The type has a gradient already.")
    _RULES[op_type] = function


def rule_of(op: Operation) -> GradientFunction | None:
    """The gradient function of one operation, or None where its type's own gradient is used.

    Raises:
      LookupError: ``gradient_override_map`` names a gradient that is not registered.
      UnsupportedError: it names the type of another operation.
    """
    kind: str | None = op.attrs.get("_gradient_op_type")
    if kind is None or kind == op.type:
        return op.graph.attributes_of(op).get("_gradient_function")
    if kind in _RULES:
        return _RULES[kind]
    if kind == "Identity":
        return lambda op, *grads: grads
    if kind in op_registry.types():
        raise UnsupportedError(
            f"{op.name} (created at {op.line}): gradient_override_map to the type {kind!r} of another operation is not "
            "supported. Register a function for a name of your own with tf.RegisterGradient."
        )
    raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {kind}, created at {op.line}).")


def passes_gradient(op: Operation) -> bool:
    """Whether the operation is differentiable, by its override if it has one, else by its type."""
    kind: str | None = op.attrs.get("_gradient_op_type")
    if kind is not None and kind != op.type:
        return _RULES.get(kind, rule_of) is not None
    return op.definition.differentiable


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
            grads = [_as_gradient(g) for g in _as_list(gradients)]
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


def _as_list(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _as_gradient(value: Any) -> Gradient:
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
