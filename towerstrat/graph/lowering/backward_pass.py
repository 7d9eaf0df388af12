"""The backward pass of a ``Gradients`` operation: walk the records of a lowering backwards, and sum up cotangents.

The lowering evaluated each operation on the gradient's paths under a ``jax.vjp`` and kept its pullback (``tape``); this
walks the records, last evaluated first, and sums cotangents per tensor:

    x -> y = x * 3 -> s = sum(y)        records: Mul, Sum         ds = 1,  dy = Sum.pull(ds),  dx = Mul.pull(dy)

An operation without a useful derivative in JAX has a ``backward``, one with a Python gradient function a traced rule.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.constant([1.0, 2.0])
...     dx, = tf.gradients(tf.reduce_sum(x * x * x), x)
...     ddx, = tf.gradients(dx, x)
>>> tf.Session(graph=x.graph).run([dx, ddx])
[array([ 3., 12.], dtype=float32), array([ 6., 12.], dtype=float32)]

A gradient taken in a tower is the tower's own. One taken in cross-tower context is of the whole: what all towers share
gets the sum of their cotangents. Sums over the axis are made outside of the walk: it yields each to ``_run_together``,
since every shard has to join the ``psum``, whatever its shapes. A gradient of a gradient is the ``jax.vjp`` of a replay
of the inner walk (``backward_of_gradients``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import share, sum_shares, varies, vary
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.class_evaluation import by_shard_class, collect
from towerstrat.graph.lowering.gradient_formulas import in_place_of
from towerstrat.graph.lowering.gradient_reports import report
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import combines_inside, sums_differ
from towerstrat.graph.lowering.python_gradients import TracedRule
from towerstrat.graph.lowering.read_gradients import gather_backward
from towerstrat.graph.lowering.row_cotangents import looks_up_rows, passes_rows, rows_back
from towerstrat.graph.lowering.rule_evaluation import input_cotangents
from towerstrat.graph.lowering.shard_classes import ByClass
from towerstrat.graph.lowering.tape import (
    Cotangent,
    Cotangents,
    Record,
    RowCotangent,
    masked,
    ones_like,
    pull_back,
    reverse,
)

T = TypeVar("T")
Pass = Generator[tuple[int, Array], Array, T]
"""A backward pass as a coroutine: yields (whose, array) to be summed over the axis, is sent the sum, returns a result.

One pass runs per shard class, and all of them have to take part in the same ``psum``.
"""


def _backward_pass(lowering: Lowering, op: Operation, position: int | None = None) -> Pass[Cotangents]:
    """Walk the paths of a gradient operation from the ys to the xs; returns the cotangents of all tensors on them.

    Each shard seeds its own ys; with ``position`` only that axis index does, and all shards follow its paths.
    """
    lowering = _with_records_of_region(lowering, op)
    sums = Cotangents()
    inside = op.axis is not None
    path: Sequence[Operation] = op.attrs["path"]
    active: frozenset[Tensor] = op.attrs["active"]
    for y, seed, indices in zip(*(op.attrs[k] for k in ("ys", "seeds_given", "seed_indices")), strict=True):
        if y in active:
            value = lowering.value(y)
            initial = jnp.asarray(ones_like(value) if seed is None else _conjugate(lowering.value(seed)))
            initial = vary(initial, lowering.axis) if inside else initial
            if position is not None and lowering.axis is not None:
                initial = jnp.where(lax.axis_index(lowering.axis.name) == position, initial, jnp.zeros_like(initial))
            sums.add(y, initial if indices is None else RowCotangent(initial, jnp.asarray(lowering.value(indices))))
    records = {o: r for o in path if (r := lowering.record(o)) is not None}
    for step in reverse(path, records):
        for tensor, cotangent in (yield from _step_back(lowering, op, step, records[step], sums, position is not None)):
            if tensor in active:
                sums.add(tensor, (yield from _sum_over_towers(lowering, step, tensor, cotangent, inside)))
    for step in lowering.tape.paths.operations.intersection(path).difference(records):
        # What only other shard classes ran has no part in what this one computes.
        classes = lowering.classes
        of_others = classes.shard_class is not None and classes.shard_class not in classes.of_all.of(step)
        if not of_others and any(sums.has(t) for t in step.outputs if t not in op.attrs["stops"]):
            report(
                step,
                f"A gradient would be wrong: {step.name} (type {step.type}, created at {step.line}) is on its way, but "
                "was not evaluated in the program that has it.",
            )
    return sums


def _with_records_of_region(lowering: Lowering, op: Operation) -> Lowering:
    """An evaluation with records of what a gradient's paths do outside of its region, where that is differentiated.

    The records that were made outside take what they use as constants. In these, each operation is a function of what
    the region captures, so that the derivative of the gradient by that is there too.
    """
    outside = [o for o in op.attrs["path"] if not op.block.encloses(o.block)] if lowering.vjp.active else []
    records = {o: r for o in outside if (r := lowering.record(o)) is not None}
    if not records:
        return lowering
    inner = lowering.fork()
    for step, record in records.items():
        if not step.definition.reads_value:  # the cotangent of a read is that of its value, whichever it is
            again = lowering.fork(state=_state_again(lowering, op, step))
            again.suppress_prints = True
            _execute_again(again, op, step)
            record = again.tape.records[step]
        inner.tape.records[step] = record._replace(order=_first_order(lowering, step))
    return inner


def _first_order(lowering: Lowering, op: Operation) -> int:
    """A recorded operation's place in the order of evaluation, before parts of that were evaluated again."""
    return [frame.tape.records[op].order for frame in lowering.frames() if op in frame.tape.records][-1]


