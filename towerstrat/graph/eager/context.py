"""The eager context: what operations are added to while programs run eagerly. It executes them."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import EagerArgumentError, InvalidArgumentError, OpError, UnsupportedError
from towerstrat.graph.eager.tensor import EagerTensor, Handle
from towerstrat.graph.eager.variable import EagerVariable
from towerstrat.graph.ir import registry
from towerstrat.graph.ir.convert import constant
from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis, on_one_device
from towerstrat.graph.ir.state import Cell, Flag
from towerstrat.graph.ir.trace import UserLine, user_line
from towerstrat.graph.ir.types import DType, bool_, resource
from towerstrat.graph.lowering.lowering import NeedsStatic, uninitialized
from towerstrat.graph.runtime.runs import Runner
from towerstrat.graph.runtime.single_operation import SINGLE_OPERATIONS, Executable, Execution

_UNKNOWN_LINE = UserLine("<eagerly>", 0, "")


class Executed(Operation):
    """An operation that was executed: what is left of it are its outputs."""

    __slots__ = ()

    def __init__(self, context: EagerContext, definition: Any, inputs: Sequence[Tensor], attrs: Any, outputs: Any):
        self.definition = definition
        self.type = definition.type
        self.graph = context
        self._inputs = tuple(inputs)
        self.attrs = attrs or {}
        self.outputs = outputs
        self._control_inputs = []
        self.device = ""
        self.axis = None
        self.line = _UNKNOWN_LINE

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.type


class Record:
    """What a tape keeps of an executed operation.

    Attributes:
      inputs, outputs: its tensors; a variable's handle where it was read.
    """

    __slots__ = ("inputs", "outputs")

    def __init__(self, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor]):
        self.inputs = inputs
        self.outputs = outputs

    def backward(self, wanted: Sequence[bool], cotangents: Sequence[Any]) -> Sequence[Any]:
        """The inputs' cotangents (None: nothing) from the outputs', by operations that are executed."""
        raise NotImplementedError


class ExecutionRecord(Record):
    """An operation that a kernel computed."""

    __slots__ = ("context", "execution", "state")

    def __init__(self, context: EagerContext, execution: Any, inputs: Any, outputs: Any, state: Any):
        super().__init__(inputs, outputs)
        self.context = context
        self.execution = execution
        self.state = state

    def backward(self, wanted: Sequence[bool], cotangents: Sequence[Any]) -> Sequence[Any]:
        given = tuple([c is not None for c in cotangents])
        result: list[Any] = [None] * len(self.inputs)
        seeds = [c for c in cotangents if c is not None]
        while True:
            pull = self.execution.pull(tuple(wanted), given)
            if pull is None:
                return result
            try:
                outputs = iter(self.context.execute(pull, [*self.inputs, *seeds], self.state))
                break
            except NeedsStatic as needed:
                self.execution = SINGLE_OPERATIONS.specialised(self.execution, needed, self.inputs)
        found = iter(pull.results)
        for place, is_wanted in enumerate(wanted):
            kind = next(found) if is_wanted else None
            if isinstance(kind, Tensor):
                result[place] = next(outputs)
            elif kind is not None:
                result[place] = self.context.rows(next(outputs), next(outputs), self.inputs[place])
        return result


class ReadRecord(Record):
    """A variable's read: the handle's cotangent is the value's."""

    __slots__ = ()

    def backward(self, wanted: Sequence[bool], cotangents: Sequence[Any]) -> Sequence[Any]:
        return cotangents


class EagerSession(Runner):
    """What operations of the host, datasets and functions see as their session: the eager state."""

    what = "program"

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.RLock()

    @contextmanager
    def unlocked(self) -> Iterator[None]:
        """Lets other threads call functions, while this one waits for what they make."""
        lock: Any = self.lock
        saved = lock._release_save() if lock._is_owned() else None
        try:
            yield
        finally:
            if saved is not None:
                lock._acquire_restore(saved)

    def release(self, key: Any) -> None:
        """Forgets what was kept for ``key``."""
        self._resources.pop(key, None)

    def run(self, fetches: Any) -> Any:
        """The values of a list of eager tensors."""
        return [t.host() for t in fetches]


