"""Evaluate gradient functions in Python: in the backward pass of a tape, and as rules of JAX's derivatives.

``input_cotangents`` runs a ``TracedRule`` (see ``ops/gradients/rule_tracing``) in an evaluation of its own: binds its
placeholders to the outputs' cotangents, runs its region, yields the inputs' cotangents. Inside of a ``jax.vjp`` (a
branch or loop that is differentiated, a gradient of a gradient) the operation becomes a ``jax.custom_vjp`` whose
backward does that.

    f(x) = x * x with gradient dy -> 10 * dy        jax.vjp(differentiable_by_rule)  ->  x * x,  pullback: dy -> 10 * dy

Cotangents of complex values are conjugated on the way in and out: JAX's are the conjugates of TensorFlow's. The
gradient function of the example clips; the cotangent 2 comes in, and 1 goes out:

>>> import towerstrat.compat.v1 as tf
>>> from towerstrat.graph.lowering.lowering import Lowering
>>> from towerstrat.graph.ops.gradients.rule_tracing import trace_rule
>>> with tf.Graph().as_default():
...     x = tf.constant(3.0)
...     y = tf.identity(x)
...     rule = trace_rule(y.op, lambda op, dy: tf.minimum(dy, 1.0))
>>> child = Lowering("cpu", operations=rule.block.needed, fed={y: jnp.float32(3.0)})
>>> [(tensor is x, float(dx)) for tensor, dx in input_cotangents(child, y.op, rule, [jnp.float32(2.0)])]
[(True, 1.0)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.python_gradients import TracedRule
from towerstrat.graph.lowering.tape import Cotangent, Cotangents, RowCotangent

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Tensor
    from towerstrat.graph.lowering.lowering import Lowering

Arguments = tuple[list[Array], list[Array], list[Array]]
"""Primals of a ``custom_vjp``: values of tensors, of differentiated variables, and of state that is read."""


def input_cotangents(
    child: Lowering, op: Operation, rule: TracedRule, cotangents: Sequence[Array | None]
) -> Iterator[tuple[Tensor, Cotangent]]:
    """Evaluate the gradient function of an operation in ``child``; yields the cotangents of its inputs.

    Args:
      child: a fork of the lowering, where the values that the rule uses are known.
      op: the operation that is differentiated.
      rule: its gradient function, traced.
      cotangents: of the outputs, in JAX's convention; None stands for zeros.
    """
    for tensor, seed, cotangent in zip(op.outputs, rule.cotangents, cotangents, strict=True):
        child.values[seed] = jnp.zeros_like(child.value(tensor)) if cotangent is None else jnp.conj(cotangent)
    if rule.computes_again:
        _hold_back(child, rule)
    child.run(rule.block.needed)
    for tensor, grad in zip(op.inputs, rule.grads, strict=True):
        if isinstance(grad, tuple):
            yield tensor, RowCotangent(jnp.conj(child.value(grad[0])), child.value(grad[1]))
        elif grad is not None:
            yield tensor, jnp.conj(child.value(grad))


def _hold_back(child: Lowering, rule: TracedRule) -> None:
    """Make what a gradient function captures depend on the cotangents, by an optimization barrier.

    Else the compiler would merge the recomputation with the forward pass, and keep that one's values in memory.
    """
    captured = [t for t in rule.block.captures() if t.dtype.is_differentiable and child.is_known(t)]
    held = [t for t in (*captured, *rule.cotangents) if isinstance(child.value(t), jax.Array)]
    child.values.update(zip(held, lax.optimization_barrier([child.value(t) for t in held]), strict=True))


def differentiable_by_rule(lowering: Lowering, op: Operation) -> Sequence[Array]:
    """The outputs of an operation that has a gradient function, as a ``jax.custom_vjp``."""
    rule = lowering.tape.paths.rules[op]
    seen = dict.fromkeys((*op.inputs, *(t for t in rule.block.captures() if t.op is not op and lowering.is_known(t))))
    tensors = [t for t in seen if t.dtype is not resource and isinstance(lowering.value(t), jax.core.Tracer)]
    handles = [t for t in seen if t.dtype is resource and t.op.attrs["cell"] in lowering.vjp.variables]
    read = dict.fromkeys(c for o in (op, *rule.block.needed) for c in o.reads)
    cells = [c for c in read if isinstance(lowering.state.get(c), jax.core.Tracer)]

    def inside(args: Arguments) -> Lowering:
        child = lowering.fork(dict(zip(tensors, args[0], strict=True)), dict(zip(cells, args[2], strict=True)))
        child.vjp.variables |= {t.op.attrs["cell"]: value for t, value in zip(handles, args[1], strict=True)}
        return child

    def value(*args: list[Array]) -> list[Array]:
        tensors, handles, cells = args
        return [jnp.asarray(o) for o in inside((tensors, handles, cells)).evaluate(op)]

    function = jax.custom_vjp(value)

    def forward(*args: list[Array]) -> tuple[list[Array], tuple[Arguments, list[Array]]]:
        # By the function itself: where a gradient of this gradient goes through the outputs, that is by the rule too.
        tensors, handles, cells = args
        outputs = function(tensors, handles, cells)
        return outputs, ((tensors, handles, cells), outputs)

    def backward(residuals: tuple[Arguments, list[Array]], cotangents: Sequence[Array]) -> tuple[list[Any], ...]:
        args, outputs = residuals
        child = inside(args)
        child.values.update(zip(op.outputs, outputs, strict=True))
        of_outputs = [c if t.dtype.is_differentiable else None for t, c in zip(op.outputs, cotangents, strict=True)]
        sums = Cotangents()
        for tensor, cotangent in input_cotangents(child, op, rule, of_outputs):
            sums.add(tensor, cotangent)

        def total(tensor: Tensor, like: Array) -> Array | None:
            summed = sums.total(tensor, like)
            return None if summed is None else vary(jnp.asarray(summed, like.dtype), lowering.axis)

        of_tensors = [total(t, value) for t, value in zip(tensors, args[0], strict=True)]
        return of_tensors, [total(t, value) for t, value in zip(handles, args[1], strict=True)], [None] * len(cells)

    function.defvjp(forward, backward)
    axis = lowering.axis
    return function(
        [vary(lowering.value(t), axis) for t in tensors],
        [vary(lowering.vjp.variables[t.op.attrs["cell"]], axis) for t in handles],
        [vary(lowering.state[c], axis) for c in cells],
    )
