"""The device program of a step loop: several training steps on one chunk of input, in one call.

``StepBody`` says what a step is: the components of its element, its operations in order, the tensors that it captures
from outside, and what is wanted after the last step (``results``) and after every step (``per_step_outputs``).
``StepLoopProgram`` is a compiled program over it. Its input is a chunk, one array ``[room, ...]`` per component
(``[room, axis size, ...]`` along an axis). Its carry is (variables that the step writes, results, error record, first
failed step); the variables are donated, so that their buffers serve all steps. Three steps that square an element:

>>> from towerstrat.graph.ir import graph, state, tensor_conversion
>>> from towerstrat.graph.ops.math import arithmetic
>>> with graph.Graph().as_default():
...     y = arithmetic.square(x := tensor_conversion.placeholder("float32", []))
>>> body = StepBody("squares", y.op, [y.op], [y.op], [x], True, [], [], [y], None)
>>> run, chunk = Run(None, state.StateStore(), {}, {}), Chunk(3)
>>> chunk.steps, chunk.buffers = 3, [np.float32([1, 2, 3])]
>>> program, inputs = body.program(run, OwnedPrograms(), chunk, True, NO_FAILED_STEP)
>>> program(run.store, inputs)[0]
[Array([1., 4., 9.], dtype=float32)]

A chunk of the loop's own length (``full``) is one ``lax.scan``: its length is part of the program. The steps that such
chunks leave over go through a ``lax.fori_loop`` over buffers with room for two (for more where processes share the
loop), which gets the number of steps as an argument. The body of both is ``_step``, so that a step has the same bits in
either (``loop_bodies`` checks that).

A step that fails a check leaves the state as it was, and so do all steps after it, also those of the next program,
which is started before the host has looked at the first one: it gets the failed step's number as an input
(``NO_FAILED_STEP``, -1, if none). Where several processes run the loop together, a program runs as many steps as every
process has input for (``lax.pmin``), and the one after a short program runs none: ``PreviousChunk``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.state import ERROR_RECORD, StateVariable
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.class_switch import switch_by_class
from towerstrat.graph.lowering.error_records import no_error
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic
from towerstrat.graph.lowering.shard_classes import ByClass, shard_classes_of
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler
from towerstrat.graph.runtime.loops.input_chunks import Chunk, ChunkAssembler
from towerstrat.graph.runtime.plans.plan import is_constant
from towerstrat.graph.runtime.plans.runner import Run
from towerstrat.graph.runtime.programs.device_program import Program, tensor_spec
from towerstrat.graph.runtime.programs.program_cache import OwnedPrograms, ProgramInputs, ProgramVariants, needs_value

NO_FAILED_STEP = np.asarray(-1, np.int32)
"""Number of the first failed step, if no check has failed."""

Carry: TypeAlias = "tuple[Sequence[jax.Array], Sequence[Array], jax.Array | None, tuple[jax.Array, jax.Array] | None]"
"""Of the loop over steps, see ``StepLoopProgram._step``."""


class PreviousChunk(NamedTuple):
    """Outcome of the chunk before, for a program that several processes run together.

    Attributes:
      wanted: steps that this program is to run, if all processes have input for them.
      short: bool, an earlier program ran fewer steps than wanted: then this one runs none.
    """

    wanted: int
    short: Array


class StepBody:
    """The body of a step loop: each step takes an element, evaluates operations, and gives results.

    Args:
      description: the loop, in words, for the log.
      op: the operation that errors name.
      operations: all operations that the loop's programs evaluate, for their state and axis.
      order: the operations of a step, in order.
      elements: the components of a step's element.
      elements_are_stacked: whether an element has one row per shard, rather than each shard an element of its own.
      captures: the tensors from outside.
      results: the tensors whose values after the last step are wanted.
      per_step_outputs: the tensors, and variables, whose values after each step are wanted.
      axis: the mesh axis along which the loop runs, None: on one device.
    """

    def __init__(
        self, description: str, op: Operation, operations: Sequence[Operation], order: Sequence[Operation],
        elements: Sequence[Tensor], elements_are_stacked: bool, captures: Sequence[Tensor], results: Sequence[Tensor],
        per_step_outputs: Sequence[Tensor | StateVariable], axis: Axis | None,
    ):  # fmt: skip
        self.what = description
        self.op = op
        self.operations = operations
        self.order = order
        self.inputs = elements
        self.elements_are_stacked = elements_are_stacked
        self.captures = [t for t in captures if t.dtype is not resource]
        self.results = results
        self.per_step_outputs = per_step_outputs
        self.axis = axis
        self.shared = axis is not None and axis.is_multi_process
        """Whether several processes run the steps together: in each program as many as all have input for."""
        self.cells = list(dict.fromkeys(cell for o in operations for cell in (*o.reads, *o.writes)))
        self.checked = any(o.checks for o in operations)
        self._compiled: ProgramVariants[StepLoopProgram] | None = None

    def feeder(self) -> ChunkAssembler:
        """An assembler of this loop's input chunks."""
        dtypes = [t.dtype.np for t in self.inputs]
        if self.elements_are_stacked and self.axis is not None:
            parts = len(self.axis.local_indices)
            return ChunkAssembler([None if t.dims is None else (parts, *t.dims) for t in self.inputs], dtypes)
        return ChunkAssembler([t.dims for t in self.inputs], dtypes, None if self.axis is None else self.axis.size)

    def compiled(
        self, fed: Container[Tensor] = (), programs: OwnedPrograms[StepLoopProgram] | None = None
    ) -> ProgramVariants[StepLoopProgram]:
        """The compiled programs by signature, for a run that feeds ``fed``."""
        if self._compiled is None:
            constants = [t for t in self.captures if is_constant(t, fed)]
            self._compiled = ProgramVariants(self.what, self.captures, self.cells, constants, programs)
        return self._compiled

    def program(
        self, run: Run, programs: OwnedPrograms[StepLoopProgram], chunk: Chunk, full: bool, bad: Array,
        behind: PreviousChunk | None = None,
    ) -> tuple[StepLoopProgram, list[Array]]:  # fmt: skip
        """Return the compiled program of a chunk and its arguments; compiles where the signature is new, runs nothing.

        The program does not depend on what else a run fetches.

        Args:
          run: has the values of the captures.
          programs: where compiled ones are kept.
          chunk: the input; its room is part of the signature.
          full: whether the program runs all steps that the buffers have room for, a number that is part of the program.
          bad: int32, the step of an earlier program in which a check failed, -1 for none.
          behind: the outcome of the chunk before, where several processes run the loop.
        """
        compiled, make, extra_arguments = self._request(run, programs, chunk, full, bad, behind)
        try:
            program, inputs = compiled.find(run.values, run.store, make, extra_arguments, (full, chunk.room))
        except NeedsStatic as needed:
            raise needs_value(needed) from None
        assert program is not None
        return program, inputs

    def expect(self, run: Run, programs: OwnedPrograms[StepLoopProgram], chunk: Chunk) -> None:
        """Begin to compile, in another thread, the program for the steps that scans of this length leave over."""
        if self.shared:  # they compile in step
            return
        compiled, make, extra_arguments = self._request(run, programs, chunk.beginning(2), False, NO_FAILED_STEP, None)
        compiled.expect(run.values, run.store, make, extra_arguments, (False, 2))

    def _request(
        self, run: Run, programs: OwnedPrograms[StepLoopProgram], chunk: Chunk, full: bool, bad: Array,
        behind: PreviousChunk | None,
    ) -> tuple[ProgramVariants[StepLoopProgram], Callable[..., StepLoopProgram], list[Array]]:  # fmt: skip
        """(programs of the loop, factory of one, arguments beside the captures) for a chunk, as in ``program``."""
        compiled = self.compiled(run.static, programs)
        extra_arguments = [*self._place(chunk.buffers), *((bad,) if self.checked else ())]
        if behind is not None:
            assert self.axis is not None
            have = self.axis.put_sharded(np.full(len(self.axis.local_indices), chunk.steps, np.int32))
            extra_arguments += [np.asarray(behind.wanted, np.int32), behind.short, have]
        elif not full:
            extra_arguments.append(np.asarray(chunk.steps, np.int32))

        def make(program_inputs: ProgramInputs, trips: Mapping[Operation, int]) -> StepLoopProgram:
            present = compiled.present(run.store, self.op)
            return StepLoopProgram(
                self, full, program_inputs.tensors, program_inputs.known, len(chunk.buffers), chunk.room, present
            )

        return compiled, make, extra_arguments

    def refuses(self, run: Run, programs: OwnedPrograms[StepLoopProgram], pace: ChunkScheduler, chunk: Chunk) -> bool:
        """Whether the steps of a chunk must not run as one scan, by memory or by ``LIMITS.compare_loops``."""

        def program(steps: int) -> Program:
            return self.program(run, programs, chunk.beginning(steps), steps == chunk.steps, NO_FAILED_STEP)[0]

        return pace.refuses(self.what, chunk.steps, chunk.size, program)

    def _place(self, buffers: Sequence[Array]) -> Sequence[Array]:
        """The buffers, made global arrays over the devices of all processes where these hold only their own shards."""
        if not self.shared:
            return buffers
        assert self.axis is not None
        arrays = [np.asarray(buffer) for buffer in buffers]
        indices = slice(None) if self.elements_are_stacked else list(self.axis.local_indices)
        return [self.axis.put_sharded(array[:, indices], 1) for array in arrays]

    def zeros(self) -> list[Array]:
        """Initial results, before the first step: zeros of one shard's shapes, unknown sizes as 0."""
        return [np.zeros([d or 0 for d in t.dims or ()], t.dtype.np) for t in self.results]


