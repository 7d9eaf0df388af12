"""Merge the traces of one function on all towers, made one after the other, into one list of operations (SPMD).

``MirroredStrategy`` calls a function once per tower, in Python, with the tower's number. The compiled program is one
for all of them. So each tower's trace is matched with what the earlier ones made: an operation that several make alike
is one operation under the axis. Where they differ in a constant, or in which tensor from outside they use, it is still
one: the constant or tensor becomes a varying one, with a value per tower. What is left is an operation of some towers
``only``, which the others skip.

    def fn():                                          tower 0:   Const 0., Const 2., Mul
        i = get_tower_context().tower_id               tower 1:   Const 1., Const 2., Mul, Abs
        y = tf.constant(float(i)) * 2.0
        return tf.abs(y) if i == 1 else y              the graph: ConstOfPositions [0., 1.], Const 2., Mul,
                                                                  Abs with only = {1}

Each tower's Python sees a ``ShardOperation`` with a name of its own (``mul``, ``tower_1/mul``) for what it made.

Operations are matched by type and inputs, constants also by the user's line, since the towers last met (``meet``, at a
``merge_call`` or the end). A match is refused where a varying constant would decide a shape: one program has one shape
for all. A gradient that was taken before names its path, so where an input becomes varying afterwards the join is put
on that path too (``_lead_through``), and ``mark_varying`` is computed again from the first change on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import takewhile
from operator import is_not
from typing import Any

import numpy as np

from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, dependencies, mark_varying
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.op_registry import Attrs
from towerstrat.graph.ir.region_inputs import counterparts, decides_inside, replace_inside, writes_variables
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.shard_operations import AxisIndex, ShardOperation
from towerstrat.graph.ir.shared_regions import SharedRegion
from towerstrat.graph.ir.trace_comparison import TraceComparison, own_attribute
from towerstrat.graph.ir.types import resource, string, variant
from towerstrat.graph.ir.user_lines import UserLine, user_line


class _OperationTable:
    """The operations that shards have made since they last met, for the others that make them too.

    Args:
      graph: the graph that they are in.

    Attributes:
      makers: operation -> the shards that made it.
    """

    def __init__(self, graph: Graph):
        self._graph = graph
        self.makers: dict[Operation, set[int]] = {}
        self._by_inputs: dict[tuple[Any, ...], list[Operation]] = {}
        self._by_line: dict[tuple[str, UserLine], list[Operation]] = {}
        self._awaits: dict[Operation, set[Operation]] = {}
        """Operation -> those of its control inputs that the shards which made it run."""
        self._first_read: dict[Tensor, Tensor] = {}
        """A variable's value as it was read -> as it was read first, nothing having written it since."""

    def add(self, op: Operation, position: int) -> None:
        """Enter an operation that a shard was the first to make."""
        self._awaits[op] = self._own_controls(op._control_inputs, position)
        if op.definition.reads_value and not op.attrs.keys() - {"dtype"} and len(op._inputs) == 1:
            self._note_read(op)
        self.makers[op] = {position}
        self.index(op)
        self._by_line.setdefault((op.type, op.line), []).append(op)

    def index(self, op: Operation) -> None:
        """Enter an operation by its inputs, once more where they have changed."""
        self._by_inputs.setdefault((op.type, *map(self._value_of, op._inputs)), []).append(op)

    def _value_of(self, tensor: Tensor) -> int:
        """A key that is equal for one tensor, and for reads of the same value of a variable."""
        return id(self._first_read.get(tensor, tensor))

    def _note_read(self, op: Operation) -> None:
        """Map a read to the first one of the same variable, if nothing has written it since (value numbering)."""
        reads = self._by_inputs.get((op.type, *map(id, op._inputs)))
        if not reads or set(reads[-1]._control_inputs) != set(op._control_inputs):
            return
        between = takewhile(partial(is_not, reads[-1]), reversed(self._graph.carried_out()))
        if {cell for other in between for cell in other.writes}.isdisjoint(op.reads):
            before = reads[-1].outputs[0]
            self._first_read[op.outputs[0]] = self._first_read.get(before, before)

    def candidates(self, type: str, position: int, inputs: Sequence[Tensor], line: UserLine) -> Iterable[Operation]:
        """The operations of other shards that this one may make too, the likeliest first."""
        by_inputs = dict.fromkeys(self._by_inputs.get((type, *map(self._value_of, inputs)), ()))
        by_line = dict.fromkeys(self._by_line.get((type, line), ()))
        # Constants have no inputs that tell them apart: those of the same line come first.
        candidates = by_line | by_inputs if type == "Const" else by_inputs | by_line
        return [op for op in candidates if position not in self.makers[op]]

    def is_same_read(self, op: Operation, mine: Tensor, its: Tensor) -> bool:
        """Whether an input of an operation, and the tensor of a shard that makes it too, are one value of a variable.

        Args:
          op: the operation.
          mine: the tensor that the shard has.
          its: the input. All shards that made the operation have made the other read too.
        """
        return self._value_of(mine) == self._value_of(its) and self.makers[op] <= self.makers.get(mine.op, set())

    def further_controls(self, op: Operation, position: int, controls: Sequence[Operation]) -> list[Operation] | None:
        """The control inputs that a shard adds to an operation; None where it cannot have these.

        They are other shards' (a tower's collections have what those before it made), so that it waits for nothing.
        """
        if not set(op._control_inputs) <= set(controls) or self._awaits[op] != self._own_controls(controls, position):
            return None
        further = [c for c in controls if c not in op._control_inputs]
        return None if _depend(further, op) else further

    def _own_controls(self, controls: Iterable[Operation], position: int) -> set[Operation]:
        """The control inputs of an operation that its shard runs."""
        return {c for c in controls if position in self.makers.get(c, c.axis_indices or (position,))}

    def find_differing(self, size: int) -> list[Operation]:
        """The operations that not all of ``size`` shards have made."""
        return [
            op
            for op, makers in self.makers.items()
            if len(makers) < size and not op.definition.is_placeholder and not op.definition.constant
        ]

    def describe(self, differing: Sequence[Operation]) -> str:
        """A description of the first differing operation: not a consequence of another, made by the fewest shards."""
        roots = [op for op in differing if all(t.op.axis_indices is None for t in op._inputs)] or differing
        first = min(roots, key=lambda op: (len(self.makers[op]), op.index))
        which = ", ".join(str(m) for m in sorted(self.makers[first])[:8])
        return f"{first.name} (type {first.type}, created at {first.line}), of {which} alone"


