"""``tf.gradients``: one operation that runs reverse-mode differentiation over the records of a lowering.

Building the graph decides which operations lie on differentiable paths (``gradient_paths``), and adds one ``Gradients``
operation that names them. The lowering evaluates each of these under a ``jax.vjp`` and keeps its pullback;
``Gradients`` then walks the records backwards, and sums cotangents per tensor (``tape``):

    x -> y = x * 3 -> s = sum(y)        records: Mul, Sum         ds = 1,  dy = Sum.pull(ds),  dx = Mul.pull(dy)

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x, z = tf.constant([1.0, 2.0]), tf.constant(5.0)
...     s = tf.reduce_sum(x * 3.0)
...     dx, dz = gradients(s, [x, z])
>>> dx.op.type, [op.type for op in dx.op.attrs["path"]], dx.shape.as_list(), dz       # no path leads from z to s
('Gradients', ['Mul', 'Sum'], [2], None)

An operation without a useful derivative in JAX has a ``backward``, one with a Python gradient function a traced rule.

A gradient taken in a tower is the tower's own. One taken in cross-tower context is of the whole: what all towers share
gets the sum of their cotangents. Sums over the axis are made outside of the walk: it yields each to ``_run_together``,
since every shard has to join the ``psum``, whatever its shapes. A gradient of a gradient is the ``jax.vjp`` of a replay
of the inner walk (``_backward``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.given_arguments import UnconnectedGradients
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import share, sum_shares, varies, vary
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shard_operations import ShardTensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import Array, int32, resource
from towerstrat.graph.lowering.gradient_check import Dependence, check_paths, report
from towerstrat.graph.lowering.gradient_formulas import in_place_of
from towerstrat.graph.lowering.gradient_paths import (
    BILINEAR,
    LINEAR,
    QUOTIENTS,
    Captures,
    Recorded,
    Rowwise,
    check_rules,
    find_path,
    looks_up_rows,
    passes_rows,
    used_by,
)
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import combines_inside, sums_differ
from towerstrat.graph.lowering.python_gradients import Derivative, Seeds, Source, Sources, TracedRule, carries_gradient
from towerstrat.graph.lowering.read_gradients import gather_backward
from towerstrat.graph.lowering.row_cotangents import rows_back
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


def gradients(
    ys: Sources,
    xs: Sources,
    grad_ys: Seeds = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool | int = False,
    aggregation_method: int | None = None,
    stop_gradients: Sources | None = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Derivative]:
    """Derivatives of the sum of ``ys`` with respect to each of ``xs``.

    Args:
      ys: numeric tensors (or variables), or nests of them.
      xs: likewise; from integers no differentiable path leads anywhere.
      grad_ys: cotangents of ``ys``, of their shapes; ones where it or an entry is None.
      name: of the name scope.
      colocate_gradients_with_ops: changes nothing: the compiler places operations.
      gate_gradients: changes nothing: the compiler schedules them.
      aggregation_method: likewise.
      stop_gradients: tensors taken as constants.
      unconnected_gradients: "none" or "zero", the entry of an x from which no differentiable path leads to any y.

    Returns:
      One entry per x: a tensor of its shape and type, IndexedSlices for a variable that is only read by row lookups;
      None, or zeros, where no differentiable path leads from x to any y.

    Raises:
      RuntimeError: under eager execution.
      TypeError: a y that is no number, or a complex one without grad_ys.
      ValueError: grad_ys of another number or shape than ``ys``, other ``unconnected_gradients``.

    >>> x = constant(3.0)
    >>> dx, = gradients(x * x, x)
    """
    if get_default_graph().executing_eagerly:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    unconnected, sources = UnconnectedGradients(unconnected_gradients), nest.flatten(xs)
    found = _told_apart(gradients_through(ys, xs, grad_ys, name, stop_gradients), sources)
    if unconnected is UnconnectedGradients.NONE:
        return found
    return [_zeros(x) if gradient is None else gradient for x, gradient in zip(sources, found, strict=True)]


def _zeros(x: Source) -> Tensor:
    return get_default_graph().add("ZerosLike", [_as_tensor(x)], {}, "zeros_like").outputs[0]


def _told_apart(results: Sequence[Derivative], xs: Sequence[Source]) -> list[Derivative]:
    """Give each of several gradients an operation of its own: programs tell them apart by ``op.name``."""
    dense = [r for r in results if isinstance(r, Tensor)]
    if len(dense) < 2:
        return list(results)
    graph = get_default_graph()
    scope = dense[0].op.name.rpartition("/")[0]
    found: list[Derivative] = []
    with graph.name_scope(f"{scope}/" if scope else None):
        for result, x in zip(results, xs, strict=True):
            name = f"{_source(x).op.name}_grad"
            found.append(graph.add("Identity", [result], {}, name).outputs[0] if isinstance(result, Tensor) else result)
    return found


def gradients_through(
    ys: Sources, xs: Sources, grad_ys: Seeds = None, name: str = "gradients", stop_gradients: Sources | None = None,
    recorded: Recorded | None = None,
) -> list[Derivative]:  # fmt: skip
    """``gradients`` on paths through recorded operations only (None: all): the gradient of a tape (``backprop.py``)."""
    graph = get_default_graph()
    y_list = [graph.own(_as_tensor(y)) for y in nest.flatten(ys)]
    own_xs = [graph.own(_source(x)) for x in nest.flatten(xs)]
    # In cross-tower context, one shard of a tensor is differentiated as a part of the varying tensor.
    x_list = [x.op.inputs[0] if _is_selected(x) else x for x in own_xs]
    for y in y_list:
        if not (y.dtype.is_differentiable or y.dtype.is_integer):
            raise TypeError(f"Expected numeric ys, got {y!r}.")
    seeds = [None] * len(y_list) if grad_ys is None else grad_ys if isinstance(grad_ys, list | tuple) else [grad_ys]
    if len(seeds) != len(y_list):
        raise ValueError(f"Passed {len(seeds)} grad_ys for {len(y_list)} ys.")
    for y, seed in zip(y_list, seeds, strict=True):
        if y.dtype.is_complex and seed is None:
            raise TypeError(f"Gradients of complex tensors must set grad_ys: {y!r}. Take tf.real of it.")
    stops = {graph.own(_source(t)) for t in nest.flatten(stop_gradients)} if stop_gradients is not None else set()
    # Nothing flows back from integers.
    seeds = [seed for y, seed in zip(y_list, seeds, strict=True) if y.dtype.is_differentiable]
    y_list = [y for y in y_list if y.dtype.is_differentiable]
    of_rows = ((y, seed) for y, seed in zip(y_list, seeds, strict=True) if isinstance(seed, IndexedSlices))
    indices = {y: graph.own(seed.indices) for y, seed in of_rows}
    rules: dict[Operation, TracedRule] = {}
    captures = Captures(graph)
    with graph.name_scope(name) as scope:
        path, active = find_path(y_list, x_list, stops, rules, recorded, captures)
    check_rules(path)
    dependence = Dependence(rules, BILINEAR, QUOTIENTS, LINEAR)
    check_paths(y_list, x_list, stops, active, recorded, graph.captures(), dependence)
    connected = [any(t in active for t in captures.same(x)) for x in x_list]
    if not any(connected):
        return [None] * len(x_list)
    with graph.name_scope(scope):
        given = [None if s is None else _as_seed(s, y, i) for i, (s, y) in enumerate(zip(seeds, y_list, strict=True))]
        wanted = [x for x, c in zip(x_list, connected, strict=True) if c]
        on_path = set(path)
        found = Rowwise(on_path, y_list, indices, captures)
        sparse = tuple(found.index_type(x) for x in wanted)
        # Rules of operations inside loops and branches run in those regions: only those of the path itself capture.
        own = {op: rule for op, rule in rules.items() if op in on_path}
        captured = dict.fromkeys(t for rule in own.values() for t in rule.block.captures())
        op = graph.add(
            "Gradients",
            [
                *y_list,
                *(g for g in given if g is not None),
                *indices.values(),
                *(x for x in wanted if x.dtype is not resource),
                *captured,
                *_used_from_outside(path, graph.block),
            ],
            {
                "path": tuple(path),
                "active": frozenset(active),
                "rules": rules,
                "bodies": tuple(rule.block for rule in own.values()),
                "ys": tuple(y_list),
                "seeds_given": tuple(given),
                "seed_indices": tuple(indices.get(y) for y in y_list),
                "xs": tuple(wanted),
                "stops": frozenset(stops),
                "sparse": sparse,
                "selected": frozenset(x for x, own in zip(x_list, own_xs, strict=True) if x is not own),
                "copies": frozenset(graph.own(x) for x in map(_source, nest.flatten(xs)) if isinstance(x, ShardTensor)),
            },
            "grad",
        )
        results = _results(op, x_list, connected)
        return [_selected(r, x) if _is_selected(x) else r for r, x in zip(results, own_xs, strict=True)]


def _is_selected(x: Tensor) -> bool:
    """Whether a tensor of cross-tower context is one shard of a varying tensor."""
    return x.op.type == "SelectPosition" and get_default_graph().axis is None


def _selected(result: Derivative, x: Tensor) -> Derivative:
    """One shard, that of ``x``, of the gradient with respect to the varying tensor that ``x`` is a shard of."""
    if result is None:
        return None
    attrs = {"axis": x.op.attrs["axis"], "position": x.op.attrs["position"]}

    def select(tensor: Tensor) -> Tensor:
        return get_default_graph().add("SelectPosition", [tensor], attrs, "select").outputs[0]

    if isinstance(result, IndexedSlices):
        return IndexedSlices(select(result.values), select(result.indices), _shape_of(x))
    return select(result)


def _used_from_outside(path: Iterable[Operation], block: Block) -> dict[Tensor, None]:
    """The captures of the region that a gradient is taken in: inputs of path operations that lie outside of it."""
    used = (o for o in path if not block.encloses(o.block) and not o.definition.reads_value)
    return {t: None for o in used for t in o.inputs if carries_gradient(t)}


def _as_tensor(value: Source) -> Tensor:
    """A y as a tensor; of IndexedSlices, as in TensorFlow, the values, of a variable's handle its value."""
    tensor = value.values if isinstance(value, IndexedSlices) else convert_to_tensor(value)
    return convert_to_tensor(tensor.graph.variable_of(tensor)) if tensor.dtype is resource else tensor


