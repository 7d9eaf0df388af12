"""Caches of compiled programs: lookup by signature, constants that a shape needs, and eviction.

``ProgramVariants`` is a graph part with its programs, one per signature; ``find`` is the lookup. A signature is (shapes
and dtypes of the arguments; values of static tensors; which variables have a value). Of ``reshape(x, [n, -1])`` with n
fed:

    find, n = 2     tracing Reshape raises NeedsStatic      -> n, behind the shape, becomes static; trace again with 2
    find, n = 4     another signature, since n is static    -> another program
    find, n = 2     the first program

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> from towerstrat.graph.ops.array import array_kernels, arrays  # registers their types
>>> with Graph().as_default():
...     x, n = placeholder("float32", [None]), placeholder("int32", [])
...     shape = arrays.stack([n, -1])
>>> integers_behind(shape, [x, n]) == {n}
True

Only integers and booleans from outside can be specialized so; where a shape needs a computed value, NeedsStatic leaves
``find``, and the caller runs operation by operation or raises.

Programs are owned by ``OwnedPrograms`` (freed with their graph part), and evicted by one ``ProgramCache`` per process:
the least recently used first, once estimated bytes or number exceed ``LIMITS``. A program may thus be gone at the next
lookup; it is then compiled again. Where a program runs on several processes, all compare operations, signature and
replicated inputs with each other before its first call, while XLA compiles (``program_consensus``).
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import everywhere
from towerstrat.graph.ir.state import StateStore, StateVariable, layouts
from towerstrat.graph.ir.types import Array, HostArray
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
    """Cache entry of one program: its owner (a weak reference), key, estimated bytes and time of last use."""

    __slots__ = ("__weakref__", "key", "owner", "size", "used")

    def __init__(self, owner: weakref.ref[OwnedPrograms[Any]], key: Hashable, size: int):
        self.owner = owner
        self.key = key
        self.size = size
        self.used = 0


class ProgramCache:
    """LRU accounting of all compiled programs of the process, within ``LIMITS``. The programs are with their owners."""

    def __init__(self) -> None:
        self._entries: set[_Entry] = set()
        self._clock = itertools.count()
        self.size = 0
        """Estimated bytes of all programs."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: _Entry, siblings: Iterable[_Entry]) -> None:
        """Enter a program, and evict others while there are more than ``LIMITS`` allows, in all or of its owner."""
        self.use(entry)
        self._entries.add(entry)
        self.size += entry.size
        siblings = list(siblings)
        if len(siblings) > LIMITS.programs_of_one:
            self._drop(min(siblings, key=_by_use))
        while len(self._entries) > 1 and (len(self._entries) > LIMITS.programs or self.size > LIMITS.program_bytes):
            self._drop(min(list(self._entries), key=_by_use))

    def use(self, entry: _Entry) -> None:
        """Mark a program as the most recently used."""
        entry.used = next(self._clock)

    def remove(self, entry: _Entry) -> None:
        """Remove a program from the accounting."""
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
    """The compiled programs of one owner, by key. A program may have been evicted when it is asked for again."""

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[T, _Entry]] = {}
        self._cache = CACHE

    def get(self, key: Hashable) -> T | None:
        """The program of a key, or None."""
        entry = self._found.get(key)
        if entry is None:
            return None
        self._cache.use(entry[1])
        return entry[0]

    def add(self, key: Hashable, program: T, size: int) -> T:
        """Keep a program of about ``size`` bytes; return it."""
        entry = _Entry(weakref.ref(self), key, size)
        with _lock:
            self._found[key] = (program, entry)
            self._cache.add(entry, [e for _, e in self._found.values()])
        return program

    def forget(self, key: Hashable) -> None:
        """Drop a program."""
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
    """Estimated host memory of a compiled program, in bytes."""
    analysis = compiled.memory_analysis()
    code = 0 if analysis is None else analysis.generated_code_size_in_bytes
    return int(code) + _PROGRAM_BYTES + _LINE_BYTES * (compiled.as_text() or "").count("\n")


# ---- which program -------------------------------------------------------------------------------------------------


class ProgramInputs:
    """The arguments of one lookup, with their signature.

    Attributes:
      tensors: those whose values are arguments.
      uneven: those of them whose shards have several shapes.
      inputs: the arrays of ``tensors``, ragged ones padded, then those that the caller added.
    """

    def __init__(
        self,
        values: Mapping[Tensor, Any],
        tensors: Sequence[Tensor],
        fixed: Sequence[Tensor],
        extra_arguments: Sequence[Array],
    ):
        arrays = [stack_if_equal_shapes(values[t]) for t in tensors]
        self.tensors = tuple(tensors)
        self.uneven = {t: v for t, v in zip(tensors, arrays, strict=True) if isinstance(v, UnevenShards)}
        self.signature = tuple([(v.shape, v.dtype) for v in (*arrays, *extra_arguments)])
        self.inputs: list[Array] = [v.padded if isinstance(v, UnevenShards) else v for v in arrays]
        self.inputs += extra_arguments
        self._values = values
        self._fixed = fixed

    @functools.cached_property
    def known(self) -> dict[Tensor, Array]:
        """The values that become constants of the program."""
        return {t: to_host(self._values[t]) for t in self._fixed}


