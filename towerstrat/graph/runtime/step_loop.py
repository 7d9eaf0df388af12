"""The step loop: many runs of one body on successive elements of an input, as one device program per chunk."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Container, Mapping, Sequence, Set
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError, OpError, OutOfRangeError
from towerstrat.graph.ir.elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.narrowing import narrowed, narrowed_block
from towerstrat.graph.ir.registry import Signature, define
from towerstrat.graph.ir.state import FAULT, Cell
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.faults import no_fault
from towerstrat.graph.lowering.kinds import ByKind
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.refusals import NeedsStatic
from towerstrat.graph.runtime.compiled import Compiled, Given, Programs, needs_value
from towerstrat.graph.runtime.feeding import Chunk, Feeder, Source
from towerstrat.graph.runtime.pace import Pace
from towerstrat.graph.runtime.plan import Stages, is_constant
from towerstrat.graph.runtime.program import Program, tensor_spec
from towerstrat.graph.runtime.runs import Run, Runner


def _noted(error: BaseException, op: Operation) -> BaseException:
    """An exception of the input pipeline, with the operation that met it."""
    if not isinstance(error, OpError):
        error.add_note(f"  while operation {op.name} (created at {op.line}) took elements from its dataset")
    return error


_NONE_BAD = np.asarray(-1, np.int32)


class _Begun(NamedTuple):
    """A program under way whose checks nobody has looked at.

    Attributes:
      record: of failed checks.
      bad: the step of the chunk in which one has failed, -1 for none.
      done: the number of steps before the chunk.
    """

    program: Program
    record: Array
    bad: Array
    chunk: Chunk
    done: int


class _Kept:
    """What all runs of a session share of one step loop, whatever else they fetch."""

    def __init__(self, feeder: Feeder, pace: Pace):
        self.feeder = feeder
        self.pace = pace
        self.programs: Programs[_LoopProgram] = Programs()


class LoopStage:
    """One ``StepLoop`` operation in a plan."""

    def __init__(self, op: Operation, stages: Stages):
        self.op = op
        self.body = op.bodies[0]
        self.inputs: Sequence[Tensor] = op.attrs["elements"]
        self.order = [inner for inner in self.body.needed if inner.type != "StepInput"]
        self.results: Sequence[Tensor] = op.attrs["results"]
        axis = op.attrs["axis"]
        self.axis: Axis | None = axis
        self.captures = [t for t in op.inputs[op.attrs["arguments"] + op.attrs["handles"] :] if t.dtype is not resource]
        self.cells = list(dict.fromkeys([*op.reads, *op.writes]))
        self.checked = op.checks
        self._compiled: Compiled[_LoopProgram] | None = None

    def run(self, run: Run) -> None:
        op = self.op
        iterations = int(run.values[op.inputs[0]])
        arguments, handles = op.attrs["arguments"], op.attrs["handles"]
        names = [run.values[t] for t in op.inputs[arguments : arguments + handles]]
        source: Source = op.attrs["source"](run.session, op, names)
        kept: _Kept = run.session.resource(("step loop", op), lambda: _Kept(self._feeder(), Pace(self.axis)))
        if iterations <= 0:
            outputs: Sequence[Array] = self._before([run.values[t] for t in op.inputs[1:arguments]])
        else:
            outputs = self._iterate(run, kept, source, iterations)
        run.values.update(zip(op.outputs, outputs, strict=True))

    def _iterate(self, run: Run, kept: _Kept, source: Source, iterations: int) -> Sequence[Array]:
        """The outputs after all steps. One program is under way while the input of the next one is assembled."""
        begun: deque[_Begun] = deque()
        try:
            return self._run_chunks(run, kept, source, iterations, begun)
        finally:
            self._raise_found(kept.feeder, source, begun, 0)

    def _run_chunks(
        self, run: Run, kept: _Kept, source: Source, iterations: int, begun: deque[_Begun]
    ) -> Sequence[Array]:
        """As ``_iterate``. Programs whose checks nobody has looked at stay in ``begun``."""
        feeder, pace = kept.feeder, kept.pace
        room = pace.room(iterations, feeder.step_bytes(source))
        enough = partial(pace.may_start, min(iterations, room))
        outputs: Sequence[Array] = ()
        done = 0
        while done < iterations:
            left = iterations - done
            wanted = pace.steps(left, room)
            chunk = feeder.take(source, wanted, min(left, 2 * wanted), room, enough)
            if chunk.steps:
                outputs = self._steps(run, kept, source, chunk, done, begun)
                if chunk.error is None:
                    ahead = pace.ahead(left - chunk.steps or iterations, chunk.room)
                    feeder.look_ahead(source, ahead, chunk.room, lambda steps: pace.idle)
                self._raise_found(feeder, source, begun, 1)
                done += chunk.steps
            if chunk.error is not None:
                raise _noted(chunk.error, self.op)
            if chunk.at_end and done < iterations:
                raise OutOfRangeError(
                    None,
                    self.op,
                    f"End of sequence: {done} of {iterations} steps had their data and are done; their state is kept.",
                )
        return outputs

    def _feeder(self) -> Feeder:
        dtypes = [t.dtype.np for t in self.inputs]
        if self.op.attrs["whole"] and self.axis is not None:
            return Feeder([(self.axis.size, *(t.dims or ())) for t in self.inputs], dtypes)
        return Feeder([t.dims for t in self.inputs], dtypes, None if self.axis is None else self.axis.size)

    def compiled(
        self, fed: Container[Tensor] = (), programs: Programs[_LoopProgram] | None = None
    ) -> Compiled[_LoopProgram]:
        """The loop's programs, in a run with such feeds."""
        if self._compiled is None:
            constants = [t for t in self.captures if is_constant(t, fed)]
            self._compiled = Compiled(_in_words(self.op), self.captures, self.cells, constants, programs)
        return self._compiled

    def _before(self, initial: Sequence[Array]) -> list[Array]:
        """The outputs as they are before the first step: the given values, or zeros."""
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
        return result

    def _steps(
        self, run: Run, kept: _Kept, source: Source, chunk: Chunk, done: int, begun: deque[_Begun]
    ) -> Sequence[Array]:  # fmt: skip
        """The outputs after the steps of a chunk, which run now. Input of steps that were not run goes back.

        Where a check has failed in a program before, they change nothing.
        """
        feeder, pace = kept.feeder, kept.pace
        program: Program | None = None
        try:
            pace.settle(1)
            program, inputs = self._program(run, kept, chunk, begun[-1].bad if begun else _NONE_BAD)
            start = time.perf_counter()
            made, record = program(run.store, inputs)
        except BaseException:
            if program is None or not program.ran:
                feeder.put_back(source, chunk, 0)
            raise
        pace.started(record, chunk.steps, start)
        del inputs
        pace.make_room(chunk.room)
        if self.checked:
            *made, bad = made
            if program.faulty:
                begun.append(_Begun(program, record, bad, chunk, done))
        return made

    def _program(self, run: Run, kept: _Kept, chunk: Chunk, bad: Array) -> tuple[_LoopProgram, list[Array]]:
        """The program of a chunk, and what it takes. What else a run fetches changes nothing about it."""
        compiled = self.compiled(run.static, kept.programs)
        full = chunk.steps == chunk.room and (chunk.room == 1 or kept.pace.worth_a_scan())
        more = [*chunk.buffers, *((bad,) if self.checked else ())]
        if not full:
            more.append(np.asarray(chunk.steps, np.int32))

        def make(given: Given, trips: Mapping[Operation, int]) -> _LoopProgram:
            present = compiled.present(run.store, self.op)
            return _LoopProgram(self, full, given.tensors, given.known, len(chunk.buffers), present)

        try:
            program, inputs = compiled.find(run.values, run.store, make, more, full)
        except NeedsStatic as needed:
            raise needs_value(needed) from None
        assert program is not None
        return program, inputs

    def zeros(self) -> list[Array]:
        """Stand-ins for the outputs before the first step, one position's."""
        return [np.zeros([d or 0 for d in t.dims or ()], t.dtype.np) for t in self.results]

    def _raise_found(self, feeder: Feeder, source: Source, begun: deque[_Begun], most: int) -> None:
        """Looks at the checks of programs that were begun, until at most so many are left.

        Raises:
          InvalidArgumentError: one has failed. The input of all steps behind it goes back.
        """
        while len(begun) > most:
            program, record, bad, chunk, done = begun.popleft()
            error = program.error(record)
            if error is None:
                continue
            step = done + int(bad)
            if source.lender is not None:
                source.lender.give_back(source)
            while begun:
                feeder.put_back(source, begun.pop().chunk, 0)
            feeder.put_back(source, chunk, int(bad) + 1)
            raise InvalidArgumentError(
                None, error.op,
                f"{error.message}\n  in step {step} (counted from 0) of {self.op.name}; the state is that after the "
                f"{step} steps before it.",
            )  # fmt: skip