class _RegionGradients:
    """The gradients in regions below one, of the operations made since this was.

    Args:
      graph: the graph that they are in.
      block: the region whose own gradients are not looked for.
    """

    def __init__(self, graph: Graph, block: Block):
        self._graph = graph
        self._block = block
        self._gradients: list[Operation] = []
        self._scanned = len(graph.carried_out())

    def lead_through(self, op: Operation, tensor: Tensor) -> bool:
        """Whether one has an operation with this input on its path: the region has captured the input as it is."""
        for other in self._graph.carried_out(since=self._scanned):
            self._scanned += 1
            if "path" in other.attrs and other.block is not self._block:
                self._gradients.append(other)
        return any(op in g.attrs["path"] and tensor in g.attrs["active"] for g in self._gradients)


class ShardTraces:
    """The traces of a function on the shards of an axis, as far as they were made.

    Operations are compared with those since all shards were last at the same point (``meet``).

    Args:
      graph: the graph that they are added to, in its current region.
      axis: the axis.
      places: its axis indices.
      sizes_known: whether tensors from outside can differ by shard only where their shapes are known and equal; else
        where they are known to some extent, and found to be equal when the program is lowered.

    Attributes:
      first_difference: a description of the first operation that not all shards have, or None.
      shared: the regions in which shards meet, which all of them build together.
      waiting: (region, number) -> the region of ``shared`` to enter for a shard that opens its so-manyth region below
        one.
    """

    def __init__(self, graph: Graph, axis: Axis, places: Sequence[AxisIndex], sizes_known: bool = True):
        self.graph = graph
        self.axis = axis
        self.block = graph.block
        self._sizes_known = sizes_known
        self.of_positions = [_Trace(self, axis_index) for axis_index in places]
        self.first_difference: str | None = None
        self.shared: dict[Block, SharedRegion] = {}
        self.waiting: dict[tuple[Block, int], Block] = {}
        self._table = _OperationTable(graph)
        self._joins: dict[Tensor, list[Operation]] = {}
        """A tensor from outside -> joins (``FromPositions``) that have it on some shards and others on the rest."""
        self._region_gradients = _RegionGradients(graph, graph.block)
        self._changed: Operation | None = None
        """The first operation that may have become varying, since a constant or tensor did."""

    # ---- finding ---------------------------------------------------------------------------------------------

    def find(
        self, type: str, position: int, inputs: Sequence[Tensor], attrs: Attrs, controls: Sequence[Operation],
        line: UserLine, sizes: Sequence[Dims] | None,
    ) -> Operation | None:  # fmt: skip
        """The operation of an earlier shard that this one makes too; notes that it does.

        Args:
          type: the operation type.
          position: the axis index of the shard that makes it.
          inputs: the graph's tensors that stand for the shard's.
          attrs: the attributes; constants and seeds may differ by shard.
          controls: its control inputs.
          line: the user's line that makes it.
          sizes: the shapes of its outputs, where constants that differ by shard decide them.
        """
        definition = op_registry.lookup(type)
        if definition.is_placeholder or not self._table.makers:
            return None
        for op in self._table.candidates(type, position, inputs, line):
            further = self._table.further_controls(op, position, controls)
            if further is None or (sizes is not None and not self._has_sizes(op, sizes)):
                continue
            if self._take(op, position, inputs, attrs) or self._take_regions(op, position, inputs, attrs):
                self._table.makers[op].add(position)
                op.add_control_inputs(further)
                return op
        return None

    def _take(self, op: Operation, position: int, inputs: Sequence[Tensor], attrs: Attrs) -> bool:
        """Match an operation by attributes and inputs, or by ones that may differ by shard; whether it matched."""
        if not _can_have(op, attrs) or not self._take_inputs(op, position, inputs):
            return False
        self._have(op, position, attrs)
        return True

    def _take_regions(self, op: Operation, position: int, inputs: Sequence[Tensor], attrs: Attrs) -> bool:
        """Match a branch or loop that differs only in constants inside and captures; whether it matched."""
        outside = counterparts(inputs, op._inputs) if "flows" in attrs else None
        if outside is None or writes_variables(op):
            return False
        comparison = TraceComparison({mine: its for mine, its in outside.items() if mine is not its})
        if not comparison.attributes(attrs, op.attrs):
            return False
        new = [its for mine, its in outside.items() if mine is not its]
        new += [t for inner in comparison.differing if own_attribute(inner) == "value" for t in inner._outputs]
        if any(decides_inside(op, t) for t in new) or not all(
            _can_have(inner, inner_attrs) for inner, inner_attrs in comparison.differing.items()
        ):
            return False
        before = op._inputs
        if not self._take_inputs(op, position, inputs):
            return False
        replace_inside(op, {t: now for t, now in zip(before, op._inputs, strict=True) if t is not now})
        for inner, inner_attrs in comparison.differing.items():
            self._have(inner, position, inner_attrs)
        return True

    def _has_sizes(self, op: Operation, sizes: Sequence[Dims]) -> bool:
        """Whether the outputs have these shapes; unknown ones may turn out to differ."""
        known = not (self._sizes_known or op.definition.dynamic) or all(d is not None and None not in d for d in sizes)
        return known and [t.dims for t in op.outputs] == list(sizes)

    def _take_inputs(self, op: Operation, position: int, inputs: Sequence[Tensor]) -> bool:
        """Match inputs: equal ones, or ones that are joined to a tensor with a value per shard; whether all matched."""
        if len(op._inputs) != len(inputs):
            return False
        known = op.definition.known(len(inputs), op.attrs)
        joins: list[tuple[int, Tensor, Tensor]] = []
        reads: list[tuple[int, Tensor, Tensor]] = []
        for i, (mine, its) in enumerate(zip(inputs, op._inputs, strict=True)):
            if mine is its:
                continue
            read = self._table.is_same_read(op, mine, its)
            if not read and (i in known or not self._can_differ(mine, its, position)):
                return False
            if self._region_gradients.lead_through(op, its):
                return False
            (reads if read else joins).append((i, mine, its))
        for i, mine, its in joins:
            self._join(op, i, its, mine, position)
        for i, mine, its in reads:
            self._use(op, i, its, mine)
        return True

    def _can_differ(self, mine: Tensor, its: Tensor, position: int) -> bool:
        """Whether an input can be ``its`` on earlier shards and ``mine`` on this one: both are from outside."""
        if "joined" in its.op.attrs:
            its = its.op._inputs[0]
        alike = mine.dtype is its.dtype and mine.dims == its.dims and mine.dims is not None
        if alike and self._sizes_known and None in (mine.dims or ()):
            alike = mine.op is its.op and mine.op.type == "Split"
        plain = mine.dtype not in (resource, variant) and mine.dtype is not string
        return alike and plain and self._is_outside(mine) and self._is_outside(its)

    def _is_outside(self, tensor: Tensor) -> bool:
        return tensor.op.axis is None and not tensor.varies

    def _join(self, op: Operation, i: int, its: Tensor, mine: Tensor, position: int) -> None:
        """Make input ``i`` of an operation one that is ``mine`` on a shard."""
        join = its.op
        if "joined" not in join.attrs or (position in join.attrs["joined"] and join._inputs[position] is not mine):
            join = self._make_join(op, its, mine, position)
            self._use(op, i, its, join.outputs[0])
            self._note_change(op)
        if position not in join.attrs["joined"]:
            join.attrs["joined"].add(position)
            join._inputs = (*join._inputs[:position], mine, *join._inputs[position + 1 :])
            mine._consumers.append(join)

    def _use(self, op: Operation, i: int, its: Tensor, other: Tensor) -> None:
        """Replace input ``i`` of an operation."""
        op._inputs = (*op._inputs[:i], other, *op._inputs[i + 1 :])
        its._consumers.remove(op)
        other._consumers.append(op)
        self._table.index(op)
        self._lead_through(other.op, op, its)

    def _lead_through(self, join: Operation, op: Operation, its: Tensor) -> None:
        """Put a join on the paths of gradients that lead through an operation to the input that it replaces.

        Also on those outside of all towers: with towers by hand, what one alone has is made there.
        """
        for gradient in dict.fromkeys([*self._table.makers, *self.block.ops]):
            path, active = gradient.attrs.get("path", ()), gradient.attrs.get("active", frozenset())
            if op in path and its in active and join not in path:
                gradient.attrs["path"] = (join, *path)
                gradient.attrs["active"] = active | {join.outputs[0]}

    def _make_join(self, op: Operation, its: Tensor, mine: Tensor, position: int) -> Operation:
        """A join: ``its`` on the shards that made ``op``, and ``mine`` or nothing yet here.

        Its inputs for the shards that made ``op`` stay from now on.
        """
        makers = self._table.makers[op]
        had = its.op._inputs if "joined" in its.op.attrs else (its,) * self.axis.size
        joins = self._joins.setdefault(had[0], [])
        for join in joins:
            free = position not in join.attrs["joined"] or join._inputs[position] is mine
            if free and all(join._inputs[maker] is had[maker] for maker in makers):
                join.attrs["joined"] |= makers
                return join
        attrs = {"axis": self.axis, "joined": set(makers)}
        join = self.graph.make("FromPositions", had, attrs, "from_positions", self.block, self.axis)
        joins.append(join)
        return join

    def _take_own(self, op: Operation, position: int, attrs: Attrs) -> bool:
        """Match an operation's attributes, its own one (constant, seed, message) per shard; whether they matched."""
        if not _can_have(op, attrs):
            return False
        self._have(op, position, attrs)
        return True

    def _have(self, op: Operation, position: int, attrs: Attrs) -> None:
        """Set the constant, seed or message of an operation on one shard."""
        name, every = own_attribute(op), _all_own(op)
        if name is None or (every is None and _equal(attrs[name], op.attrs[name])):
            return
        if every is None:
            its = np.asarray(op.attrs[name]) if name == "value" else op.attrs[name]
            every = [its] * self.axis.size
            self._give_positions(op, every)
        every[position] = np.asarray(attrs[name]) if name == "value" else attrs[name]

    def _give_positions(self, op: Operation, every: list[Any]) -> None:
        """Turn a constant, seed or message that was one for all into a list with an entry per shard."""
        if op.type != "Const":
            op.attrs = {**op.attrs, "_own": every}
            return
        remaining = {k: v for k, v in op.attrs.items() if k != "value"}
        op.attrs = {**remaining, "values": every, "axis": self.axis}
        op.type, op.definition = "ConstOfPositions", op_registry.lookup("ConstOfPositions")
        self._note_change(op)

    def _note_change(self, op: Operation) -> None:
        if self._changed is None or op.index < self._changed.index:
            self._changed = op

    # ---- adding ----------------------------------------------------------------------------------------------

    def note(self, op: Operation, position: int) -> None:
        """Register an operation that a shard was the first to make."""
        self._table.add(op, position)

    def share(self, position: int, block: Block) -> None:
        """Make a region that a shard waits in one that all build together from now on, and the regions around it.

        So they do the other bodies of the operation that it is to be a body of.

        Raises:
          RuntimeError: the first shard does not wait there.
        """
        first = self.of_positions[0]
        if position != first.place.position:
            if block not in self.shared:
                raise RuntimeError(
                    f"The {self.axis.name}s do not meet at the same place: one does inside {block.what}, and the first "
                    f"does not.\n  at: {block.line}"
                )
            return
        while block is not self.block:
            assert block.parent is not None
            for other, (parent, number) in first.opened.items():
                built = other.finished or other.predicate is not None
                beside = parent is block.parent and built and other not in first.taken
                if (other is block or beside) and other not in self.shared:
                    self._share(other, parent, number)
            block = block.parent

    def _share(self, block: Block, parent: Block, number: int) -> None:
        self.shared[block] = SharedRegion(block, self.axis, self._take_own)
        self.waiting[parent, number] = block

    def meet(self) -> None:
        """End a stretch of the traces, all shards being at the same point: operations of some are run by those only.

        Raises:
          RuntimeError: they differ inside of a region that they build together.
        """
        for region in list(self.shared.values()):
            if region.meet():
                del self.shared[region.block]
        self.waiting = {}
        for trace in self.of_positions:
            trace.opened, trace.counts, trace.taken = {}, {}, set()
        differing = self._table.find_differing(self.axis.size)
        for op in differing:
            op.axis_indices = frozenset(self._table.makers[op])
        if differing and self.first_difference is None:
            self.first_difference = self._table.describe(differing)
        if self._changed is not None:
            for op in self.graph.carried_out():
                if op.index >= self._changed.index:
                    mark_varying(op)
        self._changed = None
        self._table, self._joins = _OperationTable(self.graph), {}


