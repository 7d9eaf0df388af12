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

* Reverse mode is part of it. Operations on a gradient's path (Mul and Sum here) are evaluated once, at their own place,
  under a ``jax.vjp`` or formula each (``taped_evaluation``); ``Gradients`` walks their records back.
* Along a mesh axis values are varying or invariant, as in ``jax.shard_map``. Those on a path are cast to varying; what
  is stored replicated is evaluated again from invariant inputs (``replicated_copies``), and XLA merges the two.
* Where inputs differ in shape by tower, what depends on them is evaluated once per class (``class_evaluation``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError, OpError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor, loops_in, runs_in_numpy
from towerstrat.graph.ir.mesh import Axis, axis_index, varies, vary
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array, HostArray, host_array, resource
from towerstrat.graph.lowering.class_evaluation import (
    ClassEvaluation,
    by_shard_class,
    differs_by_class,
    execute_by_class,
)
from towerstrat.graph.lowering.error_records import ErrorRecords
from towerstrat.graph.lowering.error_state import ErrorState
from towerstrat.graph.lowering.executor import Executor
from towerstrat.graph.lowering.gradient_formulas import in_place_of, with_formula
from towerstrat.graph.lowering.kernel_outputs import all_known, check_declared, to_output_list
from towerstrat.graph.lowering.lowering_errors import (
    NeedsStatic,
    changed_shape,
    combines_inside,
    not_one_value,
    on_host,
    unfed,
    varying_shape,
)
from towerstrat.graph.lowering.position_values import common_value, settled
from towerstrat.graph.lowering.python_gradients import passes_gradient
from towerstrat.graph.lowering.random_keys import RandomKeys
from towerstrat.graph.lowering.replicated_copies import ReplicatedCopies, pruned_forms
from towerstrat.graph.lowering.rule_evaluation import differentiable_by_rule
from towerstrat.graph.lowering.scheduling import late_ones_last
from towerstrat.graph.lowering.shape_checks import check_shapes
from towerstrat.graph.lowering.shard_classes import at, has_collective, mark_equal
from towerstrat.graph.lowering.state_environment import StateEnvironment
from towerstrat.graph.lowering.tape import GradientPaths, Record, Tape
from towerstrat.graph.lowering.taped_evaluation import execute_taped
from towerstrat.graph.lowering.vjp_scope import VjpScope

T = TypeVar("T")
_NOT_CONCRETE = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
"""Raised by JAX where a kernel asks for the value of a tracer."""


class Lowering:
    """One evaluation of operations: the values of tensors, and the state so far. Forks see it and add their own.

    Args:
      platform: "cpu", "gpu" or "tpu".
      axis: the named axis the evaluation is mapped over, or None.
      state: state variable -> its value before.
      fed: tensor -> value that replaces its operation's output.
      operations: all operations that will be evaluated: the gradients among them say which others to record.
      trip_counts: loop -> bound of its trip count, learned from a run of it.
      eager: operations run one by one on concrete values.
      executor: runs single operations, where ``eager``; None: their kernels are called.
      host_calls_inline: all values are known to the host, and Python functions are called during the evaluation.
      parent: the evaluation that this is a fork of.

    Attributes:
      values: tensor -> value: numpy where it is known while lowering, else a JAX array or tracer; a ``ByClass`` where
        it differs by shard class; of a variable's handle the ``StateVariable``.
      state: the state variables.
      vjp: the derivative that this evaluation is part of.
      tape: the records of operations on gradients' paths.
      classes: the shard classes, where shards differ in what they compute.
      errors: the failed checks.
      random: the keys of random operations.
      copies: replicated copies of values that were cast to varying.
      trip_counters: loop -> the state variable that takes its largest trip count, where these are learned.
      suppress_prints: in a second evaluation of the same operations, which prints nothing again.
      padded_tensors: those with padding rows at their end, which nobody outside of the program may see.
      upcoming: the operations after the present one, where collectives are combined.
    """

    def __init__(
        self,
        platform: str,
        axis: Axis | None = None,
        state: Mapping[StateVariable, Any] | None = None,
        fed: Mapping[Tensor, Array] | None = None,
        operations: Iterable[Operation] = (),
        trip_counts: Mapping[Operation, int] | None = None,
        eager: bool = False,
        executor: Executor | None = None,
        host_calls_inline: bool = False,
        parent: Lowering | None = None,
    ):
        self.platform = platform
        self.axis = axis
        self.state = StateEnvironment(state or {})
        self.fed: Mapping[Tensor, Array] = dict(fed or {})
        self.values: dict[Tensor, Any] = dict(self.fed)
        self.trip_counts: Mapping[Operation, int] = trip_counts or {}
        self.eager = eager
        self.executor = executor
        self.host_calls_inline = host_calls_inline
        self.parent = parent
        self.random = RandomKeys(self.state, axis)
        self.upcoming: Sequence[Operation] = ()
        self._memo: dict[Hashable, Any] = {}
        if parent is None:
            operations = list(operations)
            self.vjp = VjpScope()
            self.tape = Tape(GradientPaths.of(operations))
            self.classes = ClassEvaluation(self.vjp)
            self.errors = ErrorState(ErrorRecords(platform), self.state, self.classes, axis)
            self.copies = ReplicatedCopies(pruned_forms(operations))
            self.trip_counters: Mapping[Operation, StateVariable] = {}
            self.suppress_prints = False
            self.padded_tensors: set[Tensor] = set()
        else:
            self.vjp = parent.vjp.fork()
            self.tape = parent.tape.fork()
            self.classes = ClassEvaluation(self.vjp, parent.classes)
            self.errors = parent.errors.fork(self.state, self.classes)
            self.copies = parent.copies.fork()
            self.trip_counters = parent.trip_counters
            self.suppress_prints = parent.suppress_prints
            self.padded_tensors = parent.padded_tensors

    def fork(
        self, values: Mapping[Tensor, Any] | None = None, state: Mapping[StateVariable, Any] | None = None
    ) -> Lowering:
        """A child evaluation on this one's values and a copy of its state; ``values``, ``state`` replace entries."""
        child = Lowering(
            self.platform, self.axis, {**self.state.values, **(state or {})}, trip_counts=self.trip_counts,
            eager=self.eager, executor=self.executor, parent=self,
        )  # fmt: skip
        child.values.update(values or {})
        child.fed = self.fed
        return child

    # ---- values ----------------------------------------------------------------------------------------------

    def value(self, tensor: Tensor) -> Array:
        """The value of a tensor; in a part for one shard class, that class's.

        Raises:
          UnsupportedError: it was not computed in this evaluation or those below it.
        """
        value, shard_class = self.value_by_class(tensor), self.classes.shard_class
        return value if shard_class is None else at(value, shard_class)

    def value_by_class(self, tensor: Tensor) -> Any:
        """The value of a tensor; a ``ByClass`` where it differs by shard class."""
        frame: Lowering | None = self
        while frame is not None:
            if tensor in frame.values:
                return frame.values[tensor]
            frame = frame.parent
        raise UnsupportedError(
            f"{tensor!r} (created at {tensor.op.line}) was not computed in this part of the program."
        )

    def memoize(self, key: Hashable, make: Callable[[], T]) -> T:
        """``make()``, computed once per evaluation and key: explicit common-subexpression elimination."""
        if key not in self._memo:
            self._memo[key] = make()
        value: T = self._memo[key]
        return value

    def record(self, op: Operation) -> Record | None:
        """The tape's entry for an operation, or None where it was not recorded."""
        return next((frame.tape.records[op] for frame in self.frames() if op in frame.tape.records), None)

    def state_read_by(self, op: Operation) -> dict[StateVariable, Any]:
        """The state that an operation read when it was evaluated: state variable -> value."""
        return next((frame.tape.snapshots[op] for frame in self.frames() if op in frame.tape.snapshots), {})

    def frames(self) -> Iterator[Lowering]:
        """This evaluation and its ancestors, each preceded by its child for this one's shard class."""
        frame: Lowering | None = self
        while frame is not None:
            if self.classes.shard_class is not None and frame.classes.children:
                yield frame.classes.children[self.classes.shard_class]
            yield frame
            frame = frame.parent

    def invariant(self, tensor: Tensor) -> Array:
        """The value, typed as replicated over the mesh axis: where it was cast to varying, its replicated copy.

        Raises:
          UnsupportedError: the value differs by axis index.
        """
        value = self.value(tensor)
        if self.axis is None or self.vjp.active or not varies(value):
            return value
        classes = self.classes
        # Equal everywhere, yet evaluated per shard class: the first one's replicated copy serves them all.
        if (
            classes.shard_class is None
            and tensor.op in classes.operations
            and not tensor.op.definition.handles_shard_classes
        ):
            owner = next(frame for frame in self.frames() if tensor in frame.values)
            return mark_equal(by_shard_class(owner)[0].invariant(tensor))
        if tensor.varies:
            raise not_one_value(tensor, self.axis.name)
        return self.copies.copy_of(tensor, self)

    def static(self, op: Operation, position: int) -> HostArray:
        """The numpy value of an input that the kernel needs while lowering. Raises NeedsStatic where it is a tracer."""
        value: Any = self.value(op.inputs[position])
        if isinstance(value, jax.core.Tracer) and (value := common_value(self, op, position)) is None:
            raise NeedsStatic(op, position)
        return np.asarray(value)

    # ---- state -----------------------------------------------------------------------------------------------

    def read_variable(self, cell: StateVariable, op: Operation) -> Array:
        """A differentiable read: the cotangent goes to the variable itself, not to what was written."""
        value, variable = self.state.read(cell, op), self.vjp.variables.get(cell)
        if variable is None or value is variable:
            return value
        if np.shape(value) != np.shape(variable):
            raise changed_shape(cell, op, np.shape(variable), np.shape(value))
        return in_place_of(vary(jnp.asarray(value), self.axis), variable)

    def update(self, cell: StateVariable, old: Array, new: Array) -> None:
        """Write a new value of a state variable, masked: the old one stays where a check has failed so far."""
        failed = self.errors.failed()
        if failed is not None:
            new = jnp.where(failed, old, new)
        self.state.write(cell, new, self.errors.record)

    def cells_of(self, op: Operation) -> list[StateVariable]:
        """The state variables that a branch or loop changes: written ones, trip counters, the error record."""
        inside = set(loops_in(op)) - {op} if self.trip_counters else ()
        record = (ERROR_RECORD,) if op.checks and ERROR_RECORD in self.state else ()
        if op.writes:
            self.errors.failed()  # A collective must not be made inside of a region's trace.
        counters = (cell for loop, cell in self.trip_counters.items() if loop in inside)
        return list(dict.fromkeys((*op.writes, *counters, *record)))

    def position(self) -> Array:
        """This shard's index along the axis, an int32 scalar; 0 without an axis."""
        return axis_index(self.axis)

    def raise_unfed(self, op: Operation) -> list[Array]:
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
                self.upcoming = operations[i + 1 :]
            self.execute(op)

    def is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor's value was computed already, in this evaluation or those below it."""
        return any(tensor in frame.values for frame in self.frames())

    def _check_ahead(self, operations: Sequence[Operation]) -> None:
        """Run the checks of writes whose inputs are known, except those evaluated once per shard class."""
        for op in operations:
            ready = op.checks and op.definition.writes and all(self.is_known(t) for t in op.inputs)
            if ready and not (self._has_classes() and differs_by_class(self, op)):
                self.check(op)

    def check(self, op: Operation) -> None:
        """Evaluate the check of an operation's inputs, once.

        Raises:
          InvalidArgumentError: the values are known, and wrong, and the operation is executed by itself.
        """
        check = op.definition.check
        if check is None or self.errors.has_checked(op):
            return
        inputs = [
            self.state.read(t.op.attrs["cell"], op) if t.dtype is resource else self._primal(t) for t in op.inputs
        ]
        outputs = [self._primal(t) for t in op.outputs] if check.after else []
        self.errors.check(op, inputs + outputs, self.eager)

    def _primal(self, tensor: Tensor) -> Array:
        """The value of a tensor, without its derivative."""
        value = self.value(tensor)
        return lax.stop_gradient(value) if isinstance(value, jax.core.Tracer) else value

    def _has_classes(self) -> bool:
        """Whether this evaluates all shards, and these are of several classes."""
        return self.classes.partition is not None and self.classes.shard_class is None

    def execute(self, op: Operation) -> None:
        """Evaluate one operation and bind its outputs in ``values``, except those that are fed.

        Raises:
          OpError: it cannot be evaluated on these inputs; names the operation and the user's line.
          NeedsStatic, NeedsTripCount: it needs a value that is not known while lowering.
          UnsupportedError: it cannot be compiled here.
        """
        if op.writes and (op.bodies or op.definition.writes) and self.classes.shard_class is None:
            self.errors.failed()  # outside of bodies and shard classes: a collective needs all shards
        if self._has_classes() and not has_collective(op) and differs_by_class(self, op):
            self.classes.operations.add(op)
            if not op.definition.handles_shard_classes:
                execute_by_class(self, op)
                return
        paths = self.tape.paths
        if op.reads and (op in paths.operations or self.axis is not None):
            self.tape.snapshots[op] = {c: self.state[c] for c in op.reads if c in self.state}
        check = op.definition.check if op.checks else None
        if check is not None and not check.after:
            self.check(op)
        try:
            if op in paths.operations:
                outputs = execute_taped(self, op)
            elif self.vjp.active and op in paths.rules:
                outputs = differentiable_by_rule(self, op)
            else:
                outputs = self.evaluate(op)
                if self.vjp.active and not op.definition.is_placeholder and not passes_gradient(op):
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
            if tensor in self.vjp.independent:
                continue
            if tensor not in self.fed:
                self.values[tensor] = value
                check_declared(tensor, value)
            elif self.vjp.active:
                self.values[tensor] = in_place_of(vary(self.fed[tensor], self.axis), vary(value, self.axis))
        if check is not None and check.after:
            self.check(op)

    # ---- one operation ---------------------------------------------------------------------------------------

    def executor_arguments(self, op: Operation) -> list[Array] | None:
        """The inputs' values if the eager executor can run this operation, else None."""
        definition = op.definition
        if self.executor is None or not self.eager or self.vjp.active or definition.dynamic or definition.random:
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
        if definition.collective and self.classes.shard_class is not None:
            raise combines_inside(op)
        values = self.executor_arguments(op)
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
            args.insert(0, self.random.key(op))
            attrs.pop("seeds", None)
        if self.vjp.active and definition.gradient is not None:
            # What is fed keeps the derivative that the formula gives it.
            fed = {i: self.fed[t] for i, t in enumerate(op.outputs) if t in self.fed and t not in self.vjp.independent}
            return to_output_list(op, with_formula(op, kernel, args, attrs, self.axis, fed), lambda x: x)
        return to_output_list(op, kernel(*args, **attrs), lambda x: x)


def _shape(value: Any, tensor: Tensor) -> list[int] | TensorShape:
    """The shape of an input for an error message: its value's if it has one."""
    return list(np.shape(value)) if value is not None and tensor.dtype is not resource else tensor.shape
