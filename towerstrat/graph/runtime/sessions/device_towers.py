"""Towers that a program writes by hand (``with tf.device("/gpu:k")`` in a loop), run side by side instead of in turn.

The graph of such a program has each operation once per device. Executed as it is, one program on one device would
compute one tower after the other. ``SideBySide`` copies what the run needs into a graph in which the operations placed
on different devices are matched, as the traces of a strategy's towers are (``ShardTraces``), and become single
operations along a mesh axis over those devices:

    /gpu:0   a0 = matmul(x0, w)    g0 = gradients(a0, w)         axis "tower", 2 devices
    /gpu:1   a1 = matmul(x1, w)    g1 = gradients(a1, w)    ->   a = matmul(x, w), g = gradients(a, w), varying
    no device   w -= (g0 + g1) / 2                               w -= (g[0] + g[1]) / 2, once, replicated

Operations placed elsewhere, that write state, or that depend on such writes stay as they are. Gradients that lead
through matched operations are built anew (``_differentiate``), since their paths name the old ones.

``side_by_side`` returns None, and the run goes the plain way, wherever this would not pay or be the same: one device, a
CPU, an axis already in use, towers that have little in common, gradients that leave their tower.

>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> with Graph().as_default():
...     one, two = constant(1.0), constant(2.0)
>>> _much_the_same([[one.op], [two.op]]), _much_the_same([[one.op, two.op], []])
(True, False)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

import jax

from towerstrat.errors import InternalError
from towerstrat.graph.ir.device_names import parse
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import (
    Operation,
    Tensor,
    dependencies,
    execution_order,
    has_effect,
    of_strings,
)
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.operation_copying import Copying
from towerstrat.graph.ir.shard_operations import AxisIndex, ShardOperation, replicated_of
from towerstrat.graph.ir.shard_traces import ShardTraces
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import resource, variant
from towerstrat.graph.lowering.shard_classes import index_sets
from towerstrat.graph.ops.gradients.gradients import gradients_through
from towerstrat.graph.runtime.programs.limits import LIMITS

_ALIKE = 0.9
"""The least share of operations that all towers must have in common to be run side by side."""


class SideBySide:
    """A copy of the part of a graph that a run needs, with hand-written towers as shards of a mesh axis.

    Args:
      graph: the graph.
      order: the operations that the run needs.
      towers: for each device its operations.

    Attributes:
      graph: the graph of the copy.
      tensors, operations: of the run -> of the copy.
    """

    def __init__(self, graph: Graph, order: Sequence[Operation], towers: Sequence[Collection[Operation]]):
        self.graph = target = Graph()
        target.seed = graph.seed
        self._axis = axis = Axis("tower", jax.local_devices()[: len(towers)])
        axis_indices = [AxisIndex(axis, position) for position in range(axis.size)]
        target.has_shard_operations = True
        self._traces = ShardTraces(target, axis, axis_indices, sizes_known=False)
        copying = _CopyingState(target, {})
        self.tensors: Mapping[Tensor, Tensor] = copying.tensors
        self.operations: Mapping[Operation, Operation] = copying.operations
        self._of_towers = tower_of = {op: k for k, ops in enumerate(towers) for op in ops}
        for op in order:
            position = tower_of.get(op)
            if position is None:
                copying.copy([op])
                continue
            target.trace = self._traces.of_positions[position]
            target.trace.line = op.line
            with target.under(axis):
                copying.copy([op])
            target.trace = None
        self._traces.meet()

    def is_worth_it(self) -> bool:
        """Whether at least ``_ALIKE`` of the towers' operations are shared by all of them."""
        of_towers = [op for op in self.graph.carried_out() if op.axis is not None and not op.definition.constant]
        alike = sum(op.axis_indices is None for op in of_towers)
        return bool(of_towers) and alike >= _ALIKE * len(of_towers)

    def apart(self) -> set[Operation]:
        """The operations of the run that not all towers have in common."""
        return {op for op in self._of_towers if replicated_of(self.operations[op]).axis_indices is not None}

    def ways(self) -> int:
        """The number of classes of towers, by the operations that they run."""
        return len(set(index_sets(self.graph.carried_out(), self._axis)))

    def input(self, tensor: Tensor) -> Tensor:
        """The copy's tensor for a fed tensor of the run."""
        return self.graph.own(self.tensors[tensor])

    def of(self, element: Tensor | Operation) -> Tensor | Operation:
        """The copy's tensor or operation for one of the run."""
        if isinstance(element, Tensor):
            return self.graph.own(self.tensors[element])
        return self.graph.own_operation(self.operations[element])


