"""``Program``: a jitted function of state and inputs, with donation, sharding, and runtime checks.

A program takes (donated state, other state, inputs) and returns (outputs, new state, error record). State variables
that it writes are donated: XLA reuses their buffers for the new values, which ``__call__`` stores before anything can
raise (``Uninterrupted`` holds signals back meanwhile). Of ``v += all_reduce(reduce_sum(x))`` on two devices, v
replicated and x one batch per tower:

    donated    v: float32[], replicated                         kept     no variables that are only read
    inputs     x: float32[2, 8], spec "split", PartitionSpec("tower")
    inside     shard_map: v float32[], x float32[8]             the lowering evaluates the operations under ``jax.jit``
    outputs    split ones stacked [2, ...], then replicated ones

What is written counts as read too (``effects``), as the old value stays where a check has failed:

>>> from towerstrat.graph.variables.variables import Variable
>>> from towerstrat.graph.ir.graph import Graph
>>> with Graph().as_default():
...     assigned = Variable(0.0, name="v").assign(1.0).op
>>> [[cell.name for cell in cells] for cells in effects([assigned])]
[['v'], ['v']]

Where several devices run it, the function is under ``jax.shard_map`` over the axis's mesh; input specs say how a value
lies along it: "split", "rows", "steps", "iterations", "uneven" or "same". Shards of several shapes are switched by
shard class inside (``switch_by_class``).

Checks do not raise on the device. Each program returns an error record per shard; the atomic ones select the old values
of all written variables where a check failed (``jnp.where``), so the state is right before the host has looked.
Variables whose old value cannot be selected, because there is none or it has another shape (``held``), are not donated,
and the host stores their new values only if the record is empty. A program that is called again with nothing changed in
between (``store.reusable_arguments``) does not collect its state again.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the enumerations of signal cost 20 us a run
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import ALL, Axis, on_one_device, put, vary
from towerstrat.graph.ir.state import ERROR_RECORD, StateStore, StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.class_switch import switch_by_class
from towerstrat.graph.lowering.error_records import ErrorRecords, no_error, record_size
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.shard_classes import ByClass, ShardClasses
from towerstrat.hosts.heartbeat import COMPILING, PROGRESS
from towerstrat.platform import compilers

Outputs: TypeAlias = "tuple[list[jax.Array], list[jax.Array]]"
"""Those that vary along the axis, and those that are replicated."""
Traced: TypeAlias = "tuple[Outputs, list[Array], jax.Array]"
"""Outputs, new state, error record."""
Abstract = Array | jax.ShapeDtypeStruct
"""An array, or its shape and dtype where a program is only traced."""


def effective_axis(operations: Sequence[Operation]) -> Axis | None:
    """The mesh axis that some of the operations run along, None where there is none or it has size 1.

    Raises:
      ValueError: operations of two different axes (two strategies) in one run.
    """
    return along(mapped_axis(operations))


def along(axis: Axis | None) -> Axis | None:
    """The axis, or None if it has size 1: then nothing varies along it."""
    return axis if axis is not None and axis.size > 1 else None


def mapped_axis(operations: Sequence[Operation]) -> Axis | None:
    """The mesh axis over whose devices some of the operations run, None where one device runs all of them.

    Raises:
      ValueError: operations of two different axes (two strategies) in one run.
    """
    found: Axis | None = None
    where: Operation | None = None
    for op, axis in _axes(operations):
        if not axis.needs_mesh:
            continue
        if found is not None and axis is not found:
            assert where is not None
            raise ValueError(
                f"One run cannot mix two strategies: {where.name} (created at {where.line}) runs on {found}, "
                f"{op.name} (created at {op.line}) on {axis}. Run them one after the other."
            )
        found, where = axis, op
    return found


def _axes(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Axis]]:
    for op in operations:
        if op.axis is not None:
            yield op, op.axis
        elif op.definition.collective:
            yield op, op.attrs["axis"]
        for tensor in op.inputs:
            if tensor.varies and tensor.op.axis is not None:
                yield op, tensor.op.axis
        for cell in (*op.reads, *op.writes):
            if cell.axis is not None:
                yield op, cell.axis
        for body in op.bodies:
            yield from _axes(body.needed)


class Program:
    """A function of state and inputs, compiled for one signature.

    Args:
      operations: evaluated by it; they tell its state variables and axis.
      body: (lowering, input values) -> output values; evaluates the operations.
      input_specs: for each input how it lies along the axis, see ``_spec``; "uneven": padded shards of several shapes.
      output_specs: for each output whether it varies along the axis (then it comes out stacked).
      present: the variables that have a value before it runs.
      trips: loop -> bound of its iterations, for differentiated loops of unknown length.
      atomic: a run in which a check fails leaves the state as it was.
      kinds: shard classes by the shapes of the inputs with spec "uneven", where there are some. Outputs whose shapes
        differ by shard come out padded; ``shapes`` has their shapes, by output index.

    Calling it reads and updates a store; donated buffers are replaced in the store before anything can raise.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        body: Callable[[Lowering, Sequence[Array]], Sequence[Array]],
        input_specs: Sequence[str],
        output_specs: Sequence[bool],
        present: Container[StateVariable],
        trips: Mapping[Operation, int],
        atomic: bool = True,
        kinds: ShardClasses | None = None,
    ):
        self.kinds = kinds
        self.shapes: dict[int, list[tuple[int, ...]]] = {}
        self.atomic = atomic
        self.operations = operations
        self.body = body
        self.place = mapped_axis(operations)
        """The mesh axis over whose devices it runs, None: one device. ``axis``: the same, None if it has size 1."""
        self.axis = along(self.place)
        self.platform = self.place.platform if self.place is not None else jax.local_devices()[0].platform
        self.trips = trips
        reads, self.written = effects(operations)
        self.checks = any(op.checks for op in operations)
        """Whether some operation checks something. ``faulty``: whether a check can fail, known once it is traced."""
        self.faulty = self.checks
        self.faults: ErrorRecords | None = None
        self.record_size = record_size(operations) if self.checks else 0
        unsure = self.checks and atomic
        self.held = {c for c in self.written if unsure and (c not in present or c.dims is None or None in c.dims)}
        """Written variables whose old value the device cannot select: there is none, or its shape may differ."""
        self.donated = [c for c in self.written if c in present and c not in self.held]
        self.kept = [c for c in reads if c in present and (c not in set(self.written) or c in self.held)]
        self.input_specs = input_specs
        self.output_specs = output_specs
        self.compiled: jax.stages.Compiled | None = None
        self._compiling: Future[jax.stages.Compiled] | None = None
        self.complete_for: object = None
        """The programs of its graph part, if all of the part's variables had values when it was compiled; else None."""
        self.ran = False
        """Whether the last call came to store the new state."""
        self.calls_back = calls_back(operations)
        self.step_count = 1
        """Number of steps of the next call, for the heartbeat."""
        self.shardings: dict[StateVariable, jax.sharding.Sharding] = {}
        self.wanted: dict[StateVariable, NamedSharding] = {}
        self.arriving: dict[str, Array] = {}
        """Name -> local state that must be identical on all processes before the first call of a shared program."""
        self.taken = [] if self.place is None else [self.place.placed(self._spec(s)) for s in input_specs]

    def change_nothing(self) -> None:
        """Drop all writes and checks: the program only computes its outputs, and donates nothing."""
        self.kept = list(dict.fromkeys([*self.kept, *self.donated]))
        self.written, self.donated, self.held = [], [], set()
        self.checks = self.faulty = False

    # ---- tracing ---------------------------------------------------------------------------------------------

    def _local(self, cell: StateVariable, value: Array) -> Array:
        return value[0] if cell.is_varying and self.axis is not None else value

    def _function(self, donated: Sequence[Array], kept: Sequence[Array], inputs: Sequence[Array]) -> Traced:
        values = [v[0] if spec in ("split", "uneven") and self.axis is not None else v
                  for v, spec in zip(inputs, self.input_specs, strict=True)]  # fmt: skip
        if self.kinds is None:
            return self._evaluated((donated, kept, values), ())
        padded = [v for v, spec in zip(values, self.input_specs, strict=True) if spec == "uneven"]
        even = [v for v, spec in zip(values, self.input_specs, strict=True) if spec != "uneven"]
        traced: Traced = switch_by_class(self.kinds, self._evaluated, (donated, kept, even), padded)
        return traced

    def _evaluated(
        self, given: tuple[Sequence[Array], Sequence[Array], Sequence[Array]], uneven: Sequence[ByClass]
    ) -> Traced:
        donated, kept, even = given
        state = {c: self._local(c, v) for c, v in zip(self.donated, donated, strict=True)}
        state |= {c: self._local(c, v) for c, v in zip(self.kept, kept, strict=True)}
        before = dict(state)
        if self.checks:
            state[ERROR_RECORD] = no_error(self.record_size)
        lowering = Lowering(self.platform, self.axis, state, operations=self.operations, trip_counts=self.trips)
        lowering.classes.partition = self.kinds
        of_each: dict[bool, Iterator[Any]] = {True: iter(uneven), False: iter(even)}
        results = self.body(lowering, [next(of_each[spec == "uneven"]) for spec in self.input_specs])
        if self.checks and self.atomic:
            for cell in lowering.state.written & before.keys() - self.held:
                lowering.state.values[cell] = lowering.errors.old_if_failed(cell, before[cell])
        new_state = [lowering.classes.stored(c, lowering.state.get(c, before.get(c))) for c in self.written]
        for i, value in enumerate(results):
            if isinstance(value, ByClass) and self.kinds is not None and len(set(value.shapes)) > 1:
                self.shapes[i] = self.kinds.by_position(value.shapes)
        results = [lowering.classes.padded_value(v) for v in results]
        return (
            self._grouped(results),
            [self._outgoing(v, c.is_varying) for c, v in zip(self.written, new_state, strict=True)],
            self._record(lowering),
        )

    def _grouped(self, results: Sequence[Array]) -> Outputs:
        """Partition the outputs by ``out_specs`` into (varying, replicated); ``_in_order`` is the inverse."""
        pairs = list(zip(results, self.output_specs, strict=True))
        varying = [self._outgoing(v, True) for v, split in pairs if split]
        return varying, [jnp.asarray(v) for v, split in pairs if not split]

    def _in_order(self, groups: tuple[Sequence[Array], Sequence[Array]]) -> list[Array]:
        """The outputs in the order in which the body returned them."""
        split, same = (iter(group) for group in groups)
        return [next(split) if is_split else next(same) for is_split in self.output_specs]

    def _outgoing(self, value: Array, split: bool) -> jax.Array:
        whole = jnp.asarray(value)
        if split and self.axis is not None:
            varying: jax.Array = vary(whole, self.axis)
            return varying[None]
        return whole

    def _record(self, lowering: Lowering) -> jax.Array:
        """The error record, one row per shard; without checks an empty bool array."""
        if not self.checks:
            # Along an axis, what has no output but empty ones is compiled to nothing, and its callbacks with it. (The
            # TPU compiler fails on empty 64-bit outputs.)
            return jnp.zeros((1 if self.calls_back else 0,), jnp.bool_)
        record = lowering.state[ERROR_RECORD]
        self.faults = lowering.errors.records
        self.faulty = isinstance(record, jax.Array | ByClass)
        return self._outgoing(lowering.classes.padded_value(record) if self.faulty else no_error(1), True)

    def lowered(
        self, donated: Sequence[Abstract], kept: Sequence[Abstract], inputs: Sequence[Abstract]
    ) -> jax.stages.Lowered:
        """Trace and lower the program for arguments, or for their shapes and dtypes alone, without running it."""
        function: Callable[..., Any] = self._function
        options: dict[str, Any] = {}
        place = self.place
        if place is not None:

            def specs(cells: Iterable[StateVariable]) -> list[PartitionSpec]:
                return [self._spec("split" if c.is_varying else "same") for c in cells]

            def stored(cells: Iterable[StateVariable]) -> list[NamedSharding]:
                return [self._stored(c) for c in cells]

            ins = [self._spec(s) for s in self.input_specs]
            outs = (self._spec("split"), ALL)
            records = self._spec("split" if self.checks else "same")
            function = place.map(
                function,
                in_specs=(specs(self.donated), specs(self.kept), ins),
                out_specs=(outs, specs(self.written), records),
            )
            options["in_shardings"] = (stored(self.donated), stored(self.kept), self.taken)
            # What the host looks at is whole in each process.
            whole = (ALL, ALL) if place.is_multi_process else outs
            options["out_shardings"] = (
                tuple(place.placed(s) for s in whole),
                stored(self.written),
                place.placed(ALL if place.is_multi_process else records),
            )
        jitted = compilers.jit(function, self.platform, donate_argnums=(0,), **options)
        lowered: jax.stages.Lowered = jitted.lower(donated, kept, inputs)
        return lowered

    def _spec(self, kind: str) -> PartitionSpec:
        """The PartitionSpec of an input or output.

        Args:
          kind: "split": dimension 0 is the axis; "rows": dimension 0 is divided along the axis; "steps": [step, axis,
            ...];
            "iterations": [iteration, take, axis, ...]; "same": replicated.
        """
        if self.axis is None or kind == "same":
            return ALL
        return {"steps": self.axis.second, "iterations": self.axis.third}.get(kind, self.axis.one)

    def _stored(self, cell: StateVariable) -> NamedSharding:
        """The sharding of a variable's array in the store, before and after this program."""
        assert self.place is not None
        if cell not in self.wanted:
            self.wanted[cell] = self.place.placed(self._spec("split" if cell.is_varying else "same"), cell.parts)
        return self.wanted[cell]

    # ---- running ---------------------------------------------------------------------------------------------

    def gather(self, store: StateStore, cells: Sequence[StateVariable], donating: bool) -> list[Array]:
        """The variables' arrays, on this program's devices; a donated one is copied if somebody else holds it."""
        result: list[Array] = []
        seen: set[int] = set()
        for cell in cells:
            value = store.get(cell)
            if not isinstance(value, jax.Array) or value.sharding is not self.shardings.get(cell):
                value = self._placed(store, cell, value, donating)
            if donating:
                # No buffer may be donated twice, or while somebody else holds it.
                if id(value) in seen or store.has_shared_buffer(cell):
                    value = jnp.copy(value)
                seen.add(id(value))
            result.append(value)
        return result

    def _placed(self, store: StateStore, cell: StateVariable, value: Array, donating: bool) -> Array:
        """A variable's array with this program's sharding, or on its one device."""
        if self.place is not None:
            wanted = self._stored(cell)
            value = cell.stacked(value)
            if isinstance(value, jax.Array) and value.sharding == wanted:
                self.shardings[cell] = value.sharding
                return value
            if self.place.is_multi_process and self.compiled is None:
                self.arriving[f"the variable {cell.name}"] = value
            placed: jax.Array = put(_detached(value), wanted)
            if not donating:
                store.move({cell: placed})
            return placed
        if not isinstance(value, jax.Array):
            alone: jax.Array = jax.device_put(np.array(value))
            return alone
        if len(value.sharding.device_set) > 1:
            moved: jax.Array = on_one_device(value)
            return jnp.copy(moved) if donating else moved
        self.shardings[cell] = value.sharding
        return value

    def _brought(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Inputs, moved to this program's devices where they are elsewhere."""
        if self.place is None:
            return [on_one_device(v) if isinstance(v, jax.Array) else v for v in inputs]
        return [put(v, wanted) if self._moves(v, wanted) else v for v, wanted in zip(inputs, self.taken, strict=True)]

    def _moves(self, value: Array, wanted: NamedSharding) -> bool:
        """Whether an input must be moved: it is on other devices, or on the host and sharded over processes."""
        if isinstance(value, jax.Array):
            return value.sharding != wanted
        return not wanted.is_fully_addressable and not wanted.is_fully_replicated

    def prepare(
        self, store: StateStore, inputs: Sequence[Array], meanwhile: Callable[[], None] | None = None
    ) -> jax.stages.Compiled:
        """Compile the program for a store's state and inputs like these. Runs nothing.

        Args:
          store: the state; the shapes and dtypes of its arrays are compiled in.
          inputs: the arguments of a run; those of others have the same shapes and dtypes.
          meanwhile: called in another thread while XLA compiles; its exception is raised when both are done.
        """
        donated, kept = self._state(store)
        if self._compiling is not None:
            self.compiled, self._compiling = self._compiling.result(), None
            store.reusable_arguments = (self, donated, kept)
            return self.compiled
        lowered = self.lowered(donated, kept, self._brought(inputs))
        if meanwhile is None:
            self.compiled = lowered.compile()
        else:
            with ThreadPoolExecutor(1, "towerstrat-meanwhile") as threads:
                beside = threads.submit(meanwhile)
                self.compiled = lowered.compile()
                with PROGRESS.phase(COMPILING, "comparing a program with the other processes"):
                    beside.result()
        store.reusable_arguments = (self, donated, kept)
        return self.compiled

    def begin_to_prepare(self, store: StateStore, inputs: Sequence[Array]) -> None:
        """Trace the program as ``prepare`` does, and start to compile it in another thread. Donates nothing.

        The next program must find state of the same shapes and shardings as the store's now.
        """
        donated, kept = ([_like(store.get(cell)) for cell in cells] for cells in (self.donated, self.kept))
        lowered = self.lowered(donated, kept, self._brought(inputs))
        self._compiling = _compilers.submit(lowered.compile)

    @property
    def memory(self) -> int:
        """Bytes of device memory that it needs, with arguments and outputs; 0 where the compiler does not say."""
        found = None if self.compiled is None else self.compiled.memory_analysis()
        if found is None:
            return 0
        parts = found.argument_size_in_bytes + found.temp_size_in_bytes + found.output_size_in_bytes
        # Which of the two holds what loops copy in front of them depends on the compiler.
        return int(max(found.peak_memory_in_bytes, parts - found.alias_size_in_bytes))

    def _state(self, store: StateStore) -> tuple[list[Array], list[Array]]:
        """(arrays to donate, arrays to read) for the next call; those of the store where this ran last."""
        last, store.reusable_arguments = store.reusable_arguments, None
        if last is not None and last[0] is self:
            return last[1], last[2]
        return self.gather(store, self.donated, True), self.gather(store, self.kept, False)

    def __call__(self, store: StateStore, inputs: Sequence[Array]) -> tuple[list[Array], jax.Array]:
        """Run the program, and store the new state: (outputs, error record), both possibly still being computed.

        The record is a device array, empty where no check can fail.
        """
        self.ran = False
        if self.place is not None and self.place.is_multi_process:
            PROGRESS.more(self.step_count)
            PROGRESS.share(self.step_count)
        else:
            PROGRESS.alive()
        compiled = self.compiled or self.prepare(store, inputs)
        inputs = self._brought(inputs)
        donated, kept = self._state(store)
        if self.written:
            # Between the call and the update the store's buffers are gone: an exception here would lose the state.
            with Uninterrupted():
                made: Traced = compiled(donated, kept, inputs)
                groups, state, record = made
                values = dict(zip(self.written, state, strict=True))
                if self.held and self.faulty and np.asarray(record).any():
                    values = {c: v for c, v in values.items() if c not in self.held}
                store.update(values)
                if len(self.donated) == len(self.written):
                    store.reusable_arguments = (self, state, kept)
                self.ran = True
        else:
            made = compiled(donated, kept, inputs)
            groups, _, record = made
            store.reusable_arguments = (self, donated, kept)
            self.ran = True
        if self.calls_back:
            jax.effects_barrier()
        return self._in_order(groups), record

    def error(self, record: Array) -> InvalidArgumentError | None:
        """The error of the first failed check in a run's error record, or None. Waits for the run."""
        return self.faults.error(record) if self.faulty and self.faults is not None else None


def calls_back(operations: Sequence[Operation]) -> bool:
    """Whether some operation calls Python on the host while its program runs."""
    return any(op.definition.callback or any(calls_back(body.needed) for body in op.bodies) for op in operations)


def effects(operations: Sequence[Operation]) -> tuple[list[StateVariable], list[StateVariable]]:
    """(variables read, variables written) by operations. What is written counts as read too: a write may be masked."""
    reads: dict[StateVariable, None] = {}
    writes: dict[StateVariable, None] = {}
    for op in operations:
        reads.update(dict.fromkeys(op.reads))
        writes.update(dict.fromkeys(op.writes))
        reads.update(dict.fromkeys(op.writes))
    return list(reads), list(writes)


def _like(value: Array) -> jax.ShapeDtypeStruct:
    """Shape, dtype and sharding of a state array, without its values."""
    return jax.ShapeDtypeStruct(np.shape(value), value.dtype, sharding=getattr(value, "sharding", None))


_compilers = ThreadPoolExecutor(1, "towerstrat-compiler")
"""The thread that compiles programs ahead of their use."""


def _detached(value: Array) -> Array:
    """A value that is safe from later in-place writes: a device array itself, a copy of a numpy array."""
    return value if isinstance(value, jax.Array) else np.array(value)


_HELD = (_signal.SIGINT, _signal.SIGTERM)


class Uninterrupted:
    """Context that defers SIGINT and SIGTERM with Python handlers, so that donated state is stored before one raises.

    Signals with the system's own action are left to it. Does nothing outside the main thread.
    """

    __slots__ = ("caught", "handlers", "held")

    def __enter__(self) -> None:
        self.caught: list[tuple[int, FrameType | None]] = []
        self.handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self.held: list[int] = []
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in _HELD:
                handler = _signal.getsignal(number)
                if callable(handler):
                    self.handlers[number] = handler
                    self.held.append(number)
                    _signal.signal(number, self._catch)
        except BaseException:
            self._release()
            raise

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self.caught.append((number, frame))

    def _release(self) -> None:
        """Restore the handlers: all of them, though a restored one may run, and raise, at once."""
        if self.held:
            number = self.held.pop()
            try:
                _signal.signal(number, self.handlers[number])
            finally:
                self._release()

    def __exit__(self, *exc: object) -> None:
        self._release()
        for number, frame in self.caught:
            self.handlers[number](number, frame)


def tensor_spec(tensor: Tensor) -> str:
    """The input spec of a tensor's value: "split" along the axis if it varies, else "same" (replicated)."""
    return "split" if tensor.varies else "same"