def _source(x: Source) -> Tensor:
    """The tensor to differentiate with respect to: of a variable its handle, of IndexedSlices the values."""
    handle: Tensor | None = getattr(x, "handle", None)
    if handle is not None:
        return handle
    return x.values if isinstance(x, IndexedSlices) else convert_to_tensor(x)


def _as_seed(seed: Source, y: Tensor, index: int) -> Tensor:
    if isinstance(seed, IndexedSlices):
        return get_default_graph().own(seed.values)
    tensor = get_default_graph().own(convert_to_tensor(seed, y.dtype))
    if not tensor.shape.is_compatible_with(y.shape):
        raise ValueError(f"grad_ys[{index}] has shape {tensor.shape}, its y ({y.name}) has shape {y.shape}.")
    return tensor


def _varying(op: Operation) -> list[bool]:
    inside = op.axis is not None and op.axis.size > 1
    result: list[bool] = []
    for x, index_type in zip(op.attrs["xs"], op.attrs["sparse"], strict=True):
        result += [inside or x.varies or x in op.attrs["selected"]] * (1 if index_type is None else 2)
    return result


def _results(op: Operation, xs: list[Tensor], connected: list[bool]) -> list[Derivative]:
    outputs = iter(op.outputs)
    kinds = iter(op.attrs["sparse"])
    results: list[Derivative] = []
    for x, is_connected in zip(xs, connected, strict=True):
        if not is_connected:
            results.append(None)
        elif next(kinds) is not None:
            values, indices = next(outputs), next(outputs)
            results.append(IndexedSlices(values, indices, _shape_of(x)))
        else:
            results.append(next(outputs))
    return results


