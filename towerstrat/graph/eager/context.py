"""The eager context: the default graph of programs that run eagerly, whose ``add`` executes the operation at once.

The public functions build operations by ``get_default_graph().add(type, inputs, attrs)``; with this graph as the
default they compute. ``add`` finds the operation's program by (type, attributes, dtypes and shapes) in
``SINGLE_OPERATIONS``, runs its checks on the host, runs the program, stores its writes, and hands a ``Record`` to each
tape:

    _execution      OperationProgram of Mul on float32[2], float32[2]
    _state          ()                       of a random operation its counter, of an assignment the variable's value
    execute         [EagerTensor float32[2]], and ExecutionRecord to the tapes

>>> from towerstrat.graph.ir.types import float32
>>> from towerstrat.graph.ops.math import elementwise  # registers its types
>>> pair = [context().tensor(np.float32(x), float32) for x in ([1, 2], [10, 20])]
>>> context().add("Mul", pair).outputs[0].numpy()
array([10., 40.], dtype=float32)

State is the ``EagerSession``'s, the same kind of ``Runner`` that graph sessions are, so that functions, datasets and
host operations work in both. Arrays in the store may be outputs or inputs as well, and records keep them for gradients:
they are marked as shared, so that no program donates them.

Code that runs for one replica (``running_index``) sees of a varying variable its own row, and writes only that
(``_seen``, ``_stored_value``). Tapes are per thread.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import jax
import numpy as np

from towerstrat.errors import EagerArgumentError, InvalidArgumentError, OpError, UnsupportedError
from towerstrat.graph.eager.tensor import EagerTensor, Handle
from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.check_definitions import InputCheck
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, make_varying
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis, on_one_device
from towerstrat.graph.ir.op_registry import OpDef
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import Array, DType, HostArray, bool_
from towerstrat.graph.ir.user_lines import UserLine, user_line
from towerstrat.graph.lowering.error_records import found_on_host
from towerstrat.graph.lowering.lowering_errors import NeedsStatic, uninitialized
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.graph.runtime.programs.eager_programs import SINGLE_OPERATIONS, Executable, OperationProgram
from towerstrat.platform.threads import ThreadState

Cotangent: TypeAlias = Tensor | IndexedSlices | None
"""The gradient of the target by a tensor; None where the target does not depend on it."""
CellValues: TypeAlias = Sequence[tuple[StateVariable | None, Array | None]]
"""For each state variable of an execution: that of the eager state (None: random counter, error record), value."""

_UNKNOWN_LINE = UserLine("<eagerly>", 0, "")


class Executed(Operation):
    """An executed operation: type, inputs, outputs and attributes, without a place in an execution order."""

    __slots__ = ()

    def __init__(
        self, context: EagerContext, definition: OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None,
        outputs: list[Tensor],
    ):  # fmt: skip
        self.definition = definition
        self.type = definition.type
        self.graph = context
        self._inputs = tuple(inputs)
        self.attrs = attrs or {}  # type: ignore[assignment]  # not copied: nobody writes to them
        self._outputs = outputs
        self._control_inputs = []
        self.device = ""
        self.axis = None
        self.line = _UNKNOWN_LINE

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.type


class Record:
    """One executed operation on a tape, with its vector-Jacobian product.

    Attributes:
      inputs, outputs: its tensors; for a read of a variable the input is the variable's handle.
    """

    __slots__ = ("inputs", "outputs")

    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]):
        self.inputs = inputs
        self.outputs = outputs

    def backward(self, requested: Sequence[bool], cotangents: Sequence[Tensor | None]) -> Sequence[Cotangent]:
        """The cotangents of the inputs, by operations that outer tapes record.

        Args:
          requested: for each input whether its cotangent is used.
          cotangents: one per output; None counts as zeros.
        """
        raise NotImplementedError


class Tape(Protocol):
    """An observer of executed operations."""

    def follows(self, tensors: Iterable[Tensor]) -> bool:
        """Whether operations on one of these tensors are recorded."""

    def record(self, record: Record) -> None:
        """Called with each executed operation."""

    def access(self, handle: Handle) -> None:
        """Called with the handle of each trainable variable that is read."""


class ExecutionRecord(Record):
    """A tape record of an operation computed by a kernel, or of the gradient of one.

    Attributes:
      state: the values of its state variables as it was executed, for its gradient.
    """

    __slots__ = ("context", "execution", "state")

    def __init__(
        self, context: EagerContext, execution: Executable, inputs: Sequence[Tensor], outputs: Sequence[Tensor],
        state: CellValues,
    ):  # fmt: skip
        super().__init__(inputs, outputs)
        self.context = context
        self.execution = execution
        self.state = state

    def backward(self, requested: Sequence[bool], cotangents: Sequence[Tensor | None]) -> Sequence[Cotangent]:
        seeded = tuple([c is not None for c in cotangents])
        result: list[Cotangent] = [None] * len(self.inputs)
        seeds = [c for c in cotangents if c is not None]
        while True:
            pull = self.execution.pullbacks.find(tuple(requested), seeded)
            if pull is None:
                return result
            try:
                outputs = iter(self.context.execute(pull, [*self.inputs, *seeds], self.state))
                break
            except NeedsStatic as needed:
                if not isinstance(self.execution, OperationProgram):
                    raise
                self.execution = SINGLE_OPERATIONS.specialise(self.execution, needed, self.inputs)
        kinds = iter(pull.results)
        for index, is_wanted in enumerate(requested):
            kind = next(kinds) if is_wanted else None
            if isinstance(kind, Tensor):
                result[index] = next(outputs)
            elif kind is not None:
                result[index] = self.context.rows(next(outputs), next(outputs), self.inputs[index])
        return result


class ReadRecord(Record):
    """A tape record of a variable's read: the cotangent of the handle is that of the value."""

    __slots__ = ()

    def backward(self, requested: Sequence[bool], cotangents: Sequence[Tensor | None]) -> Sequence[Cotangent]:
        return cotangents


