"""``Program``: a jitted function of state and inputs, with donation, sharding, and runtime checks.

A program takes (donated state, other state, inputs) and returns (outputs, new state, error record). State variables
that it writes are donated: XLA reuses their buffers for the new values, which ``__call__`` stores before anything can
raise (``Uninterrupted`` holds signals back meanwhile). Of ``v += all_reduce(reduce_sum(x))`` on two devices, v
replicated and x one batch per tower:

    donated    v: float32[], replicated                         undonated    no variables that are only read
    inputs     x: float32[2, 8], spec "split", PartitionSpec("tower")
    inside     shard_map: v float32[], x float32[8]             the lowering evaluates the operations under ``jax.jit``
    outputs    split ones stacked [2, ...], then replicated ones

The body that it compiles is a function of a lowering and the inputs; one without state and operations:

>>> from towerstrat.graph.ir.state import StateStore
>>> program = Program([], lambda lowering, values: [values[0] + 1.0], ["same"], [False], {}, {})
>>> outputs, record = program(StateStore(), [np.float32(2.0)])
>>> outputs, record.shape
([Array(3., dtype=float32)], (0,))

Where several devices run it, the function is under ``jax.shard_map`` over the axis's mesh; input specs say how a value
lies along it: "split", "rows", "steps", "iterations", "uneven" or "same". Shards of several shapes are switched by
shard class inside (``switch_by_class``).

Checks do not raise on the device. Each program returns an error record per shard; the atomic ones select the old values
of all written variables where a check failed (``jnp.where``), so the state is right before the host has looked.
Variables whose old value cannot be selected, because there is none or it has another shape (``unmaskable``), are not
donated, and the host stores their new values only if the record is empty. A program that is called again with nothing
changed in between (``store.reusable_arguments``) does not collect its state again.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the enumerations of signal cost 20 us a run
import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import ALL, vary
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.class_switch import switch_by_class
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.shard_classes import ByClass, ShardClasses
from towerstrat.graph.runtime.programs.placement import Placement, mapped_axis
from towerstrat.graph.runtime.programs.runtime_checks import RuntimeChecks
from towerstrat.graph.runtime.programs.state_arguments import StateArguments
from towerstrat.hosts.heartbeat import COMPILING, PROGRESS
from towerstrat.platform import compilers

Outputs: TypeAlias = "tuple[list[jax.Array], list[jax.Array]]"
"""Those that vary along the axis, and those that are replicated."""
Traced: TypeAlias = "tuple[Outputs, list[Array], jax.Array]"
"""Outputs, new state, error record."""
Abstract = Array | jax.ShapeDtypeStruct
"""An array, or its shape and dtype where a program is only traced."""


class Program:
    """A function of state and inputs, compiled for one signature.

    Args:
      operations: evaluated by it; they tell its state variables and axis.
      body: (lowering, input values) -> output values; evaluates the operations.
      input_specs: for each input how it lies along the axis, see ``Placement.spec``; "uneven": padded shards of several
        shapes.
      output_specs: for each output whether it varies along the axis (then it comes out stacked).
      present: the variables that have a value before it runs.
      trips: loop -> bound of its iterations, for differentiated loops of unknown length.
      atomic: a run in which a check fails leaves the state as it was.
      kinds: shard classes by the shapes of the inputs with spec "uneven", where there are some. Outputs whose shapes
        differ by shard come out padded; ``shapes`` has their shapes, by output index.

    Attributes:
      placement: its devices, and the shardings of its arguments on them.
      checks: its runtime checks.
      state: the state variables that it takes and returns.
      compiled: the compiled function; None before it is prepared.
      complete_for: the programs of its graph part, if all of the part's variables had values when it was compiled;
        else None.
      ran: whether the last call came to store the new state.
      step_count: number of steps of the next call, for the heartbeat.

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
        self.operations = operations
        self.body = body
        self.trips = trips
        self.input_specs = input_specs
        self.output_specs = output_specs
        self.placement = Placement(mapped_axis(operations), input_specs)
        self.checks = RuntimeChecks(operations, atomic)
        self.state = StateArguments(operations, present, masks=self.checks.evaluated and atomic)
        self.compiled: jax.stages.Compiled | None = None
        self._compiling: Future[jax.stages.Compiled] | None = None
        self.complete_for: object = None
        self.ran = False
        self.step_count = 1
        self._calls_back = calls_back(operations)

    def change_nothing(self) -> None:
        """Drop all writes and checks: the program only computes its outputs, and donates nothing."""
        self.state.forbid_writes()
        self.checks.drop()

    # ---- tracing ---------------------------------------------------------------------------------------------

    def _local(self, cell: StateVariable, value: Array) -> Array:
        return value[0] if cell.is_varying and self.placement.axis is not None else value

    def _function(self, donated: Sequence[Array], undonated: Sequence[Array], inputs: Sequence[Array]) -> Traced:
        divided = ("split", "uneven") if self.placement.axis is not None else ()
        values = [v[0] if spec in divided else v for v, spec in zip(inputs, self.input_specs, strict=True)]
        if self.kinds is None:
            return self._evaluate_body((donated, undonated, values), ())
        padded = [v for v, spec in zip(values, self.input_specs, strict=True) if spec == "uneven"]
        even = [v for v, spec in zip(values, self.input_specs, strict=True) if spec != "uneven"]
        traced: Traced = switch_by_class(self.kinds, self._evaluate_body, (donated, undonated, even), padded)
        return traced

    def _evaluate_body(
        self, arguments: tuple[Sequence[Array], Sequence[Array], Sequence[Array]], uneven: Sequence[ByClass]
    ) -> Traced:
        donated, undonated, even = arguments
        written = self.state.written
        state = {c: self._local(c, v) for c, v in zip(self.state.donated, donated, strict=True)}
        state |= {c: self._local(c, v) for c, v in zip(self.state.undonated, undonated, strict=True)}
        before = dict(state)
        self.checks.begin(state)
        placement = self.placement
        lowering = Lowering(
            placement.platform, placement.axis, state, operations=self.operations, trip_counts=self.trips
        )
        lowering.classes.partition = self.kinds
        of_each: dict[bool, Iterator[Any]] = {True: iter(uneven), False: iter(even)}
        results = self.body(lowering, [next(of_each[spec == "uneven"]) for spec in self.input_specs])
        self.checks.mask_writes(lowering, before, self.state.unmaskable)
        new_state = [lowering.classes.stored(c, lowering.state.get(c, before.get(c))) for c in written]
        for i, value in enumerate(results):
            if isinstance(value, ByClass) and self.kinds is not None and len(set(value.shapes)) > 1:
                self.shapes[i] = self.kinds.by_position(value.shapes)
        results = [lowering.classes.padded_value(v) for v in results]
        return (
            self._group(results),
            [self._outgoing(v, c.is_varying) for c, v in zip(written, new_state, strict=True)],
            self._record(lowering),
        )

    def _group(self, results: Sequence[Array]) -> Outputs:
        """Partition the outputs by ``out_specs`` into (varying, replicated); ``_in_order`` is the inverse."""
        pairs = list(zip(results, self.output_specs, strict=True))
        varying = [self._outgoing(v, True) for v, split in pairs if split]
        return varying, [jnp.asarray(v) for v, split in pairs if not split]

    def _in_order(self, groups: tuple[Sequence[Array], Sequence[Array]]) -> list[Array]:
        """The outputs in the order in which the body returned them."""
        split, same = (iter(group) for group in groups)
        return [next(split) if is_split else next(same) for is_split in self.output_specs]

    def _outgoing(self, value: Array, split: bool) -> jax.Array:
        array, axis = jnp.asarray(value), self.placement.axis
        if split and axis is not None:
            varying: jax.Array = vary(array, axis)
            return varying[None]
        return array

    def _record(self, lowering: Lowering) -> jax.Array:
        """The error record, one row per shard; without checks an empty bool array."""
        if self.checks.evaluated:
            return self._outgoing(self.checks.finish(lowering), True)
        # Along an axis, what has no output but empty ones is compiled to nothing, and its callbacks with it. (The
        # TPU compiler fails on empty 64-bit outputs.)
        return jnp.zeros((1 if self._calls_back else 0,), jnp.bool_)

    def lowered(
        self, donated: Sequence[Abstract], undonated: Sequence[Abstract], inputs: Sequence[Abstract]
    ) -> jax.stages.Lowered:
        """Trace and lower the program for arguments, or for their shapes and dtypes alone, without running it."""
        function: Callable[..., Any] = self._function
        options: dict[str, Any] = {}
        placement, state = self.placement, self.state
        mapped = placement.mapped
        if mapped is not None:
            ins = [placement.spec(s) for s in self.input_specs]
            outs = (placement.spec("split"), ALL)
            records = placement.spec("split" if self.checks.evaluated else "same")
            function = mapped.map(
                function,
                in_specs=(placement.state_specs(state.donated), placement.state_specs(state.undonated), ins),
                out_specs=(outs, placement.state_specs(state.written), records),
            )
            options["in_shardings"] = (
                placement.state_shardings(state.donated),
                placement.state_shardings(state.undonated),
                placement.input_shardings,
            )
            # What the host looks at is whole in each process.
            result_specs = (ALL, ALL) if mapped.is_multi_process else outs
            options["out_shardings"] = (
                tuple(mapped.placed(s) for s in result_specs),
                placement.state_shardings(state.written),
                mapped.placed(ALL if mapped.is_multi_process else records),
            )
        jitted = compilers.jit(function, placement.platform, donate_argnums=(0,), **options)
        lowered: jax.stages.Lowered = jitted.lower(donated, undonated, inputs)
        return lowered

    # ---- running ---------------------------------------------------------------------------------------------

    def prepare(
        self, store: StateStore, inputs: Sequence[Array], meanwhile: Callable[[], None] | None = None
    ) -> jax.stages.Compiled:
        """Compile the program for a store's state and inputs like these. Runs nothing.

        Args:
          store: the state; the shapes and dtypes of its arrays are compiled in.
          inputs: the arguments of a run; those of others have the same shapes and dtypes.
          meanwhile: called in another thread while XLA compiles; its exception is raised when both are done.
        """
        donated, undonated = self._state_arrays(store)
        if self._compiling is not None:
            compiled, self._compiling = self._compiling.result(), None
        else:
            lowered = self.lowered(donated, undonated, self.placement.bring(inputs))
            compiled = _compile(lowered, meanwhile)
        self.compiled = compiled
        self.placement.unverified = None
        store.reusable_arguments = (self, donated, undonated)
        return compiled

    def begin_to_prepare(self, store: StateStore, inputs: Sequence[Array]) -> None:
        """Trace the program as ``prepare`` does, and start to compile it in another thread. Donates nothing.

        The next program must find state of the same shapes and shardings as the store's now.
        """
        donated, undonated = (
            [_like(store.get(cell)) for cell in cells] for cells in (self.state.donated, self.state.undonated)
        )
        lowered = self.lowered(donated, undonated, self.placement.bring(inputs))
        self._compiling = _compilers.submit(lowered.compile)

    @property
    def memory(self) -> int:
        """Bytes of device memory that it needs, with arguments and outputs; 0 where the compiler does not say."""
        analysis = None if self.compiled is None else self.compiled.memory_analysis()
        if analysis is None:
            return 0
        parts = analysis.argument_size_in_bytes + analysis.temp_size_in_bytes + analysis.output_size_in_bytes
        # Which of the two holds what loops copy in front of them depends on the compiler.
        return int(max(analysis.peak_memory_in_bytes, parts - analysis.alias_size_in_bytes))

    def _state_arrays(self, store: StateStore) -> tuple[list[Array], list[Array]]:
        """(arrays to donate, arrays to read) for the next call; those of the store where this ran last."""
        last, store.reusable_arguments = store.reusable_arguments, None
        if last is not None and last[0] is self:
            return last[1], last[2]
        gather = self.placement.gather
        return gather(store, self.state.donated, True), gather(store, self.state.undonated, False)

    def __call__(self, store: StateStore, inputs: Sequence[Array]) -> tuple[list[Array], jax.Array]:
        """Run the program, and store the new state: (outputs, error record), both possibly still being computed.

        The record is a device array, empty where no check can fail.
        """
        self.ran = False
        placement, state, checks = self.placement, self.state, self.checks
        if placement.mapped is not None and placement.mapped.is_multi_process:
            PROGRESS.more(self.step_count)
            PROGRESS.share(self.step_count)
        else:
            PROGRESS.alive()
        compiled = self.compiled or self.prepare(store, inputs)
        inputs = placement.bring(inputs)
        donated, undonated = self._state_arrays(store)
        results: Traced
        if state.written:
            # Between the call and the update the store's buffers are gone: an exception here would lose the state.
            with Uninterrupted():
                results = compiled(donated, undonated, inputs)
                groups, arrays, record = results
                values = dict(zip(state.written, arrays, strict=True))
                if state.unmaskable and checks.can_fail and np.asarray(record).any():
                    values = {c: v for c, v in values.items() if c not in state.unmaskable}
                store.update(values)
                if len(state.donated) == len(state.written):
                    store.reusable_arguments = (self, arrays, undonated)
                self.ran = True
        else:
            results = compiled(donated, undonated, inputs)
            groups, _, record = results
            store.reusable_arguments = (self, donated, undonated)
            self.ran = True
        if self._calls_back:
            jax.effects_barrier()
        return self._in_order(groups), record

    def error(self, record: Array) -> InvalidArgumentError | None:
        """The error of the first failed check in a run's error record, or None. Waits for the run."""
        return self.checks.error(record)


def calls_back(operations: Sequence[Operation]) -> bool:
    """Whether some operation calls Python on the host while its program runs."""
    return any(op.definition.callback or any(calls_back(body.needed) for body in op.bodies) for op in operations)


def _compile(lowered: jax.stages.Lowered, meanwhile: Callable[[], None] | None) -> jax.stages.Compiled:
    """Compile a lowered program, while ``meanwhile`` is called in another thread."""
    if meanwhile is None:
        return lowered.compile()
    with ThreadPoolExecutor(1, "towerstrat-meanwhile") as threads:
        beside = threads.submit(meanwhile)
        compiled = lowered.compile()
        with PROGRESS.phase(COMPILING, "comparing a program with the other processes"):
            beside.result()
    return compiled


def _like(value: Array) -> jax.ShapeDtypeStruct:
    """Shape, dtype and sharding of a state array, without its values."""
    return jax.ShapeDtypeStruct(np.shape(value), value.dtype, sharding=getattr(value, "sharding", None))


_compilers = ThreadPoolExecutor(1, "towerstrat-compiler")
"""The thread that compiles programs ahead of their use."""


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