def _shape_of(x: Tensor) -> Tensor | None:
    """The shape of x as a tensor; None of a variable of unknown shape."""
    dims = _signature(x).dims
    if dims is not None and None not in dims:
        return constant(np.array(dims, np.int32), name="shape")
    return None if x.dtype is resource else get_default_graph().add("Shape", [x], {"out_type": int32}).outputs[0]


def _signature(x: Tensor) -> Signature:
    """Element type and shape of a tensor, or of the value of the variable whose handle it is."""
    holder = x.op.attrs["cell"] if x.dtype is resource else x
    return Signature(holder.dtype, holder.dims)


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    signatures = []
    for x, index_type in zip(attrs["xs"], attrs["sparse"], strict=True):
        dtype, dims = _signature(x)
        if index_type is None:
            signatures.append(Signature(dtype, dims))
        else:
            inner = None if dims is None else (None, *dims[1:])
            signatures += [Signature(dtype, inner), Signature(index_type, (None,))]
    return signatures


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
            given = jnp.asarray(ones_like(value) if seed is None else _conjugated(lowering.value(seed)))
            given = vary(given, lowering.axis) if inside else given
            if position is not None and lowering.axis is not None:
                given = jnp.where(lax.axis_index(lowering.axis.name) == position, given, jnp.zeros_like(given))
            sums.add(y, given if indices is None else RowCotangent(given, jnp.asarray(lowering.value(indices))))
    records = {o: r for o in path if (r := lowering.record(o)) is not None}
    for step in reverse(path, records):
        for tensor, cotangent in (yield from _step_back(lowering, op, step, records[step], sums, position is not None)):
            if tensor in active:
                sums.add(tensor, (yield from _summed_over_towers(lowering, step, tensor, cotangent, inside)))
    for step in lowering.taped.intersection(path).difference(records):
        # What only other shard classes ran has no part in what this one computes.
        of_others = lowering.kind is not None and lowering.kinds and lowering.kind not in lowering.kinds.of(step)
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
    outside = [o for o in op.attrs["path"] if not op.block.encloses(o.block)] if lowering.differentiated else []
    records = {o: r for o in outside if (r := lowering.record(o)) is not None}
    if not records:
        return lowering
    inner = lowering.fork()
    for step, record in records.items():
        if not step.definition.reads_value:  # the cotangent of a read is that of its value, whichever it is
            again = lowering.fork(state=_state_again(lowering, op, step))
            again.quiet = True
            _execute_again(again, op, step)
            record = again.records[step]
        inner.records[step] = record._replace(order=_first_order(lowering, step))
    return inner


