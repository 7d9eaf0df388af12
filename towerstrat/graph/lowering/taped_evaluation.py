"""Evaluate the operations on a gradient's path, so that each leaves a record with its pullback on the tape.

Each is evaluated once, at its own place in the order, in one of four ways:

    a gradient function or ``backward``     the kernel alone: the record has no pullback, ``gradients`` calls the rule
    eagerly, by the executor                a compiled program that gives the outputs and the pullback
    a gradient formula                      the kernel; the pullback is the formula on inputs and outputs
    any other                               ``jax.vjp`` of the kernel, or of the whole body of a branch or loop

Reverse mode by operation, not ``jax.grad`` of the whole: nothing moves past a write, nothing is computed twice, feeds
of intermediate tensors are cut where TensorFlow cuts them. In the last case state that a body writes and outputs off
the path are auxiliary outputs of the vjp, and a table that is only looked up by rows is a constant of it: zeros that
are added to the rows take its cotangents (``row_cotangents``).

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.placeholder(tf.float32, [])
...     y = tf.where(x > 0.0, x * x, x)
...     dx, = tf.gradients(y, x)
>>> tf.Session(graph=x.graph).run(dx, {x: 3.0})
np.float32(6.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.executor import Pullback
from towerstrat.graph.lowering.gradient_formulas import apply_formula, by_source
from towerstrat.graph.lowering.position_values import settled
from towerstrat.graph.lowering.row_cotangents import Key, Lookups, Shapes, lookups_in, rows_of
from towerstrat.graph.lowering.rule_evaluation import differentiable_by_rule
from towerstrat.graph.lowering.tape import Cotangent

if TYPE_CHECKING:
    from towerstrat.graph.lowering.lowering import Lowering


def execute_taped(lowering: Lowering, op: Operation) -> Sequence[Array]:
    """Evaluate an operation on a gradient's path and enter its record; returns its outputs, writes what it writes."""
    definition, paths = op.definition, lowering.tape.paths
    if definition.backward is not None or op in paths.rules:
        lowering.tape.enter(op)
        by_rule = lowering.vjp.active and op in paths.rules
        return differentiable_by_rule(lowering, op) if by_rule else lowering.evaluate(op)
    sources = [t for t in dict.fromkeys(op.inputs) if t in paths.tensors]
    results = [t for t in op.outputs if t in paths.tensors]
    if not sources or not results:
        return lowering.evaluate(op)
    fed = any(t in lowering.fed for t in op.outputs)
    values = None if fed and definition.gradient is not None else lowering.executor_arguments(op)
    if values is not None and lowering.executor is not None:
        return _record_executed(lowering, op, lowering.executor(op, values), sources, results)
    if definition.gradient is not None:
        return _execute_by_formula(lowering, op, sources, results)
    return _execute_by_vjp(lowering, op, sources, results)


def _record_executed(
    lowering: Lowering, op: Operation, executed: tuple[list[Array], Pullback], sources: Sequence[Tensor],
    results: Sequence[Tensor],
) -> Sequence[Array]:  # fmt: skip
    """Record an operation that the executor has run; returns its outputs."""
    outputs, pull_back = executed
    by_tensor = dict(zip(op.outputs, outputs, strict=True))
    on_path = set(sources)
    needs_cotangent = [t in on_path for t in op.inputs]

    def pull(cotangents: Sequence[Array]) -> list[Array | None]:
        of_results = dict(zip(results, cotangents, strict=True))
        return by_source(op, sources, pull_back(needs_cotangent, [of_results.get(t) for t in op.outputs]))

    lowering.tape.enter(op, pull, sources, results, [jnp.asarray(by_tensor[t]) for t in results])
    return outputs


def _execute_by_formula(
    lowering: Lowering, op: Operation, sources: Sequence[Tensor], results: Sequence[Tensor]
) -> Sequence[Array]:
    """Record an operation whose type has a gradient formula; returns its outputs."""
    outputs = lowering.evaluate(op)
    by_tensor = dict(zip(op.outputs, outputs, strict=True))
    known = op.definition.known(len(op.inputs), op.attrs)
    values = settled(lowering, op, [lowering.value(t) for t in op.inputs])
    inputs = [lowering.static(op, i) if i in known else value for i, value in enumerate(values)]
    independent = lowering.vjp.independent
    fed = independent if lowering.vjp.active else {*lowering.fed, *independent}
    seen = [lowering.value(t) if t in fed else v for t, v in by_tensor.items()]
    axis = lowering.axis

    def pull(cotangents: Sequence[Array]) -> list[Array | None]:
        of_results = dict(zip(results, cotangents, strict=True))
        upstream = [of_results.get(t) for t in op.outputs]
        return by_source(op, sources, apply_formula(op, inputs, seen, upstream, axis))

    lowering.tape.enter(op, pull, sources, results, [jnp.asarray(by_tensor[t]) for t in results])
    return outputs


