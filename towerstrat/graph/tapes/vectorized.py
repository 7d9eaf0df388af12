"""``tf.vectorized_map``: a function of one row, applied to all rows at once by ``jax.vmap``.

The function is traced once as a region with one variable per component of ``elems``; the ``VectorizedMap`` operation
evaluates the region under ``jax.vmap``, with captured tensors unbatched (``in_axes=None``). Of rows of 3 features and
captured weights [3] the region has a row float32[3] and a scalar result, the operation a result [8]:

>>> from towerstrat.graph.ops.math.reductions import reduce_sum
>>> with Graph().as_default() as graph:
...     features, weights = constant(np.ones([8, 3], np.float32)), constant([1.0, 2.0, 3.0])
...     total = vectorized_map(lambda row: reduce_sum(row * weights), features)
>>> total.op.type, total.dims, [row.dims for row in total.op.attrs["variables"]]
('VectorizedMap', (8,), [(3,)])

Operations with effects, randomness, host code, collectives or shapes that depend on values have no batched form here:
with one of them the whole map is a ``map_fn``, row by row, or is refused (``fallback_to_while_loop=False``). A checked
operation may fail in one row: the error record of the first failed row is kept.

Under a tape that records operation by operation the region is executed row by row (``_unroll``). Of no rows the
region is evaluated for its shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import EagerArgumentError
from towerstrat.graph.functions.map_fn import map_fn
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, has_effect
from towerstrat.graph.ir.op_registry import Attrs, Signature, Unrolling, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import ERROR_RECORD
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.lowering.differentiability import differentiable_leaves
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.regions import captures_of, entering, flows_of, leaving, remark, state_type
from towerstrat.graph.ops.math.arithmetic import cast


def vectorized_map(fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """Apply ``fn`` to all rows of ``elems`` at once (``jax.vmap``); the results are stacked.

    Args:
      fn: takes a structure like ``elems`` of rows, returns a structure of tensors.
      elems: a tensor or a structure of tensors of one first dimension; one of size 1 is broadcast.
      fallback_to_while_loop: whether a ``fn`` with effects, random numbers, assertions, host operations, collectives or
        results of unknown size is computed row by row; else it is refused.
      warn: changes nothing: the fallback logs no warning.

    Raises:
      ValueError: the first dimensions differ, or ``fn`` cannot be vectorized and there is no fallback.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        return function(lambda e: vectorized_map(fn, e, fallback_to_while_loop), autograph=False)(
            nest.map_structure(convert_to_tensor, elems)
        )
    flat = [convert_to_tensor(e) for e in nest.flatten(elems)]
    _check_rows(flat)
    block, rows, result = _region(graph, fn, elems, flat)
    reason = next((op for op in _within(block) if not _vectorizes(op)), None)
    if reason is not None:
        if not fallback_to_while_loop:
            raise ValueError(
                f"No vectorized form of {reason.name} (type {reason.type}, created at {reason.line}); set "
                "fallback_to_while_loop=True."
            )
        return map_fn(fn, elems, nest.map_structure(lambda t: convert_to_tensor(t).dtype, result))
    inputs = [*flat, *captures_of([block], but=flat)]
    depends = [differentiable_leaves([r], block) for r in block.results]
    attrs = {"bodies": (block,), "variables": tuple(rows), "flows": flows_of(depends, inputs, rows)}
    return nest.pack_sequence_as(result, graph.add("VectorizedMap", inputs, attrs, "pfor").outputs)


def _check_rows(flat: Sequence[Tensor]) -> None:
    sizes = set()
    for tensor in flat:
        if tensor.dims == ():
            raise EagerArgumentError(None, None, f"elems must be of at least one dimension, got {tensor!r}.")
        if tensor.dims is not None and tensor.dims[0] not in (None, 1):
            sizes.add(tensor.dims[0])
    if len(sizes) > 1:
        raise EagerArgumentError(None, None, f"The first dimensions of elems differ: {sorted(sizes)}.")


def _region(
    graph: Graph, fn: Callable[[Any], Any], elems: Any, flat: Sequence[Tensor]
) -> tuple[Block, list[Tensor], Any]:
    """Trace the function as a region of the graph; return the region, its row variables and the result."""
    with graph.name_scope("loop_body"), graph.body(f"the function of vectorized_map in {graph.scope_name}") as block:
        rows = []
        for tensor in flat:
            dims = None if tensor.dims is None else tensor.dims[1:]
            rows.append(graph.add("LoopVariable", (), {"_dtype": tensor.dtype, "_dims": dims}, "row").outputs[0])
            rows[-1].varies = tensor.varies
        result = fn(nest.pack_sequence_as(elems, rows))
        block.finish([convert_to_tensor(t) for t in nest.flatten(result)])
    return block, rows, result


def _within(block: Block) -> list[Operation]:
    """The operations that a region runs, nested ones included, and those with effects."""
    return [o for op in block.needed for o in (op, *(i for body in op.bodies for i in _within(body)))] + [
        op for op in block.ops if has_effect(op)
    ]