def _in_words(op: Operation) -> str:
    return f"The step loop {op.name} (created at {op.line})"


class _LoopProgram(Program):
    """The device program of one chunk: a scan over all of it, or a loop over the first part of it."""

    def __init__(
        self, stage: LoopStage, full: bool, arguments: Sequence[Tensor], known: Mapping[Tensor, Any], components: int,
        present: Container[Cell],
    ):  # fmt: skip
        self.stage = stage
        self.full = full
        self.arguments = arguments
        self.known = known
        self.components = components
        self._finds = False
        """Whether a check of a step can fail, known once a step is traced."""
        specs = [tensor_spec(t) for t in arguments] + ["steps"] * components
        varying = [t.varies for t in stage.results]
        if stage.checked:
            specs.append("same")
            varying.append(False)
        if not full:
            specs.append("same")
        super().__init__([stage.op], self._evaluate, specs, varying, present, {}, atomic=False)

    def _evaluate(self, lowering: Lowering, values: Sequence[Array]) -> list[Array]:
        """The outputs after the last step; where steps are checked, also the first bad step, -1 for none.

        Where that is given, from a program before, no step changes anything.
        """
        stage = self.stage
        rest = iter(values)
        lowering.values.update(self.known)
        lowering.values.update((t, next(rest)) for t in self.arguments)
        chunk = list(islice(rest, self.components))
        outputs: list[Any] = stage.zeros()
        outputs = [
            vary(jnp.asarray(o), self.axis) if t.varies else jnp.asarray(o)
            for o, t in zip(outputs, stage.results, strict=True)
        ]
        outputs = self._sized(lowering, chunk, outputs)
        state = [jnp.asarray(lowering.read(c, stage.op)) for c in self.written]
        record = vary(jnp.asarray(no_fault(self.record_size)), self.axis) if stage.checked else None
        bad = jnp.asarray(next(rest)) if stage.checked else None
        carry = (state, outputs, record, bad)
        if self.full and chunk[0].shape[0] == 1:
            carry = self._step(lowering, carry, np.zeros((), np.int32), [x[0] for x in chunk])
        elif self.full:
            numbers = jnp.arange(chunk[0].shape[0], dtype=jnp.int32) if stage.checked else None
            inputs: Any = (numbers, *chunk)
            carry, _ = lax.scan(lambda c, x: (self._step(lowering, c, x[0], x[1:]), None), carry, inputs)
        else:

            def body(i: Any, c: Any) -> Any:
                return self._step(lowering, c, i, [lax.dynamic_index_in_dim(x, i, 0, keepdims=False) for x in chunk])

            carry = lax.fori_loop(np.int32(0), next(rest), body, carry)
        state, outputs, record, bad = carry
        for cell, value in zip(self.written, state, strict=True):
            lowering.write(cell, value)
        if record is not None and self._finds:
            lowering.write(FAULT, record)
        return outputs if bad is None else [*outputs, bad]

    def _sized(self, lowering: Lowering, chunk: Sequence[Array], outputs: list[Array]) -> list[Array]:
        """Zeros of the right shape for outputs whose shape was not known while the graph was built."""
        if all(t.dims is not None and None not in t.dims for t in self.stage.results):
            return outputs

        def shapes() -> list[Array]:
            child = self._child(lowering, {}, [x[0] for x in chunk])
            return [child.value(t) for t in self.stage.results]

        return [
            o if o.shape == s.shape else jnp.zeros_like(o, shape=s.shape)
            for o, s in zip(outputs, jax.eval_shape(shapes), strict=True)
        ]

    def _child(
        self, lowering: Lowering, state: Mapping[Cell, Array], elements: Sequence[Array], failed: Any = None
    ) -> Lowering:
        """The evaluation of one step. ``failed``: whether a check has failed in a step before it."""
        stage = self.stage
        own = [e[0] for e in elements] if self.axis is not None else list(elements)
        child = lowering.fork(dict(zip(stage.inputs, own, strict=True)), state)
        if stage.checked:
            child.begin_step(self.record_size, failed)
        child.run(stage.order)
        return child

    def _step(self, lowering: Lowering, carry: Any, number: Any, elements: Sequence[Array]) -> Any:
        state, _, record, bad = carry
        before = None if bad is None else bad >= 0
        child = self._child(lowering, dict(zip(self.written, state, strict=True)), elements, before)
        new_state = [child.restored(c, old) for c, old in zip(self.written, state, strict=True)]
        for cell, old, new in zip(self.written, state, new_state, strict=True):
            if np.shape(old) != np.shape(new):
                raise InvalidArgumentError(
                    None, self.stage.op,
                    f"Variable {cell.name} has shape {np.shape(old)} before a step and {np.shape(new)} after it. In "
                    "a step loop a variable keeps its shape.",
                )  # fmt: skip
        new_outputs = [
            vary(jnp.asarray(child.value(t)), self.axis) if t.varies else jnp.asarray(child.invariant(t))
            for t in self.stage.results
        ]
        if before is None:
            return new_state, new_outputs, record, bad
        found = child.state[FAULT]
        self._finds = self._finds or isinstance(found, jax.Array | ByKind)
        first = ~before & child.failed()
        record = jnp.where(vary(first, self.axis), vary(jnp.asarray(child.joined(found)), self.axis), record)
        return new_state, new_outputs, record, jnp.where(first, number, bad)