def _first_order(lowering: Lowering, op: Operation) -> int:
    """A recorded operation's place in the order of evaluation, before parts of that were evaluated again."""
    return [frame.records[op].order for frame in lowering.frames() if op in frame.records][-1]


def _state_again(lowering: Lowering, op: Operation, step: Operation) -> dict[StateVariable, Any]:
    """The state that an operation outside of a gradient's region read, with the region's primals in place of variables.

    Raises:
      UnsupportedError: it is differentiated by a variable that was assigned since.
    """
    around: Mapping[StateVariable, Any] = next((f.state for f in lowering.frames() if step in f.snapshots), {})
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
        given = [None if t in stops else sums.total(t, lowering.value(t)) for t in step.outputs]
        return () if given[0] is None else gather_backward(lowering, step, [given[0]], op).items()
    if not by_rule and definition.backward is None:
        outputs = zip(record.results, record.primals, strict=True)
        given = [None if t in stops else sums.total(t, p) for t, p in outputs]
        return pull_back(record, given, lowering.axis).items() if any(g is not None for g in given) else ()
    given = [None if t in stops else sums.total(t, lowering.value(t)) for t in step.outputs]
    if all(g is None for g in given):
        return ()
    if by_rule:
        return _by_rule(lowering, step, rules[step], given)
    assert definition.backward is not None
    if lowering.differentiated and definition.collective and not definition.per_position and op.axis is None:
        given = [g if g is None or lowering.axis is None else share(jnp.asarray(g), lowering.axis) for g in given]
    # As the gradient of CrossReplicaSum in tensorflow/contrib/tpu/python/ops/tpu_ops.py: the sum of the cotangents.
    together = definition.collective and not definition.per_position and (of_one or not step.attrs.get("own"))
    of_whole = of_one and _is_of_whole(step)
    if (together or of_whole) and op.axis is not None and lowering.axis is not None:
        for i, cotangent in enumerate(given):
            if cotangent is not None:
                given[i] = vary((yield id(step), cotangent), lowering.axis)
    found = definition.backward(lowering, step, given, op).items()
    if not of_whole or lowering.axis is None:
        return found
    # What all share has the whole cotangent on each shard, and a tower's gradient adds up the shards': count it once.
    first = lax.axis_index(lowering.axis.name) == 0
    return [(t, g if t.op.axis is not None or t.varies else masked(g, first)) for t, g in found]


