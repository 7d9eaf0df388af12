"""Loops whose bodies take elements of datasets: many iterations in one device program, the input assembled ahead.

``for batch in dataset`` in a function, or a ``tf.while_loop`` around ``iterator.get_next()``, is a ``While`` whose body
has a host operation. Where taking elements is all that the host does in it, ``DataLoop`` takes the elements of many
iterations beforehand and gives them to a device program as buffers ``[room, takes, ...]``; else it is a ``HostLoop``.

    for x in dataset:                         chunk     x: float32[16, 1, 8], 16 iterations of one take
        if total > limit: break               program   while_loop over rows of x: total, until the condition is False
        total += reduce_sum(x)                outputs   total, the number of iterations run; the other rows go back

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     data = tf.data.make_one_shot_iterator(tf.data.Dataset.range(6))
...     add = lambda i, total: (i + 1, total + data.get_next())
...     _, total = tf.while_loop(lambda i, _: i < 3, add, [0, tf.constant(0, tf.int64)])
...     type(loop_stage(total.op.inputs[0].op, {})).__name__
'DataLoop'

There are three kinds of loop, by what the host knows of the number of iterations: a known one (``range``, a counted
``while_loop``) is a ``lax.scan`` per chunk, rests two by two, as in step loops; an endless one (the condition is the
constant True, the data ends it) has programs of up to 1024 iterations, sized by time; where values decide
(``tested``) the condition is evaluated on the device before each iteration, up to 16 a program.

What a program cannot run is one iteration on the host: the end of the data, an exception of the pipeline, loop
variables that change their shape. Each is met in exactly that iteration, as in Python. After more than two such
iterations in a row the host runs the rest. Sources that read variables (``live``) are taken from one element at a time.

A check that fails in an iteration leaves the state after the iteration before. The check of a run's last program may be
looked at only by the next run (``_leave``), whose first program is already queued: it takes the failed iteration's
number as an input and runs nothing. The order of giving back matters: newest input first.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Container, Hashable, Mapping, Sequence, Set
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError, OutOfRangeError
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order, has_effect
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array, resource, string
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.error_records import failed_anywhere
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic, NeedsTripCount
from towerstrat.graph.ops.control.regions import EndOfLoop
from towerstrat.graph.ops.control.tensor_array_lowering import Grows, Unwritten, Value
from towerstrat.graph.ops.control.while_lowering import Carry, Changes, Loop
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler, next_chunk
from towerstrat.graph.runtime.loops.input_chunks import Chunk, ChunkAssembler, Source
from towerstrat.graph.runtime.loops.step_program import NO_FAILED_STEP
from towerstrat.graph.runtime.plans.host_control_flow_stage import HostLoop
from towerstrat.graph.runtime.plans.plan import Stages, is_constant, needs_host
from towerstrat.graph.runtime.plans.runner import Run
from towerstrat.graph.runtime.programs.device_program import Abstract, Program, tensor_spec
from towerstrat.graph.runtime.programs.program_cache import ProgramInputs, ProgramVariants, to_host

_OPEN_STEPS = 1024
"""Iterations of one program, in a loop that goes on to the end of the data."""
_TESTED_STEPS = 16
"""Iterations of one program, in a loop whose condition the device evaluates."""
_ALONE = 2
"""Iterations in a row that no program can run, after which the host runs the rest one by one."""


def loop_stage(op: Operation, stages: Stages) -> HostLoop:
    """The stage of a loop with host operations: ``DataLoop`` where all these do is take elements, else ``HostLoop``."""
    return DataLoop(op, stages) if _only_takes(op) else HostLoop(op, stages)


def _only_takes(op: Operation) -> bool:
    cond, body = op.bodies
    if any(needs_host(inner) for inner in cond.needed) or any(has_effect(inner) for inner in cond.needed):
        return False
    for inner in body.needed:
        taking = "takes" in inner.attrs
        if needs_host(inner) and (not taking or any(body.encloses(t.op.block) for t in inner.inputs)):
            return False
        if any(t.dtype is string for t in (*inner.outputs, *inner.inputs)) and not (taking and not inner.outputs):
            return False
        if _dynamic(inner):
            return False
    return True


def _dynamic(op: Operation) -> bool:
    return op.definition.dynamic or any(_dynamic(inner) for body in op.bodies for inner in body.needed)


class _Feed:
    """The elements that a loop's body takes from one iterator in each iteration.

    Attributes:
      takes: its operations, in order; their outputs have the same types.
    """

    def __init__(self, takes: Sequence[Operation]):
        self.takes = takes
        parts = takes[0].outputs
        self.axis = takes[0].axis if takes[0].axis is not None and takes[0].axis.is_multi_process else None
        """The mesh axis of which processes hold only their own shards of the input; None where each holds all."""
        self.varying = [t.varies for t in parts]
        self.shapes = [_source_shape(t, takes[0].axis) for t in parts]
        self.feeder = ChunkAssembler(self.shapes, [t.dtype.np for t in parts], len(takes))

    def place(self, chunk: Chunk) -> Sequence[Array]:
        """A chunk's buffers; where processes hold only their own shards, as global arrays over all devices."""
        if self.axis is None:
            return chunk.buffers
        pairs = zip(chunk.buffers, self.varying, strict=True)
        return [self.axis.put_sharded(np.asarray(b), 2) if varying else b for b, varying in pairs]


