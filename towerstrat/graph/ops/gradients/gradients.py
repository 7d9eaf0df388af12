"""``tf.gradients``: add one operation to the graph that differentiates along the paths from ys to xs.

Building decides which operations lie on differentiable paths (``gradient_paths``), traces the gradient functions among
them, checks the decision by another way (``gradient_check``), and adds a ``Gradients`` operation that names them. What
it computes is in ``lowering/backward_pass``: operations on its paths are recorded while they are evaluated.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.placeholder(tf.float32, [])
...     s = tf.reduce_sum(x * 3.0)
...     ds, unconnected = gradients(s, [x, tf.constant(1.0)])
>>> ds.op.type, [op.type for op in ds.op.attrs["path"]], unconnected
('Gradients', ['Mul', 'Sum'], None)

The operation of several gradients is one, so that what they share is computed once; each gets an Identity of its own
name, by which programs tell them apart. Its inputs are the ys, the seeds, the xs, and what gradient functions capture:
that is what a gradient of the gradient differentiates by (``used_by``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.given_arguments import UnconnectedGradients
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shard_operations import ShardTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import int32, resource
from towerstrat.graph.lowering.backward_pass import backward_of_gradients, lower_gradients
from towerstrat.graph.lowering.differentiability import carries_gradient
from towerstrat.graph.lowering.python_gradients import Derivative, Seeds, Source, Sources, TracedRule
from towerstrat.graph.ops.gradients.gradient_check import Dependence, check_paths
from towerstrat.graph.ops.gradients.gradient_paths import (
    Captures,
    Recorded,
    Rowwise,
    check_rules,
    find_path,
    used_by,
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
    results = _told_apart(gradients_through(ys, xs, grad_ys, name, stop_gradients), sources)
    if unconnected is UnconnectedGradients.NONE:
        return results
    return [_zeros(x) if gradient is None else gradient for x, gradient in zip(sources, results, strict=True)]


def _zeros(x: Source) -> Tensor:
    return get_default_graph().add("ZerosLike", [_as_tensor(x)], {}, "zeros_like").outputs[0]


def _told_apart(results: Sequence[Derivative], xs: Sequence[Source]) -> list[Derivative]:
    """Give each of several gradients an operation of its own: programs tell them apart by ``op.name``."""
    dense = [r for r in results if isinstance(r, Tensor)]
    if len(dense) < 2:
        return list(results)
    graph = get_default_graph()
    scope = dense[0].op.name.rpartition("/")[0]
    derivatives: list[Derivative] = []
    with graph.name_scope(f"{scope}/" if scope else None):
        for result, x in zip(results, xs, strict=True):
            name = f"{_source(x).op.name}_grad"
            derivatives.append(
                graph.add("Identity", [result], {}, name).outputs[0] if isinstance(result, Tensor) else result
            )
    return derivatives


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
    dependence = Dependence(rules)
    check_paths(y_list, x_list, stops, active, recorded, graph.captures(), dependence)
    connected = [any(t in active for t in captures.same(x)) for x in x_list]
    if not any(connected):
        return [None] * len(x_list)
    with graph.name_scope(scope):
        seed_tensors = [
            None if s is None else _as_seed(s, y, i) for i, (s, y) in enumerate(zip(seeds, y_list, strict=True))
        ]
        sources = [x for x, c in zip(x_list, connected, strict=True) if c]
        on_path = set(path)
        rowwise = Rowwise(on_path, y_list, indices, captures)
        sparse = tuple(rowwise.index_type(x) for x in sources)
        # Rules of operations inside loops and branches run in those regions: only those of the path itself capture.
        own_rules = {op: rule for op, rule in rules.items() if op in on_path}
        captured = dict.fromkeys(t for rule in own_rules.values() for t in rule.block.captures())
        op = graph.add(
            "Gradients",
            [
                *y_list,
                *(g for g in seed_tensors if g is not None),
                *indices.values(),
                *(x for x in sources if x.dtype is not resource),
                *captured,
                *_used_from_outside(path, graph.block),
            ],
            {
                "path": tuple(path),
                "active": frozenset(active),
                "rules": rules,
                "bodies": tuple(rule.block for rule in own_rules.values()),
                "ys": tuple(y_list),
                "seeds_given": tuple(seed_tensors),
                "seed_indices": tuple(indices.get(y) for y in y_list),
                "xs": tuple(sources),
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


define_op(
    "Gradients",
    _rule,
    lower=lower_gradients,
    backward=backward_of_gradients,
    sources=used_by,
    handles_shard_classes=True,
    varying=_varying,
    hidden=(
        "path", "active", "rules", "bodies", "ys", "seeds_given", "seed_indices", "xs", "stops", "sparse", "selected",
        "copies",
    ),
)  # fmt: skip
