"""The step loop: many runs of one body on successive elements of an input, as one device program per chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError, OpError, OutOfRangeError
from towerstrat.graph.ir.elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.registry import Signature, define
from towerstrat.graph.ir.state import Cell, Flag
from towerstrat.graph.ir.types import resource
from towerstrat.graph.lowering.lowering import Lowering, NeedsStatic, uninitialized
from towerstrat.graph.runtime.feeding import Chunk, Feeder, Source
from towerstrat.graph.runtime.plan import Run, foldable, integers_behind, needs_value, to_host
from towerstrat.graph.runtime.program import Program, tensor_spec

CHUNK_BYTES = 1 << 18
CHUNK_STEPS = 10
"""A chunk holds this many steps' input, or more steps where they fit into ``CHUNK_BYTES``."""


def _noted(error: BaseException, op: Operation) -> BaseException:
    """An exception of the input pipeline, with the operation that met it."""
    if not isinstance(error, OpError):
        error.add_note(f"  while operation {op.name} (created at {op.line}) took elements from its dataset")
    return error


def chunk_steps(iterations: int, bytes_per_step: int) -> int:
    """How many steps of a run go into one chunk."""
    limit = max(CHUNK_STEPS, CHUNK_BYTES // max(1, bytes_per_step))
    if iterations <= limit:
        return iterations
    for size in range(limit, limit // 2, -1):
        if iterations % size == 0:
            return size
    return limit


class LoopStage:
    """One ``StepLoop`` operation in a plan."""

    def __init__(self, op: Operation):
        self.op = op
        self.body = op.bodies[0]
        self.inputs: Sequence[Tensor] = op.attrs["elements"]
        self.order = [inner for inner in self.body.needed if inner.type != "StepInput"]
        self.results: Sequence[Tensor] = op.attrs["results"]
        axis = op.attrs["axis"]
        self.axis: Axis | None = axis
        self.captures = [t for t in op.inputs[op.attrs["arguments"] + op.attrs["handles"] :] if t.dtype is not resource]
        self.cells = list(dict.fromkeys([*op.reads, *op.writes]))
        self.loose = [c for c in self.cells if c.dims is None or None in c.dims]
        self.checked = any(isinstance(c, Flag) for c in self.cells)
        self.uneven = any(t.dims is None or None in t.dims for t in self.inputs)
        positions = 1 if axis is None else axis.size
        self.step_bytes = sum(
            int(np.prod([d or 1 for d in t.dims or ()])) * t.dtype.size * positions for t in self.inputs
        )
        self.known: list[Tensor] | None = None
        """Captures that the host computes, all the others, and of the first those that feeds may change."""
        self.given: list[Tensor] = []
        self.folded: list[Tensor] = []
        self.in_flight: deque[Any] = deque()

    def run(self, run: Run) -> None:
        op = self.op
        iterations = int(run.values[op.inputs[0]])
        arguments, handles = op.attrs["arguments"], op.attrs["handles"]
        names = [run.values[t] for t in op.inputs[arguments : arguments + handles]]
        source: Source = op.attrs["source"](run.session, op, names)
        feeder = run.session.resource(("feeder", op), self._feeder)
        size = chunk_steps(iterations, self.step_bytes)
        if self.known is None:
            self.sort_captures(run.static)
        outputs: Sequence[Any] = ()
        if self.checked or iterations <= 0:
            outputs = self._before([run.values[t] for t in op.inputs[1:arguments]])
        done = 0
        while done < iterations:
            wanted = min(size, iterations - done)
            chunk = feeder.take(source, wanted, size)
            if chunk.steps:
                outputs = self._steps(run, chunk, outputs, done, partial(feeder.put_back, source, chunk))
                done += chunk.steps
            if chunk.error is not None:
                raise _noted(chunk.error, op)
            if chunk.steps < wanted and not (chunk.steps and self.uneven):
                raise OutOfRangeError(
                    None,
                    op,
                    f"End of sequence: {done} of {iterations} steps had their data and are done; their state is kept.",
                )
            while len(self.in_flight) > 1:
                jax.block_until_ready(self.in_flight.popleft())
            ahead = min(size, iterations - done) or min(size, iterations)
            feeder.look_ahead(source, ahead, size)
        run.values.update(zip(op.outputs, outputs, strict=True))

    def _feeder(self) -> Feeder:
        dtypes = [t.dtype.np for t in self.inputs]
        if self.op.attrs["whole"] and self.axis is not None:
            return Feeder([(self.axis.size, *(t.dims or ())) for t in self.inputs], dtypes, None)
        return Feeder([t.dims for t in self.inputs], dtypes, self.axis)

    def sort_captures(self, fed: Container[Tensor]) -> None:
        """Decides which captures are part of the program and which are inputs of it."""
        self.known = [t for t in self.captures if foldable(t.op) and t not in fed]
        self.folded = [t for t in self.known if t.op.inputs]
        self.given = [t for t in self.captures if t not in set(self.known)]

    def _before(self, initial: Sequence[Any]) -> list[Any]:
        """The outputs as they are before the first step: the given values, or zeros."""
        result = []
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
        self, run: Run, chunk: Chunk, outputs: Sequence[Any], done: int, put_back: Callable[[int], None]
    ) -> Sequence[Any]:
        """The outputs after the steps of a chunk. Input of steps that were not run goes back."""
        program: Program | None = None
        try:
            while True:
                try:
                    key, program, inputs = self._program(run, chunk, outputs)
                    made, flags = program(run.store, inputs)
                    self._programs(run)[key] = program
                    break
                except NeedsStatic as needed:
                    if not self._specialise(needed):
                        raise needs_value(needed) from None
        except BaseException:
            if program is None or not program.ran:
                put_back(0)
            raise
        self.in_flight.append(flags)
        if self.checked:
            *made, bad = made
            self._raise_found(program, flags, bad, done, put_back)
        return made

    def _specialise(self, needed: NeedsStatic) -> bool:
        """Makes the outer integers behind a value part of the program. Returns whether there were any new ones."""
        assert self.known is not None
        new = [t for t in integers_behind(needed.tensor, self.given) if not t.varies]
        self.known += new
        self.folded += new
        self.given = [t for t in self.given if t not in new]
        return bool(new)

    def _programs(self, run: Run) -> dict[Any, Program]:
        """The session's programs of this loop: what else a run fetches changes nothing about them."""
        programs: dict[Any, Program] = run.session.resource(("step programs", self.op), dict)
        return programs

    def _program(self, run: Run, chunk: Chunk, outputs: Sequence[Any]) -> tuple[Any, Program, list[Any]]:
        """The program of a chunk, what it is kept by, and what it takes."""
        programs = self._programs(run)
        last = run.store.last
        untouched = last is not None and not self.loose and any(last[0] is p for p in programs.values())
        present = {} if untouched else self._present(run)
        full = bool(chunk.buffers) and chunk.steps == len(chunk.buffers[0])
        inputs = [*(run.values[t] for t in self.given), *chunk.buffers]
        key = (
            full,
            tuple([(v.shape, v.dtype) for v in inputs]),
            tuple([(v.shape, v.tobytes()) for v in (to_host(run.values[t]) for t in self.folded)]),
            tuple([np.shape(present[c]) for c in self.loose if c in present]),
            tuple([np.shape(o) for o in outputs]) if self.checked else (),
            tuple(self.given),
        )
        program = programs.get(key)
        if program is None:
            assert self.known is not None
            known = {t: to_host(run.values[t]) for t in self.known}
            program = _LoopProgram(self, full, known, len(chunk.buffers), present or self._present(run))
        if self.checked:
            inputs += outputs
        if not full:
            inputs.append(np.asarray(chunk.steps, np.int32))
        return key, program, inputs

    def _present(self, run: Run) -> dict[Cell, Any]:
        """The values of all cells of the loop."""
        present = {c: v for c in self.cells if (v := run.store.get(c)) is not None}
        missing = [c for c in self.cells if c not in present and not isinstance(c, Flag)]
        if missing:
            raise uninitialized(missing[0], self.op)
        return present

    def zeros(self) -> list[Any]:
        """Stand-ins for the outputs before the first step, one position's."""
        return [np.zeros([d or 0 for d in t.dims or ()], t.dtype.np) for t in self.results]

    def _raise_found(self, program: Program, flags: Any, bad: Any, done: int, put_back: Callable[[int], None]) -> None:
        for flag, raised in zip(program.flags, np.asarray(flags), strict=True):
            if raised:
                step = done + int(bad)
                put_back(int(bad) + 1)
                raise InvalidArgumentError(
                    None, flag.op,
                    f"{flag.message}\n  in step {step} (counted from 0) of {self.op.name}; the state is that after the "
                    f"{step} steps before it.",
                )  # fmt: skip


class _LoopProgram(Program):
    """The device program of one chunk: a scan over all of it, or a loop over the first part of it."""

    def __init__(
        self, stage: LoopStage, full: bool, known: Mapping[Tensor, Any], components: int, present: Mapping[Cell, Any]
    ):
        self.stage = stage
        self.full = full
        self.known = known
        self.components = components
        specs = [tensor_spec(t) for t in stage.given] + ["steps"] * components
        varying = [t.varies for t in stage.results]
        if stage.checked:
            specs += [tensor_spec(t) for t in stage.results]
            varying.append(False)
        if not full:
            specs.append("same")
        super().__init__([stage.op], self._evaluate, specs, varying, present, {}, atomic=False)

    def _evaluate(self, lowering: Lowering, values: Sequence[Any]) -> list[Any]:
        """The outputs after the last step; where steps are checked, also the first bad step, -1 for none."""
        stage = self.stage
        rest = iter(values)
        lowering.values.update(self.known)
        lowering.values.update((t, next(rest)) for t in stage.given)
        chunk = list(islice(rest, self.components))
        outputs = list(islice(rest, len(stage.results))) if stage.checked else stage.zeros()
        outputs = [
            vary(jnp.asarray(o), self.axis) if t.varies else jnp.asarray(o)
            for o, t in zip(outputs, stage.results, strict=True)
        ]
        outputs = self._sized(lowering, chunk, outputs)
        state = [jnp.asarray(lowering.read(c, stage.op)) for c in self.written]
        flags = [jnp.zeros((), jnp.bool_) for _ in self.flags]
        bad = jnp.full((), -1, jnp.int32) if stage.checked else None
        carry = (state, outputs, flags, bad)
        if self.full and chunk[0].shape[0] == 1:
            carry = self._step(lowering, carry, np.zeros((), np.int32), [x[0] for x in chunk])
        elif self.full:
            numbers = jnp.arange(chunk[0].shape[0], dtype=jnp.int32) if stage.checked else None
            carry, _ = lax.scan(lambda c, x: (self._step(lowering, c, x[0], x[1:]), None), carry, (numbers, *chunk))
        else:

            def body(i: Any, c: Any) -> Any:
                return self._step(lowering, c, i, [lax.dynamic_index_in_dim(x, i, 0, keepdims=False) for x in chunk])

            carry = lax.fori_loop(np.int32(0), next(rest), body, carry)
        state, outputs, flags, bad = carry
        for cell, value in zip(self.written, state, strict=True):
            lowering.write(cell, value)
        for flag, value in zip(self.flags, flags, strict=True):
            lowering.write(flag, value)
        return [*outputs, bad] if stage.checked else outputs

    def _sized(self, lowering: Lowering, chunk: Sequence[Any], outputs: list[Any]) -> list[Any]:
        """Zeros of the right shape for outputs whose shape was not known while the graph was built."""
        if all(t.dims is not None and None not in t.dims for t in self.stage.results):
            return outputs

        def shapes() -> list[Any]:
            child = self._child(lowering, {}, [x[0] for x in chunk])
            return [child.value(t) for t in self.stage.results]

        return [
            o if o.shape == s.shape else jnp.zeros_like(o, shape=s.shape)
            for o, s in zip(outputs, jax.eval_shape(shapes), strict=True)
        ]

    def _child(self, lowering: Lowering, state: Mapping[Cell, Any], elements: Sequence[Any]) -> Lowering:
        stage = self.stage
        flags: dict[Cell, Any] = {
            f: vary(jnp.zeros((), jnp.bool_), self.axis if f.axis is not None else None) for f in self.flags
        }
        own = [e[0] for e in elements] if self.axis is not None else list(elements)
        child = lowering.fork(dict(zip(stage.inputs, own, strict=True)), {**state, **flags})
        child.run(stage.order)
        return child

    def _step(self, lowering: Lowering, carry: Any, number: Any, elements: Sequence[Any]) -> Any:
        state, outputs, flags, bad = carry
        child = self._child(lowering, dict(zip(self.written, state, strict=True)), elements)
        new_state = [child.state[c] for c in self.written]
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
        if not self.flags:
            return new_state, new_outputs, flags, bad
        raised = self._raised(child)
        failed = (bad >= 0) | jnp.any(raised)

        def keep(new: Any, old: Any) -> Any:
            return jnp.where(failed, old, new)

        new_state = [keep(n, o) for n, o in zip(new_state, state, strict=True)]
        new_outputs = [keep(n, o) for n, o in zip(new_outputs, outputs, strict=True)]
        first = (bad < 0) & jnp.any(raised)
        flags = [jnp.where(first, raised[i], f) for i, f in enumerate(flags)]
        return new_state, new_outputs, flags, jnp.where(first, number, bad)


def lower_loop(op: Operation, steps: int) -> jax.stages.Lowered:
    """The device program of a chunk of ``steps`` steps of a loop, traced and not compiled.

    It needs no values and no session, and the loop's devices may be ones that are only described.

    Raises:
      ValueError: a size is not known while the graph is built, or the step uses a value that a run has to give.
    """
    stage = LoopStage(op)
    stage.sort_captures(())
    unknown = [t for t in stage.inputs if t.dims is None or None in t.dims] + stage.given
    if unknown or stage.loose:
        raise ValueError(
            f"{op.name} (created at {op.line}) cannot be compiled without a run: {(unknown or stage.loose)[0]!r}."
        )
    assert stage.known is not None
    folding = Lowering("cpu")
    folding.run(execution_order([t.op for t in stage.known], op.graph.root))
    known = {t: folding.values[t] for t in stage.known}
    program = _LoopProgram(stage, True, known, len(stage.inputs), dict.fromkeys(stage.cells))
    lead = () if stage.axis is None else (stage.axis.size,)

    def like(value: Any, *before: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((*before, *value.dims), value.dtype.np)

    def state(cells: Sequence[Cell]) -> list[jax.ShapeDtypeStruct]:
        return [like(c, *lead) if c.per_position else like(c) for c in cells]

    inputs = [like(t, steps, *lead) for t in stage.inputs]
    if stage.checked:
        inputs += [like(t, *lead) if t.varies else like(t) for t in stage.results]
    with jax.enable_x64(True):
        return program.lowered(state(program.donated), state(program.kept), inputs)


def _rule(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> list[Signature]:
    return [Signature(t.dtype, t.dims) for t in attrs["results"]]


def _missing(lowering: Lowering, op: Operation) -> list[Any]:
    raise InvalidArgumentError(None, op, "The input of a step has a value only inside its step loop.")


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
    host=lambda session, op, values: [],
    stateful=True,
    differentiable=False,
    hidden=("bodies", "elements", "results", "source", "iterator", "axis", "loop", "whole", "varying_outputs"),
)
