"""The stage of a ``StepLoop`` operation: many runs of one body on successive elements, one device program per chunk.

``run_steps_on_dataset`` and estimators make such operations. A run of 5 steps, where the input of 2 fits the budget:

    chunks       [2 steps] [2 steps] [1 step]       take: float32[2, towers, batch, ...] each
    programs     scan of 2, scan of 2, counted loop with room for 2
    outputs      results of step 4; ``per_step_outputs``, concatenated to [5, ...]

``lower_loop`` traces a loop without a session, for compilation reports. The input of 4 steps, of one int64 each:

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default(), tf.contrib.distribute.OneDeviceStrategy("/cpu:0").scope():
...     data = tf.data.make_one_shot_iterator(tf.data.Dataset.range(6))
...     step = lambda context, x: context.set_last_step_output("x", x) or x
...     context = tf.distribute.get_strategy().run_steps_on_dataset(step, data, 5)
...     lower_loop(context.last_step_outputs["x"].op, 4).in_avals
(([], [], [ShapedArray(int64[4])]), {})

``_run_chunks`` is a pipeline two deep: while a program runs, the input of the next one is assembled on the host, and
the checks of the one before are looked at. The host thus learns of a failed check when another program has been
started; that one gets the failed step's number as an input, and changes nothing (``step_program``). ``_raise_errors``
then raises, and puts back the input of all steps after the failed one.

Whatever happens (an exception, an interrupt, the end of the data) the state is that after some number of whole steps,
and the source stands behind the element of the last of them. At the end of the data the loop raises OutOfRangeError,
unless its ``partial`` is set and at least one step was done. ``SharedLoopState`` lives in the session under the
operation, so that runs with other fetches use the same programs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence, Set
from typing import NamedTuple

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, OpError, OutOfRangeError
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.output_pruning import prune, prune_block
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, HostArray
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler, next_chunk
from towerstrat.graph.runtime.loops.input_chunks import Chunk, ChunkAssembler, Source
from towerstrat.graph.runtime.loops.step_program import NO_FAILED_STEP, StepBody, StepLoopProgram
from towerstrat.graph.runtime.plans.plan import Stages
from towerstrat.graph.runtime.plans.runner import Run, Runner
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.program_cache import OwnedPrograms
from towerstrat.platform.accounts import ACCOUNTS


def with_note(error: BaseException, op: Operation) -> BaseException:
    """The exception of an input pipeline, with a note that names the operation whose dataset raised it."""
    if not isinstance(error, OpError):
        error.add_note(f"  while operation {op.name} (created at {op.line}) took elements from its dataset")
    return error


class _Begun(NamedTuple):
    """A dispatched program whose error record has not been fetched.

    Attributes:
      record: error record.
      bad: the first failed step of the chunk, -1 for none.
      done: the number of steps before the chunk.
    """

    program: Program
    record: Array
    bad: Array
    chunk: Chunk
    done: int


class _Course(NamedTuple):
    """Progress of one run of a loop.

    Attributes:
      begun: programs whose error records have not been fetched. ready: chunks of the programs that come next.
    """

    begun: deque[_Begun]
    ready: deque[Chunk]


class SharedLoopState:
    """State of a step loop that outlives its runs: all runs of a session share it, whatever else they fetch.

    Attributes:
      foreseen: length of the scan whose left-over program was compiled ahead, 0: of none.
    """

    def __init__(self, feeder: ChunkAssembler, pace: ChunkScheduler):
        self.feeder = feeder
        self.pace = pace
        self.foreseen = 0
        self.programs: OwnedPrograms[StepLoopProgram] = OwnedPrograms()


class LoopStage(StepBody):
    """One ``StepLoop`` operation in a plan."""

    def __init__(self, op: Operation, stages: Stages):
        (body,) = op.bodies
        first_capture = op.attrs["arguments"] + op.attrs["handles"]
        order = [inner for inner in body.needed if inner.type != "StepInput"]
        attrs = op.attrs
        super().__init__(
            _in_words(op), op, [op], order, attrs["elements"], attrs["whole"], op.inputs[first_capture:],
            attrs["results"], attrs["every"], attrs["axis"],
        )  # fmt: skip

    def run(self, run: Run) -> None:
        op = self.op
        iterations = int(run.values[op.inputs[0]])
        arguments, handles = op.attrs["arguments"], op.attrs["handles"]
        names = [run.values[t] for t in op.inputs[arguments : arguments + handles]]
        source: Source = op.attrs["source"](run.session, op, names)
        loop_state: SharedLoopState = run.session.resource(
            ("step loop", op), lambda: SharedLoopState(self.feeder(), ChunkScheduler(self.axis))
        )
        if iterations <= 0:
            outputs: Sequence[Array] = self._before([run.values[t] for t in op.inputs[1:arguments]])
        else:
            outputs = self._iterate(run, loop_state, source, iterations)
        run.values.update(zip(op.outputs, outputs, strict=True))

    def _iterate(self, run: Run, loop_state: SharedLoopState, source: Source, iterations: int) -> Sequence[Array]:
        """Run the loop and return its outputs. One program runs while the input of the next one is assembled.

        Other threads may run the session while this one waits for the device.
        """
        course = _Course(deque(), deque())
        try:
            return self._run_chunks(run, loop_state, source, iterations, course)
        finally:
            try:
                self._raise_errors(loop_state.feeder, source, course, 0)
            finally:
                if course.ready:
                    self._return_ready_to_source(loop_state.feeder, source, course)

    def _run_chunks(
        self, run: Run, loop_state: SharedLoopState, source: Source, iterations: int, course: _Course
    ) -> Sequence[Array]:
        """Run all chunks and return the outputs. Unfinished work stays in ``course``, for the caller to clean up."""
        feeder, pace = loop_state.feeder, loop_state.pace

        def fitting() -> int:
            return pace.fitting(feeder.step_bytes(source))

        length = pace.divide(iterations, fitting())
        stacks: list[Sequence[Array]] = []
        results: Sequence[Array] = ()
        done = 0
        while done < iterations:
            requested, room = next_chunk(iterations - done, length)
            chunk = feeder.take(source, requested, requested, room, _never)
            if chunk.steps == length and self.refuses(run, loop_state.programs, pace, chunk):
                feeder.put_back(source, chunk, 0)
                length = pace.divide(iterations, fitting())
                continue
            course.ready.extend([chunk] if 0 < chunk.steps == length else chunk.pairs())
            behind = iterations - done - chunk.steps
            while course.ready:
                steps = course.ready[0].steps
                every, results = self._steps(run, loop_state, course, done, length)
                stacks.append(every)
                done += steps
                if steps == length != loop_state.foreseen and (run.session.remainder_foreseen or 0 < behind < length):
                    loop_state.foreseen = length
                    self.expect(run, loop_state.programs, chunk)
                if not course.ready and chunk.error is None:
                    feeder.look_ahead(source, *next_chunk(behind or iterations, length), lambda steps: pace.idle)
                # The newest program is not looked at: that would wait for it, and leave the device without work.
                self._raise_errors(feeder, source, course, 1)
            if chunk.error is not None:
                raise with_note(chunk.error, self.op)
            if chunk.at_end and done < iterations:
                if done and self.op.attrs["partial"]:
                    break
                raise OutOfRangeError(
                    None,
                    self.op,
                    f"End of sequence: {done} of {iterations} steps had their data and are done; their state is kept.",
                )
        pace.wait_for_long()
        if self.per_step_outputs:
            with run.session.unlocked():
                jax.block_until_ready(results)
        return [*results, *(self._join(parts, x) for x, *parts in zip(self.per_step_outputs, *stacks, strict=True))]

    def _join(self, parts: Sequence[Array], output: Tensor | StateVariable) -> HostArray:
        """The values after each step, of all programs: ``[steps, ...]``, or ``[axis size, steps, ...]`` if varying."""
        return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts, self._along(output))

    def _before(self, initial: Sequence[Array]) -> list[Array]:
        """The outputs of a run of no steps: the given initial values, or zeros."""
        result: list[Array] = []
        for i, tensor in enumerate(self.results):
            if i < len(initial):
                value = np.asarray(initial[i], tensor.dtype.np)
            else:
                value = np.zeros([d or 0 for d in tensor.dims or ()], tensor.dtype.np)
            if (
                tensor.varies
                and self.axis is not None
                and (i >= len(initial) or value.shape == tuple(tensor.dims or ()))
            ):
                value = np.broadcast_to(value, (self.axis.size, *value.shape))
            result.append(value)
        for output in self.op.outputs[len(result) :]:
            lead = (self.axis.size,) if output.varies and self.axis is not None else ()
            result.append(np.zeros([*lead, *(d or 0 for d in output.dims or ())], output.dtype.np))
        return result

    def _steps(
        self, run: Run, loop_state: SharedLoopState, course: _Course, done: int, length: int
    ) -> tuple[Sequence[Array], Sequence[Array]]:
        """Dispatch the program of the next ready chunk; return (values of each step, results), on the device.

        Where a check has failed in a program before, its steps change nothing.
        """
        pace, chunk = loop_state.pace, course.ready[0]
        begun = course.begun
        program: Program | None = None
        try:
            pace.wait_until_at_most(1)
            bad = begun[-1].bad if begun else NO_FAILED_STEP
            program, inputs = self.program(run, loop_state.programs, chunk, chunk.steps == length, bad)
            start = time.perf_counter()
            program.step_count = chunk.steps
            outputs, record = program(run.store, inputs)
        finally:
            # Input is used once the new state is stored; until then the chunk stays ready, and goes back on an error.
            if program is not None and program.ran:
                course.ready.popleft()
        pace.note_start(record, chunk.steps, start)
        ACCOUNTS.steps += chunk.steps
        del inputs
        pace.make_room(chunk.room)
        if self.checked:
            *outputs, bad = outputs
            if program.checks.can_fail:
                begun.append(_Begun(program, record, bad, chunk, done))
        count = len(self.per_step_outputs)
        every = [self._first(x, s, chunk.steps) for x, s in zip(self.per_step_outputs, outputs, strict=False)]
        return every, outputs[count:]

    def _first(self, output: Tensor | StateVariable, stack: Array, steps: int) -> Array:
        """The values of the first steps of a program that has room for more."""
        if stack.shape[self._along(output)] == steps:
            return stack
        return stack[:, :steps] if self._along(output) else stack[:steps]

    def _along(self, output: Tensor | StateVariable) -> int:
        """The dimension of a stack that counts the steps: 1 behind the towers' dimension of varying values, else 0."""
        return int(isinstance(output, Tensor) and output.varies and self.axis is not None)

    def _raise_errors(self, feeder: ChunkAssembler, source: Source, course: _Course, most: int) -> None:
        """Fetch the error records of dispatched programs, until at most ``most`` are left.

        Raises:
          InvalidArgumentError: a check has failed in a step. The input of all steps after it goes back.
        """
        while len(course.begun) > most:
            program, record, bad, chunk, done = course.begun.popleft()
            error = program.error(record)
            if error is None:
                continue
            step = done + int(bad)
            self._return_ready_to_source(feeder, source, course)
            while course.begun:
                feeder.put_back(source, course.begun.pop().chunk, 0)
            feeder.put_back(source, chunk, int(bad) + 1)
            raise InvalidArgumentError(
                None, error.op,
                f"{error.message}\n  in step {step} (counted from 0) of {self.op.name}; the state is that after the "
                f"{step} steps before it.",
            )  # fmt: skip

    def _return_ready_to_source(self, feeder: ChunkAssembler, source: Source, course: _Course) -> None:
        """Return to the source what was assembled ahead, and the chunks whose programs have not been dispatched."""
        if source.lender is not None:
            source.lender.return_to_source(source)
        while course.ready:
            feeder.put_back(source, course.ready.pop(), 0)