def _source_shape(tensor: Tensor, axis: Axis | None) -> Dims:
    """The shape of a component as the source gives it: with the own shards as first dimension if it varies."""
    if not tensor.varies or axis is None or tensor.dims is None:
        return tensor.dims
    return (len(axis.local_indices), *tensor.dims)


class _Begun:
    """The last program of a run, whose error record has not been fetched.

    Attributes:
      failure: waits for the program and returns its error.
      bad: the iteration in which a check failed, -1 for none: a program that takes it runs nothing after a failure.
      behind: the program that took it.
      sources, chunks: of its input.
    """

    def __init__(
        self, failure: Callable[[], _Failed | None], bad: Array, sources: Sequence[Source], chunks: Sequence[Chunk]
    ):
        self.found = failure
        self.bad = bad
        self.behind: _Begun | None = None
        self.sources = sources
        self.taken = chunks


class DataLoop(HostLoop):
    """A loop whose only host operations take elements of datasets: a device program runs many of its iterations.

    Attributes:
      feeds: its input, one for each iterator.
      mixed: whether one iterator is taken from with different signatures, which no single buffer can serve.
    """

    def __init__(self, op: Operation, stages: Stages):
        super().__init__(op, stages)
        groups: dict[Tensor, list[Operation]] = {}
        for inner in op.bodies[1].needed:
            if "takes" in inner.attrs:
                groups.setdefault(inner.inputs[0] if inner.inputs else inner.outputs[0], []).append(inner)
        self.feeds = [_Feed(takes) for takes in groups.values()]
        self.mixed = any(len({_signature(o) for o in feed.takes}) > 1 for feed in self.feeds)
        self.optional = any(inner.attrs["takes"] == "optional" for takes in groups.values() for inner in takes)
        self.taking = {inner for feed in self.feeds for inner in feed.takes}
        self.uneven = any(feed.feeder.uneven for feed in self.feeds)
        self.checked = op.checks
        self._compiled: ProgramVariants[_DataLoopProgram] | None = None
        self.pace = ChunkScheduler(self.axis)
        self.what = f"The loop {op.name} (created at {op.line})"

    def _handles(self) -> set[Tensor]:
        return {t for inner in self.taking for t in inner.inputs}

    def compiled(self, fed: Container[Tensor] = ()) -> ProgramVariants[_DataLoopProgram]:
        """The compiled programs by signature, for a run that feeds ``fed``."""
        if self._compiled is None:
            handles = self._handles()
            inputs = [t for t in self.op.inputs[self.size :] if t.dtype is not resource and t not in handles]
            constants = [t for t in inputs if is_constant(t, fed)]
            cells = dict.fromkeys([*self.op.reads, *self.op.writes])
            self._compiled = ProgramVariants(self.what, inputs, cells, constants)
        return self._compiled

    def run(self, run: Run) -> None:
        total = self.count(run)
        values = self.initial(run)
        sources = [self._source(run, feed) for feed in self.feeds]
        shared = any(feed.axis is not None for feed in self.feeds)
        same = len({id(getattr(s, "resource", s)) for s in sources}) < len(sources)
        if self.mixed or same or (shared and self.optional):
            self.run_from(run, values, 0, total)
            return
        # The device evaluates the condition before each iteration where the host cannot count them beforehand.
        tested = total is None and not self.endless
        # A live pipeline reads variables as the iterations before left them, so none of its elements is made early.
        ahead = not any(s.live for s in sources) and not self.optional
        length = self._length(sources, total)
        done = alone = 0
        try:
            while total is None or done < total:
                requested, room = self._next(total, done, length)
                chunks = self._take(sources, requested, room, total)
                steps = self._together(chunks)
                if total is not None and steps < length == room:
                    self._put_back(sources, chunks, 0)  # the data ends, or its shapes change: two by two
                    length = 0
                    continue
                if total is not None and 0 < steps == length and self._refuses(run, chunks, values):
                    self._put_back(sources, chunks, 0)
                    length = self._length(sources, total)
                    continue
                behind = self._next(total, 0 if done + steps == total else done + steps, length)
                if total is None:  # as many as the next program should take
                    behind = (self.pace.ahead(room, room), room)
                meanwhile = partial(self._look_ahead, sources, *behind) if ahead else _nothing
                values, ran = self._chunk(run, sources, chunks, values, steps, tested, meanwhile, done + steps == total)
                done += ran
                if ran:
                    alone = 0
                    if tested and ran < steps:
                        break
                    continue
                # What no program can run is one iteration on the host: the end of the data, an exception of the
                # pipeline, loop variables that change their shape. A Python loop would meet each of them just there.
                if tested and not self.goes_on(run, values, done):
                    break
                values = self.iterate(run, values)
                done += 1
                # Where processes have no input in common they may go on until all have ended, with no other chunk.
                alone += bool(steps) or shared
                if alone > _ALONE:
                    self.run_from(run, values, done, total)
                    return
        except EndOfLoop:
            pass
        except OutOfRangeError as error:
            of = "" if total is None else f" of {total}"
            raise OutOfRangeError(
                None, error.op, f"{error.message}: {done}{of} turns of the loop {self.op.name} (created at "
                f"{self.op.line}) had their data and are done; their state is kept."
            ) from None  # fmt: skip
        self.finish(run, values, done)

    # ---- input -----------------------------------------------------------------------------------------------

    def _source(self, run: Run, feed: _Feed) -> Source:
        first = feed.takes[0]
        values = [to_host(run.values[t]) for t in first.inputs]
        source: Source = first.attrs["source"](run.session, first, values)
        return source

    def _length(self, sources: Sequence[Source], total: int | None) -> int:
        """The length of the programs' scan, 0 for none; the room of the buffers where the total is not known."""
        if any(s.live for s in sources):
            return 0 if total is not None else 2
        size = sum(feed.feeder.step_bytes(s) for feed, s in zip(self.feeds, sources, strict=True))
        for axis in self._shared_along():
            size = int(axis.told([min(size, np.iinfo(np.int32).max)]).max())
        if total is not None:
            return self.pace.divide(total, self.pace.fitting(size))
        return min(self.pace.fitting(size), _OPEN_STEPS if self.endless else _TESTED_STEPS)

    def _next(self, total: int | None, done: int, length: int) -> tuple[int, int]:
        """(iterations whose input to take, iterations that its buffers have room for)."""
        if total is None:
            return length, length
        return next_chunk(total - done, length, 2)

    def _take(self, sources: Sequence[Source], requested: int, room: int, total: int | None) -> list[Chunk]:
        """Take the input of the next program, a chunk per iterator."""
        requested = min(requested, 1) if any(s.live for s in sources) else requested
        if total is not None or len(self.feeds) > 1:
            return [
                f.feeder.take(s, requested, requested, room, _never) for f, s in zip(self.feeds, sources, strict=True)
            ]
        # Nobody has asked to put these together: as long as a program should take, and as soon as the device is idle.
        requested = min(requested, self.pace.steps(room, room))
        most, enough = self.pace.most(requested, room), partial(self.pace.may_start, room)
        return [self.feeds[0].feeder.take(sources[0], requested, most, room, enough)]

    def _shared_along(self) -> list[Axis]:
        """The axes along which processes hold only their own shards of the input."""
        return list({feed.axis: None for feed in self.feeds if feed.axis is not None})

    def _together(self, chunks: Sequence[Chunk]) -> int:
        """The number of iterations that all iterators and processes have input for, 0 if shapes differ; collective."""
        steps = min(chunk.steps for chunk in chunks)
        for axis in self._shared_along():
            shapes = [[b.shape[3:] for b in chunk.buffers] for chunk in chunks]
            gathered = axis.told([steps, zlib.crc32(repr(shapes).encode()) & 0x7FFFFFFF])
            steps = int(gathered[:, 0].min()) if len(set(gathered[:, 1])) == 1 else 0
        return steps

    def _look_ahead(self, sources: Sequence[Source], steps: int, room: int) -> None:
        enough = _never if len(self.feeds) > 1 else lambda steps: self.pace.idle
        for feed, source in zip(self.feeds, sources, strict=True):
            feed.feeder.look_ahead(source, steps, room, enough)

    # ---- programs --------------------------------------------------------------------------------------------

    def _chunk(
        self,
        run: Run,
        sources: Sequence[Source],
        chunks: Sequence[Chunk],
        values: list[Array],
        steps: int,
        tested: bool,
        meanwhile: Callable[[], None],
        last: bool,
    ) -> tuple[list[Array], int]:
        """Run the iterations of a chunk: return the loop variables after them and their number. Unused input goes back.

        The number is 0 where no program can run the first iteration.

        Args:
          run: has the values of the tensors that the loop captures.
          sources: the iterators' input, one per feed.
          chunks: a chunk of each.
          values: the loop variables before it.
          steps: iterations that all of ``chunks`` have input for.
          tested: whether the condition is evaluated before each iteration, so that fewer may run.
          meanwhile: assembles input while the device works; called where all of the chunk is used.
          last: whether it ends the loop; then its error record is left to whoever carries the run out.
        """
        program: _DataLoopProgram | None = None
        used: int | None = None
        complete = not tested and all(chunk.steps == steps and chunk.error is None for chunk in chunks)
        try:
            self.pace.wait_until_at_most(1)
            before = self._before(run) if complete and last else None
            if before is None:
                run.raise_earlier_errors()
            if steps:
                buffers = [b for feed, chunk in zip(self.feeds, chunks, strict=True) for b in feed.place(chunk)]
                bad = NO_FAILED_STEP if before is None else before.bad
                program, inputs = self._program(run, buffers, values, steps, tested, bad)
            if program is None:
                return values, 0
            start = time.perf_counter()
            program.step_count = steps
            outputs, record = program(run.store, inputs)
            used = steps
            *changed, ran, bad = outputs
            begun = _Begun(partial(self._error, program, record, bad), bad, sources, chunks)
            if before is not None:
                before.behind = begun
            self.pace.note_start(record, steps, start)
            self.pace.make_room(chunks[0].room)
            run.raise_earlier_errors()  # this program is behind the other, whose input makes room for what comes next
            if complete:
                meanwhile()
            if not self.pace.shared:
                self.pace.wait_for_long()
            if tested:
                used = int(ran)
            if complete and last:
                self._leave(run, begun)
            elif (failed := begun.found()) is not None:
                used = used if failed.turn is None else failed.turn + 1
                raise failed.error
            values = list(values)
            for i, value in zip(program.changing, changed, strict=True):
                values[i] = value
            return values, used
        finally:
            if used is None:
                used = steps if program is not None and program.ran else 0
            self._put_back(sources, chunks, used)

    def _put_back(self, sources: Sequence[Source], chunks: Sequence[Chunk], used: int) -> None:
        """Return to the sources the input of a chunk from iteration ``used`` on."""
        for feed, source, chunk in zip(self.feeds, sources, chunks, strict=True):
            if used < chunk.steps and source.lender is not None:
                source.lender.return_to_source(source)  # what is behind the chunk goes back before the chunk's own
            feed.feeder.put_back(source, chunk, used)

    def _leave(self, run: Run, begun: _Begun) -> None:
        """Leave the error record of the last program to whoever carries the run out."""
        run.kept[self] = begun
        run.writes = self.op.writes
        run.checks.append(partial(self._settle, begun))

    def _before(self, run: Run) -> _Begun | None:
        """The last program of the run before, where it is this loop's and its error record has not been fetched."""
        return None if run.before is None else run.before.kept.get(self)

    def _settle(self, begun: _Begun) -> InvalidArgumentError | None:
        """Return the error of a run's last program; if there is one, the input after the failed iteration goes back."""
        failed = begun.found()
        if failed is not None and failed.turn is not None:
            if begun.behind is not None:
                self._put_back(begun.behind.sources, begun.behind.taken, 0)
            self._put_back(begun.sources, begun.taken, failed.turn + 1)
        begun.taken, begun.behind = (), None
        return None if failed is None else failed.error

    def _error(self, program: _DataLoopProgram, record: Array, bad: Array) -> _Failed | None:
        """Wait for a program and return its failed check, if any."""
        error = program.error(record)
        if error is None:
            return None
        inside = int(bad) >= 0
        return _Failed(self._in_words(error, inside), int(bad) if inside else None)

    def _in_words(self, error: InvalidArgumentError, inside: bool) -> InvalidArgumentError:
        """The error of a check that failed inside of an iteration, or in the condition after one."""
        where = "in a turn" if inside else "in the condition"
        return InvalidArgumentError(
            None, error.op,
            f"{error.message}\n  {where} of the loop {self.op.name}; the state is that after the turn before it.",
        )  # fmt: skip

    def _refuses(self, run: Run, chunks: Sequence[Chunk], values: Sequence[Array]) -> bool:
        """Whether the iterations of a chunk must not run as one scan (``ChunkScheduler.refuses``)."""

        def program(steps: int) -> _DataLoopProgram | None:
            parts = [chunk.beginning(steps) for chunk in chunks]
            buffers = [b for feed, part in zip(self.feeds, parts, strict=True) for b in feed.place(part)]
            return self._program(run, buffers, values, steps, False, NO_FAILED_STEP)[0]

        steps = chunks[0].steps
        scan = program(steps)
        if scan is None:  # no program can run it
            return False
        size = sum(chunk.size for chunk in chunks)
        return self.pace.refuses(self.what, steps, size, lambda n: scan if n == steps else program(n) or scan)

    def _program(
        self, run: Run, buffers: Sequence[Array], values: Sequence[Array], steps: int, tested: bool, bad: Array
    ) -> tuple[_DataLoopProgram | None, list[Array]]:
        """The program of a chunk, compiled before its input counts as taken, and its arguments; None: untraceable.

        Args:
          run: has the values of the tensors that the loop captures.
          buffers: the chunk's input on the devices, ``[room, takes, ...]`` each.
          values: the loop variables before it.
          steps: iterations that it has input for.
          tested: as of ``_chunk``.
          bad: int32, the iteration of the program before in which a check has failed, -1 for none.
        """
        full = not tested and self.pace.length == steps > 0 and len(buffers) > 0 and buffers[0].shape[0] == steps
        compiled = self.compiled(run.static)
        arrays = [v for v in values if not isinstance(v, Unwritten)]
        if any(isinstance(v, UnevenShards) for v in (*(run.values[t] for t in compiled.arguments), *arrays, *buffers)):
            return None, []

        def make(program_inputs: ProgramInputs, trips: Mapping[Operation, int]) -> _DataLoopProgram:
            present = compiled.present(run.store, self.op)
            return _DataLoopProgram(
                self, program_inputs.tensors, program_inputs.known, values, len(buffers), present, tested, full
            )

        form = (tested, full, tuple([(v.size, v.dtype) if isinstance(v, Unwritten) else None for v in values]))
        count = [] if full else [np.asarray(steps, np.int32)]
        extra_arguments = [*arrays, *buffers, *count, *((bad,) if self.checked else ())]
        refusals = (Changes, Grows, NeedsTripCount, NeedsStatic)
        return compiled.find(run.values, run.store, make, extra_arguments, form, refusals=refusals)


