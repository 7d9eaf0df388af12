"""Compiled programs: how one is found again, which values become part of it, and how many are kept."""

from __future__ import annotations

import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import everywhere
from towerstrat.graph.ir.state import StateStore, StateVariable, layouts
from towerstrat.graph.ir.types import Array
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.error_records import ErrorRecords
from towerstrat.graph.lowering.executor import Executor
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import ONE_SIZE, NeedsStatic, uninitialized
from towerstrat.graph.runtime.programs.compilation_log import CompilationLog
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.runtime.programs.program_consensus import require_same_program
from towerstrat.hosts.heartbeat import COMPILING, PROGRESS
from towerstrat.platform.accounts import ACCOUNTS, COMPILATION

T = TypeVar("T")
P = TypeVar("P", bound=Program)

# ---- what is kept --------------------------------------------------------------------------------------------------


class _Entry:
    """One program in the process' cache. The program itself is with its owner, which may go at any time."""

    __slots__ = ("__weakref__", "key", "owner", "size", "used")

    def __init__(self, owner: weakref.ref[OwnedPrograms[Any]], key: Hashable, size: int):
        self.owner = owner
        self.key = key
        self.size = size
        self.used = 0


class ProgramCache:
    """The compiled programs of a process, within ``LIMITS``: the least recently used are dropped first."""

    def __init__(self) -> None:
        self._entries: set[_Entry] = set()
        self._clock = itertools.count()
        self.size = 0
        """Estimated bytes of all programs."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: _Entry, siblings: Iterable[_Entry]) -> None:
        """Adds a program, and drops others while there are more than ``LIMITS`` allows, or more of its owner."""
        self.use(entry)
        self._entries.add(entry)
        self.size += entry.size
        siblings = list(siblings)
        if len(siblings) > LIMITS.programs_of_one:
            self._drop(min(siblings, key=_by_use))
        while len(self._entries) > 1 and (len(self._entries) > LIMITS.programs or self.size > LIMITS.program_bytes):
            self._drop(min(list(self._entries), key=_by_use))

    def use(self, entry: _Entry) -> None:
        """Notes that a program is used."""
        entry.used = next(self._clock)

    def remove(self, entry: _Entry) -> None:
        """Takes a program out."""
        if entry in self._entries:
            self._entries.discard(entry)
            self.size -= entry.size

    def _drop(self, entry: _Entry) -> None:
        self.remove(entry)
        owner = entry.owner()
        if owner is not None:
            owner.forget(entry.key)


def _by_use(entry: _Entry) -> int:
    return entry.used


CACHE = ProgramCache()


class OwnedPrograms(Generic[T]):
    """The compiled programs of one owner, by their keys. A program may be gone when it is asked for the next time."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[T, _Entry]] = {}
        self._cache = CACHE

    def get(self, key: Hashable) -> T | None:
        """The program of a key, or None."""
        found = self._found.get(key)
        if found is None:
            return None
        self._cache.use(found[1])
        return found[0]

    def add(self, key: Hashable, program: T, size: int) -> T:
        """Keeps a program of about ``size`` bytes."""
        entry = _Entry(weakref.ref(self), key, size)
        with _lock:
            self._found[key] = (program, entry)
            self._cache.add(entry, [e for _, e in self._found.values()])
        return program

    def forget(self, key: Hashable) -> None:
        """Drops a program."""
        self._found.pop(key, None)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[T]:
        return iter([program for program, _ in self._found.values()])

    def __del__(self) -> None:
        for _, entry in self._found.values():
            self._cache.remove(entry)


_lock = threading.RLock()
"""Held while a program is added; reentrant, since an owner may be collected meanwhile."""

_PROGRAM_BYTES = 450 << 10
_LINE_BYTES = 2 << 10
"""Memory of a compiled program, and of each line of its text, on the CPU, where JAX reports no size: fitted to the
growth of a process by programs of 76 to 2,356 lines (602 KB to 5.2 MB)."""
SINGLE_BYTES = 1500 << 10
"""Memory of a jitted function of one operation, or of few."""