def _by_rule(
    lowering: Lowering, step: Operation, rule: TracedRule, given: Sequence[Array | None]
) -> list[tuple[Tensor, Cotangent]]:
    """Evaluate a traced gradient function, with its effects; None in ``given`` stands for zeros."""
    child = lowering.fork()
    found = list(input_cotangents(child, step, rule, given))
    for cell in child.written:
        lowering.write(cell, child.state[cell])
    return found


def _conjugated(value: Array) -> Array:
    """Converts a complex cotangent between JAX's convention and TensorFlow's, which is its conjugate."""
    return jnp.conj(value) if jnp.iscomplexobj(value) else value


def _summed_over_towers(
    lowering: Lowering, consumer: Operation, tensor: Tensor, cotangent: Cotangent | None, inside: bool
) -> Pass[Cotangent | None]:
    """The cotangent of a consumer's input, summed over the axis where a shared value enters the towers."""
    if inside or lowering.axis is None or consumer.axis is None or tensor.op.axis is not None or tensor.varies:
        return cotangent
    if cotangent is None:
        return None
    whole = cotangent.dense(_value_of(lowering, tensor)) if isinstance(cotangent, RowCotangent) else cotangent
    total = vary((yield id(tensor), whole), lowering.axis)
    # Cotangents of replicated values are equal on all shards: that of the sum is that of each summand.
    return in_place_of(total, sum_shares(jnp.asarray(whole), lowering.axis)) if lowering.differentiated else total