def _state_again(lowering: Lowering, op: Operation, step: Operation) -> dict[StateVariable, Any]:
    """The state that an operation outside of a gradient's region read, with the region's primals in place of variables.

    Raises:
      UnsupportedError: it is differentiated by a variable that was assigned since.
    """
    frame = next((f for f in lowering.frames() if step in f.tape.snapshots), None)
    around: Mapping[StateVariable, Any] = {} if frame is None else frame.state.values
    state: dict[StateVariable, Any] = {}
    for cell, value in lowering.state_read_by(step).items():
        if lowering.state.get(cell) is around.get(cell):
            state[cell] = value
        elif around.get(cell) is not value or any(cell in o.writes for o in _between(op, step)):
            raise UnsupportedError(
                f"The gradient of {op.name} (created at {op.line}), in {op.block.what}, needs the value that variable "
                f"{cell.name} had when {step.name} (created at {step.line}) ran, and it was assigned since. Assign "
                "after all gradients are taken."
            )
    return state


def _between(op: Operation, step: Operation) -> Iterator[Operation]:
    """The operations of the regions that enclose ``op`` and not ``step``."""
    block: Block | None = op.block
    while block is not None and not block.encloses(step.block):
        yield from block.needed
        block = block.parent


def _step_back(
    lowering: Lowering, op: Operation, step: Operation, record: Record, sums: Cotangents, of_one: bool
) -> Pass[Iterable[tuple[Tensor, Cotangent | None]]]:
    """The cotangents of one operation's inputs from those of its outputs; none where no output has one."""
    stops: frozenset[Tensor] = op.attrs["stops"]
    rules: Mapping[Operation, TracedRule] = op.attrs["rules"]
    by_rule, definition = step in rules, step.definition
    if not by_rule and passes_rows(step):
        rows = None if step.outputs[0] in stops else sums.rows(step.outputs[0])
        if rows is not None:
            return rows_back(step, rows)
    if not by_rule and looks_up_rows(step):
        cotangents = [None if t in stops else sums.total(t, lowering.value(t)) for t in step.outputs]
        return () if cotangents[0] is None else gather_backward(lowering, step, [cotangents[0]], op).items()
    if not by_rule and definition.backward is None:
        outputs = zip(record.results, record.primals, strict=True)
        cotangents = [None if t in stops else sums.total(t, p) for t, p in outputs]
        return pull_back(record, cotangents, lowering.axis).items() if any(g is not None for g in cotangents) else ()
    cotangents = [None if t in stops else sums.total(t, lowering.value(t)) for t in step.outputs]
    if all(g is None for g in cotangents):
        return ()
    if by_rule:
        return _by_rule(lowering, step, rules[step], cotangents)
    assert definition.backward is not None
    if lowering.vjp.active and definition.collective and not definition.always_varies and op.axis is None:
        cotangents = [
            g if g is None or lowering.axis is None else share(jnp.asarray(g), lowering.axis) for g in cotangents
        ]
    # As the gradient of CrossReplicaSum in tensorflow/contrib/tpu/python/ops/tpu_ops.py: the sum of the cotangents.
    together = definition.collective and not definition.always_varies and (of_one or not step.attrs.get("own"))
    of_whole = of_one and _is_of_whole(step)
    if (together or of_whole) and op.axis is not None and lowering.axis is not None:
        for i, cotangent in enumerate(cotangents):
            if cotangent is not None:
                cotangents[i] = vary((yield id(step), cotangent), lowering.axis)
    by_input = definition.backward(lowering, step, cotangents, op).items()
    if not of_whole or lowering.axis is None:
        return by_input
    # What all share has the whole cotangent on each shard, and a tower's gradient adds up the shards': count it once.
    first = lax.axis_index(lowering.axis.name) == 0
    return [(t, g if t.op.axis is not None or t.varies else masked(g, first)) for t, g in by_input]


