"""Gradient functions in Python: ``tf.RegisterGradient``, ``gradient_override_map`` and ``tf.custom_gradient``.

An operation is differentiated by its type's own gradient, or by a Python function: one that was registered under the
name that ``gradient_override_map`` gives its type, or its own (``rule_of``). ``ops/gradients/rule_tracing`` calls the
function once, symbolically, where ``tf.gradients`` finds the operation on a path; what comes of it is a ``TracedRule``,
a region of the graph that ``rule_evaluation`` runs in the backward pass.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     plain = tf.square(tf.constant(2.0))
...     with graph.gradient_override_map({"Square": "Identity"}):
...         straight_through = tf.square(tf.constant(2.0))
>>> rule_of(plain.op) is None, rule_of(straight_through.op)(straight_through.op, "dy")
(True, ('dy',))

Which type is differentiable without one is a fact of its ``OpDef``; on which inputs an output depends is in
``differentiability``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices

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