class _Trace:
    """The trace of one shard: a ``PositionTrace`` of a graph.

    Attributes:
      line: the user's line that makes the next operation; None: the one that runs.
      opened: a region that it opened since the shards met -> (the one around, its number among those below it).
      counts: how many regions it has opened below one since then.
      taken: the regions that are bodies of an operation which it has made since then.
    """

    def __init__(self, traces: ShardTraces, axis_index: AxisIndex):
        self.place = axis_index
        self.parts: dict[Operation, ShardOperation] = {}
        self.line: UserLine | None = None
        self.opened: dict[Block, tuple[Block, int]] = {}
        self.counts: dict[Block, int] = {}
        self.taken: set[Block] = set()
        self._traces = traces

    def takes(self, block: Block, axis: Axis | None) -> bool:
        return axis is self.place.axis and (block is self._traces.block or block in self._traces.shared)

    def open(self, parent: Block, description: str) -> Block:
        number = self.counts[parent] = self.counts.get(parent, 0) + 1
        traces = self._traces
        block = traces.waiting.get((parent, number))
        if block is None:
            block = Block(traces.graph, parent, description)
            if self.place.position == 0 and any(b.parent is parent and b not in self.taken for b in traces.shared):
                traces._share(block, parent, number)
        self.opened[block] = (parent, number)
        return block

    def add(
        self, type: str, inputs: tuple[Tensor, ...], attrs: Attrs | None, name: str | None,
        control_inputs: Iterable[Operation], block: Block,
    ) -> Operation:  # fmt: skip
        traces, graph, position = self._traces, self._traces.graph, self.place.position
        attrs = dict(attrs) if attrs else {}
        if type in graph.scopes.gradient_overrides:
            attrs["_gradient_op_type"] = graph.scopes.gradient_overrides[type]
        own_inputs = [graph.own(t) for t in inputs]
        controls = graph.controls_of(inputs, block, control_inputs)
        line = self.line or user_line()
        region = traces.shared.get(block)
        bodies = [traces.shared[body] for body in attrs.get("bodies", ()) if body in traces.shared]
        sizes = None
        if region is None:
            sizes = _own_sizes(type, own_inputs, inputs, attrs)
            full_operation = traces.find(type, position, own_inputs, attrs, controls, line, sizes)
        else:
            full_operation = region.find(type, position, own_inputs, attrs, controls, line)
        for body in bodies:
            body.take(position, full_operation)
        self.taken.update(attrs.get("bodies", ()))
        if full_operation is None:
            full_operation = graph.make(type, own_inputs, attrs, name, block, self.place.axis, controls=controls)
            full_operation.line = line
            for tensor, dims in zip(full_operation.outputs, sizes or (), strict=False):
                tensor.dims = dims
            (traces if region is None else region).note(full_operation, position)
            part_name, part_attrs = full_operation.name, full_operation.attrs
        else:
            own_attrs = own_attribute(full_operation) is not None or "_gradient_function" in attrs
            part_name = graph.operation_name(name or type, line)
            part_attrs = attrs if own_attrs else full_operation.attrs
        part = ShardOperation(full_operation, self.place, part_name, inputs, part_attrs, op_registry.lookup(type), line)
        graph.scopes.note(part)
        graph.scopes.place(part)
        part._control_inputs = [self.parts.get(control, control) for control in controls]
        self.parts[full_operation] = part
        graph.register(part)
        return part