def _by_rule(
    lowering: Lowering, step: Operation, rule: TracedRule, cotangents: Sequence[Array | None]
) -> list[tuple[Tensor, Cotangent]]:
    """Evaluate a traced gradient function, with its effects; None in ``cotangents`` stands for zeros."""
    child = lowering.fork()
    by_input = list(input_cotangents(child, step, rule, cotangents))
    for cell in child.state.written:
        lowering.state.write(cell, child.state[cell])
    return by_input


def _conjugate(value: Array) -> Array:
    """Convert a complex cotangent between JAX's convention and TensorFlow's, which is its conjugate."""
    return jnp.conj(value) if jnp.iscomplexobj(value) else value


def _sum_over_towers(
    lowering: Lowering, consumer: Operation, tensor: Tensor, cotangent: Cotangent | None, inside: bool
) -> Pass[Cotangent | None]:
    """The cotangent of a consumer's input, summed over the axis where a shared value enters the towers."""
    if inside or lowering.axis is None or consumer.axis is None or tensor.op.axis is not None or tensor.varies:
        return cotangent
    if cotangent is None:
        return None
    dense = cotangent.dense(_value_of(lowering, tensor)) if isinstance(cotangent, RowCotangent) else cotangent
    total = vary((yield id(tensor), dense), lowering.axis)
    # Cotangents of replicated values are equal on all shards: that of the sum is that of each summand.
    return in_place_of(total, sum_shares(jnp.asarray(dense), lowering.axis)) if lowering.vjp.active else total


def lower_gradients(lowering: Lowering, op: Operation) -> list[Any]:
    """The outputs of a ``Gradients`` operation: one backward pass, or one per shard class."""
    if lowering.classes.shard_class is not None or op not in lowering.classes.operations:
        (results,) = _run_together(lowering, op, [_gradients_of_xs(lowering, op)])
        return results
    numbers = lowering.classes.of_all.of(op)
    children = by_shard_class(lowering)
    gradients = _run_together(lowering, op, [_gradients_of_xs(children[number], op) for number in numbers])
    collect(lowering)
    by_output = zip(op.outputs, zip(*gradients, strict=True), strict=True)
    return [
        lowering.classes.by_class(dict(zip(numbers, values, strict=True))) if output.varies else values[0]
        for output, values in by_output
    ]


def _run_together(lowering: Lowering, op: Operation, passes: Sequence[Pass[T]]) -> list[T]:
    """Run one backward pass per shard class in lockstep: each sum that they yield is one ``psum``.

    Raises:
      UnsupportedError: the passes do not ask for the same sums in the same order, as towers do different operations.
    """
    answer: Any = None
    while True:
        requests: list[tuple[int, Array]] = []
        results: list[T] = []
        for backward in passes:
            try:
                requests.append(backward.send(answer))
            except StopIteration as end:
                results.append(end.value)
        if len({whose for whose, _ in requests}) + bool(results) > 1:
            raise sums_differ(op)
        if results:
            return results
        if lowering.classes.shard_class is not None:
            raise combines_inside(op)
        assert lowering.axis is not None
        values = [value for _, value in requests]
        answer = lax.psum(
            lowering.classes.padded_value(values[0] if len(passes) == 1 else ByClass(values)), lowering.axis.name
        )