def _lower(lowering: Lowering, op: Operation) -> list[Any]:
    if lowering.kind is not None or op not in lowering.split:
        (results,) = _run_together(lowering, op, [_gradients_of_xs(lowering, op)])
        return results
    assert lowering.kinds is not None
    kinds = lowering.kinds.of(op)
    found = _run_together(lowering, op, [_gradients_of_xs(lowering.parts[k], op) for k in kinds])
    lowering.collect()
    by_output = zip(op.outputs, zip(*found, strict=True), strict=True)
    return [
        lowering.of_kinds(dict(zip(kinds, values, strict=True))) if output.varies else values[0]
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
        if lowering.kind is not None:
            raise combines_inside(op)
        assert lowering.axis is not None
        values = [value for _, value in requests]
        answer = lax.psum(lowering.joined(values[0] if len(passes) == 1 else ByClass(values)), lowering.axis.name)


def _gradients_of_xs(lowering: Lowering, op: Operation) -> Pass[list[Array]]:
    """The outputs of a gradient operation: a gradient for each x, or (values, indices) for one of rows."""
    if lowering.axis is None or not _through_others(op):
        return (yield from _of_xs(lowering, op))
    # Each shard differentiates its own ys, and what others did for them is on the paths: a pass per axis index.
    here = lax.axis_index(lowering.axis.name)
    totals: list[Array] = []
    for position in range(lowering.axis.size):
        found = yield from _of_xs(lowering, op, position)
        for i, (x, value) in enumerate(zip(_of_outputs(op), found, strict=True)):
            if _is_shared(x, op):
                found[i] = vary((yield id(x), vary(value, lowering.axis)), lowering.axis)  # one x, shared by all
        # Indices of rows are the same in each pass.
        kept = [f if jnp.issubdtype(f.dtype, jnp.integer) else jnp.where(here == position, f, 0) for f in found]
        if not totals:
            totals = kept
            continue
        totals = [t if jnp.issubdtype(t.dtype, jnp.integer) else t + k for t, k in zip(totals, kept, strict=True)]
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
            found = sums.rows(x)
            if found is None:
                assert sums.total(x, _value_of(lowering, x)) is None, x.name
                found = RowCotangent.none_of(_value_of(lowering, x))
            values_output, indices_output = next(outputs), next(outputs)
            values = yield from _of_declared_variance(lowering, values_output, _conjugated(found.values))
            indices: Array = jnp.asarray(found.indices, indices_output.dtype.np)
            if varies(indices) and not indices_output.varies:
                indices = yield from _of_declared_variance(lowering, indices_output, indices)
            results += [values, indices]
            continue
        output = next(outputs)
        like = _value_of(lowering, x)
        total = sums.total(x, like)
        if total is None:
            total = jnp.zeros(np.shape(like), output.dtype.np)
        results.append((yield from _of_declared_variance(lowering, output, _conjugated(total))))
    return results


def _value_of(lowering: Lowering, x: Tensor) -> Array:
    return lowering.read(x.op.attrs["cell"], x.op) if x.dtype is resource else lowering.value(x)


def _of_declared_variance(lowering: Lowering, output: Tensor, value: Array) -> Pass[Array]:
    """Cast a gradient to varying or to replicated, as the graph declares its output."""
    if lowering.axis is None:
        return value
    varying = vary(value, lowering.axis)
    if output.varies or lowering.differentiated:  # cotangents of replicated values are equal on all shards: no sum
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
    cells = {c: lowering.variables[c] for c in handles if c in lowering.variables}
    lowering.values.update({t: share(v, axis) for t, v in values.items()})
    lowering.variables |= {c: share(v, axis) for c, v in cells.items()}
    lowering.execute(step)
    lowering.values.update(values)
    lowering.variables |= cells


def _primal(lowering: Lowering, leaf: Tensor, replayed: Sequence[Operation]) -> Array | None:
    """The value of a leaf when the inner path was evaluated; of a handle, a value of the variable's shape."""
    if leaf.dtype is not resource:
        return lowering.value(leaf)
    cell = leaf.op.attrs["cell"]
    if cell in lowering.variables:
        return lowering.variables[cell]
    states = (lowering.state_read_by(o) for o in replayed if cell in o.reads)
    return next((state[cell] for state in states if cell in state), lowering.state.get(cell))


def _backward(
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
    kept = {o for o in path if o.definition.reads_value or o.definition.collective or o in rules}
    replayed = [o for o in path if o not in kept]
    made = {t for o in replayed for t in o.outputs}
    cut: set[Tensor] = set(outer.attrs["xs"])
    wanted: frozenset[Tensor] = outer.attrs["active"]
    used = dict.fromkeys([*(t for o in replayed for t in o.inputs), *op.inputs])
    used |= dict.fromkeys(t for o in kept if o in rules for t in (*o.inputs, *o.outputs))
    leaves = [t for t in used if t in wanted and (t not in made or t in cut)]
    cells: dict[Tensor, StateVariable] = {t: t.op.attrs["cell"] for t in leaves if t.dtype is resource}
    slots = [i for i, c in enumerate(cotangents) if c is not None]

    def replay(*args: Array) -> list[Array]:
        given = dict(zip(leaves, args, strict=True))
        values = {t: v for t, v in given.items() if t not in cells}
        inner = lowering.fork(values)
        # Operations inside of these rules that have gradient functions themselves find theirs there, too.
        inner.rules = {**lowering.rules, **rules}
        inner.variables |= {cells[t]: v for t, v in given.items() if t in cells}
        inner.differentiated_again = lowering.differentiated
        inner.quiet = inner.differentiated = True
        inner.cut = frozenset(values)
        for step in path:
            if step in kept:
                inner.note(step)
                continue
            inner.state.update(lowering.state_read_by(step))
            _execute_again(inner, op, step)
        inner.state.update(lowering.state_read_by(op))
        outputs = _lower(inner, op)
        return [outputs[i] for i in slots]

    primals = [vary(jnp.asarray(_primal(lowering, t, [*replayed, op])), lowering.axis) for t in leaves]
    results, pull = jax.vjp(replay, *primals)
    seeds = [vary(jnp.asarray(cotangents[i], r.dtype), lowering.axis) for i, r in zip(slots, results, strict=True)]
    return dict(zip(leaves, pull(seeds), strict=True))


define_op(
    "Gradients",
    _rule,
    lower=_lower,
    backward=_backward,
    sources=used_by,
    joint=True,
    varying=_varying,
    hidden=(
        "path", "active", "rules", "bodies", "ys", "seeds_given", "seed_indices", "xs", "stops", "sparse", "selected",
        "copies",
    ),
)  # fmt: skip