def lower_loop(op: Operation, steps: int) -> jax.stages.Lowered:
    """The device program of a chunk of ``steps`` steps of a loop, traced and not compiled.

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
    program = _LoopProgram(stage, True, (), known, len(stage.inputs), compiled.cells)
    lead = () if stage.axis is None else (stage.axis.size,)

    def like(value: Tensor | Cell, *before: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((*before, *(value.dims or ())), value.dtype.np)

    def state(cells: Sequence[Cell]) -> list[jax.ShapeDtypeStruct]:
        return [like(c, *lead) if c.per_position else like(c) for c in cells]

    inputs = [like(t, steps, *lead) for t in stage.inputs]
    inputs += [jax.ShapeDtypeStruct((), np.int32)] if stage.checked else []
    with jax.enable_x64(True):
        return program.lowered(state(program.donated), state(program.kept), inputs)


def _rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(t.dtype, t.dims) for t in attrs["results"]]


def _missing(lowering: Lowering, op: Operation) -> list[Array]:
    raise InvalidArgumentError(None, op, "The input of a step has a value only inside its step loop.")


def _needs_plan(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    raise InvalidArgumentError(None, op, "A step loop runs in a Session; here operations are executed one by one.")


def _narrow(op: Operation, used: Set[Tensor]) -> Operation:
    """The loop with what the step uses of the branches and loops in it; all outputs are the step's."""
    (body,) = op.bodies
    step = narrowed_block(body, body.results)
    given = op.inputs[: op.attrs["arguments"] + op.attrs["handles"]]
    return op if step is body else narrowed(op, [*given, *step.captures()], op.outputs, {"bodies": (step,)})


define(
    "StepInput",
    lambda inputs, attrs: [Signature(attrs["dtype"], attrs["dims"])],
    lower=_missing,
    per_position=True,
    given=True,
    differentiable=False,
)
define(
    "StepLoop",
    _rule,
    host=_needs_plan,
    stage="step loop",
    narrow=_narrow,
    stateful=True,
    differentiable=False,
    hidden=("bodies", "elements", "results", "source", "iterator", "axis", "whole", "varying_outputs"),
)