class _OtherGradient(Exception):
    """A gradient through matched operations that cannot be rebuilt, or is of rows where the program's is dense."""


class _CopyingState(Copying):
    """Copier of operations that shares their random counters, so that draws continue, and rebuilds gradients."""

    def _copy_one(self, op: Operation) -> None:
        if op.type == "Gradients" and self.target.trace is None and self._goes_through_towers(op):
            self._differentiate(op)
            return
        super()._copy_one(op)
        copied = self.operations.get(op)
        replicated = None if copied is None else replicated_of(copied)
        if replicated is None or replicated.counter is None or op.counter is None or replicated.name != op.name:
            return
        replicated.reads = tuple([op.counter if c is replicated.counter else c for c in replicated.reads])
        replicated.writes = tuple([op.counter if c is replicated.counter else c for c in replicated.writes])
        replicated.counter = op.counter

    def _goes_through_towers(self, op: Operation) -> bool:
        path: Iterable[Operation] = op.attrs["path"]
        copies = (self.operations.get(step) for step in path)
        return any(isinstance(step, ShardOperation) for step in copies)

    def _differentiate(self, op: Operation) -> None:
        """Rebuild a gradient through matched operations in the copy: its path consists of the shards' own operations.

        Raises:
          _OtherGradient: it uses gradient functions of the program, or has other outputs.
        """
        attrs = op.attrs
        if attrs["rules"]:  # gradient functions may speak of tensors that are those of the graph
            raise _OtherGradient
        seed_values = [None if s is None else self._mapped(s) for s in attrs["seeds_given"]]
        seeds = [
            s if s is None or i is None else IndexedSlices(s, self._mapped(i))
            for s, i in zip(seed_values, attrs["seed_indices"], strict=True)
        ]
        stops = [self._mapped(t) for t in attrs["stops"]]
        ys, xs = ([self._mapped(t) for t in attrs[name]] for name in ("ys", "xs"))
        outputs: list[Tensor] = []
        with self.target.as_default():
            gradients = gradients_through(ys, xs, seeds, op.name.rpartition("/")[0] or "gradients", stops or None)
        for gradient in gradients:
            if gradient is None:
                raise _OtherGradient
            outputs += [gradient.values, gradient.indices] if isinstance(gradient, IndexedSlices) else [gradient]
        if len(outputs) != len(op.outputs):
            raise _OtherGradient
        self.tensors.update(zip(op.outputs, outputs, strict=True))
        self.operations[op] = outputs[0].op


def side_by_side(graph: Graph, fetches: Iterable[Tensor | Operation], fed: Collection[Tensor]) -> SideBySide | None:
    """The copy of a graph in which a run's towers run side by side; None where there are none, or it does not pay.

    Args:
      graph: the session's.
      fetches: the tensors and operations that the run asks for.
      fed: the tensors that are fed.
    """
    if jax.local_devices()[0].platform == "cpu" and not LIMITS.towers_on_cpu:
        return None
    if graph.has_shard_operations or len(jax.local_devices()) < 2 or any(t.dtype is resource for t in fed):
        return None
    targets = [f.op if isinstance(f, Tensor) else f for f in fetches if not (isinstance(f, Tensor) and f in fed)]
    order = execution_order(targets, graph.root, fed)
    if any(op.axis is not None or op.type == "StepLoop" for op in order):
        return None
    towers = _towers(order)
    if towers is None:
        return None
    needed = set(order)
    fed_operations = [t.op for t in fed if t.op.block is graph.root and t.op not in needed]
    try:
        return _build(graph, [*fed_operations, *order], towers, fetches, fed)
    except (_OtherGradient, InternalError):  # A gradient that would not be whole: one tower after the other.
        return None