class EagerSession(Runner):
    """The session of eager code: owns the values of eager variables, runs functions, datasets and host operations."""

    what = "program"

    def release(self, key: Hashable) -> None:
        """Drop the resource kept under ``key``, if there is one."""
        self._resources.pop(key, None)

    def run(self, fetches: Sequence[Any]) -> list[HostArray]:
        """The values of eager tensors."""
        return [t.host() for t in fetches]


class _Tapes(ThreadState):
    """The tapes that record in a thread, the outermost first."""

    def __init__(self) -> None:
        self.active: list[Tape] = []


_DRAWS = "eager draws"
"""Prefix of the names under which the session counts eager random operations."""


class EagerContext(Graph):
    """A graph that executes each operation that is added. There is one in a process.

    Attributes:
      session: owns the values of eager variables.
      tapes: the tapes that record in the current thread.
      first_line: the user's line that executed the first operation.
    """

    executing_eagerly = True
    variable_class = EagerVariable
    _seed: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.session = EagerSession()
        self.tapes = _Tapes()
        self.first_line: UserLine | None = None

    # ---- tapes -----------------------------------------------------------------------------------------------

    def recording(self, tensors: Iterable[Tensor]) -> bool:
        """Whether some tape records operations on these tensors."""
        return any(tape.follows(tensors) for tape in self.tapes.active)

    def record(self, record: Record) -> None:
        """Hand an executed operation to each tape."""
        for tape in self.tapes.active:
            tape.record(record)

    # ---- executing -------------------------------------------------------------------------------------------

    def add(
        self,
        type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] | None = None,
        name: str | None = None,
        *,
        block: Block | None = None,
        axis: Axis | None = None,
        control_inputs: Iterable[Operation] = (),
    ) -> Operation:
        """Execute an operation now.

        The arguments are those of ``Graph.add``. ``name``, ``block``, ``axis`` and ``control_inputs`` change nothing:
        operations execute in the order of the calls.

        Raises:
          TypeError: an input is a symbolic tensor of a graph, or has a value per replica.
          InvalidArgumentError: the inputs do not fit the type, or their values cannot be computed.
        """
        definition = op_registry.lookup(type)
        if self.first_line is None:
            self.first_line = user_line()
        special = definition.execute
        for tensor in inputs:
            if not isinstance(tensor, EagerTensor):
                raise _leak_error(tensor, type)
            if tensor.varies and special is None:
                raise TypeError(
                    f"{type} got a value that has a part on every replica ({tensor!r}). Combine the parts with "
                    "strategy.reduce, take them with strategy.experimental_local_results, or use strategy.run."
                )
        if special is not None:
            outputs = special(self, inputs, attrs or {})
        elif definition.host is not None:
            outputs = self._on_host(definition, inputs, attrs or {})
        else:
            outputs = self._compute(definition, inputs, attrs or {})
        return Executed(self, definition, inputs, attrs, outputs)

    def _compute(self, definition: OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Tensor]:
        execution = self._execution(definition, inputs, attrs)
        check = definition.check if execution.op.checks else None
        if check is not None and not check.after:
            self._check(check, execution.op, inputs)
        state = self._state(execution, definition, inputs, attrs)
        while True:
            try:
                outputs = self.execute(execution, inputs, state)
                break
            except NeedsStatic as needed:
                # The kernel asked for the value of an input: compile again with that value as a constant.
                execution = SINGLE_OPERATIONS.specialise(execution, needed, inputs)
        if check is not None and check.after:
            self._check(check, execution.op, [*inputs, *outputs])
        return outputs

    def _check(self, check: InputCheck, op: Operation, inputs: Sequence[Tensor]) -> None:
        """Check the values of an operation's inputs on the host. Raises InvalidArgumentError."""
        values = [self._value_to_check(t, on_host=i in check.values) for i, t in enumerate(inputs)]
        error = found_on_host(check, op, values)
        if error is not None:
            raise InvalidArgumentError(None, _here(op), error.message)

    def _value_to_check(self, tensor: Any, on_host: bool) -> Any:
        """The value of an input for a check; of a variable the one that the current replica sees."""
        if isinstance(tensor, Handle):
            return self._seen(tensor.cell, self.session.state.get(tensor.cell))
        return tensor.host() if on_host else tensor.array

    def _execution(self, definition: OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> OperationProgram:
        try:
            program = SINGLE_OPERATIONS.find(definition, inputs, attrs)
        except ValueError as error:
            raise EagerArgumentError(None, None, str(error)) from None
        return program

    def _state(
        self, execution: OperationProgram, definition: OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> CellValues:
        """The values of the state variables of an execution, in the order of its ``cells``."""
        cells = execution.computation.cells
        if not cells:
            return ()
        store = self.session.state
        handles = iter([t for t in inputs if isinstance(t, Handle)])
        result: list[tuple[StateVariable | None, Array | None]] = []
        for cell in cells:
            if cell is ERROR_RECORD:
                result.append((None, execution.record))
                continue
            if cell is execution.op.counter:
                result.append((None, self._draw(definition.type, attrs)))
                continue
            handle = next(handles)
            if self.tapes.active:
                # The record keeps the value for its gradient, so no later program may take the memory.
                value = store.share_buffer(handle.cell)
                self._note_access(handle)
            else:
                value = store.get(handle.cell)
            if value is None and definition.reads:
                raise uninitialized(handle.cell, handle.op)
            result.append((handle.cell, on_one_device(self._seen(handle.cell, value))))
        return result

    def _draw(self, type: str, attrs: Mapping[str, Any]) -> HostArray:
        """Advance a random counter and return its value: one per type and seed, or one for all without a seed."""
        seeds = attrs.get("seeds", (None, None))
        name = _DRAWS if seeds[1] is None else f"{_DRAWS}/{type}/{seeds[0]}/{seeds[1]}"
        if self.running_index is not None and seeds[1] is not None:
            name = f"{name}/{self.running_index.position}"  # each position's draws begin with the same
        return np.asarray(self.session.count(name), np.uint32)

    def execute(self, execution: Executable, inputs: Sequence[Any], state: CellValues = ()) -> list[Tensor]:
        """Run a program of an operation or of a gradient, store its writes, and record it on the tapes.

        Args:
          execution: the program of an operation, or of its pullback.
          inputs: eager tensors.
          state: the values of the computation's ``cells``.

        Raises:
          EagerArgumentError: the values cannot be computed. InvalidArgumentError: a check failed.
        """
        try:
            values, after = SINGLE_OPERATIONS.compute(execution, inputs, [value for _, value in state])
        except (OpError, UnsupportedError) as error:
            if isinstance(error, OpError) and execution.op is not None and error.op is execution.op:
                kind: Any = EagerArgumentError if isinstance(error, InvalidArgumentError) else type(error)
                raise kind(None, _here(execution.op), error.message) from error.__cause__
            error.__notes__ = [n for n in getattr(error, "__notes__", ()) if "JAX_TRACEBACK" not in n]
            raise
        if state:
            self._store(execution, state, after)
        outputs: list[Tensor] = [
            EagerTensor(self, v, d) for v, d in zip(map(_array, values), execution.dtypes, strict=True)
        ]
        if self.tapes.active and outputs:
            self.record(ExecutionRecord(self, execution, inputs, outputs, state))
        return outputs

    def _store(self, execution: Executable, state: CellValues, after: Sequence[Any]) -> None:
        written = set(execution.op.writes) if isinstance(execution, OperationProgram) else ()
        for cell, inner, value in zip([c for c, _ in state], execution.computation.cells, after, strict=True):
            if inner is ERROR_RECORD and (error := execution.compiled.function.error(value)) is not None:
                single = execution.op
                shown = _here(single) if single is not None and error.op is single else error.op
                raise InvalidArgumentError(None, shown, error.message)
            if cell is not None and inner in written:
                self.session.state.update({cell: self._stored_value(cell, value)})
                # The value may be an output or an input too (an assignment's is), so it must never be donated.
                self.session.state.shared_buffers.add(cell)

    def _on_host(self, definition: OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Tensor]:
        assert definition.host is not None
        op = Executed(self, definition, inputs, attrs, [])
        signatures = definition.rule(inputs, attrs)
        values = [t.cell if isinstance(t, Handle) else t.host() for t in inputs if isinstance(t, EagerTensor)]
        results = definition.host(self.session, op, values)
        return [
            EagerTensor(self, np.asarray(v) if not isinstance(v, jax.Array) else v, s.dtype)
            for v, s in zip(results, signatures, strict=True)
        ]

    # ---- values ----------------------------------------------------------------------------------------------

    def tensor(self, array: Array, dtype: DType) -> EagerTensor:
        """An eager tensor of this value."""
        return EagerTensor(self, array, dtype)

    def rows(self, values: Tensor, indices: Tensor, table: Tensor | Handle) -> IndexedSlices:
        """The gradient of a row lookup in a tensor, or the variable of a handle: rows ``values`` at ``indices``."""
        dims = table.cell.dims if isinstance(table, Handle) else table.dims
        return IndexedSlices(values, indices, constant(np.array(dims, np.int32)))

    def read(self, handle: Handle) -> EagerTensor:
        """The value of a variable; the read is recorded by tapes.

        Raises:
          FailedPreconditionError: the variable was never initialized.
        """
        value = self.session.state.share_buffer(handle.cell)
        if value is None:
            raise uninitialized(handle.cell, handle.op)
        tensor = EagerTensor(self, on_one_device(self.read_here(handle.cell, value)), handle.cell.dtype)
        if self.tapes.active:
            self._note_access(handle)
            self.record(ReadRecord((handle,), (tensor,)))
        return tensor

    def is_initialized(self, handle: Handle) -> EagerTensor:
        """Whether a variable has a value, as a bool tensor."""
        return EagerTensor(self, np.asarray(self.session.state.get(handle.cell) is not None), bool_)

    def _note_access(self, handle: Handle) -> None:
        if handle.trainable:
            for tape in self.tapes.active:
                tape.access(handle)

    def assign(self, cell: StateVariable, value: EagerTensor) -> None:
        """Store a variable's value. A numpy array is copied, since the caller may write to it later."""
        array = cell.stacked(self._stored_value(cell, value.array))
        if isinstance(array, jax.Array):
            self.session.state.update({cell: array})
            self.session.state.shared_buffers.add(cell)
        elif array.dtype.hasobject:
            self.session.state.update({cell: array})
        else:
            with jax.enable_x64(True):
                # By way of the host: a copy on the device would be compiled, for every shape.
                self.session.state.update({cell: jax.device_put(np.array(array))})

    def read_here(self, cell: StateVariable, value: Array) -> Array:
        """A variable's stored value as running code reads it: the replica's row, or outside the joined value."""
        return self._seen(cell, value) if self._is_own(cell) else cell.joined(value)

    def _is_own(self, cell: StateVariable) -> bool:
        """Whether code runs for a replica that has, or may write, its own row of a variable."""
        index = self.running_index
        return index is not None and index.axis is (cell.axis if cell.is_varying else cell.own)

    def _seen(self, cell: StateVariable, value: Array) -> Array:
        """The value that an operation reads of a variable's stored one; inside a replica its own row."""
        if value is None or self.running_index is None or not cell.is_varying or not self._is_own(cell):
            return value
        return np.asarray(cell.stacked(value))[self.running_index.position, ...]

    def _stored_value(self, cell: StateVariable, value: Array) -> Array:
        """The array to store after a write of ``value``; inside a replica only that replica's row changes."""
        before = self.session.state.get(cell)
        if self.running_index is None or before is None or not self._is_own(cell):
            return value
        make_varying(cell, self)
        stacked = np.array(cell.stacked(before))
        stacked[self.running_index.position] = value
        return stacked

    @contextmanager
    def standing_in(self, copies: Mapping[StateVariable, StateVariable]) -> Iterator[None]:
        """Let copies hold the replica's values of variables inside; write their changes to its rows afterwards.

        Args:
          copies: state variable -> the one that holds this replica's value.
        """
        if not copies:
            yield
            return
        state = self.session.state
        values = {cell: value for cell in copies if (value := state.share_buffer(cell)) is not None}
        before = {copies[cell]: self._seen(cell, value) for cell, value in values.items()}
        state.update(before)
        state.shared_buffers.update(before)
        try:
            yield
        finally:
            for cell, copy in copies.items():
                after = state.get(copy)
                if after is not None and after is not before.get(copy):
                    state.update({cell: self._stored_value(cell, after)})
                    state.shared_buffers.add(cell)
                state.discard(copy)

    # ---- what graphs do ----------------------------------------------------------------------------------------

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed = value
        self.session.start_counts_again(_DRAWS)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name in the current name scope, never numbered: nothing is looked up by name here."""
        return f"{self.scope_name}/{name}" if self.scope_name else name

    def add_to_collection(self, name: Hashable, value: object) -> None:
        """Do nothing: a collection would keep alive what the program has dropped."""

    def get_operations(self) -> list[Operation]:
        return []

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[object] | None) -> Iterator[None]:
        yield

    @contextmanager
    def colocate_with(self, op: object, ignore_existing: bool = False) -> Iterator[None]:
        yield

    def __reduce__(self) -> tuple[Any, ...]:
        return context, ()


def _here(op: Operation) -> Operation:
    """A copy of an operation, for an error message, that names the user's current line as its origin."""
    clone = copy.copy(op)
    clone.line = user_line()
    return clone


def _array(value: Any) -> Array:
    return value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)


def _leak_error(tensor: Tensor, type: str) -> TypeError:
    """The error for an input that is no eager tensor: a symbolic tensor that escaped from its graph."""
    if not isinstance(tensor, Tensor):
        return TypeError(f"Expected tensors as inputs of {type}, got {tensor!r}.")
    graph = tensor._graph
    if graph.building_function:
        return TypeError(
            f"{tensor!r} is out of scope and cannot be used here: it was made while {graph.what} was traced (created "
            f"at {tensor.op.line}) and has no value outside. Return it from the function instead of keeping it in a "
            "global, an attribute or a list."
        )
    return TypeError(
        f"{tensor!r} (created at {tensor.op.line}) belongs to a graph and has no value here, where operations are "
        "executed eagerly. Fetch it with a tf.Session of that graph, or use it inside `with graph.as_default():`."
    )


@functools.cache
def context() -> EagerContext:
    """The process' eager context."""
    return EagerContext()