def _vectorizes(op: Operation) -> bool:
    """Whether the operation is a pure function of arrays of known shape, so that ``jax.vmap`` applies."""
    definition = op.definition
    return not (
        op.writes or definition.host or definition.dynamic or definition.stateful or definition.callback
        or definition.collective
    )  # fmt: skip


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    sizes = [None if t.dims is None else t.dims[0] for t in inputs[: len(attrs["variables"])]]
    known = [s for s in sizes if s not in (None, 1)]
    count = known[0] if known else None if None in sizes else 1

    def dims(result: Tensor) -> Dims:
        return None if result.dims is None else (count, *result.dims)

    return [Signature(r.dtype, dims(r)) for r in attrs["bodies"][0].results]


def _varying(op: Operation) -> list[bool]:
    (block,) = op.bodies
    for row, tensor in zip(op.attrs["variables"], op.inputs, strict=False):
        row.varies |= tensor.varies
    remark(block)
    return [r.varies for r in block.results]


def _lower(lowering: Lowering, op: Operation) -> list[jax.Array]:
    """Evaluate the region under ``jax.vmap``; eagerly row by row, for no rows by shapes alone."""
    (block,) = op.bodies
    rows = op.attrs["variables"]
    entry_values = entering(lowering, op.inputs)
    values = [jnp.asarray(entry_values.get(t, lowering.value(t))) for t in op.inputs[: len(rows)]]
    sizes = {v.shape[0] for v in values}
    count = next(iter(sizes - {1}), 1)
    if sizes - {1, count}:
        raise ValueError(f"The first dimensions of elems differ: {sorted(sizes)}.")

    cells = [c for c in lowering.cells_of(op) if c is ERROR_RECORD]

    def one(*args: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
        child = lowering.fork({**entry_values, **dict(zip(rows, args, strict=True))})
        child.run(block.needed)
        results = [
            jnp.asarray(leaving(child, r, lowering.vjp.active or out.varies))
            for r, out in zip(block.results, op.outputs, strict=True)
        ]
        return results, [jnp.asarray(child.state[c]) for c in cells]

    if lowering.eager and count:
        by_row = [one(*(v[0 if v.shape[0] == 1 else i] for v in values))[0] for i in range(count)]
        return [jnp.stack(column) for column in zip(*by_row, strict=True)]
    if not count:
        like, _ = jax.eval_shape(one, *(jax.ShapeDtypeStruct(v.shape[1:], v.dtype) for v in values))
        return [jnp.zeros((0, *s.shape), s.dtype) for s in like]
    alone = [v.shape[0] == 1 and count > 1 for v in values]
    mapped = jax.vmap(one, in_axes=[None if a else 0 for a in alone], axis_size=count)
    results, records = mapped(*(v[0] if a else v for v, a in zip(values, alone, strict=True)))
    for cell, record in zip(cells, records, strict=True):
        # The record of the first row that has one.
        lowering.state.write(cell, state_type(lowering, cell, record[jnp.argmax(record[:, 0] != 0)]))
    return results


def _unroll(unrolling: Unrolling, op: Operation) -> None:
    """Execute the region for one row after the other, operation by operation."""
    (block,), rows = op.bodies, op.attrs["variables"]
    inputs = [unrolling.tensors[t] for t in op.inputs[: len(rows)]]
    count = next((t.dims[0] for t in inputs if t.dims[0] != 1), 1)
    by_row: list[list[Tensor]] = []
    for i in range(count):
        values = [tensor[0 if tensor.dims[0] == 1 else i] for tensor in inputs]
        step = unrolling.inner(dict(zip(rows, values, strict=True)))
        step.copy(block.needed)
        by_row.append([step.tensors[t] for t in block.results])
    for index, output in enumerate(op.outputs):
        if count:
            (unrolling.tensors[output],) = unrolling.execute("Pack", [row[index] for row in by_row], {"axis": 0})
        else:
            sources = [unrolling.tensors[op.inputs[i]] for i in sorted(op.attrs["flows"][index])]
            unrolling.tensors[output] = _no_rows(block.results[index], sources)


def _no_rows(result: Tensor, sources: Sequence[Tensor]) -> Tensor:
    """The ``[0, ...]`` result of a map over no rows, connected to ``sources``: their gradients are zeros."""
    dims = (0, *(d or 0 for d in result.dims or ()))
    parts = [arrays.reshape(t, [-1])[:0] for t in sources if t.dtype.is_differentiable]
    zeros = constant(np.zeros(dims, result.dtype.np))
    joined: Tensor = arrays.concat([zeros, *(cast(arrays.reshape(p, dims), result.dtype) for p in parts)], 0)
    return joined


define_op(
    "VectorizedMap", _rule, lower=_lower, varying=_varying, unroll=_unroll, hidden=("bodies", "variables", "flows")
)
