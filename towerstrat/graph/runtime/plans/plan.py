"""Plans: how one set of fetches is computed from one set of feeds, as a list of stages.

A ``Plan`` prunes the graph to what the fetches need, puts it in execution order, and cuts the order where the host has
to act. Each piece is a stage: ``run(run)`` reads tensor values from ``run.values`` and adds its own.

    ConstantFoldingStage    numpy, where every input is known to the host; kept for all runs if no feed goes into it
    HostStage               one operation that is Python: py_func, strings, files, taking an element
    DeviceStage             the operations between: one jitted program, found again by the signature of its inputs
    InitializationStage     initializers, executed one by one
    others                  by ``OpDef.stage``: step loops, loops over data, collectives (``Stages``)

The callback's argument is computed by numpy from the feed; the rest is one device program:

>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> from towerstrat.graph.ops.host.python_calls import py_func
>>> from towerstrat.graph.ops.math import arithmetic  # registers the operators of tensors
>>> with Graph().as_default() as graph:
...     x = placeholder("float32", [2])
...     y = py_func(lambda h: h + 1, [x * x], "float32")
...     y.set_shape([2])
...     [type(stage).__name__ for stage in Plan(graph, [y * x + 1.0], [x], {}).stages]
['ConstantFoldingStage', 'HostStage', 'DeviceStage']

A training step without Python in it is a single DeviceStage: reads, forward, gradient and update are one XLA program.
The session keeps a plan per (fetches, fed tensors). What one jitted program cannot do makes a DeviceStage run operation
by operation (``eager``): results whose shape depends on values, a gradient's path through host operations, strings.
Along a mesh axis that is not possible, and raises. A differentiated loop of unknown length is first run without
derivatives to count its iterations (``_learn_trips``), then compiled for the next power of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import (
    Block,
    Operation,
    Tensor,
    execution_order,
    has_effect,
    loops_in,
    runs_in_numpy,
)
from towerstrat.graph.ir.mesh import Axis, on_one_device
from towerstrat.graph.ir.output_pruning import prune_order, rewired
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import Array, int32, resource, string
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic, NeedsTripCount, on_host, varying_shape
from towerstrat.graph.lowering.scheduling import texts_last
from towerstrat.graph.lowering.shard_classes import shard_classes_of
from towerstrat.graph.ops.control.trip_counts import gradients_decide
from towerstrat.graph.ops.host.tower_callbacks import take_out_of_program
from towerstrat.graph.runtime.plans.initialization_stage import InitializationStage, split_initialization
from towerstrat.graph.runtime.plans.pass_through_stage import PassThroughStage, passes
from towerstrat.graph.runtime.plans.runner import Run, Stage, Values
from towerstrat.graph.runtime.programs.device_program import Program, calls_back, tensor_spec
from towerstrat.graph.runtime.programs.eager_programs import SINGLE_OPERATIONS
from towerstrat.graph.runtime.programs.placement import effective_axis
from towerstrat.graph.runtime.programs.program_cache import (
    OwnedPrograms,
    ProgramInputs,
    ProgramVariants,
    compiled_size,
    needs_value,
    to_host,
)
from towerstrat.graph.runtime.programs.state_arguments import effects
from towerstrat.platform.accounts import ACCOUNTS, INPUT, RUNNING


def foldable(op: Operation) -> bool:
    """Whether numpy can compute the operation from known values, without a device program."""
    return op.definition.constant or (op.definition.numpy is not None and not op.reads)


def needs_host(op: Operation) -> bool:
    """Whether the host carries the operation out: it is Python or, outside an axis, only numpy, or has such bodies."""
    if op.definition.host is not None:
        return True
    if op.axis is not None:
        return False
    if op.definition.stage is None:
        return runs_in_numpy(op)
    return any(needs_host(inner) for body in op.bodies for inner in body.needed)


def is_constant(tensor: Tensor, fed: Container[Tensor]) -> bool:
    """Whether a tensor has the same value in every run that feeds ``fed``, and the host can fold it."""
    return tensor not in fed and foldable(tensor.op) and all(is_constant(t, fed) for t in tensor.op.inputs)


Stages = Mapping[str, Callable[[Operation, "Stages"], Stage]]
"""``OpDef.stage`` -> factory of a stage, (operation, stages) -> stage."""


def host_stage(op: Operation, stages: Stages) -> Stage:
    """The stage of an operation that the host carries out."""
    if op.definition.stage is not None:
        return stages[op.definition.stage](op, stages)
    return ConstantFoldingStage((op,), set()) if op.definition.host is None else HostStage(op)


class HostStage:
    """One host operation: a Python function of numpy arrays."""

    def __init__(self, op: Operation):
        self.op = op

    def run(self, run: Run) -> None:
        values = [to_host(run.values[t]) if t.dtype is not resource else t.op.attrs["cell"] for t in self.op.inputs]
        assert self.op.definition.host is not None
        with ACCOUNTS.timed(INPUT if "takes" in self.op.attrs else RUNNING):
            results = self.op.definition.host(run.session, self.op, values)
        run.values.update(
            (t, v)
            for t, v in zip(self.op.outputs, results, strict=True)
            if t not in run.static or run.static[t] is None
        )


class ConstantFoldingStage:
    """Operations folded by numpy, and calls of Python on known values.

    Evaluated once for all runs where no feed and no call of Python goes into the values (``fixed``).
    """

    def __init__(self, ops: Sequence[Operation], fed: set[Tensor]):
        self.ops = ops
        outputs = {t for op in ops for t in op.outputs}
        calls = any(op.definition.callback for op in ops)
        self.fixed = not calls and not outputs & fed and all(t in outputs for op in ops for t in op.inputs)
        self.values: Values | None = None

    def run(self, run: Run) -> None:
        values = self.values
        if values is None:
            lowering = Lowering("cpu", fed=None if self.fixed else run.values, host_calls_inline=True)
            lowering.run(self.ops)
            values = lowering.values
            if self.fixed:
                self.values = values
        run.values.update(values)


class DeviceStage:
    """Operations that become one jitted device program, compiled per signature of the inputs.

    Args:
      inner: whether this is a region of a plan around it, so that fed values of varying tensors are stacked by tower.
      stages: the stages of host operations among these, where all run one by one.
    """

    def __init__(
        self, ops: Sequence[Operation], inputs: Sequence[Tensor], outputs: Sequence[Tensor], fed: set[Tensor],
        stages: Stages, inner: bool = False,
    ):  # fmt: skip
        self.inner = inner
        self.ops = ops
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.fed = fed
        self.stages = stages
        reads, writes = effects(ops)
        self.compiled: ProgramVariants[Program] = ProgramVariants(
            _in_words(ops), inputs, dict.fromkeys([*reads, *writes])
        )
        self.eager = any(_dynamic(op) or op.definition.host is not None for op in ops)
        self.loops: list[Operation] = []
        """Differentiated loops of unknown length, or operations around such, whose iterations are counted first."""
        self.counters: OwnedPrograms[Program] = OwnedPrograms()
        self.axis = effective_axis(ops)
        if any(t.dtype is string for t in self.outputs):
            self.eager |= self.axis is None
            self.outputs = [t for t in self.outputs if t.dtype is not string or self.eager]
        if self.eager and self.axis is not None:
            self.eager = False  # What has a result of unknown size may have it of constants, which lowering knows.
            op = next((o for o in ops if o.definition.host is not None), None)
            if op is not None:
                raise on_host(op)

    def run(self, run: Run) -> None:
        if self.eager or not all(hasattr(run.values[t], "shape") for t in self.inputs):
            self._run_eagerly(run)
            return
        while True:
            try:
                self._run_compiled(run)
                return
            except NeedsTripCount as loop:
                # Raised while the program is traced, so that nothing has run and it can be begun anew.
                around = next((op for op in self.ops if loop.op in loops_in(op)), None)
                if around is None:
                    raise
                if around in self.loops or gradients_decide(around):
                    if self.axis is not None:
                        raise
                    self.eager = True
                    self._run_eagerly(run)
                    return
                self.loops = [op for op in self.ops if op in self.loops or op is around]
            except NeedsStatic as needed:
                if self.axis is not None:
                    raise needs_value(needed) from None
                self.eager = True
                self._run_eagerly(run)
                return

    def _run_compiled(self, run: Run) -> None:
        store = run.store

        def trips(key: Hashable, program_inputs: ProgramInputs) -> Mapping[Operation, int]:
            return self._learn_trips(key, program_inputs, store)

        def make(program_inputs: ProgramInputs, counts: Mapping[Operation, int]) -> Program:
            return self.program(program_inputs, self.compiled.present(store), counts)

        program, inputs = self.compiled.find(run.values, store, make, trips=trips if self.loops else None)
        assert program is not None
        outputs, record = program(store, inputs)
        if program.checks.can_fail:
            run.checks.append(partial(program.error, record))
        self.finish(run, program, outputs)

    def finish(self, run: Run, program: Program, outputs: Sequence[Array]) -> None:
        """Bind the program's outputs to the stage's output tensors; those of ragged shards become ``UnevenShards``."""
        for i, (tensor, value) in enumerate(zip(self.outputs, outputs, strict=False)):
            run.values[tensor] = UnevenShards(value, program.shapes[i]) if i in program.shapes else value

    def program(
        self, program_inputs: ProgramInputs, present: Container[StateVariable], trips: Mapping[Operation, int]
    ) -> Program:
        """The program for a signature, not compiled.

        Args:
          program_inputs: the arguments, with the values that become constants.
          present: the variables that have values.
          trips: loop -> bound of its iterations, for differentiated loops of unknown length.
        """

        def outputs(lowering: Lowering, ops: Sequence[Operation]) -> list[Array]:
            lowering.run(ops)
            if unknown := lowering.padded_tensors.intersection(self.outputs):
                raise varying_shape(unknown.pop().op)
            return [lowering.value(t) if t.varies else lowering.invariant(t) for t in self.outputs]

        return self._program(program_inputs, present, trips, outputs, [t.varies for t in self.outputs])

    def _program(
        self, program_inputs: ProgramInputs, present: Container[StateVariable], trips: Mapping[Operation, int],
        evaluate: Callable[[Lowering, Sequence[Operation]], list[Array]], varying: Sequence[bool],
    ) -> Program:  # fmt: skip
        """A program of this stage's operations whose outputs ``evaluate`` computes; ``varying``: which of them vary."""
        known, tensors = program_inputs.known, program_inputs.tensors
        divided = self._divided_inputs(program_inputs)
        ops = [op for op in self.ops if op not in divided.values()]

        def body(lowering: Lowering, values: Sequence[Array]) -> list[Array]:
            inputs = {**known, **dict(zip(tensors, values, strict=True))}
            inputs = {divided[t].outputs[0] if t in divided else t: v for t, v in inputs.items()}
            lowering.fed = {t: v for t, v in inputs.items() if t in self.fed}
            lowering.values.update(inputs)
            return evaluate(lowering, ops)

        kinds = shard_classes_of(self.axis, list(program_inputs.uneven.values()), ops)
        specs = ["uneven" if t in program_inputs.uneven else "rows" if t in divided else self._spec(t) for t in tensors]
        return Program(self.ops, body, specs, varying, present, trips, kinds=kinds)

    def _divided_inputs(self, program_inputs: ProgramInputs) -> dict[Tensor, Operation]:
        """Inputs of which each shard needs its own rows only -> the ``Divide`` operation that would slice them.

        They are placed sharded, and the operation is left out. Only where dimension 0 divides evenly, nothing else uses
        the input, and no gradient goes through the operation.
        """
        if self.axis is None:
            return {}
        used = Counter(t for op in self.ops for t in _uses(op))
        followed = {step for op in self.ops for step in op.attrs.get("path", ())}
        shapes = {t: shape for t, (shape, _) in zip(program_inputs.tensors, program_inputs.signature, strict=False)}
        operations: dict[Tensor, Operation] = {}
        for op in self.ops:
            if op.type == "Divide" and op.attrs["dim"] == 0 and op.attrs["axis"] is self.axis and op not in followed:
                (source,) = op.inputs
                shape = shapes.get(source)
                if shape and shape[0] % self.axis.size == 0 and used[source] == 1:
                    operations[source] = op
        return operations

    def _spec(self, tensor: Tensor) -> str:
        return "same" if tensor in self.fed and not _is_stacked(tensor, self.inner) else tensor_spec(tensor)

    def _learn_trips(self, key: Hashable, program_inputs: ProgramInputs, store: StateStore) -> dict[Operation, int]:
        """Bounds of the iterations of differentiated loops of unknown length, by a forward run on these inputs.

        Counts are rounded up to powers of two, so that few of them compile anew.
        """
        trips: dict[Operation, int] = {}
        last = store.reusable_arguments
        for op in self.loops:
            counter_key = (key, op, tuple(trips.values()))
            counter = self.counters.get(counter_key)
            if counter is None:
                counter = self._counter(op, program_inputs, self.compiled.present(store), dict(trips))
                self.counters.add(counter_key, counter, compiled_size(counter.prepare(store, program_inputs.inputs)))
            counts, _ = counter(store, program_inputs.inputs)
            for loop, of_positions in zip(loops_in(op), counts, strict=True):
                trips[loop] = 1 << max(0, int(np.max(of_positions)) - 1).bit_length()
        # The counters have written nothing: the state is still as the program before left it.
        store.reusable_arguments = last
        return trips

    def _counter(
        self,
        around: Operation,
        program_inputs: ProgramInputs,
        present: Container[StateVariable],
        trips: Mapping[Operation, int],
    ) -> Program:
        """A forward program that counts the iterations of the loops in ``around``: no derivatives, no writes.

        Gradients that are taken inside of the operation are zeros in it: no loop's condition depends on them.
        """

        def count(lowering: Lowering, ops: Sequence[Operation]) -> list[Array]:
            counters = [StateVariable(f"{loop.name}/iterations", int32, (), self.axis) for loop in loops_in(around)]
            lowering.trip_counters = dict(zip(loops_in(around), counters, strict=True))
            lowering.state.values.update((cell, np.zeros((), np.int32)) for cell in counters)
            lowering.suppress_prints = True
            lowering.run(ops[: ops.index(around)])
            plain = lowering.fork()
            plain.tape.paths = plain.tape.paths._replace(operations=frozenset())
            plain.execute(around)
            return [plain.state[cell] for cell in counters]

        program = self._program(program_inputs, present, trips, count, [True] * len(loops_in(around)))
        program.change_nothing()
        return program

    def _run_eagerly(self, run: Run) -> None:
        before = {c: jax.numpy.asarray(on_one_device(v)) for c, v in self.compiled.present(run.store).items()}
        state = dict(before)
        fed = {t: v for t, v in run.values.items() if t in self.fed}
        platform = jax.local_devices()[0].platform
        lowering = Lowering(platform, None, state, fed, self.ops, eager=True, executor=SINGLE_OPERATIONS)
        lowering.values.update(run.values)
        for op in self.ops:
            if op.definition.host is not None:
                lowering.tape.note(op)
                host_stage(op, self.stages).run(Run(run.session, run.store, lowering.values, {}))
            else:
                lowering.execute(op)
        if calls_back(self.ops):
            jax.effects_barrier()
        used = {id(v) for c, v in before.items() if c not in lowering.state.written}
        for cell in lowering.state.written:
            value = lowering.state[cell]
            # No two variables may share an array: the next program may donate both.
            run.store.update({cell: jax.numpy.copy(value) if id(value) in used else value})
            used.add(id(value))
        run.values.update((t, lowering.value(t)) for t in self.outputs)