def _never(steps: int) -> bool:
    return False


def _in_words(op: Operation) -> str:
    return f"The step loop {op.name} (created at {op.line})"


def lower_loop(op: Operation, steps: int) -> jax.stages.Lowered:
    """Trace and lower the device program of a chunk of ``steps`` steps, without compiling it.

    It needs no values and no session, and the loop's devices may be ones that are only described.

    Raises:
      ValueError: a size is not known while the graph is built, or the step uses a value that a run has to give.
    """
    stage = LoopStage(op, {})
    compiled = stage.compiled()
    unknown = [t for t in stage.inputs if t.dims is None or None in t.dims] + compiled.arguments
    if unknown or compiled.loose:
        raise ValueError(
            f"{op.name} (created at {op.line}) cannot be compiled without a run: {(unknown or compiled.loose)[0]!r}."
        )
    folding = Lowering("cpu")
    folding.run(execution_order([t.op for t in compiled.constants], op.graph.root))
    known = {t: folding.values[t] for t in compiled.constants}
    program = StepLoopProgram(stage, True, (), known, len(stage.inputs), steps, compiled.cells)
    lead = () if stage.axis is None else (stage.axis.size,)

    def like(value: Tensor | StateVariable, *before: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((*before, *(value.dims or ())), value.dtype.np)

    def state(cells: Sequence[StateVariable]) -> list[jax.ShapeDtypeStruct]:
        return [like(c, *lead) if c.is_varying else like(c) for c in cells]

    inputs = [like(t, steps, *lead) for t in stage.inputs]
    inputs += [jax.ShapeDtypeStruct((), np.int32)] if stage.checked else []
    with jax.enable_x64(True):
        return program.lowered(state(program.state.donated), state(program.state.undonated), inputs)


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    stacks = [Signature(t.dtype, None if t.dims is None else (None, *t.dims)) for t in attrs["every"]]
    return [Signature(t.dtype, t.dims) for t in attrs["results"]] + stacks


def _missing(lowering: Lowering, op: Operation) -> list[Array]:
    raise InvalidArgumentError(None, op, "The input of a step has a value only inside its step loop.")


def _needs_plan(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    raise InvalidArgumentError(None, op, "A step loop runs in a Session; here operations are executed one by one.")


def _narrow(op: Operation, used: Set[Tensor]) -> Operation:
    """Prune the body of a step loop to what its step uses; the outputs stay."""
    (body,) = op.bodies
    step = prune_block(body, body.results)
    arguments = op.inputs[: op.attrs["arguments"] + op.attrs["handles"]]
    return op if step is body else prune(op, [*arguments, *step.captures()], op.outputs, {"bodies": (step,)})


define_op(
    "StepInput",
    lambda inputs, attrs: [Signature(attrs["dtype"], attrs["dims"])],
    lower=_missing,
    always_varies=True,
    is_placeholder=True,
    differentiable=False,
)
define_op(
    "StepLoop",
    _rule,
    host=_needs_plan,
    stage="step loop",
    narrow=_narrow,
    stateful=True,
    differentiable=False,
    hidden=(
        "bodies",
        "elements",
        "results",
        "every",
        "source",
        "iterator",
        "axis",
        "whole",
        "partial",
        "varying_outputs",
    ),
)