def _execute_by_vjp(
    lowering: Lowering, op: Operation, sources: Sequence[Tensor], results: Sequence[Tensor]
) -> Sequence[Array]:
    """Evaluate an operation under ``jax.vjp`` and record its pullback; returns its outputs, writes what it writes."""
    definition, axis, classes = op.definition, lowering.axis, lowering.classes
    by_rows = {t: ops for t in sources if t.dtype is resource and (ops := lookups_in(op, t)) is not None}
    dense = [t for t in sources if t not in by_rows]
    cells = {t: t.op.attrs["cell"] for t in sources if t.dtype is resource}
    values = {t: lowering.read_variable(cells[t], op) if t in cells else lowering.value(t) for t in sources}
    # Cast to varying before differentiating: the transpose of an implicit cast would sum cotangents over the axis.
    primals = {t: vary(jnp.asarray(classes.require_one_shape(v, t)), axis) for t, v in values.items()}
    written: list[StateVariable] = []
    shapes: Shapes = {}
    keys: list[Key] = []

    def function(zeros: list[Array], *args: Array) -> tuple[list[Array], tuple[Any, ...]]:
        arguments = primals | dict(zip(dense, args, strict=True))
        lookups = Lookups(by_rows, dict(zip(keys, zeros, strict=True)), axis, shapes=shapes)
        if definition.lower is None:
            outputs = lowering.apply(op, [arguments[t] if t in arguments else lowering.value(t) for t in op.inputs])
            changes: list[Array] = []
        else:
            variables = {cells[t]: v for t, v in arguments.items() if t in cells}
            # What it writes is state, and no variable: reads say by themselves that they depend on the variable.
            inner = lowering.fork(
                {t: v for t, v in arguments.items() if t not in cells},
                {c: v for c, v in variables.items() if c not in op.writes},
            )
            inner.vjp.enter(variables)
            inner.vjp.lookups = lookups if by_rows else None
            outputs = definition.lower(inner, op)
            written[:] = inner.state.written
            changes = [inner.state[cell] for cell in written]
        by_tensor = dict(zip(op.outputs, outputs, strict=True))
        off_path = {t.value_index: v for t, v in by_tensor.items() if t not in lowering.tape.paths.tensors}
        return [jnp.asarray(by_tensor[t]) for t in results], (off_path, changes, lookups.of(keys))

    args = [primals[t] for t in dense]
    if by_rows:  # A first pass finds how many rows are looked up: the zeros of the vjp need shapes.
        _ = function([], *args) if lowering.eager else jax.eval_shape(function, [], *args)
        keys = list(shapes)
    values_before, written_before = dict(lowering.state.values), set(lowering.state.written)
    zeros = [vary(jnp.zeros(*shapes[k]), axis) for k in keys]
    outputs, pullback, (off_path, changes, indices) = jax.vjp(function, zeros, *args, has_aux=True)
    # The counter was advanced inside the trace of the vjp: undone, and done again outside of it.
    if definition.random:
        lowering.state.values, lowering.state.written = values_before, written_before
        lowering.random.advance(op)
    for cell, value in _changes(lowering, op, dict(zip(written, changes, strict=True))).items():
        lowering.state.write(cell, value)

    def pull(cotangents: Sequence[Array]) -> list[Cotangent | None]:
        rows, *of_dense = pullback(cotangents)
        return [*of_dense, *(rows_of(ops, keys, rows, indices, primals[t]) for t, ops in by_rows.items())]

    lowering.tape.enter(op, pull, [*dense, *by_rows], results, outputs)
    by_index = dict(off_path) | {t.value_index: v for t, v in zip(results, outputs, strict=True)}
    return [by_index[t.value_index] for t in op.outputs]


def _changes(
    lowering: Lowering, op: Operation, differentiated: dict[StateVariable, Array]
) -> dict[StateVariable, Array]:
    """The state that a recorded operation wrote: ``differentiated`` as its ``jax.vjp`` has it, all varying.

    Replicated values come from a second evaluation without casts, which the compiler merges with the first.
    """
    if lowering.axis is None or lowering.vjp.active or all(c.is_varying for c in differentiated):
        return differentiated
    plain = lowering.fork()
    plain.suppress_prints = True
    plain.evaluate(op)
    return {cell: plain.state[cell] for cell in plain.state.written}