class _Tapes(threading.local):
    """The tapes that record in a thread."""

    def __init__(self) -> None:
        self.active: list[Any] = []


_DRAWS = "eager draws"
"""What the names of the counts of random operations begin with that are executed at once."""


class EagerContext(Graph):
    """Executes each operation that is added; there is one in a process.

    Attributes:
      session: owns the state of eager variables.
      tapes: what records.
    """

    executing_eagerly = True
    variable_class = EagerVariable

    def __init__(self) -> None:
        super().__init__()
        self.session = EagerSession()
        self.tapes = _Tapes()
        self.first_line: Any = None
        """Where the first operation was executed."""

    # ---- tapes -----------------------------------------------------------------------------------------------

    def recording(self, tensors: Iterable[EagerTensor]) -> bool:
        """Whether some tape records operations on these tensors."""
        return any(tape.follows(tensors) for tape in self.tapes.active)

    def record(self, record: Record) -> None:
        """Shows an executed operation to the tapes."""
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
        """Executes an operation. ``name``, ``block``, ``axis`` and ``control_inputs`` are of graphs: all is in order.

        Raises:
          TypeError: a symbolic tensor of a graph among the inputs. InvalidArgumentError: the inputs do not fit.
        """
        definition = registry.lookup(type)
        if self.first_line is None:
            self.first_line = user_line()
        special = definition.execute
        for tensor in inputs:
            if not isinstance(tensor, EagerTensor):
                raise _leaked(tensor, type)
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

    def _compute(self, definition: Any, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[EagerTensor]:
        execution = self._execution(definition, inputs, attrs)
        state = self._state(execution, definition, inputs, attrs)
        while True:
            try:
                return self.execute(execution, inputs, state)
            except NeedsStatic as needed:
                execution = SINGLE_OPERATIONS.specialised(execution, needed, inputs)

    def _execution(self, definition: Any, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Execution:
        try:
            found = SINGLE_OPERATIONS.find(definition, inputs, attrs)
        except ValueError as error:
            raise EagerArgumentError(None, None, str(error)) from None
        if "flag" in attrs:
            # The message is this call's; the cell in the program stays the first one's.
            found.message = attrs["flag"].message
        return found

    def _state(self, execution: Execution, definition: Any, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """The values of the cells that an execution takes, and where they come from."""
        if not execution.cells:
            return ()
        store = self.session.state
        handles = iter([t for t in inputs if t.dtype is resource])
        result: list[Any] = []
        for cell in execution.cells:
            if cell is execution.op.counter:
                result.append((None, self._draw(definition.type, attrs)))
                continue
            if isinstance(cell, Flag):
                result.append((None, np.False_))
                continue
            handle = next(handles)
            if self.tapes.active:
                value = store.lend(handle.cell)
                self._accessed(handle)
            else:
                value = store.get(handle.cell)
            if value is None and definition.reads:
                raise uninitialized(handle.cell, handle.op)
            result.append((handle.cell, on_one_device(value)))
        return result

    def _draw(self, type: str, attrs: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """How many draws there were before: of operations of this type and seed, or of all without a seed."""
        seeds = attrs.get("seeds", (None, None))
        name = _DRAWS if seeds[1] is None else f"{_DRAWS}/{type}/{seeds[0]}/{seeds[1]}"
        return np.asarray(self.session.count(name), np.uint32)

    def execute(self, execution: Executable, inputs: Sequence[Any], state: Any = ()) -> list[EagerTensor]:
        """The outputs of an execution or a pull; what it writes is stored, and the tapes see it."""
        try:
            values, after = SINGLE_OPERATIONS.compute(execution, inputs, [value for _, value in state])
        except (OpError, UnsupportedError) as error:
            if isinstance(error, OpError) and error.op is execution.op:
                raise EagerArgumentError(None, _here(execution.op), error.message) from error.__cause__
            error.__notes__ = [n for n in getattr(error, "__notes__", ()) if "JAX_TRACEBACK" not in n]
            raise
        if state:
            self._store(execution, state, after)
        outputs = [EagerTensor(self, v, d) for v, d in zip(map(_array, values), execution.dtypes, strict=True)]
        if self.tapes.active and outputs:
            self.record(ExecutionRecord(self, execution, inputs, outputs, state))
        return outputs

    def _store(self, execution: Any, state: Any, after: Sequence[Any]) -> None:
        if not isinstance(execution, Execution):
            return
        written = set(execution.op.writes)
        if execution.flag_place >= 0 and bool(after[execution.flag_place]):
            raise InvalidArgumentError(None, _here(execution.op), execution.message)
        for cell, own, value in zip([c for c, _ in state], execution.cells, after, strict=True):
            if cell is not None and own in written:
                self.session.state.update({cell: value})
                self.session.state.lent.add(cell)

    def _on_host(self, definition: Any, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[EagerTensor]:
        op = Executed(self, definition, inputs, attrs, [])
        signatures = definition.rule(inputs, attrs)
        values = [t.cell if isinstance(t, Handle) else t.host() for t in inputs]
        results = definition.host(self.session, op, values)
        return [
            EagerTensor(self, np.asarray(v) if not isinstance(v, jax.Array) else v, s.dtype)
            for v, s in zip(results, signatures, strict=True)
        ]

    # ---- values ----------------------------------------------------------------------------------------------

    def tensor(self, array: Any, dtype: DType) -> EagerTensor:
        """A tensor of a value."""
        return EagerTensor(self, array, dtype)

    def rows(self, values: EagerTensor, indices: EagerTensor, handle: Any) -> Any:
        """The gradient of a row lookup."""
        return IndexedSlices(values, indices, constant([int(d) for d in handle.cell.dims]))

    def read(self, handle: Handle) -> EagerTensor:
        """A variable's value.

        Raises:
          FailedPreconditionError: it has none.
        """
        value = self.session.state.lend(handle.cell)
        if value is None:
            raise uninitialized(handle.cell, handle.op)
        tensor = EagerTensor(self, on_one_device(handle.cell.joined(value)), handle.cell.dtype)
        if self.tapes.active:
            self._accessed(handle)
            self.record(ReadRecord((handle,), (tensor,)))
        return tensor

    def is_initialized(self, handle: Handle) -> EagerTensor:
        """Whether a variable has a value."""
        return EagerTensor(self, np.asarray(self.session.state.get(handle.cell) is not None), bool_)

    def _accessed(self, handle: Handle) -> None:
        if handle.trainable:
            for tape in self.tapes.active:
                tape.access(handle)

    def assign(self, cell: Cell, value: EagerTensor) -> None:
        """Stores a value."""
        array = cell.stacked(value.array)
        if isinstance(array, jax.Array):
            self.session.state.update({cell: array})
            self.session.state.lent.add(cell)
        elif array.dtype.hasobject:
            self.session.state.update({cell: array})
        else:
            with jax.enable_x64(True):
                self.session.state.update({cell: jnp.array(array, copy=True)})

    # ---- what graphs do ----------------------------------------------------------------------------------------

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed = value
        self.session.start_counts_again(_DRAWS)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name below the current scope, as often as it is asked for: nothing is found by its name."""
        return f"{self.scope_name}/{name}" if self.scope_name else name

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Nothing is collected: objects live as long as the program holds them."""

    def get_operations(self) -> list[Operation]:
        return []

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        yield

    def __reduce__(self) -> Any:
        return context, ()


def _here(op: Operation) -> Operation:
    """An operation for the message of an error, as made by the line that runs."""
    made = copy.copy(op)
    made.line = user_line()
    return made


def _array(value: Any) -> Any:
    return value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)


def _leaked(tensor: Any, type: str) -> Exception:
    if not isinstance(tensor, Tensor):
        return TypeError(f"Expected tensors as inputs of {type}, got {tensor!r}.")
    graph = tensor.graph
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


_CONTEXT: list[EagerContext] = []


def context() -> EagerContext:
    """The process' eager context."""
    if not _CONTEXT:
        _CONTEXT.append(EagerContext())
    return _CONTEXT[0]