def compiled_size(compiled: jax.stages.Compiled) -> int:
    """An estimate of a compiled program's memory, in bytes."""
    analysis = compiled.memory_analysis()
    code = 0 if analysis is None else analysis.generated_code_size_in_bytes
    return int(code) + _PROGRAM_BYTES + _LINE_BYTES * (compiled.as_text() or "").count("\n")


# ---- which program -------------------------------------------------------------------------------------------------


class ProgramInputs:
    """What a run gives to the program of a graph part.

    Attributes:
      tensors: those whose values are arguments.
      uneven: of these the ones whose shape differs by position.
      inputs: their arrays, uneven ones padded, then those that the caller added.
    """

    def __init__(
        self, values: Mapping[Tensor, Any], tensors: Sequence[Tensor], fixed: Sequence[Tensor], more: Sequence[Array]
    ):
        taken = [stack_if_equal_shapes(values[t]) for t in tensors]
        self.tensors = tuple(tensors)
        self.uneven = {t: v for t, v in zip(tensors, taken, strict=True) if isinstance(v, UnevenShards)}
        self.signature = tuple([(v.shape, v.dtype) for v in (*taken, *more)])
        self.inputs: list[Array] = [v.padded if isinstance(v, UnevenShards) else v for v in taken]
        self.inputs += more
        self._values = values
        self._fixed = fixed

    @functools.cached_property
    def known(self) -> dict[Tensor, Array]:
        """The values that become part of the program."""
        return {t: to_host(self._values[t]) for t in self._fixed}


