"""Step loops that several processes run together, each with input of its own.

The program (``step_program``) finds on the devices how many steps all processes have input for, runs these, and returns
their number; so the processes need not talk about each chunk. Two processes, three steps wanted, the second has input
for two:

    chunk           process 0: 3 steps     process 1: 2 steps, closed (its data ends)
    program         lax.pmin -> ran = 2, short = True           also the program that is already queued: it runs none
    put back        step 2 of process 0                         to its source: the next run of the loop takes it first
    consensus       [THERE, ENDED]                              raise_first_failure
    result          OutOfRangeError in both, or the end of the loop where ``partial`` is set

Input goes back newest first, so that the source keeps its order. Process 0, with a queued chunk behind the short one:

>>> from types import SimpleNamespace
>>> feeder = SimpleNamespace(put_back=lambda source, chunk, first: print(chunk.rows[first:]))
>>> short, queued = (SimpleNamespace(steps=3, rows=rows) for rows in ([0, 1, 2], [3, 4, 5]))
>>> source, under = SimpleNamespace(lender=None), deque([SimpleNamespace(chunk=queued)])
>>> SharedLoop._return_to_source(None, feeder, source, under, short, 2)
[3, 4, 5]
[2]

Only after a short program do the processes exchange why: some data ended, a pipeline failed (all of them raise), or
batches have other shapes from here on (the loop goes on). One program runs while the input of the next is assembled;
``_look`` fetches ``ran`` and the error record of the older one. All programs here are the loop with a traced count, of
one room: no process can know beforehand that its chunk is full in all others.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from towerstrat.errors import InvalidArgumentError, OutOfRangeError
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.types import Array
from towerstrat.graph.runtime.loops.collective_input import ENDED, FAILED, THERE, raise_first_failure, who_ended
from towerstrat.graph.runtime.loops.input_chunks import Chunk, ChunkAssembler, Source
from towerstrat.graph.runtime.loops.step_loop_stage import LoopStage, SharedLoopState, with_note
from towerstrat.graph.runtime.loops.step_program import NO_FAILED_STEP, PreviousChunk, StepLoopProgram
from towerstrat.graph.runtime.plans.plan import Stages
from towerstrat.graph.runtime.plans.runner import Run
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.platform.accounts import ACCOUNTS


def step_stage(op: Operation, stages: Stages) -> LoopStage:
    """The stage of a step loop: ``SharedLoop`` if its axis spans processes, else ``LoopStage``."""
    axis = op.attrs["axis"]
    return SharedLoop(op, stages) if axis is not None and axis.is_multi_process else LoopStage(op, stages)


class _Under(NamedTuple):
    """A program that was dispatched and whose number of steps has not been fetched.

    Attributes:
      per_step_outputs, results: values of each step, and after the last one.
      record: error record. bad: the first failed step, -1 for none, also where nothing is checked.
      ran: steps that it ran. short: whether these are fewer than wanted.
    """

    program: StepLoopProgram
    chunk: Chunk
    per_step_outputs: Sequence[Array]
    results: Sequence[Array]
    record: Array
    bad: Array
    ran: Array
    short: Array
    wanted: int


class _Course:
    """Progress of one run of a loop.

    Attributes:
      done: steps that are done, of programs whose outcome was fetched.
      stacks: the values of each step, one entry for each program. results: those of the last step.
      closed: (chunk, steps run) of a program that ran fewer steps than wanted; None where none has.
    """

    def __init__(self) -> None:
        self.done = 0
        self.stacks: list[Sequence[Array]] = []
        self.results: Sequence[Array] = ()
        self.closed: tuple[Chunk, int] | None = None


class SharedLoop(LoopStage):
    """One ``StepLoop`` operation in a plan, which several processes run together."""

    def _iterate(self, run: Run, loop_state: SharedLoopState, source: Source, iterations: int) -> Sequence[Array]:
        """Run the loop and return its outputs. One program runs while the input of the next one is assembled."""
        course, under = _Course(), deque[_Under]()
        try:
            self._go(run, loop_state, source, iterations, course, under)
        finally:
            self._look(loop_state.feeder, source, under, course, 0)
        if self.per_step_outputs:
            with run.session.unlocked():
                jax.block_until_ready(course.results)
        joined = (self._join(p, x) for x, *p in zip(self.per_step_outputs, *course.stacks, strict=True))
        return [*course.results, *joined]

    def _go(
        self, run: Run, loop_state: SharedLoopState, source: Source, iterations: int, course: _Course,
        under: deque[_Under],
    ) -> None:  # fmt: skip
        """Run all steps, or up to the end of some process's data where ``partial`` allows that.

        Raises:
          OutOfRangeError: some process's data ended. Exception: some process's pipeline raised it.
        """
        feeder, pace = loop_state.feeder, loop_state.pace
        step_bytes = self._step_bytes(feeder, source)
        room = max(2, pace.divide(iterations, pace.fitting(step_bytes)))
        begun = 0
        while begun < iterations:
            requested = min(room, iterations - begun)
            chunk = feeder.take(source, requested, requested, room, _never)
            if self._have_shapes(feeder, source, chunk):
                if pace.refuses(self.what, room, room * step_bytes, partial(self._with_room, run, loop_state, chunk)):
                    feeder.put_back(source, chunk, 0)
                    room = max(2, pace.divide(iterations, pace.fitting(step_bytes)))
                    continue
                under.append(self._begin(run, loop_state, source, chunk, requested, under))
                begun += requested
                if not chunk.closed:
                    feeder.look_ahead(source, min(room, iterations - begun or iterations), room, _never)
                self._look(feeder, source, under, course, 1 if begun < iterations else 0)
            else:
                self._look(feeder, source, under, course, 0)
                course.closed = course.closed or (chunk, 0)
            if course.closed is not None:
                begun = course.done  # What was begun behind it has run no step.
                if self._ends(source, course, iterations):
                    return

    def _with_room(self, run: Run, loop_state: SharedLoopState, chunk: Chunk, room: int) -> StepLoopProgram:
        """The program for the first ``room`` steps of a chunk."""
        behind = PreviousChunk(room, np.asarray(False))
        return self.program(run, loop_state.programs, chunk.beginning(room), False, NO_FAILED_STEP, behind)[0]

    def _step_bytes(self, feeder: ChunkAssembler, source: Source) -> int:
        """Bytes of a step's input in the process that has most of it, the same number in all processes."""
        assert self.axis is not None
        local_bytes = feeder.step_bytes(source)
        if not feeder.uneven:
            return (
                local_bytes // max(1, len(self.axis.local_indices)) * self.axis.most
                if self.elements_are_stacked
                else local_bytes
            )
        return max(COLLECTIVES.gather(local_bytes, int))

    def _have_shapes(self, feeder: ChunkAssembler, source: Source, chunk: Chunk) -> bool:
        """Whether some process has input. Compares the batch shapes of all processes where these are not static.

        A process without input gets buffers of zeros in the others' shapes: it must still call the program.

        Raises:
          ValueError: shapes differ.
        """
        if not feeder.uneven:
            return True
        local_shapes = tuple(buffer.shape[2:] for buffer in chunk.buffers) if chunk.steps else None
        gathered = COLLECTIVES.gather(local_shapes, tuple[tuple[int, ...], ...] | None)
        shapes_of = {process: shapes for process, shapes in enumerate(gathered) if shapes is not None}
        if not shapes_of:
            return False
        first = next(iter(shapes_of))
        other = next((process for process, shapes in shapes_of.items() if shapes != shapes_of[first]), None)
        if other is not None:
            feeder.put_back(source, chunk, 0)
            raise ValueError(
                f"{self.op.name} (created at {self.op.line}): towers need batches of one shape in each step, got "
                f"{_as_lists(shapes_of[first])} in process {first} and {_as_lists(shapes_of[other])} in process "
                f"{other}. Use batch(..., drop_remainder=True)."
            )
        if local_shapes is None:
            assert self.axis is not None
            lead = (chunk.room, len(self.axis.local_indices) if self.elements_are_stacked else self.axis.size)
            chunk.buffers = [np.zeros((*lead, *s), d) for s, d in zip(shapes_of[first], feeder.dtypes, strict=True)]
        return True

    def _begin(
        self, run: Run, loop_state: SharedLoopState, source: Source, chunk: Chunk, requested: int,
        under: Sequence[_Under],
    ) -> _Under:  # fmt: skip
        """Dispatch the program of a chunk. It runs no step if one before it ran short or failed."""
        pace = loop_state.pace
        program: StepLoopProgram | None = None
        bad, short = (under[-1].bad, under[-1].short) if under else (NO_FAILED_STEP, np.asarray(False))
        try:
            pace.wait_until_at_most(1)
            program, inputs = self.program(run, loop_state.programs, chunk, False, bad, PreviousChunk(requested, short))
            start = time.perf_counter()
            outputs, record = program(run.store, inputs)
        except BaseException:
            if program is None or not program.ran:
                loop_state.feeder.put_back(source, chunk, 0)
            raise
        pace.note_start(record, requested, start)
        pace.make_room(chunk.room)
        ACCOUNTS.steps += chunk.steps
        *outputs, ran, short = outputs
        if self.checked:
            *outputs, bad = outputs
        count = len(self.per_step_outputs)
        return _Under(program, chunk, outputs[:count], outputs[count:], record, bad, ran, short, requested)

    def _look(self, feeder: ChunkAssembler, source: Source, under: deque[_Under], course: _Course, most: int) -> None:
        """Fetch the outcomes of dispatched programs until at most ``most`` are left, or one ran short.

        Raises:
          InvalidArgumentError: a check failed in a step. The input of all steps after it goes back to the source.
        """
        while len(under) > most:
            first = under.popleft()
            error = first.program.error(first.record)
            if error is not None:
                step = course.done + int(first.bad)
                self._return_to_source(feeder, source, under, first.chunk, int(first.bad) + 1)
                raise InvalidArgumentError(
                    None, error.op,
                    f"{error.message}\n  in step {step} (counted from 0) of {self.op.name}; the state is that after "
                    f"the {step} steps before it.",
                )  # fmt: skip
            ran = int(first.ran)
            if ran:
                outputs = zip(self.per_step_outputs, first.per_step_outputs, strict=True)
                course.stacks.append([self._first(x, s, ran) for x, s in outputs])
                course.results = first.results
                course.done += ran
            if ran < first.wanted:
                course.closed = (first.chunk, ran)
                self._return_to_source(feeder, source, under, first.chunk, ran)

    def _return_to_source(
        self, feeder: ChunkAssembler, source: Source, under: deque[_Under], chunk: Chunk, first: int
    ) -> None:
        """Return to the source all input after step ``first`` of a chunk, newest first, so that its order is kept."""
        if source.lender is not None:
            source.lender.return_to_source(source)
        while under:
            feeder.put_back(source, under.pop().chunk, 0)
        if first < chunk.steps:
            feeder.put_back(source, chunk, first)

    def _ends(self, source: Source, course: _Course, iterations: int) -> bool:
        """After a short program: whether the loop is over, by consensus of all processes. If not, shapes have changed.

        Raises:
          OutOfRangeError: some data has ended, and no step was run or all are needed.
          Exception: some process's pipeline has raised it.
        """
        assert course.closed is not None
        (chunk, ran), course.closed = course.closed, None
        state = THERE if ran < chunk.steps else FAILED if chunk.error else ENDED if chunk.at_end else THERE
        error = with_note(chunk.error, self.op) if state == FAILED and chunk.error is not None else None
        try:
            states = raise_first_failure(state, error)
        except BaseException:
            if state == THERE:
                source.skip_failed()
            raise
        if ENDED not in states:
            return False
        if course.done and self.op.attrs["partial"]:
            return True
        who = who_ended(states)
        raise OutOfRangeError(
            None,
            self.op,
            f"End of sequence{who}: {course.done} of {iterations} steps had their data and are done; their state is "
            "kept.",
        )


def _as_lists(shapes: Sequence[tuple[int, ...]]) -> list[list[int]]:
    return [list(shape) for shape in shapes]


def _never(steps: int) -> bool:
    return False