class _Failed(NamedTuple):
    """A check that failed in a program.

    Attributes:
      turn: the iteration; None: it was in the condition.
    """

    error: InvalidArgumentError
    turn: int | None


def _signature(op: Operation) -> Hashable:
    return (op.attrs["takes"] == "optional", tuple([(t.dtype, t.dims) for t in op.outputs]))


def _never(steps: int) -> bool:
    return False


def _nothing() -> None:
    pass


def _power(number: int) -> int:
    """The smallest power of two that is at least ``number``."""
    return 1 << max(0, number - 1).bit_length()


_Counted: TypeAlias = "tuple[jax.Array, jax.Array, tuple[jax.Array, Carry]]"
"""(iterations run, first failed one, (whether the loop goes on, carry))."""


class _BufferedLoop(Loop):
    """A loop lowering whose body gets its elements from buffers, instead of from the operations that take them.

    Attributes:
      elements: output of a taking operation -> its value in the next iteration.
      record_size: elements of the error record, 0 where the loop checks nothing.
      gate: traced bool, whether a check failed in an earlier iteration; None where those after one do not run.
      failed: traced bool, whether a check failed in the iteration evaluated last; None: none can.
    """

    def __init__(self, lowering: Lowering, op: Operation, initial: Sequence[Value], taking: set[Operation]):
        super().__init__(lowering, op, initial)
        self.taking = taking
        self.elements: dict[Tensor, Array] = {}
        self.record_size = 0
        self.gate: jax.Array | None = None
        self.failed: jax.Array | None = None

    def run_body(self, child: Lowering, but: Set[Operation] = frozenset()) -> None:
        """Evaluate one iteration; where a check fails in it, the variables keep the values from before it."""
        child.values.update(self.elements)
        if not self.record_size:
            super().run_body(child, self.taking | but)
            return
        before = dict(child.state.values)
        child.errors.begin_step(self.record_size, self.gate)
        super().run_body(child, self.taking | but)
        self.failed = child.errors.failed()
        for cell in self.op.writes:
            child.state.values[cell] = child.errors.old_if_failed(cell, before[cell])