class ProgramVariants(Generic[P]):
    """A graph part, compiled once for each signature of its runs.

    The signature: shapes and dtypes of the arguments, values of the static tensors, and which variables have a value,
    of which shape.

    Args:
      description: the part, in words, for the log.
      inputs: the tensors that the part takes from outside.
      cells: the state variables that it uses.
      constants: those of the inputs whose values no run changes: constants of every program.
      programs: where programs are kept, if others share them.

    Attributes:
      arguments: the inputs that a program takes as arguments.
      static: the inputs whose values are constants of a program: integers that reach a shape.
    """

    def __init__(
        self, description: str, inputs: Iterable[Tensor], cells: Iterable[StateVariable],
        constants: Iterable[Tensor] = (), programs: OwnedPrograms[P] | None = None,
    ):  # fmt: skip
        self.log = CompilationLog(description)
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
        """The variables that have a value -> the value.

        Raises:
          FailedPreconditionError: one has none, where an operation ``user`` needs all.
        """
        values = {c: v for c in self.cells if (v := store.get(c)) is not None}
        if user is not None and len(values) < len(self.cells):
            raise uninitialized(next(c for c in self.cells if c not in values), user)
        return values

    def find(
        self, values: Mapping[Tensor, Any], store: StateStore, make: Callable[[ProgramInputs, Mapping[Operation,
        int]], P],
        extra_arguments: Sequence[Array] = (), form: Hashable = (),
        trips: Callable[[Hashable, ProgramInputs], Mapping[Operation, int]] | None = None,
        refusals: tuple[type[Exception], ...] = (),
    ) -> tuple[P | None, list[Array]]:  # fmt: skip
        """The program for a run, not yet ``ran``, and its arguments. Compiles it where there is none; runs nothing.

        An integer whose value a shape needs becomes a constant of the program, as do all integers that it is computed
        from.

        Args:
          values: of the inputs.
          store: the state, whose shapes and dtypes are part of the signature.
          make: makes the program, not yet compiled, from the inputs and the loops' trip counts.
          extra_arguments: further arguments.
          form: further part of the signature.
          trips: (signature, inputs) -> trip counts that are part of the program.
          refusals: exceptions of tracing that mean that there is no such program.

        Returns:
          (program, arguments); None for the program where tracing it raised one of ``refusals``.

        Raises:
          NeedsStatic: a shape needs a value that is no integer from outside.
        """
        while True:
            program_inputs = ProgramInputs(values, self.arguments, (*self.constants, *self.static), extra_arguments)
            # The count of layouts: a variable that has become varying makes all older programs void.
            key: Hashable = (program_inputs.signature, *self._state_key(values, store), layouts.count, form)
            try:
                if trips is not None:
                    counts = trips(key, program_inputs)
                    key = (key, tuple(counts.values()))
                else:
                    counts = {}
                program = self.programs.get(key)
                if program is None and key not in self._refused:
                    start = time.perf_counter()
                    with ACCOUNTS.timed(COMPILATION), PROGRESS.phase(COMPILING, self.log.what):
                        program = self._expected.pop(key, None) or make(program_inputs, counts)
                        mapped = program.placement.mapped
                        spans = mapped is not None and mapped.is_multi_process
                        agree = functools.partial(self._agree, program, program_inputs, form) if spans else None
                        compiled = program.prepare(store, program_inputs.inputs, agree)
                    self.log.note(time.perf_counter() - start, self._describe(program_inputs))
                    program.complete_for = self.programs if len(self.present(store)) == len(self.cells) else None
                    self.programs.add(key, program, compiled_size(compiled))
                if program is not None:
                    program.ran = False
                return program, program_inputs.inputs
            except NeedsStatic as needed:
                if self._specialise(needed):
                    continue
                if NeedsStatic not in refusals:
                    raise
                self._refused.add(key)
            except refusals:
                self._refused.add(key)
            return None, program_inputs.inputs

    def expect(
        self, values: Mapping[Tensor, Any], store: StateStore, make: Callable[[ProgramInputs, Mapping[Operation,
        int]], P],
        extra_arguments: Sequence[Array] = (), form: Hashable = (),
    ) -> None:  # fmt: skip
        """Begin to compile, in another thread, a program that ``find`` will need; nothing if it cannot be traced.

        The arguments are those of ``find``.
        """
        program_inputs = ProgramInputs(values, self.arguments, (*self.constants, *self.static), extra_arguments)
        key: Hashable = (program_inputs.signature, *self._state_key(values, store), layouts.count, form)
        if key in self.programs or key in self._expected:
            return
        try:
            program = make(program_inputs, {})
            program.begin_to_prepare(store, program_inputs.inputs)
        except Exception:  # whoever asks for the program meets it
            return
        self._expected[key] = program

    def _state_key(self, values: Mapping[Tensor, Any], store: StateStore) -> tuple[Hashable, ...]:
        static = [to_host(values[t]) for t in self.static]
        known = (tuple(self.arguments), tuple([(v.shape, v.tobytes()) for v in static])) if static else ()
        last = store.reusable_arguments
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

    def _agree(self, program: Program, program_inputs: ProgramInputs, form: Hashable) -> None:
        """Compare a shared program, and this process's local values for it, with those of the other processes."""
        require_same_program(
            self.log.what,
            program.operations,
            (program_inputs.signature, form),
            self._shared_values(program_inputs, program),
        )

    def _shared_values(self, program_inputs: ProgramInputs, program: Program) -> dict[str, Any]:
        """Local values that must be identical on all processes before a program's first call, by name."""
        inputs = {
            f"the input {t.name}": v
            for t, v in zip(program_inputs.tensors, program_inputs.inputs, strict=False)
            if not t.varies
        }
        inputs |= {f"the input {t.name}": v for t, v in program_inputs.known.items()}
        local = {n: v for n, v in inputs.items() if not isinstance(v, jax.Array) or v.is_fully_addressable}
        return local | (program.placement.unverified or {})

    def _describe(self, program_inputs: ProgramInputs) -> dict[Tensor, Any]:
        specs: dict[Tensor, Any] = dict(zip(program_inputs.tensors, program_inputs.signature, strict=False))
        return specs | {t: str(program_inputs.known[t]) for t in self.static}

    def _specialise(self, needed: NeedsStatic) -> bool:
        """Make the integers that a value is computed from static, for all programs to come. Whether any was new."""
        new = [t for t in integers_behind(needed.tensor, self.arguments) if not t.varies]
        self.static += new
        self.arguments = [t for t in self.arguments if t not in set(new)]
        return bool(new)


