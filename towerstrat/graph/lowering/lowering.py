"""Evaluate graph operations, in order, on JAX values: the interpreter that turns a graph into one JAX function.

A ``Lowering`` is an environment, tensor -> value, with the session state, state variable -> value. ``run`` evaluates
operations and binds their outputs. Under ``jax.jit`` the values are tracers, so the evaluation is the trace of one XLA
program; on concrete arrays it runs operation by operation (``eager``). Values that are known stay numpy: shape
arithmetic is folded while lowering.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     x = tf.placeholder(tf.float32, [2])
...     s = tf.reduce_sum(x * 3.0)
...     g, = tf.gradients(s, x)
>>> operations = [op for op in graph.get_operations() if op is not x.op]
>>> lowering = Lowering("cpu", fed={x: np.array([1.0, 2.0], np.float32)}, operations=operations)
>>> lowering.run(operations)
>>> print(lowering.value(s), lowering.value(g))
9.0 [3. 3.]

The scheme is that of JAX's own interpreters (https://docs.jax.dev/en/latest/autodidax.html), and three things more:

* Reverse mode is part of it. Operations on a gradient's path (``taped``: Mul and Sum here) are evaluated once, at their
  own place, under a ``jax.vjp`` or formula each; the ``Gradients`` operation walks their ``records`` back.
* Along a mesh axis values are varying or invariant, as in ``jax.shard_map``. Those on a path are cast to varying; what
  is stored replicated is evaluated again from invariant inputs (``invariant``), and XLA merges the two.
* Where inputs differ in shape by tower, what depends on them is evaluated once per shard class (``kind``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError, OpError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor, loops_in, runs_in_numpy
from towerstrat.graph.ir.mesh import Axis, varies, vary
from towerstrat.graph.ir.output_pruning import PrunedOperation
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array, HostArray, host_array, resource
from towerstrat.graph.lowering.error_state import ErrorState
from towerstrat.graph.lowering.executor import Executor, Pullback
from towerstrat.graph.lowering.gradient_formulas import apply_formula, by_source, in_place_of, with_formula
from towerstrat.graph.lowering.kernel_outputs import all_known, check_declared, to_output_list
from towerstrat.graph.lowering.lowering_errors import (
    NeedsStatic,
    changed_shape,
    combines_inside,
    not_one_value,
    on_host,
    unfed,
    uninitialized,
    varying_shape,
)
from towerstrat.graph.lowering.position_values import common_value, settled
from towerstrat.graph.lowering.python_gradients import TracedRule, passes_gradient
from towerstrat.graph.lowering.random_keys import hash_of_seeds
from towerstrat.graph.lowering.row_cotangents import Key, Lookups, Shapes, lookups_in, rows_of
from towerstrat.graph.lowering.rule_evaluation import differentiable_by_rule
from towerstrat.graph.lowering.scheduling import late_ones_last
from towerstrat.graph.lowering.shape_checks import check_shapes
from towerstrat.graph.lowering.shard_classes import (
    ByClass,
    ShardClasses,
    at,
    has_collective,
    mark_equal,
    steps_of_gradients,
    tracing,
)
from towerstrat.graph.lowering.tape import Cotangent, Record

_NOT_CONCRETE = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
"""Raised by JAX where a kernel asks for the value of a tracer."""


class Lowering(ErrorState):
    """One evaluation of operations: the values of tensors, and the state so far. Forks see it and add their own.

    Args:
      operations: all operations that will be evaluated: the gradients among them say which others to record.

    Attributes:
      platform: "cpu", "gpu" or "tpu".
      axis: the named axis the evaluation is mapped over, or None.
      values: tensor -> value: numpy where it is known while lowering, else a JAX array or tracer; a ``ByClass`` where
        it differs by shard class; of a variable's handle the ``StateVariable``.
      state: state variable -> current value (an array or ``ByClass``).
      fed: tensor -> value that replaces its operation's output.
      taped, active: the operations, and the tensors, on the path of some gradient.
      trips: loop -> bound of its trip count, learned from a run of it.
      counted: loop -> the state variable that takes its largest trip count, where these are learned.
      rules: operation -> its traced gradient function, for those that have one.
      narrowed: operation -> its pruned form, where some of its outputs are left out.
      differentiated: inside one operation's ``jax.vjp``. Along an axis every value then counts as varying, and state
        that is written is discarded.
      differentiated_again: inside a ``jax.vjp`` in another: what is made there needs derivatives of any order.
      eager: operations run one by one on concrete values.
      executor: runs single operations, where ``eager``; None: their kernels are called.
      variables: inside a ``jax.vjp``, state variable -> the primal that gets the cotangents of all its reads, whatever
        wrote the values that they read.
      cut: tensors that are independent variables of a derivative: their operations do not overwrite them.
      quiet: in a second evaluation of the same operations, which prints nothing again.
      calls_at_once: all values are known to the host, and Python functions are called during the evaluation.
      kinds, kind: the partition into shard classes, where input shapes differ by tower; of a part, its class.
      split: the operations that were evaluated once per shard class, in ``parts``.
      records: the tape: operation -> its record.
      twins: tensor -> its replicated copy, see ``invariant``.
      snapshots: operation -> the state that it read, for evaluating it again.
      written: state variables written so far.
      lookups: inside a differentiated branch or loop, the lookups whose cotangents stay sparse; else None.
      left_over: tensors with padding rows at their end, which nobody outside of the program may see.
      ahead: the operations after the present one, where collectives are combined.
    """

    def __init__(
        self,
        platform: str,
        axis: Axis | None = None,
        state: Mapping[StateVariable, Any] | None = None,
        fed: Mapping[Tensor, Array] | None = None,
        operations: Iterable[Operation] = (),
        trips: Mapping[Operation, int] | None = None,
        parent: Lowering | None = None,
        eager: bool = False,
        executor: Executor | None = None,
    ):
        self.platform = platform
        self.axis = axis
        self.state: dict[StateVariable, Any] = dict(state or {})
        self.fed: dict[Tensor, Array] = dict(fed or {})
        self.values: dict[Tensor, Any] = dict(self.fed)
        self.counted: Mapping[Operation, StateVariable] = {} if parent is None else parent.counted
        self.cut: frozenset[Tensor] = frozenset() if parent is None else parent.cut
        self.trips: Mapping[Operation, int] = trips or {}
        self.parent = parent
        self.records: dict[Operation, Record] = {}
        self.twins: dict[Tensor, Array] = {}
        self.written: set[StateVariable] = set()
        self.variables: dict[StateVariable, Array] = {} if parent is None else dict(parent.variables)
        self._shared: dict[Hashable, Any] = {}
        super().__init__(platform, parent)
        self.taped: set[Operation] = set()
        self.active: set[Tensor] = set()
        self.rules: dict[Operation, TracedRule] = {}
        self.narrowed: dict[Operation, Operation] = {}
        self.snapshots: dict[Operation, dict[StateVariable, Any]] = {}
        self.clock: Iterator[int] = itertools.count() if parent is None else parent.clock
        self.differentiated: bool = parent is not None and parent.differentiated
        self.differentiated_again: bool = parent is not None and parent.differentiated_again
        self.eager: bool = eager if parent is None else parent.eager
        self.executor: Executor | None = executor if parent is None else parent.executor
        self.quiet: bool = parent is not None and parent.quiet
        self.calls_at_once: bool = False
        self.kinds: ShardClasses | None = None if parent is None else parent.kinds
        self.kind: int | None = None if parent is None else parent.kind
        self.split: set[Operation] = set() if parent is None else parent.split
        self._parts: list[Lowering] = []
        self.lookups: Lookups | None = None
        self.left_over: set[Tensor] = set() if parent is None else parent.left_over
        self.ahead: Sequence[Operation] = ()
        if parent is not None:
            self.taped, self.active, self.rules = parent.taped, parent.active, parent.rules
            self.narrowed = parent.narrowed
        else:
            self._find_paths(operations)

    def _find_paths(self, operations: Iterable[Operation]) -> None:
        for op in operations:
            if isinstance(op, PrunedOperation):
                self.narrowed[op.whole] = op
            if "path" in op.attrs:
                self.taped.update(op.attrs["path"])
                self.active.update(op.attrs["active"])
                self.rules.update(op.attrs["rules"])
            for body in op.bodies:
                self._find_paths(body.needed)

    def fork(
        self, values: Mapping[Tensor, Any] | None = None, state: Mapping[StateVariable, Any] | None = None
    ) -> Lowering:
        """A child evaluation on this one's values and a copy of its state; ``values``, ``state`` replace entries."""
        child = Lowering(self.platform, self.axis, {**self.state, **(state or {})}, trips=self.trips, parent=self)
        child.values.update(values or {})
        child.fed = self.fed
        child.lookups = None if self.lookups is None else self.lookups.region()
        return child

    # ---- values ----------------------------------------------------------------------------------------------

    def value(self, tensor: Tensor) -> Array:
        """The value of a tensor; in a part for one shard class, that class's.

        Raises:
          UnsupportedError: it was not computed in this evaluation or those below it.
        """
        value = self.of_all_kinds(tensor)
        return value if self.kind is None else at(value, self.kind)

    def of_all_kinds(self, tensor: Tensor) -> Any:
        """The value of a tensor; a ``ByClass`` where it differs by shard class."""
        frame: Lowering | None = self
        while frame is not None:
            if tensor in frame.values:
                return frame.values[tensor]
            frame = frame.parent
        raise UnsupportedError(
            f"{tensor!r} (created at {tensor.op.line}) was not computed in this part of the program."
        )

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """``make()``, computed once per evaluation and key: explicit common-subexpression elimination."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def record(self, op: Operation) -> Record | None:
        """The tape's entry for an operation, or None where it was not recorded."""
        return next((frame.records[op] for frame in self.frames() if op in frame.records), None)

    def state_read_by(self, op: Operation) -> dict[StateVariable, Any]:
        """The state that an operation read when it was evaluated: state variable -> value."""
        return next((frame.snapshots[op] for frame in self.frames() if op in frame.snapshots), {})

    def frames(self) -> Iterator[Lowering]:
        """This evaluation and its ancestors, each preceded by its part for this one's shard class."""
        frame: Lowering | None = self
        while frame is not None:
            if self.kind is not None and frame._parts:
                yield frame._parts[self.kind]
            yield frame
            frame = frame.parent

    def invariant(self, tensor: Tensor) -> Array:
        """The value, typed as replicated over the mesh axis.

        Values on a differentiated path are cast to varying, so that each tower has its own cotangents.
        ``check_vma=True`` would refuse to store or fetch one as replicated, and a ``pmean`` per write would double the
        all-reduces. So the operation is evaluated a second time, on replicated inputs; XLA merges the two evaluations.

        Raises:
          UnsupportedError: the value differs by axis index.
        """
        value = self.value(tensor)
        if self.axis is None or self.differentiated or not varies(value):
            return value
        # Equal everywhere, yet evaluated per shard class: the first one's replicated copy serves them all.
        if self.kind is None and tensor.op in self.split and not tensor.op.definition.handles_shard_classes:
            owner = next(frame for frame in self.frames() if tensor in frame.values)
            return mark_equal(owner.parts[0].invariant(tensor))
        if tensor.varies:
            raise not_one_value(tensor, self.axis.name)
        # Depth first with a stack of its own: chains of operations are longer than Python's recursion limit.
        stack = [tensor]
        while stack:
            op = self.narrowed.get(stack[-1].op, stack[-1].op)
            equal = [t for t in op.inputs if t.dtype is not resource and not t.varies]
            missing = [t for t in equal if t not in self.twins and varies(self.value(t))]
            if missing and stack[-1] not in self.twins:
                stack += missing
                continue
            if stack.pop() not in self.twins:
                twins = self.fork({t: self.invariant(t) for t in equal}, self.state_read_by(op))
                twins.quiet = True
                self.twins.update(zip(op.outputs, twins.evaluate(op), strict=True))
        return self.twins[tensor]

    def static(self, op: Operation, position: int) -> HostArray:
        """The numpy value of an input that the kernel needs while lowering. Raises NeedsStatic where it is a tracer."""
        value: Any = self.value(op.inputs[position])
        if isinstance(value, jax.core.Tracer) and (value := common_value(self, op, position)) is None:
            raise NeedsStatic(op, position)
        return np.asarray(value)

    # ---- state -----------------------------------------------------------------------------------------------

    def read(self, cell: StateVariable, op: Operation) -> Array:
        """The current value of a state variable. Raises FailedPreconditionError, naming ``op``, where it has none."""
        if cell not in self.state:
            raise uninitialized(cell, op)
        value: Array = self.state[cell]
        return value

    def read_variable(self, cell: StateVariable, op: Operation) -> Array:
        """``read`` as a differentiable read: the cotangent goes to the variable itself, not to what was written."""
        value, variable = self.read(cell, op), self.variables.get(cell)
        if variable is None or value is variable:
            return value
        if np.shape(value) != np.shape(variable):
            raise changed_shape(cell, op, np.shape(variable), np.shape(value))
        return in_place_of(vary(jnp.asarray(value), self.axis), variable)

    def write(self, cell: StateVariable, value: Array | ByClass, gate: Array | ByClass | None = None) -> None:
        """Store a value in a state variable, in the parts for each shard class too.

        ``gate`` is the error record that masked this write: the value is the old one where it has a failure.
        """
        self.state[cell] = value
        self.written.add(cell)
        self.gated[cell] = gate if self.gated.get(cell, gate) is gate else None
        for kind, part in enumerate(self._parts):
            part.state[cell] = at(value, kind)

    def cells_of(self, op: Operation) -> list[StateVariable]:
        """The state variables that a branch or loop changes: written ones, trip counters, the error record."""
        inside = set(loops_in(op)) - {op} if self.counted else ()
        record = (ERROR_RECORD,) if op.checks and ERROR_RECORD in self.state else ()
        if op.writes:
            self.failed()  # A collective must not be made inside of a region's trace.
        return list(dict.fromkeys((*op.writes, *(c for loop, c in self.counted.items() if loop in inside), *record)))

    def key(self, op: Operation) -> jax.Array:
        """The PRNG key of this execution of an operation; adds one to its counter.

        Threefry (Salmon et al., *Parallel Random Numbers: As Easy as 1, 2, 3*, SC 2011) of (hash of the seeds,
        counter), with the axis index folded in for towers. Without a seed of its own an operation is told apart by its
        name, so that edits elsewhere do not move its draws; without any seed also by the process.
        """
        counter = op.counter
        assert counter is not None
        count = self.state[counter]
        stable = hash_of_seeds(op, None if self.axis is None else self.position())
        data: Any
        if isinstance(count, jax.core.Tracer) or isinstance(stable, jax.core.Tracer):
            data = jnp.stack([jnp.full((), stable, jnp.uint32), jnp.asarray(count, jnp.uint32)])
        else:
            count = np.asarray(count)
            data = np.array([stable, count], np.uint32)
        key: jax.Array = jax.random.wrap_key_data(data, impl="threefry2x32")
        if op.axis is not None and self.axis is not None and "_same_draws" not in op.attrs:
            key = jax.random.fold_in(key, lax.axis_index(self.axis.name))
        self.write(counter, count + np.uint32(1))
        return key

    def position(self) -> Array:
        """This shard's index along the axis, an int32 scalar; 0 without an axis."""
        if self.axis is None:
            return np.zeros((), np.int32)
        return lax.axis_index(self.axis.name).astype(jnp.int32)

    def missing_feed(self, op: Operation) -> list[Array]:
        """The lowering of a placeholder that was not fed. Raises InvalidArgumentError."""
        raise unfed(op)

    # ---- evaluation ------------------------------------------------------------------------------------------

    def run(self, operations: Sequence[Operation]) -> None:
        """Evaluate operations in the given order, except that input checks go before the writes that they may mask."""
        together = self.axis is not None and self.axis.sends_unfused
        if not self.eager and (together or any(op.checks for op in operations)):
            operations = late_ones_last(operations, together)
        checked = any(op.checks and op.writes for op in operations)
        for i, op in enumerate(operations):
            if checked and op.definition.writes:
                checked = False
                self._check_ahead(operations[i:])
            if together:
                self.ahead = operations[i + 1 :]
            self.execute(op)

    def is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor's value was computed already, in this evaluation or those below it."""
        return any(tensor in frame.values for frame in self.frames())

    def _check_ahead(self, operations: Sequence[Operation]) -> None:
        """Run the checks of writes whose inputs are known, except those evaluated once per shard class."""
        for op in operations:
            ready = op.checks and op.definition.writes and all(self.is_known(t) for t in op.inputs)
            if ready and (self.kinds is None or self.kind is not None or not self._splits(op)):
                self.check(op)

    def execute(self, op: Operation) -> None:
        """Evaluate one operation and bind its outputs in ``values``, except those that are fed.

        Raises:
          OpError: it cannot be evaluated on these inputs; names the operation and the user's line.
          NeedsStatic, NeedsTripCount: it needs a value that is not known while lowering.
          UnsupportedError: it cannot be compiled here.
        """
        if op.writes and (op.bodies or op.definition.writes) and self.kind is None:
            self.failed()  # outside of bodies and shard classes: a collective needs all shards
        if self.kinds is not None and self.kind is None and not has_collective(op) and self._splits(op):
            self.split.add(op)
            if not op.definition.handles_shard_classes:
                self._execute_by_kind(op)
                return
        if op.reads and (op in self.taped or self.axis is not None):
            self.snapshots[op] = {c: self.state[c] for c in op.reads if c in self.state}
        check = op.definition.check if op.checks else None
        if check is not None and not check.after:
            self.check(op)
        try:
            if op in self.taped:
                outputs = self._execute_taped(op)
            elif self.differentiated and op in self.rules:
                outputs = differentiable_by_rule(self, op)
            else:
                outputs = self.evaluate(op)
                if self.differentiated and not op.definition.is_placeholder and not passes_gradient(op):
                    # Inside of a body JAX differentiates all kernels, also those without a gradient in the original.
                    outputs = [lax.stop_gradient(o) if isinstance(o, jax.Array) else o for o in outputs]
        except (OpError, UnsupportedError, NeedsStatic):
            raise
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            if op.definition.dynamic and isinstance(error, _NOT_CONCRETE):
                raise varying_shape(op) from None
            described = ", ".join(f"{t.dtype.name}{_shape(self.value(t), t)}" for t in op.inputs)
            raise InvalidArgumentError(None, op, f"{error} [inputs: {described}]") from error
        for tensor, value in zip(op.outputs, outputs, strict=True):
            if tensor in self.cut:
                continue
            if tensor not in self.fed:
                self.values[tensor] = value
                check_declared(tensor, value)
            elif self.differentiated:
                self.values[tensor] = in_place_of(vary(self.fed[tensor], self.axis), vary(value, self.axis))
        if check is not None and check.after:
            self.check(op)

    # ---- shard classes ---------------------------------------------------------------------------------------

    @property
    def parts(self) -> list[Lowering]:
        """One child evaluation per shard class; made at first use."""
        if not self._parts:
            assert self.kinds is not None
            for kind in range(self.kinds.count):
                part = self.fork()
                part.kind = kind
                part.state = {cell: at(value, kind) for cell, value in self.state.items()}
                self._parts.append(part)
        return self._parts

    def joined(self, value: Any) -> Array:
        """A ``ByClass`` as one varying array, padded to the largest shape; any other value as it is."""
        return value if self.kinds is None else self.kinds.joined(value, found=not self.differentiated)

    def even(self, value: Array | ByClass, holder: Tensor | StateVariable) -> Array:
        """``joined`` for a value of ``holder``. Raises UnsupportedError where its shape differs by tower."""
        if isinstance(value, ByClass) and len(set(value.shapes)) > 1:
            where = f" (created at {holder.op.line})" if isinstance(holder, Tensor) else ""
            shapes = sorted(set(value.shapes))
            raise UnsupportedError(
                f"{holder!r}{where} differs in shape by tower (an uneven batch): {shapes}. It enters or leaves a "
                "branch or loop that combines values of all towers, and has to be of one shape there. Combine outside, "
                "or use batches of one size (drop_remainder=True)."
            )
        return self.joined(value)

    def _splits(self, op: Operation) -> bool:
        """Whether the operation, an input, state that it uses or its gradient's path differs by shard class."""
        if op.axis_indices is not None or op.definition.index_dependent:
            return True
        if any(isinstance(self.value(t), ByClass) for t in op.inputs if t.dtype is not resource):
            return True
        if any(isinstance(self.state.get(c), ByClass) for c in (*op.reads, *op.writes)):
            return True
        return bool(self.split) and any(step in self.split for step in steps_of_gradients(op))

    def _execute_by_kind(self, op: Operation) -> None:
        """Evaluate an operation once per shard class; an output that the graph calls replicated is the first's."""
        assert self.kinds is not None
        kinds = self.kinds.of(op)
        for kind in kinds:
            with tracing(kind):
                self.parts[kind].execute(op)
        for tensor in op.outputs:
            if tensor not in self.fed:
                values = {kind: self.parts[kind].values.pop(tensor) for kind in kinds}
                self.values[tensor] = self.of_kinds(values) if tensor.varies else mark_equal(values[kinds[0]])
        self.collect()

    def of_kinds(self, values: Mapping[int, Array]) -> ByClass:
        """A ``ByClass`` from the values of some shard classes; zeros for the others, which nobody uses."""
        assert self.kinds is not None
        first = next(iter(values.values()))
        return ByClass([
            values[kind] if kind in values else jnp.zeros(np.shape(first), first.dtype)
            for kind in range(self.kinds.count)
        ])  # fmt: skip

    def collect(self) -> None:
        """Write to this evaluation what its children per shard class wrote, and clear their lists."""
        for cell in {cell: None for part in self.parts for cell in part.written}:
            wrote = next(part.state[cell] for part in self.parts if cell in part.written)
            if cell.is_varying:
                self.write(cell, ByClass([part.state.get(cell, wrote) for part in self.parts]))
            else:
                self.write(cell, mark_equal(wrote))
        for part in self.parts:
            part.written.clear()

    # ---- one operation ---------------------------------------------------------------------------------------

    def note(self, op: Operation) -> None:
        """Record an operation that was evaluated on the host: its gradient function is its only gradient."""
        if op in self.taped:
            self.records[op] = Record(next(self.clock), None, (), ())

    def _arguments(self, op: Operation) -> list[Array] | None:
        """The inputs' values if the eager executor can run this operation, else None."""
        definition = op.definition
        if self.executor is None or not self.eager or self.differentiated or definition.dynamic or definition.random:
            return None
        if (definition.lower is not None or definition.kernel is None) and definition.numpy is None:
            return None
        if op.bodies or not op.inputs or any(t.dtype.is_complex for t in (*op.inputs, *op.outputs)):
            return None  # cotangents of complex values are here those of JAX, the executor's are their conjugates
        values = [self.value(t) for t in op.inputs]
        arrays = all(isinstance(v, np.ndarray | jax.Array) and not isinstance(v, jax.core.Tracer) for v in values)
        return values if arrays else None

    def evaluate(self, op: Operation) -> Sequence[Array]:
        """The outputs of an operation, without a record for gradients; writes the state that it writes."""
        definition = op.definition
        if definition.collective and self.kind is not None:
            raise combines_inside(op)
        values = self._arguments(op)
        if values is not None and self.executor is not None:
            return self.executor(op, values)[0]
        if definition.lower is not None and not runs_in_numpy(op):
            return definition.lower(self, op)
        return self.apply(op, [self.value(t) for t in op.inputs])

    def apply(self, op: Operation, args: Sequence[Array]) -> Sequence[Array]:
        """The outputs of an operation's kernel, or of its numpy form where all inputs are small and known.

        Args:
          op: of a type without a ``lower`` function.
          args: one value per input.

        Raises:
          NeedsStatic: an input that must be known is a tracer.
          UnsupportedError: the operation has no kernel, because it runs on the host.
        """
        definition = op.definition
        attrs = op.arguments
        check_shapes(op, args)
        alone = runs_in_numpy(op)
        args = settled(self, op, args)
        if alone:
            if any(isinstance(a, jax.core.Tracer) for a in args):
                raise on_host(op)
            args = [np.asarray(a) for a in args]
        if definition.numpy is not None and (alone or all_known(args, definition.dynamic)):
            outputs = to_output_list(op, definition.numpy(*args, **attrs), lambda x: x)
            return [host_array(o, t.dtype.np) for o, t in zip(outputs, op.outputs, strict=True)]
        kernel = definition.kernel
        if kernel is None:
            raise on_host(op)
        args = list(args)
        for position in definition.known(len(op.inputs), op.attrs):
            if position < len(args):
                args[position] = self.static(op, position)
        if definition.platform:
            attrs["platform"] = self.platform
        if definition.random:
            args.insert(0, self.key(op))
            attrs.pop("seeds", None)
        if self.differentiated and definition.gradient is not None:
            # What is fed keeps the derivative that the formula gives it.
            fed = {i: self.fed[t] for i, t in enumerate(op.outputs) if t in self.fed and t not in self.cut}
            return to_output_list(op, with_formula(op, kernel, args, attrs, self.axis, fed), lambda x: x)
        return to_output_list(op, kernel(*args, **attrs), lambda x: x)

    def _execute_taped(self, op: Operation) -> Sequence[Array]:
        """Evaluate an operation on a gradient's path under its own ``jax.vjp``; its pullback goes to ``records``."""
        definition = op.definition
        if definition.backward is not None or op in self.rules:
            self.records[op] = Record(next(self.clock), None, (), ())
            by_rule = self.differentiated and op in self.rules
            return differentiable_by_rule(self, op) if by_rule else self.evaluate(op)
        sources = [t for t in dict.fromkeys(op.inputs) if t in self.active]
        results = [t for t in op.outputs if t in self.active]
        if not sources or not results:
            return self.evaluate(op)
        fed = any(t in self.fed for t in op.outputs)
        values = None if fed and definition.gradient is not None else self._arguments(op)
        if values is not None and self.executor is not None:
            return self._execute_singly(op, self.executor(op, values), sources, results)
        if definition.gradient is not None:
            return self._execute_by_formula(op, sources, results)
        by_rows = {t: ops for t in sources if t.dtype is resource and (ops := lookups_in(op, t)) is not None}
        whole = [t for t in sources if t not in by_rows]
        cells = {t: t.op.attrs["cell"] for t in sources if t.dtype is resource}
        # Cast to varying before differentiating: the transpose of an implicit cast would sum cotangents over the axis.
        primals = {t: self.even(self.read_variable(cells[t], op) if t in cells else self.value(t), t) for t in sources}
        primals = {t: vary(jnp.asarray(v), self.axis) for t, v in primals.items()}
        written: list[StateVariable] = []
        shapes: Shapes = {}
        keys: list[Key] = []

        def function(zeros: list[Array], *args: Array) -> tuple[list[Array], tuple[Any, ...]]:
            given = primals | dict(zip(whole, args, strict=True))
            lookups = Lookups(by_rows, dict(zip(keys, zeros, strict=True)), self.axis, shapes=shapes)
            if definition.lower is None:
                outputs = self.apply(op, [given[t] if t in given else self.value(t) for t in op.inputs])
                changes: list[Array] = []
            else:
                variables = {cells[t]: v for t, v in given.items() if t in cells}
                # What it writes is state, and no variable: reads say by themselves that they depend on the variable.
                inner = self.fork(
                    {t: v for t, v in given.items() if t not in cells},
                    {c: v for c, v in variables.items() if c not in op.writes},
                )
                inner.variables |= variables
                inner.differentiated_again = self.differentiated
                inner.differentiated = True
                inner.lookups = lookups if by_rows else None
                outputs = definition.lower(inner, op)
                written[:] = inner.written
                changes = [inner.state[cell] for cell in written]
            by_tensor = dict(zip(op.outputs, outputs, strict=True))
            rest = {t.value_index: v for t, v in by_tensor.items() if t not in self.active}
            return [jnp.asarray(by_tensor[t]) for t in results], (rest, changes, lookups.of(keys))

        args = [primals[t] for t in whole]
        if by_rows:  # A first pass finds how many rows are looked up: the zeros of the vjp need shapes.
            _ = function([], *args) if self.eager else jax.eval_shape(function, [], *args)
            keys = list(shapes)
        saved_state, saved_written = dict(self.state), set(self.written)
        zeros = [vary(jnp.zeros(*shapes[k]), self.axis) for k in keys]
        made, pull, (rest, changes, indices) = jax.vjp(function, zeros, *args, has_aux=True)
        # The counter was advanced inside the trace of the vjp: undone, and done again outside of it.
        if definition.random:
            self.state, self.written = saved_state, saved_written
            self.write(op.counter, self.state[op.counter] + np.uint32(1))  # type: ignore[arg-type, index]
        for cell, value in self._changes(op, dict(zip(written, changes, strict=True))).items():
            self.write(cell, value)

        def pull_rows(cotangents: Sequence[Array]) -> list[Cotangent | None]:
            rows, *found = pull(cotangents)
            return [*found, *(rows_of(ops, keys, rows, indices, primals[t]) for t, ops in by_rows.items())]

        self.records[op] = Record(next(self.clock), pull_rows, (*whole, *by_rows), tuple(results), tuple(made))
        by_index = dict(rest) | {t.value_index: v for t, v in zip(results, made, strict=True)}
        return [by_index[t.value_index] for t in op.outputs]

    def _execute_singly(
        self, op: Operation, executed: tuple[list[Array], Pullback], sources: Sequence[Tensor],
        results: Sequence[Tensor],
    ) -> Sequence[Array]:  # fmt: skip
        """Record an operation on a gradient's path that the executor has run; returns its outputs."""
        outputs, pull_back = executed
        by_tensor = dict(zip(op.outputs, outputs, strict=True))
        on_path = set(sources)
        wanted = [t in on_path for t in op.inputs]

        def pull(cotangents: Sequence[Array]) -> list[Array | None]:
            given = dict(zip(results, cotangents, strict=True))
            return by_source(op, sources, pull_back(wanted, [given.get(t) for t in op.outputs]))

        primals = tuple(jnp.asarray(by_tensor[t]) for t in results)
        self.records[op] = Record(next(self.clock), pull, tuple(sources), tuple(results), primals)
        return outputs

    def _execute_by_formula(
        self, op: Operation, sources: Sequence[Tensor], results: Sequence[Tensor]
    ) -> Sequence[Array]:
        """Record an operation on a gradient's path whose type has a gradient formula; returns its outputs."""
        outputs = self.evaluate(op)
        by_tensor = dict(zip(op.outputs, outputs, strict=True))
        known = op.definition.known(len(op.inputs), op.attrs)
        values = settled(self, op, [self.value(t) for t in op.inputs])
        inputs = [self.static(op, i) if i in known else value for i, value in enumerate(values)]
        fed = self.cut if self.differentiated else {*self.fed, *self.cut}
        seen = [self.value(t) if t in fed else v for t, v in by_tensor.items()]

        def pull(cotangents: Sequence[Array]) -> list[Array | None]:
            given = dict(zip(results, cotangents, strict=True))
            upstream = [given.get(t) for t in op.outputs]
            return by_source(op, sources, apply_formula(op, inputs, seen, upstream, self.axis))

        primals = tuple(jnp.asarray(by_tensor[t]) for t in results)
        self.records[op] = Record(next(self.clock), pull, tuple(sources), tuple(results), primals)
        return outputs

    def _changes(self, op: Operation, found: dict[StateVariable, Array]) -> dict[StateVariable, Array]:
        """The state that a recorded operation wrote: ``found`` as its ``jax.vjp`` has it, all varying.

        Replicated values come from a second evaluation without casts, which the compiler merges with the first.
        """
        if self.axis is None or self.differentiated or all(c.is_varying for c in found):
            return found
        plain = self.fork()
        plain.quiet = True
        plain.evaluate(op)
        return {cell: plain.state[cell] for cell in plain.written}


def _shape(value: Any, tensor: Tensor) -> list[int] | TensorShape:
    """The shape of an input for an error message: its value's if it has one."""
    return list(np.shape(value)) if value is not None and tensor.dtype is not resource else tensor.shape