def _gradients_of_xs(lowering: Lowering, op: Operation) -> Pass[list[Array]]:
    """The outputs of a gradient operation: a gradient for each x, or (values, indices) for one of rows."""
    if lowering.axis is None or not _through_others(op):
        return (yield from _of_xs(lowering, op))
    # Each shard differentiates its own ys, and what others did for them is on the paths: a pass per axis index.
    here = lax.axis_index(lowering.axis.name)
    totals: list[Array] = []
    for position in range(lowering.axis.size):
        gradients = yield from _of_xs(lowering, op, position)
        for i, (x, value) in enumerate(zip(_of_outputs(op), gradients, strict=True)):
            if _is_shared(x, op):
                gradients[i] = vary((yield id(x), vary(value, lowering.axis)), lowering.axis)  # one x, shared by all
        # Indices of rows are the same in each pass.
        selected = [f if jnp.issubdtype(f.dtype, jnp.integer) else jnp.where(here == position, f, 0) for f in gradients]
        if not totals:
            totals = selected
            continue
        totals = [t if jnp.issubdtype(t.dtype, jnp.integer) else t + k for t, k in zip(totals, selected, strict=True)]
    return totals


def _through_others(op: Operation) -> bool:
    """Whether a shard's path leads through what others did for it: two collectives, or one and a shared x."""
    depths: dict[Tensor, int] = {}
    deepest = 0
    for step in op.attrs["path"] if op.axis is not None else ():
        depth = max([depths.get(t, 0) for t in step.inputs], default=0) + bool(step.attrs.get("own"))
        depths.update(dict.fromkeys(step.outputs, depth))
        deepest = max(deepest, depth)
    return deepest > 1 or (deepest == 1 and any(_is_shared(x, op) for x in op.attrs["xs"]))


def _is_of_whole(op: Operation) -> bool:
    """Whether an operation is a gradient, in cross-tower context, that leads through towers."""
    return op.type == "Gradients" and op.axis is None and any(o.axis is not None for o in op.attrs["path"])


def _is_shared(x: Tensor, op: Operation) -> bool:
    """Whether an x is one tensor for all shards, rather than a copy of each."""
    return x.dtype is not resource and x.op.axis is None and not x.varies and x not in op.attrs["copies"]


def _of_outputs(op: Operation) -> list[Tensor]:
    """The x of each output of a gradient operation."""
    pairs = zip(op.attrs["xs"], op.attrs["sparse"], strict=True)
    return [x for x, rows in pairs for _ in range(1 if rows is None else 2)]


def _of_xs(lowering: Lowering, op: Operation, position: int | None = None) -> Pass[list[Array]]:
    """The gradients of one backward pass."""
    sums = yield from _backward_pass(lowering, op, position)
    results: list[Array] = []
    outputs = iter(op.outputs)
    for x, rows in zip(op.attrs["xs"], op.attrs["sparse"], strict=True):
        if rows is not None:
            row_cotangent = sums.rows(x)
            if row_cotangent is None:
                assert sums.total(x, _value_of(lowering, x)) is None, x.name
                row_cotangent = RowCotangent.none_of(_value_of(lowering, x))
            values_output, indices_output = next(outputs), next(outputs)
            values = yield from _of_declared_variance(lowering, values_output, _conjugate(row_cotangent.values))
            indices: Array = jnp.asarray(row_cotangent.indices, indices_output.dtype.np)
            if varies(indices) and not indices_output.varies:
                indices = yield from _of_declared_variance(lowering, indices_output, indices)
            results += [values, indices]
            continue
        output = next(outputs)
        like = _value_of(lowering, x)
        total = sums.total(x, like)
        if total is None:
            total = jnp.zeros(np.shape(like), output.dtype.np)
        results.append((yield from _of_declared_variance(lowering, output, _conjugate(total))))
    return results


def _value_of(lowering: Lowering, x: Tensor) -> Array:
    return lowering.state.read(x.op.attrs["cell"], x.op) if x.dtype is resource else lowering.value(x)


def _of_declared_variance(lowering: Lowering, output: Tensor, value: Array) -> Pass[Array]:
    """Cast a gradient to varying or to replicated, as the graph declares its output."""
    if lowering.axis is None:
        return value
    varying = vary(value, lowering.axis)
    if output.varies or lowering.vjp.active:  # cotangents of replicated values are equal on all shards: no sum
        return varying
    # The graph knows that shards agree, JAX does not (the path was cast to varying): the first one's share summed
    # over the axis is the same value, and one that JAX knows to be equal everywhere.
    first = lax.axis_index(lowering.axis.name) == 0
    return (yield id(output), jnp.where(first, varying, jnp.zeros_like(varying)))