class _DataLoopProgram(Program):
    """The device program of one chunk: a scan over all of it, or a loop up to a traced count or by its condition.

    Attributes:
      changing: indices of the loop variables that are outputs; after them come the number of iterations and the first
        one in which a check failed, -1 for none.
    """

    def __init__(
        self, stage: DataLoop, arguments: Sequence[Tensor], known: Mapping[Tensor, Array],
        values: Sequence[Value | Abstract], buffers: int, present: Container[StateVariable], tested: bool, full: bool,
    ):  # fmt: skip
        self.stage = stage
        self.arguments = arguments
        self.known = known
        self.fixed = {i: v for i, v in enumerate(values) if isinstance(v, Unwritten)}
        self.tested = tested
        self.full = full
        self.changing: list[int] = []
        specs = [tensor_spec(t) for t in arguments]
        specs += [tensor_spec(t) for i, t in enumerate(stage.body_vars) if i not in self.fixed]
        specs += ["iterations" if varying else "same" for feed in stage.feeds for varying in feed.varying]
        self.buffers = buffers
        specs += ["same"] * (int(not full) + int(stage.checked))
        super().__init__([stage.op], self._evaluate, specs, [], present, {}, atomic=False)

    def _evaluate(self, lowering: Lowering, values: Sequence[Array]) -> list[Array]:
        stage = self.stage
        remaining = iter(values)
        argument_values = dict(zip(self.arguments, islice(remaining, len(self.arguments)), strict=True))
        initial: list[Value] = [self.fixed[i] if i in self.fixed else next(remaining) for i in range(stage.size)]
        buffers = list(islice(remaining, self.buffers))
        steps = None if self.full else next(remaining)
        before = jnp.asarray(next(remaining) if stage.checked else NO_FAILED_STEP)
        lowering.values.update({**self.known, **argument_values})
        loop = _BufferedLoop(lowering, stage.op, initial, stage.taking)
        loop.elements = self._elements([b[0] for b in buffers])
        loop.shape_arrays()
        self.changing = list(loop.changing)
        self.output_specs = [*(stage.op.outputs[i].varies for i in self.changing), False, False]
        loop.record_size = self.checks.record_size
        number, bad, (_, changed, state) = (
            self._scan(loop, buffers, before) if steps is None else self._count(loop, buffers, steps, before)
        )
        for cell, value in zip(loop.cells, state, strict=True):
            lowering.state.write(cell, value)
        return [*changed, number, bad]

    def _scan(
        self, loop: _BufferedLoop, buffers: Sequence[Array], before: jax.Array
    ) -> tuple[jax.Array | np.int32, jax.Array, Carry]:
        """Lower as ``lax.scan``: (iterations run, first failed one, carry). Those after a failed one change nothing."""
        records = loop.cells.index(ERROR_RECORD) if ERROR_RECORD in loop.cells else None

        def iterate(state: tuple[jax.Array, Carry], inputs: tuple[Array, ...]) -> tuple[tuple[jax.Array, Carry], None]:
            bad, carry = state
            number, *rows = inputs
            loop.elements = self._elements(rows)
            loop.gate = bad >= 0 if loop.record_size else None
            count, values, cells = loop.step(carry)
            if loop.failed is not None:
                if records is not None:  # that of the first failed iteration stays
                    record = jnp.where(bad >= 0, carry[2][records], cells[records])
                    cells = (*cells[:records], record, *cells[records + 1 :])
                bad = jnp.where(loop.failed & (bad < 0), number, bad)
            return (bad, (count, values, cells)), None

        steps = buffers[0].shape[0]
        numbers = jnp.arange(steps, dtype=jnp.int32)
        (bad, carry), _ = lax.scan(iterate, (before, loop.start()), (numbers, *buffers))
        return np.int32(steps), bad, carry

    def _count(
        self, loop: _BufferedLoop, buffers: Sequence[Array], steps: Array, before: jax.Array
    ) -> tuple[jax.Array | np.int32, jax.Array, Carry]:
        """Lower as ``lax.while_loop``, up to the traced count, the condition or a failed check; as ``_scan``."""

        # The condition of lax.while_loop cannot write; one that checks is evaluated at the end of the body.
        checked = self.tested and loop.regions.condition_acts

        def goes_on(carry: Carry) -> tuple[jax.Array, Carry]:
            if not checked:
                return jnp.ones((), jnp.bool_), carry
            going, carry = loop.test(carry)
            return going & jnp.logical_not(
                failed_anywhere(carry[2][loop.cells.index(ERROR_RECORD)][0] != 0, self.placement.axis)
            ), carry

        def test(state: _Counted) -> jax.Array:
            number, bad, (going, carry) = state
            going = (number < steps) & (bad < 0) & going
            return going & loop.test(carry)[0] if self.tested and not checked else going

        def iterate(
            state: _Counted,
        ) -> _Counted:
            number, bad, (_, carry) = state
            loop.elements = self._elements(
                [lax.dynamic_index_in_dim(buffer, number, 0, keepdims=False) for buffer in buffers]
            )
            after = loop.step(carry)
            if loop.failed is not None:
                bad = jnp.where(loop.failed, number, bad)
            return number + np.int32(1), bad, goes_on(after)

        start = (jnp.zeros((), jnp.int32), before, goes_on(loop.start()))
        number, bad, (_, carry) = lax.while_loop(test, iterate, start)
        return number, bad, carry

    def _elements(self, rows: Sequence[Array]) -> dict[Tensor, Array]:
        """The value of each taking operation's outputs in one iteration, from the buffers' rows."""
        elements: dict[Tensor, Array] = {}
        remaining = iter(rows)
        for feed in self.stage.feeds:
            for component, row in enumerate(islice(remaining, len(feed.takes[0].outputs))):
                local_row = row[:, 0] if feed.varying[component] and self.placement.axis is not None else row
                elements.update((take.outputs[component], local_row[i]) for i, take in enumerate(feed.takes))
        return elements