def _own_sizes(type: str, own_inputs: Sequence[Tensor], inputs: Sequence[Tensor], attrs: Attrs) -> list[Dims] | None:
    """The shapes of an operation's outputs on one shard, where constants of its own decide them; else None.

    Args:
      type: the operation type, whose rule gives the shapes.
      own_inputs: its inputs.
      inputs: the shard's tensors for these.
      attrs: its attributes on this shard.
    """
    definition = op_registry.lookup(type)
    deciding = range(len(own_inputs)) if definition.dynamic else definition.sized_by
    if not any(_follows_from_own_constants(own_inputs[i]) for i in deciding):
        return None
    return [signature.dims for signature in definition.rule(inputs, attrs)]


def _follows_from_own_constants(tensor: Tensor) -> bool:
    """Whether a value is computed, without others, from constants that differ by shard."""
    stack, seen = [tensor], {tensor}
    while stack:
        op = stack.pop().op
        if op.type == "ConstOfPositions":
            return True
        if op.definition.numpy is not None and op.type != "Const":
            stack += [t for t in op._inputs if t not in seen and not t.dtype.is_floating]
            seen.update(op._inputs)
    return False


def decides_shape(tensor: Tensor) -> bool:
    """Whether a shape, or another value that must be known while lowering, depends on a tensor by integers alone."""
    if not tensor.dtype.is_integer:
        return any(_is_known(op, tensor) for op in tensor._consumers)
    stack, seen = [tensor], {tensor}
    while stack:
        used = stack.pop()
        for op in used._consumers:
            if isinstance(op, ShardOperation):
                continue
            if _is_known(op, used):
                return True
            reached = [t for t in op.outputs if t.dtype.is_integer and t not in seen]
            seen.update(reached)
            stack += reached
    return False