def _execute_again(lowering: Lowering, op: Operation, step: Operation) -> None:
    """Evaluate a step of a gradient that is differentiated: as a function of what it uses.

    In a gradient of the whole, the cotangent of what all shards share is the sum of theirs (``mesh.share``).
    """
    axis = lowering.axis
    if axis is None or op.axis is not None or step.axis is None:
        lowering.execute(step)
        return
    shared = [t for t in step.inputs if t.op.axis is None and not t.varies]
    values = {t: lowering.value(t) for t in shared if t.dtype.is_differentiable}
    handles: list[StateVariable] = [t.op.attrs["cell"] for t in shared if t.dtype is resource]
    cells = {c: lowering.vjp.variables[c] for c in handles if c in lowering.vjp.variables}
    lowering.values.update({t: share(v, axis) for t, v in values.items()})
    lowering.vjp.variables |= {c: share(v, axis) for c, v in cells.items()}
    lowering.execute(step)
    lowering.values.update(values)
    lowering.vjp.variables |= cells


def _primal(lowering: Lowering, leaf: Tensor, replayed: Sequence[Operation]) -> Array | None:
    """The value of a leaf when the inner path was evaluated; of a handle, a value of the variable's shape."""
    if leaf.dtype is not resource:
        return lowering.value(leaf)
    cell = leaf.op.attrs["cell"]
    if cell in lowering.vjp.variables:
        return lowering.vjp.variables[cell]
    states = (lowering.state_read_by(o) for o in replayed if cell in o.reads)
    value: Array | None = next((state[cell] for state in states if cell in state), lowering.state.get(cell))
    return value


def backward_of_gradients(
    lowering: Lowering, op: Operation, cotangents: Sequence[Array | None], outer: Operation
) -> Mapping[Tensor, Array]:
    """The gradient of a gradient: the ``jax.vjp`` of a replay of the inner paths as a function of their leaves.

    State, feeds and random draws are those of the first evaluation, so that the replay is the same function.
    """
    rules: Mapping[Operation, TracedRule] = op.attrs["rules"]
    records = {o: r for o in op.attrs["path"] if (r := lowering.record(o)) is not None}
    path = sorted(records, key=lambda o: records[o].order)
    # Reads, outputs of operations with a gradient function and results of collectives are leaves: the outer
    # walk goes on from there, and calls each gradient function once, with the sum of the cotangents.
    boundary = {o for o in path if o.definition.reads_value or o.definition.collective or o in rules}
    replayed = [o for o in path if o not in boundary]
    replayed_outputs = {t for o in replayed for t in o.outputs}
    cut: set[Tensor] = set(outer.attrs["xs"])
    active: frozenset[Tensor] = outer.attrs["active"]
    used = dict.fromkeys([*(t for o in replayed for t in o.inputs), *op.inputs])
    used |= dict.fromkeys(t for o in boundary if o in rules for t in (*o.inputs, *o.outputs))
    leaves = [t for t in used if t in active and (t not in replayed_outputs or t in cut)]
    cells: dict[Tensor, StateVariable] = {t: t.op.attrs["cell"] for t in leaves if t.dtype is resource}
    slots = [i for i, c in enumerate(cotangents) if c is not None]

    def replay(*args: Array) -> list[Array]:
        by_leaf = dict(zip(leaves, args, strict=True))
        values = {t: v for t, v in by_leaf.items() if t not in cells}
        inner = lowering.fork(values)
        # Operations inside of these rules that have gradient functions themselves find theirs there, too.
        inner.tape.paths = inner.tape.paths._replace(rules={**lowering.tape.paths.rules, **rules})
        inner.vjp.enter({cells[t]: v for t, v in by_leaf.items() if t in cells}, independent=values)
        inner.suppress_prints = True
        for step in path:
            if step in boundary:
                inner.tape.note(step)
                continue
            inner.state.values.update(lowering.state_read_by(step))
            _execute_again(inner, op, step)
        inner.state.values.update(lowering.state_read_by(op))
        outputs = lower_gradients(inner, op)
        return [outputs[i] for i in slots]

    primals = [vary(jnp.asarray(_primal(lowering, t, [*replayed, op])), lowering.axis) for t in leaves]
    results, pull = jax.vjp(replay, *primals)
    seeds = [vary(jnp.asarray(cotangents[i], r.dtype), lowering.axis) for i, r in zip(slots, results, strict=True)]
    return dict(zip(leaves, pull(seeds), strict=True))