def _build(
    graph: Graph, order: Sequence[Operation], towers: Sequence[Sequence[Operation]],
    fetches: Iterable[Tensor | Operation], fed: Collection[Tensor],
) -> SideBySide | None:  # fmt: skip
    candidate = SideBySide(graph, order, towers)
    apart = candidate.apart()
    computed = sum(not (op.definition.constant or op.type == "ReadVariableOp") for op in apart)
    of_ways = _of_ways(candidate, graph, order, towers) if computed > (1 - _ALIKE) * sum(map(len, towers)) else None
    if of_ways is not None:
        return None if _turns_around(of_ways, fetches, fed) else of_ways
    # What one tower alone has is mostly what is placed where the variables are, and belongs to none: it is done once.
    if apart:
        candidate = SideBySide(graph, order, [[op for op in tower if op not in apart] for tower in towers])
    return candidate if candidate.is_worth_it() and not _turns_around(candidate, fetches, fed) else None


def _of_ways(
    candidate: SideBySide, graph: Graph, order: Sequence[Operation], towers: Sequence[Sequence[Operation]]
) -> SideBySide | None:
    """The copy for towers of several classes, each of several towers; None where each tower is its own class.

    Operations that depend on other towers belong to none, and are done once; a gradient among them is a reason to give
    up.
    """
    apart = candidate.apart() & _of_several(order, towers)
    if any(op.type == "Gradients" for op in apart):
        return None
    if apart:
        candidate = SideBySide(graph, order, [[op for op in tower if op not in apart] for tower in towers])
    return candidate if candidate.ways() < len(towers) else None


def _of_several(order: Sequence[Operation], towers: Sequence[Collection[Operation]]) -> set[Operation]:
    """The operations of towers that depend on operations of other towers."""
    tower_of = {op: k for k, ops in enumerate(towers) for op in ops}
    needs: dict[Operation, set[int]] = {}
    for op in order:
        needs[op] = {k for before in dependencies(op) for k in needs.get(before, ())}
        needs[op] |= {tower_of[op]} if op in tower_of else set()
    return {op for op in tower_of if len(needs[op]) > 1}


def _towers(order: Sequence[Operation]) -> list[list[Operation]] | None:
    """The operations placed on each device, where several devices have much the same ones; else None."""
    device_specs = {name: parse(name).get("device", "").partition(":") for name in {op.device for op in order} if name}
    if len({spec for spec in device_specs.values() if spec[0]}) < 2:
        return None
    by_device: dict[tuple[str, int], list[Operation]] = {}
    for op in order:
        kind, _, number = device_specs.get(op.device, ("", "", ""))
        if kind:
            by_device.setdefault((kind, int(number or 0)), []).append(op)
    kinds = Counter(kind for kind, _ in by_device)
    if not kinds:
        return None
    kind = max(kinds, key=lambda k: kinds[k])
    devices = sorted(key for key in by_device if key[0] == kind)
    if not 2 <= len(devices) <= len(jax.local_devices()):
        return None
    tainted = _after_writes(order)
    # Reads of one variable stay together: all of them are the towers', or none is.
    late = (op for device in devices for op in by_device[device] if op in tainted and not op.writes)
    contested = {cell for op in late for cell in op.reads}
    towers = [
        [op for op in by_device[device] if op not in tainted and contested.isdisjoint(op.reads) and _can_join(op)]
        for device in devices
    ]
    gradients = [(op, tower) for tower in towers for op in tower if op.type == "Gradients"]
    if any(_leaves(op, set(tower)) or _is_of_arrays(op) for op, tower in gradients):
        return None
    if any(op.type == "Gradients" and _waits_for_host(op, order) for op in order):
        return None
    return towers if _much_the_same(towers) else None