def _is_known(op: Operation, tensor: Tensor) -> bool:
    known = op.definition.known(len(op._inputs), op.attrs)
    return any(op._inputs[i] is tensor for i in known if i < len(op._inputs))


def _all_own(op: Operation) -> list[Any] | None:
    """The constant, seed or message of an operation per shard; None where it is one for all."""
    return op.attrs.get("values" if op.type == "ConstOfPositions" else "_own")


def _can_have(op: Operation, attrs: Attrs) -> bool:
    """Whether an operation has these attributes, or can have their constant, seed or message on one shard."""
    name = own_attribute(op)
    if name is None:
        return TraceComparison().attributes(attrs, op.attrs)
    but = {name, "_own"} if name != "value" else {"value", "values", "axis"}
    remaining = [{k: v for k, v in each.items() if k not in but} for each in (attrs, op.attrs)]
    if name not in attrs or not TraceComparison().attributes(*remaining):
        return False
    every = _all_own(op)
    mine, its = attrs[name], op.attrs[name] if every is None else every[0]
    if every is None and _equal(mine, its):
        return True
    if name == "seeds":
        return mine[0] == its[0] and mine[1] is not None and its[1] is not None
    if name != "value":
        return True
    mine, its = np.asarray(mine), np.asarray(its)
    fits = mine.shape == its.shape and mine.dtype == its.dtype and not mine.dtype.hasobject
    return fits and (every is not None or not decides_shape(op.outputs[0]))


def _equal(mine: Any, other: Any) -> bool:
    arrays = isinstance(mine, np.ndarray | np.generic) or isinstance(other, np.ndarray | np.generic)
    return TraceComparison()(*(map(np.asarray, (mine, other)) if arrays else (mine, other)))


def _depend(operations: Sequence[Operation], other: Operation) -> bool:
    """Whether one of some operations depends on another one."""
    stack, seen = [*operations], {*operations}
    while stack and other not in seen:
        new = {*dependencies(stack.pop())} - seen
        seen |= new
        stack += new
    return other in seen