class ProgramVariants(Generic[P]):
    """A part of a graph, compiled once for each signature that its runs have.

    The signature: shapes and dtypes of the arguments, values of the static tensors, and which cells have a value, of
    which shape.

    Args:
      what: the part, in words, for the log.
      inputs: the tensors that the part takes from outside.
      cells: the state that it uses.
      constants: those of the inputs whose values no run changes: they are part of every program.
      programs: where programs are kept, if others share them.

    Attributes:
      arguments: the inputs that a program takes as arguments.
      static: the inputs whose values are part of a program: integers that reach a shape.
    """

    def __init__(
        self, what: str, inputs: Iterable[Tensor], cells: Iterable[StateVariable], constants: Iterable[Tensor] = (),
        programs: OwnedPrograms[P] | None = None,
    ):  # fmt: skip
        self.log = CompilationLog(what)
        self.constants = list(constants)
        fixed = set(self.constants)
        self.arguments = [t for t in inputs if t not in fixed]
        self.static: list[Tensor] = []
        self.cells = list(cells)
        self.loose = [c for c in self.cells if c.dims is None or None in c.dims]
        self.programs: OwnedPrograms[P] = OwnedPrograms() if programs is None else programs
        self._refused: set[Hashable] = set()
        self._expected: dict[Hashable, P] = {}

    def present(self, store: StateStore, user: Operation | None = None) -> dict[StateVariable, Array]:
        """The cells that have a value, with it.

        Raises:
          FailedPreconditionError: one has none, where an operation ``user`` needs all.
        """
        found = {c: v for c in self.cells if (v := store.get(c)) is not None}
        if user is not None and len(found) < len(self.cells):
            raise uninitialized(next(c for c in self.cells if c not in found), user)
        return found

    def find(
        self, values: Mapping[Tensor, Any], store: StateStore, make: Callable[[ProgramInputs, Mapping[Operation,
        int]], P],
        more: Sequence[Array] = (), form: Hashable = (),
        trips: Callable[[Hashable, ProgramInputs], Mapping[Operation, int]] | None = None,
        refusals: tuple[type[Exception], ...] = (),
    ) -> tuple[P | None, list[Array]]:  # fmt: skip
        """The program for a run, not ``ran``, and its arguments. Compiles it where there is none; runs nothing.

        An integer whose value a shape needs becomes part of the program, with all integers that it is computed from.

        Args:
          values: of the inputs.
          make: makes the program, not yet compiled, from what is given and the loops' trip counts.
          more: further arguments.
          form: what else tells programs apart.
          trips: (signature, given) -> trip counts that are part of the program.
          refusals: exceptions of tracing that mean that there is no such program.

        Returns:
          (program, arguments); None for the program where tracing it raised one of ``refusals``.

        Raises:
          NeedsStatic: a shape needs a value that is no integer from outside.
        """
        while True:
            given = ProgramInputs(values, self.arguments, (*self.constants, *self.static), more)
            key: Hashable = (given.signature, *self._state_key(values, store), layouts.count, form)
            try:
                if trips is not None:
                    counts = trips(key, given)
                    key = (key, tuple(counts.values()))
                else:
                    counts = {}
                program = self.programs.get(key)
                if program is None and key not in self._refused:
                    start = time.perf_counter()
                    with ACCOUNTS.spent(COMPILATION), PROGRESS.phase(COMPILING, self.log.what):
                        program = self._expected.pop(key, None) or make(given, counts)
                        spans = program.place is not None and program.place.spans
                        agree = functools.partial(self._agree, program, given, form) if spans else None
                        compiled = program.prepare(store, given.inputs, agree)
                        program.arriving = {}
                    self.log.note(time.perf_counter() - start, self._described(given))
                    program.complete_for = self.programs if len(self.present(store)) == len(self.cells) else None
                    self.programs.add(key, program, compiled_size(compiled))
                if program is not None:
                    program.ran = False
                return program, given.inputs
            except NeedsStatic as needed:
                if self._specialise(needed):
                    continue
                if NeedsStatic not in refusals:
                    raise
                self._refused.add(key)
            except refusals:
                self._refused.add(key)
            return None, given.inputs

    def expect(
        self, values: Mapping[Tensor, Any], store: StateStore, make: Callable[[ProgramInputs, Mapping[Operation,
        int]], P],
        more: Sequence[Array] = (), form: Hashable = (),
    ) -> None:  # fmt: skip
        """Begins to compile a program for which ``find`` will be asked; nothing, where it cannot be traced so.

        The arguments are those of ``find``.
        """
        given = ProgramInputs(values, self.arguments, (*self.constants, *self.static), more)
        key: Hashable = (given.signature, *self._state_key(values, store), layouts.count, form)
        if key in self.programs or key in self._expected:
            return
        try:
            program = make(given, {})
            program.begin_to_prepare(store, given.inputs)
        except Exception:  # whoever asks for the program meets it
            return
        self._expected[key] = program

    def _state_key(self, values: Mapping[Tensor, Any], store: StateStore) -> tuple[Hashable, ...]:
        static = [to_host(values[t]) for t in self.static]
        known = (tuple(self.arguments), tuple([(v.shape, v.tobytes()) for v in static])) if static else ()
        last = store.last
        if last is not None and not self.loose and last[0].complete_for is self.programs:
            return (
                known,
                None,
                (),
            )  # Nothing has changed the state since a program of ours, for which all cells had values.
        has_value = [store.get(c) is not None for c in self.cells]
        return (
            known,
            None if all(has_value) else tuple(has_value),
            tuple([np.shape(store.get(c)) for c in self.loose if store.get(c) is not None]),
        )

    def _agree(self, program: Program, given: ProgramInputs, form: Hashable) -> None:
        """Compares a program that processes run together, and what each has for it, with that of the others."""
        require_same_program(self.log.what, program.operations, (given.signature, form), self._shared(given, program))

    def _shared(self, given: ProgramInputs, program: Program) -> dict[str, Any]:
        """What this process alone has so far of what a program needs to be the same in all processes, by name."""
        found = {f"the input {t.name}": v for t, v in zip(given.tensors, given.inputs, strict=False) if not t.varies}
        found |= {f"the input {t.name}": v for t, v in given.known.items()}
        return {
            n: v for n, v in found.items() if not isinstance(v, jax.Array) or v.is_fully_addressable
        } | program.arriving

    def _described(self, given: ProgramInputs) -> dict[Tensor, Any]:
        found: dict[Tensor, Any] = dict(zip(given.tensors, given.signature, strict=False))
        return found | {t: str(given.known[t]) for t in self.static}

    def _specialise(self, needed: NeedsStatic) -> bool:
        """Makes the integers behind a value part of the programs to come. Returns whether there were new ones."""
        new = [t for t in integers_behind(needed.tensor, self.arguments) if not t.varies]
        self.static += new
        self.arguments = [t for t in self.arguments if t not in set(new)]
        return bool(new)