class StepLoopProgram(Program):
    """The device program of one chunk: a scan over all of it, or a loop over the first of it.

    Outputs, in order: ``per_step_outputs``, stacked along a new first dimension; ``results`` after the last step; where
    steps are checked, the first failed step (int32, -1 for none); where processes share the loop, the number of steps
    run (int32) and whether these are fewer than wanted (bool).
    """

    def __init__(
        self, steps: StepBody, full: bool, arguments: Sequence[Tensor], known: Mapping[Tensor, Any], components: int,
        room: int, present: Container[StateVariable],
    ):  # fmt: skip
        self.steps = steps
        self.full = full
        self.room = room
        self.arguments = arguments
        self.known = known
        self.components = components
        self._finds = False
        """Whether a check of a step can fail at all; known once a step is traced."""
        specs = [tensor_spec(t) for t in arguments] + ["steps"] * components
        varying = [_differs(x) for x in steps.per_step_outputs] + [t.varies for t in steps.results]
        if steps.checked:
            specs.append("same")
            varying.append(False)
        if steps.shared:
            specs += ["same", "same", "split"]
            varying += [False, False]
        elif not full:
            specs.append("same")
        super().__init__(steps.operations, self._evaluate, specs, varying, present, {}, atomic=False)

    def _evaluate(self, lowering: Lowering, values: Sequence[Array]) -> list[Array]:
        """Lower the loop and return its outputs. No step changes anything where ``bad`` came in as a step's number."""
        steps = self.steps
        remaining = iter(values)
        lowering.classes.partition = shard_classes_of(self.placement.axis, [], self.operations)
        lowering.values.update(self.known)
        lowering.values.update((t, next(remaining)) for t in self.arguments)
        chunk = list(islice(remaining, self.components))
        results: list[Array] = [
            self._varying(t, jnp.asarray(o)) for o, t in zip(steps.zeros(), steps.results, strict=True)
        ]
        results, stacks = self._initial_carry(lowering, chunk, results)
        state = [jnp.asarray(lowering.state.read(c, steps.op)) for c in self.state.written]
        # A loop's carry keeps its type: what varies after a step has to be varying before the first one.
        record = vary(jnp.asarray(no_error(self.checks.record_size)), self.placement.axis) if steps.checked else None
        checks = None
        if steps.checked:
            bad = jnp.asarray(next(remaining))
            # The failure of an earlier program counts as this one's, so that programs behind it change nothing either.
            checks = (bad >= 0, jnp.maximum(bad, 0))
        carry: Carry = (state, results, record, checks)
        ran, short = self._agree(remaining) if steps.shared else (None, None)
        if self.full:
            carry, stacks = lax.scan(lambda c, x: self._step(lowering, c, x), carry, chunk, self.room)
        else:

            def body(i: jax.Array, c: tuple[Carry, Sequence[Array]]) -> tuple[Carry, Sequence[Array]]:
                elements = [lax.dynamic_index_in_dim(x, i, 0, keepdims=False) for x in chunk]
                carry, outputs = self._step(lowering, c[0], elements)
                filled = [lax.dynamic_update_index_in_dim(s, v, i, 0) for s, v in zip(c[1], outputs, strict=True)]
                return carry, filled

            count = next(remaining) if ran is None else ran
            carry, stacks = lax.fori_loop(np.int32(0), count, body, (carry, stacks))
        last, final_results, record, checks = carry
        for cell, value in zip(self.state.written, last, strict=True):
            lowering.state.write(cell, value)
        # Where no check can fail the record stays numpy's: ``can_fail`` is False, and nobody waits for it.
        if record is not None and self._finds:
            lowering.state.write(ERROR_RECORD, record)
        failed = [] if checks is None else [jnp.where(checks[0], checks[1], NO_FAILED_STEP)]
        return [*stacks, *final_results, *failed, *(() if ran is None else (ran, short))]

    def _agree(self, remaining: Iterator[Array]) -> tuple[jax.Array, jax.Array]:
        """Return (steps to run, whether fewer than requested): the least of all processes, 0 after a short program."""
        requested, short, have = (jnp.asarray(next(remaining)) for _ in range(3))
        least = jnp.min(have) if self.placement.axis is None else lax.pmin(jnp.min(have), self.placement.axis.name)
        ran = jnp.where(short, np.int32(0), least)
        return ran, short | (ran < requested)

    def _varying(self, tensor: Tensor | StateVariable, value: jax.Array) -> jax.Array:
        typed: jax.Array = vary(value, self.placement.axis) if _differs(tensor) else value
        return typed

    def _initial_carry(
        self, lowering: Lowering, chunk: Sequence[Array], results: list[Array]
    ) -> tuple[list[Array], list[Array]]:
        """Initial (results, stacks) of the carry: zeros, with shapes by ``jax.eval_shape`` of a step if not static.

        A scan stacks the values of each step itself; the loop of a traced count fills buffers ``[room, ...]``.
        """
        steps = self.steps
        stacked = () if self.full else steps.per_step_outputs
        if not stacked and all(t.dims is not None and None not in t.dims for t in steps.results):
            return results, []

        def shapes() -> tuple[list[Array], list[Array]]:
            child = self._child(lowering, {}, [x[0] for x in chunk])
            return [child.value(t) for t in steps.results], [self._after(child, x) for x in stacked]

        result_specs, each = jax.eval_shape(shapes)
        results = [
            o if o.shape == s.shape else jnp.zeros_like(o, shape=s.shape)
            for o, s in zip(results, result_specs, strict=True)
        ]
        return results, [
            self._varying(x, jnp.zeros((self.room, *s.shape), s.dtype)) for x, s in zip(stacked, each, strict=True)
        ]

    def _child(
        self,
        lowering: Lowering,
        state: Mapping[StateVariable, Array],
        elements: Sequence[Array],
        failed: jax.Array | None = None,
    ) -> Lowering:
        """Evaluate the operations of one step. ``failed``: traced bool, whether a check failed in a step before it."""
        steps = self.steps
        components = [e[0] for e in elements] if self.placement.axis is not None else list(elements)
        child = lowering.fork(dict(zip(steps.inputs, components, strict=True)), state)
        if steps.checked:
            child.errors.begin_step(self.checks.record_size, failed)
        child.run(steps.order)
        return child

    def _after(self, child: Lowering, output: Tensor | StateVariable) -> Array:
        """The value after a step of a tensor, or of a variable."""
        if isinstance(output, StateVariable):
            return self._varying(
                output, jnp.asarray(child.classes.padded_value(child.state.read(output, self.steps.op)))
            )
        value = child.classes.padded_value(child.value(output)) if output.varies else child.invariant(output)
        return self._varying(output, jnp.asarray(value))

    def _step(self, lowering: Lowering, carry: Carry, elements: Sequence[Array]) -> tuple[Carry, list[Array]]:
        """Evaluate one step, by shard class where shards differ in work: carry -> (carry, per_step_outputs).

        The carry: state, results and, where steps are checked, the error record and (a check has failed, the number of
        that step or of the steps passed so far).
        """
        if lowering.classes.partition is None:
            return self._one_step(lowering, carry, elements)

        def step(operands: tuple[Carry, list[Array]], uneven: Sequence[ByClass]) -> tuple[Carry, list[Array]]:
            return self._one_step(lowering, *operands)

        result: tuple[Carry, list[Array]] = switch_by_class(
            lowering.classes.partition, step, (carry, list(elements)), []
        )
        return result

    def _one_step(self, lowering: Lowering, carry: Carry, elements: Sequence[Array]) -> tuple[Carry, list[Array]]:
        state, _, record, checks = carry
        before, passed = (None, None) if checks is None else checks
        child = self._child(lowering, dict(zip(self.state.written, state, strict=True)), elements, before)
        new_state = [
            jnp.asarray(child.classes.stored(c, child.errors.old_if_failed(c, old)))
            for c, old in zip(self.state.written, state, strict=True)
        ]
        for cell, old, new in zip(self.state.written, state, new_state, strict=True):
            if np.shape(old) != np.shape(new):
                raise InvalidArgumentError(
                    None, self.steps.op,
                    f"Variable {cell.name} has shape {np.shape(old)} before a step and {np.shape(new)} after it. In "
                    "a step loop a variable keeps its shape.",
                )  # fmt: skip
        results = [self._after(child, t) for t in self.steps.results]
        outputs = [self._after(child, x) for x in self.steps.per_step_outputs]
        if before is None or passed is None or record is None:
            return (new_state, results, record, checks), outputs
        step_record = child.state[ERROR_RECORD]
        self._finds = self._finds or isinstance(step_record, jax.Array | ByClass)
        failed = child.errors.failed()
        assert failed is not None  # it has a gate
        # Only the first failed step enters the record: later ones compute on the state that it kept from changing.
        first = vary(~before & failed, self.placement.axis)
        record = jnp.where(
            first, vary(jnp.asarray(child.classes.padded_value(step_record)), self.placement.axis), record
        )
        return (new_state, results, record, (before | failed, passed + jnp.where(failed, 0, 1))), outputs


def _differs(value: Tensor | StateVariable) -> bool:
    return value.is_varying if isinstance(value, StateVariable) else value.varies