def _much_the_same(towers: Sequence[Sequence[Operation]]) -> bool:
    """Whether all towers share nearly all operation types, or each has exactly the types of another one."""
    types = [Counter(op.type for op in tower) for tower in towers]
    common = sum(min(t[type] for t in types) for type in types[0])
    if common and common >= _ALIKE * min(len(tower) for tower in towers):
        return True
    return all(types[i] and any(t == types[i] for k, t in enumerate(types) if k != i) for i in range(len(types)))


def _can_join(op: Operation) -> bool:
    """Whether an operation can run along the axis: no effect, no host code, no dynamic shape, no handles or strings."""
    definition = op.definition
    checks = definition.check is not None and not (definition.callback or op.writes)
    acts = has_effect(op) and not checks
    plain = not (definition.is_placeholder or definition.host or definition.dynamic or of_strings(op) or acts)
    return plain and not any(t.dtype in (resource, variant) for t in op.outputs)


def _leaves(gradient: Operation, tower: Set[Operation]) -> bool:
    """Whether a gradient's path goes on outside of its tower: an operation that is done once would lie on it."""
    path: Iterable[Operation] = gradient.attrs["path"]
    outside = (step for step in path if step not in tower)
    return any(t.op in tower for step in outside for t in step.inputs)


def _waits_for_host(gradient: Operation, order: Sequence[Operation]) -> bool:
    """Whether a gradient's path goes through values that the host computes from the path: no program can have both."""
    path: Collection[Operation] = gradient.attrs["path"]
    behind, hosted = set(path), set[Operation]()
    for op in order:
        needs = tuple(dependencies(op))
        if not hosted.isdisjoint(needs):
            if op in path:
                return True
            hosted.add(op)
        elif not behind.isdisjoint(needs):
            behind.add(op)
            if op.definition.host is not None:
                hosted.add(op)
    return False


def _is_of_arrays(gradient: Operation) -> bool:
    """Whether it is a gradient of a gradient through TensorArrays, which are of one tower each."""
    path: Collection[Operation] = gradient.attrs["path"]
    return any(step.type == "Gradients" for step in path) and any(_has_arrays(step) for step in path)


def _has_arrays(op: Operation) -> bool:
    return op.type.startswith("TensorArray") or any(_has_arrays(o) for body in op.bodies for o in body.needed)


def _after_writes(order: Sequence[Operation]) -> set[Operation]:
    """The operations that read a variable after a write of it in the same run, or depend on such a read."""
    written: set[StateVariable] = set()
    tainted: set[Operation] = set()
    for op in order:
        inputs = op.inputs[:2] if _guards_empty_batch(op) else op.inputs
        if any(cell in written for cell in op.reads) or any(t.op in tainted for t in inputs):
            tainted.add(op)
        written.update(cell for cell in op.writes if cell is not op.counter)
    return tainted


def _guards_empty_batch(op: Operation) -> bool:
    """Whether an operation is ``where(size(x) > 0, statistics, ...)``: batch statistics, unless the batch is empty."""
    if op.type != "Select" or op.inputs[0].op.type != "Greater":
        return False
    return op.inputs[0].op.inputs[0].op.type == "Size"


def _turns_around(candidate: SideBySide, fetches: Iterable[Tensor | Operation], fed: Collection[Tensor]) -> bool:
    """Whether the copy has a cycle: towers that depend on each other."""
    elements = [candidate.of(f) for f in fetches]
    try:
        execution_order([e.op if isinstance(e, Tensor) else e for e in elements], candidate.graph.root)
    except ValueError:
        return True
    return False