def _in_words(ops: Sequence[Operation]) -> str:
    last = f"{ops[-1].name} (created at {ops[-1].line})"
    return f"A program of {len(ops)} operations up to {last}" if len(ops) > 1 else f"Operation {last}"


def _dynamic(op: Operation) -> bool:
    return op.definition.dynamic or any(_dynamic(inner) for body in op.bodies for inner in body.needed)


class Plan:
    """The stages that compute one set of fetches from one set of feeds. Kept by the session and used again.

    Args:
      graph: the graph.
      fetches: tensors and operations; a variable's handle stands for the variable's value after the run.
      fed: the tensors that are fed.
      stages: factories of the stages of operations that have one of their own.
      block: the region that runs, if not the graph itself.
      connections: tensors of the graph -> tensors whose values they take instead of their own.
    """

    def __init__(
        self, graph: Graph, fetches: Sequence[Tensor | Operation], fed: Iterable[Tensor], stages: Stages,
        block: Block | None = None, connections: Mapping[Tensor, Tensor] | None = None,
    ):  # fmt: skip
        self.fed = set(fed)
        self._stages = stages
        self.inner = block is not None
        self.indexed_fetches: dict[Tensor | Operation, tuple[Tensor, int]] = {
            f: (f.op.inputs[0], f.op.attrs["position"]) for f in fetches if isinstance(f, Tensor) and self._is_part(f)
        }
        """Fetched shards of varying values -> (varying tensor, axis index): the host takes them from the whole."""
        self.fetches = [self.indexed_fetches[f][0] if f in self.indexed_fetches else f for f in fetches]
        fetches = self.fetches
        targets = [f if isinstance(f, Operation) else f.op for f in fetches if f not in self.fed]
        instead = {tensor.op: rewired(tensor, source) for tensor, source in (connections or {}).items()}
        order = execution_order(targets, block or graph.root, self.fed, instead)
        for op in order if block is None else ():
            take_out_of_program(op)
        self.order = texts_last(prune_order(order, fetches, self.fed), self.fed)
        self.stages = list(self._cut())
        self.trains = any("path" in op.attrs for op in self.order) and any(op.writes for op in self.order)
        """Whether a run is a training step: it takes gradients, and writes."""
        axes: list[Axis | None] = [getattr(stage, "axis", None) for stage in self.stages]
        self.shared = any(axis is not None and axis.is_multi_process for axis in axes)
        """Whether its programs span processes; such programs report their steps to the heartbeat themselves."""

    def _is_part(self, fetch: Tensor) -> bool:
        if fetch in self.fed or fetch.op.type != "SelectPosition":
            return False
        return fetch.op.inputs[0].varies and not fetch.op._control_inputs

    def value(self, fetch: Tensor, run: Run) -> Any:
        """The value of a fetched tensor after a run."""
        if fetch not in self.indexed_fetches:
            return run.values[fetch]
        source, position = self.indexed_fetches[fetch]
        stacked = run.values[source]
        return stacked.part(position) if isinstance(stacked, UnevenShards) else to_host(stacked)[position]

    def _cut(self) -> Iterator[Stage]:
        """Yield the stages: first what needs no device, then the rest of the order, cut at host operations."""
        ahead = self._without_device()
        self.on_host = self._host_operations(ahead)
        folding: list[Operation] = []
        for op in self.order:
            if op not in self.on_host:
                continue
            if op.definition.host is None:
                folding.append(op)
                continue
            if folding:
                yield ConstantFoldingStage(tuple(folding), self.fed)
                folding.clear()
            yield HostStage(op)
        if folding:
            yield ConstantFoldingStage(tuple(folding), self.fed)
        done = self._only_for_host()
        yield from self._segments(
            [
                o
                for o in self.order
                if o not in self.on_host or not (needs_host(o) or o.definition.callback or o in done)
            ]
        )

    def _only_for_host(self) -> set[Operation]:
        """Folded operations that no device program computes again: it does not use them, or takes their results.

        A program takes as inputs those whose shapes depend on values, and what is computed from these; the others are
        folded again while lowering.
        """
        done: set[Operation] = set()
        differentiated = {step for op in self.order for step in op.attrs.get("path", ())}
        value_dependent: set[Operation] = set()
        for op in self.order:
            if op in self.on_host and (_dynamic(op) or any(t.op in value_dependent for t in op.inputs)):
                value_dependent.add(op)
        value_dependent -= differentiated
        used = {t.op for op in self.order if op not in self.on_host for t in _uses(op)} | differentiated
        for op in reversed(self.order):
            if op not in self.on_host:
                continue
            if op not in used or needs_host(op) or op in value_dependent:
                done.add(op)
            else:
                used.update(t.op for t in _uses(op))
        return done

    def _without_device(self) -> set[Operation]:
        """Operations that can run before any device program: host operations on known values, and what numpy folds.

        An effect on the host stays behind earlier host effects, and behind writes of the variables that it reads.
        """
        ahead: set[Operation] = set()
        reads: set[StateVariable] = set()
        writes: set[StateVariable] = set()
        behind = False
        differentiated = {step for op in self.order for step in op.attrs.get("path", ())}
        for op in self.order:
            calls = op.definition.callback and op.axis is None and all(t.dtype is not resource for t in op.inputs)
            on_host = op.definition.host is not None and op.definition.stage is None
            on_host = (on_host or calls) and op not in differentiated
            hosted = needs_host(op)
            # What is constant waits for nothing: it is the same before and after.
            ready = op.definition.constant or (
                all(t.op in ahead or (t in self.fed and not _is_stacked(t, self.inner)) for t in op.inputs)
                and all(c in ahead for c in op._control_inputs)
            )
            if on_host and ready:
                # An effect on the host keeps its place among such effects, and to those on the variables it uses.
                ready = not (op.definition.stateful and behind)
                ready &= writes.isdisjoint((*op.reads, *op.writes)) and reads.isdisjoint(op.writes)
            folds = foldable(op) and not any(t.varies for t in op.inputs)
            if ready and (on_host or folds or op.definition.object_valued):
                ahead.add(op)
                continue
            behind |= (hosted or calls_back([op])) and has_effect(op)
            reads.update(op.reads)
            writes.update(op.writes)
        return ahead

    def _host_operations(self, ahead: set[Operation]) -> set[Operation]:
        """Of ``ahead`` what has to be computed on the host: inputs of host operations, and fetched constants."""
        constant: set[Operation] = set()
        for op in self.order:
            if (
                foldable(op)
                and not op._control_inputs
                and all(t not in self.fed and t.op in constant for t in op.inputs)
            ):
                constant.add(op)
        requested: set[Operation] = set()
        stack = [op for op in self.order if needs_host(op) or (op.definition.callback and op in ahead)]
        stack += [
            f.op
            for f in self.fetches
            if isinstance(f, Tensor)
            and f not in self.fed
            and (f.op in constant or f.dtype is string or (f.op in ahead and f.op.definition.constant))
        ]
        while stack:
            op = stack.pop()
            if op in requested:
                continue
            if op in ahead:
                requested.add(op)
            stack += [t.op for t in op.inputs if t not in self.fed and t.op in ahead]
        return requested

    def _segments(self, ops: Sequence[Operation]) -> Iterator[Stage]:
        segments: list[list[Operation]] = [[]]
        for op in ops:
            if needs_host(op):
                segments += [[op], []]
            else:
                segments[-1].append(op)
        fetched = {f for f in self.fetches if isinstance(f, Tensor)}
        if self._crosses(segments):
            yield self._device(ops, fetched)
            return
        later: list[set[Tensor]] = []
        live = set(fetched)
        for segment in reversed(segments):
            later.append(set(live))
            live |= {t for op in segment for t in _uses(op)}
        staged = any(op.definition.stage is not None for segment in segments[1::2] for op in segment)
        for segment, needed in zip(segments, reversed(later), strict=True):
            remaining = [op for op in segment if op not in self.on_host]
            if segment and needs_host(segment[0]):
                yield host_stage(segment[0], self._stages)
            elif remaining and staged and passes(remaining, self.fed):
                yield PassThroughStage(remaining)
            elif segment:
                yield from self._without_host(segment, needed)

    def _without_host(self, ops: Sequence[Operation], needed: set[Tensor]) -> Iterator[Stage]:
        first, ops = split_initialization(ops, self.fed) if not self.inner else ((), ops)
        if first:
            live = needed | {t for op in ops for t in _uses(op)}
            outputs = [t for op in first for t in op.outputs if t in live and t.dtype is not resource]
            yield InitializationStage(first, outputs, self.fed)
        if ops:
            stage = self._device(ops, needed)
            if stage.outputs or any(op.writes or has_effect(op) for op in ops):
                yield stage

    def _crosses(self, segments: Sequence[Sequence[Operation]]) -> bool:
        """Whether a gradient's path lies in two segments; then all of it runs operation by operation.

        Raises:
          UnsupportedError: the path goes through a loop or branch that the host runs.
        """
        segment_of = {op: i for i, segment in enumerate(segments) for op in segment}
        for op, where in segment_of.items():
            path = op.attrs.get("path", ())
            hosted = next((step for step in path if step.definition.host is None and needs_host(step)), None)
            if hosted is not None:
                raise UnsupportedError(
                    f"A gradient (asked for at {op.line}) goes through {hosted.name} (type {hosted.type}, created at "
                    f"{hosted.line}), a loop or branch that the host runs: it takes elements of a dataset, or calls "
                    "Python. Take the gradient inside of the loop's body."
                )
            if any(segment_of.get(step, where) != where for step in path):
                return True
        return False

    def _device(self, ops: Sequence[Operation], needed: set[Tensor]) -> DeviceStage:
        inside = set(ops)
        inputs = dict.fromkeys(
            t for op in ops for t in _uses(op) if (t in self.fed or t.op not in inside) and t.dtype is not resource
        )
        steps = (step for op in ops for step in op.attrs.get("path", ()))
        inputs.update((t, None) for step in steps for t in step.outputs if t in self.fed)  # gradient formulas use them
        outputs = [
            t
            for op in ops
            if op not in self.on_host
            for t in op.outputs
            if t in needed and t not in self.fed and t.dtype is not resource
        ]
        stage = DeviceStage(
            ops, [t for t in inputs if t.dtype is not string], outputs, self.fed, self._stages, self.inner
        )
        text = {t for t in inputs if t.dtype is string}
        stage.eager |= stage.axis is None and any(t in text for op in ops if not op.bodies for t in op.inputs)
        return stage


def _is_stacked(tensor: Tensor, inner: bool) -> bool:
    """Whether a fed value has one row per tower."""
    return tensor.varies and (inner or tensor.op.type == "PositionInput")


def _uses(op: Operation) -> Iterator[Tensor]:
    yield from op.inputs
    for body in op.bodies:
        for inner in body.needed:
            yield from (t for t in _uses(inner) if not body.encloses(t.op.block))