def integers_behind(tensor: Tensor, inputs: Iterable[Tensor]) -> set[Tensor]:
    """Those of ``inputs``, integers and booleans, that a tensor is computed from."""
    found: set[Tensor] = set()
    seen: set[Tensor] = set()
    given = set(inputs)
    stack = [tensor]
    while stack:
        tensor = stack.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor not in given:
            stack += tensor.op.inputs
        elif tensor.dtype.is_integer or tensor.dtype.is_bool:
            found.add(tensor)
    return found


def needs_value(needed: NeedsStatic) -> UnsupportedError:
    """The error of a shape that needs a value which no program can take as a part of it."""
    said = (
        f"{needed.op.name} (type {needed.op.type}, created at {needed.op.line}) needs the value of {needed.tensor!r} "
        "to know a shape or an axis, and "
    )
    if needed.tensor.varies:
        return UnsupportedError(f"{said}each tower has another. {ONE_SIZE}")
    return UnsupportedError(
        f"{said}inside towers these must be known before the program runs. Use constants, sizes of shapes, or integers "
        "that are fed: a value that is computed can be fetched by a run before."
    )


def to_host(value: Any) -> Any:
    """A value as a numpy array; one whose shape differs by position as it is."""
    return value if isinstance(value, np.ndarray | UnevenShards) else np.asarray(everywhere(value))


def stack_if_equal_shapes(value: Any) -> Any:
    """A value as one stacked array, where its shape does not differ by position after all."""
    if isinstance(value, UnevenShards) and set(value.shapes) == {value.padded.shape[1:]}:
        return value.padded
    return value


# ---- functions of arrays ---------------------------------------------------------------------------------------------


class ArrayFunction:
    """Operations as a function of arrays and of cells' values, to be jitted: it knows no store and donates nothing.

    Args:
      operations: in execution order.
      inputs: the tensors whose values it takes.
      outputs: the tensors whose values it returns.
      known: values of further tensors, part of the function; a handle's is its cell.
      cells: the state that it takes and returns, in order.
      platform: "cpu", "gpu" or "tpu".
    """

    def __init__(
        self, operations: Sequence[Operation], inputs: Sequence[Tensor], outputs: Sequence[Tensor],
        known: Mapping[Tensor, Any], cells: Sequence[StateVariable], platform: str,
    ):  # fmt: skip
        self.operations = operations
        self.inputs = inputs
        self.outputs = outputs
        self.known = known
        self.cells = cells
        self.platform = platform
        self._faults: ErrorRecords | None = None

    def __call__(
        self, arrays: Sequence[Array], state: Sequence[Array | None], eager: bool = False,
        executor: Executor | None = None,
    ) -> tuple[list[Array], list[Array | None]]:  # fmt: skip
        """(values of the outputs, the cells' new values).

        Args:
          arrays: values of the inputs.
          state: values of the cells, None where a cell has none.
          eager: whether operations run one by one, on concrete arrays, by the executor where it can run them.
        """
        before = {c: v for c, v in zip(self.cells, state, strict=True) if v is not None}
        lowering = Lowering(self.platform, None, before, operations=self.operations, eager=eager, executor=executor)
        lowering.values.update(self.known)
        lowering.values.update(zip(self.inputs, arrays, strict=True))
        lowering.run(self.operations)
        self._faults = lowering.faults
        return [lowering.value(t) for t in self.outputs], [lowering.state.get(c) for c in self.cells]

    def error(self, record: Array) -> InvalidArgumentError | None:
        """The error of the first check that failed, by the record among the state that a call returned."""
        return None if self._faults is None else self._faults.error(record)