def integers_behind(tensor: Tensor, inputs: Iterable[Tensor]) -> set[Tensor]:
    """The integer and boolean tensors of ``inputs`` that ``tensor`` depends on."""
    integers: set[Tensor] = set()
    seen: set[Tensor] = set()
    boundary = set(inputs)
    stack = [tensor]
    while stack:
        tensor = stack.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor not in boundary:
            stack += tensor.op.inputs
        elif tensor.dtype.is_integer or tensor.dtype.is_bool:
            integers.add(tensor)
    return integers


def needs_value(needed: NeedsStatic) -> UnsupportedError:
    """The error for a shape that depends on a value which cannot become a constant of the program."""
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


@overload
def to_host(value: Array) -> HostArray: ...


@overload
def to_host(value: UnevenShards) -> UnevenShards: ...


def to_host(value: Array | UnevenShards) -> HostArray | UnevenShards:
    """The value as a numpy array, gathered from all devices; ``UnevenShards`` as it is."""
    return value if isinstance(value, np.ndarray | UnevenShards) else np.asarray(everywhere(value))


def stack_if_equal_shapes(value: Array | UnevenShards) -> Array | UnevenShards:
    """The value, as one stacked array where its shards turn out to have equal shapes."""
    if isinstance(value, UnevenShards) and set(value.shapes) == {value.padded.shape[1:]}:
        return value.padded
    return value


# ---- functions of arrays ---------------------------------------------------------------------------------------------


class ArrayFunction:
    """Operations as a pure function of arrays and state values, to be jitted: no store, no donation.

    Args:
      operations: in execution order.
      inputs: the tensors whose values it takes.
      outputs: the tensors whose values it returns.
      known: values of further tensors, constants of the function; a handle's is its state variable.
      cells: the state variables whose values it takes and returns, in order.
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
        """Return (values of the outputs, new values of the state variables).

        Args:
          arrays: values of the inputs.
          state: values of the state variables, None for one that has none.
          eager: whether operations run one by one, on concrete arrays.
          executor: runs those that it can, each as a compiled program of its own.
        """
        before = {c: v for c, v in zip(self.cells, state, strict=True) if v is not None}
        lowering = Lowering(self.platform, None, before, operations=self.operations, eager=eager, executor=executor)
        lowering.values.update(self.known)
        lowering.values.update(zip(self.inputs, arrays, strict=True))
        lowering.run(self.operations)
        self._faults = lowering.errors.records
        return [lowering.value(t) for t in self.outputs], [lowering.state.get(c) for c in self.cells]

    def error(self, record: Array) -> InvalidArgumentError | None:
        """The error of the first failed check, by the error record among the state that a call returned; or None."""
        return None if self._faults is None else self._faults.error(record)