def lower_data_loop(op: Operation, steps: int) -> jax.stages.Lowered:
    """Trace and lower the device program of a chunk of a loop over data, without compiling it.

    It needs no values, and the loop's devices may be ones that are only described.

    Args:
      op: the loop's operation.
      steps: number of iterations that its buffers have room for.

    Raises:
      ValueError: a size is not known while the graph is built, or the loop does more on the host than take elements.
    """
    stage = loop_stage(op, {})
    if not isinstance(stage, DataLoop) or stage.uneven or stage.compiled().loose:
        raise ValueError(f"{op.name} (created at {op.line}) cannot be compiled without a run.")
    compiled = stage.compiled()
    folding = Lowering("cpu")
    folding.run(execution_order([t.op for t in compiled.constants], op.graph.root))
    known = {t: folding.values[t] for t in compiled.constants}
    positions = () if stage.axis is None else (stage.axis.size,)

    def like(tensor: Tensor) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((*(positions if tensor.varies else ()), *(tensor.dims or ())), tensor.dtype.np)

    def state(cells: Sequence[StateVariable]) -> list[jax.ShapeDtypeStruct]:
        return [
            jax.ShapeDtypeStruct((*(positions if c.is_varying else ()), *(c.dims or ())), c.dtype.np) for c in cells
        ]

    values = [like(t) for t in stage.body_vars]
    buffers = [
        jax.ShapeDtypeStruct((steps, len(feed.takes), *(shape or ())), t.dtype.np)
        for feed in stage.feeds
        for shape, t in zip(feed.shapes, feed.takes[0].outputs, strict=True)
    ]
    with jax.enable_x64(True):
        program = _DataLoopProgram(stage, compiled.arguments, known, values, len(buffers), compiled.cells, False, True)
        count = jax.ShapeDtypeStruct((), np.int32)
        inputs = [*(like(t) for t in compiled.arguments), *values, *buffers]
        inputs += [count] if stage.checked else []
        return program.lowered(state(program.state.donated), state(program.state.undonated), inputs)
