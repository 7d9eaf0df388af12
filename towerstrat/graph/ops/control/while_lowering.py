"""Lowering of ``While``: to ``lax.while_loop``, to a differentiable loop, or unrolled.

    no gradient taken                          lax.while_loop, for any number of iterations
    gradient, iterations known or bounded      ``residual_stacks.repeat``: while loops forwards and backwards
    gradient of a gradient, known / bounded    lax.scan / lax.scan of masked iterations (``lax.cond``)
    shapes change, known and at most 1024      unrolled
    eager, or none of these                    iteration by iteration; or NeedsStatic, NeedsTripCount to the plan

``evaluate_control`` tells the number of iterations where it depends on known values; else the bound is
``maximum_iterations`` or the count of a forward run (``lowering.trip_counts``).

The carry is (iteration number, loop variables that the body changes, state variables that it writes). ``while i < 3:
s += x[i] * w; i += 1``, with x a TensorArray of float32[3], w captured:

    changing    i, s                  w is not carried: the body uses it from outside
    reads       x, as xs of the loop  if a gradient is taken, instead of an index into it: see ``scan_arrays``
    outputs     i, s, and the number of iterations: 3

A condition that writes or checks cannot be lax.while_loop's, whose condition is pure: it is evaluated at the end of the
body instead, and its value carried (``condition_acts``). Arrays that nothing was written to yet get their shape by
``jax.eval_shape`` of the body (``shape_arrays``). Row lookups inside pass through the loop as zeros in and indices out,
so that their cotangents stay rows.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, has_effect, place_of
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, string
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic, NeedsTripCount
from towerstrat.graph.ops.control.loop_lookups import LoopLookups
from towerstrat.graph.ops.control.regions import bind, carry_type, entering, leaving, state_type
from towerstrat.graph.ops.control.residual_stacks import repeat
from towerstrat.graph.ops.control.scan_arrays import Walk, Walks, indices_in, reads_of, writes_of
from towerstrat.graph.ops.control.tensor_array_lowering import Grows, Unwritten, Value
from towerstrat.graph.ops.control.trip_counts import (
    LoopTrajectory,
    control_of,
    evaluate_control,
    evaluate_counters,
    first_unknown,
)

_UNROLLED = 1024
"""Iterations up to which a loop whose shapes change is unrolled."""

Rows = tuple[Sequence[Array], list[Array]]
"""Inputs or outputs of an iteration beside the carry: elements of arrays; zeros or indices of row lookups."""
Carry = tuple[Array | np.int32 | int, tuple[Any, ...], tuple[Array, ...]]
"""(number of iterations so far, loop variables that change, state variables that are written): arrays."""
State = Any
"""The carry; where the condition acts (whether the loop goes on, the carry)."""


class Changes(Exception):
    """A loop variable has another shape or dtype after an iteration than before."""


def lower_while(lowering: Lowering, op: Operation) -> list[Value]:
    """Evaluate a loop; return the final loop variables and the number of iterations."""
    return Loop(lowering, op).run()


class LoopRegions(NamedTuple):
    """The condition and the body of a loop, with the tensors inside that have the values of the loop variables."""

    cond: Block
    body: Block
    cond_vars: Sequence[Tensor]
    body_vars: Sequence[Tensor]

    @classmethod
    def of(cls, op: Operation) -> LoopRegions:
        """The regions of a ``While`` operation."""
        cond, body = op.bodies
        cond_vars, body_vars = op.attrs["variables"]
        return cls(cond, body, cond_vars, body_vars)

    def changing(self) -> list[int]:
        """Indices of the loop variables that the body changes."""
        pairs = zip(self.body.results, self.body_vars, strict=True)
        return [i for i, (result, variable) in enumerate(pairs) if result is not variable]

    @property
    def condition_acts(self) -> bool:
        """Whether evaluating the condition has effects: writes, checks, others."""
        return any(inner.writes or inner.checks or has_effect(inner) for inner in self.cond.needed)

    @property
    def condition_calls(self) -> bool:
        """Whether evaluating the condition has effects that are no writes."""
        return any(has_effect(inner) and not inner.writes for inner in self.cond.needed)

    @property
    def has_effects(self) -> bool:
        """Whether an iteration has effects beside checks."""
        return any(has_effect(inner) for block in (self.cond, self.body) for inner in block.needed)


class Loop:
    """One evaluation of a loop.

    Args:
      inits: the loop variables, where a caller runs iterations on its own; then it applies ``maximum_iterations``
        itself.

    Attributes:
      regions: its condition and body.
      replicated: values of inputs that do not vary (see ``entering``).
      maximum: ``maximum_iterations``, or None.
      cells: the state variables that it writes, and the error record where it checks something.
      changing: indices of the loop variables that the body changes; only these are carried.
      walks: arrays that are inputs and outputs of the iterations, while they are built.
      lookups: the row lookups inside whose cotangents stay rows.
    """

    def __init__(self, lowering: Lowering, op: Operation, inits: Sequence[Value] | None = None):
        self.lowering = lowering
        self.op = op
        self.regions = LoopRegions.of(op)
        size = len(self.regions.body_vars)
        self.replicated = entering(lowering, op.inputs if inits is None else op.inputs[size:])
        self.maximum = self._value(op.inputs[size]) if op.attrs["bounded"] and inits is None else None
        self.inits: list[Any] = [self._value(t) for t in op.inputs[:size]] if inits is None else list(inits)
        self.cells = lowering.cells_of(op)
        self._unmasked: set[StateVariable] = set()
        self.changing = self.regions.changing()
        self.walks = Walks()
        self.lookups = LoopLookups(lowering.vjp.lookups, op)

    def _value(self, tensor: Tensor) -> Any:
        return self.replicated[tensor] if tensor in self.replicated else self.lowering.value(tensor)

    def _varies(self, output: int) -> bool:
        """Whether JAX types an output as varying: where gradients are taken everything is."""
        return self.lowering.vjp.active or self.op.outputs[output].varies

    # ---- one iteration ---------------------------------------------------------------------------------------

    def _child(self, variables: Sequence[Tensor], carry: Carry) -> Lowering:
        """A fork of the lowering for one of the regions, with the carry's values."""
        values = list(self.inits)
        for i, value in zip(self.changing, carry[1], strict=True):
            values[i] = value
        return self.lowering.fork(
            bind(variables, values, self.replicated), dict(zip(self.cells, carry[2], strict=True))
        )

    def _state(self, child: Lowering) -> tuple[Array, ...]:
        self._unmasked.update(c for c in self.cells if not child.errors.is_masked(c))
        return tuple(child.state[c] for c in self.cells)

    def test(self, carry: Carry) -> tuple[jax.Array, Carry]:
        """Evaluate the condition: (whether there is another iteration, the carry with the state after it)."""
        child = self._child(self.regions.cond_vars, carry)
        child.run(self.regions.cond.needed)
        result = self.regions.cond.results[0]
        goes_on = jnp.reshape(leaving(child, result, self.lowering.vjp.active or result.varies), ())
        if self.maximum is not None:
            goes_on = goes_on & (carry[0] < jnp.asarray(self.maximum, jnp.int32))
        return goes_on, (carry[0], carry[1], self._carry_state(self._state(child)))

    def run_body(self, child: Lowering, but: Set[Operation] = frozenset()) -> None:
        """Evaluate the body, without the operations in ``but``, whose outputs are known."""
        needed = self.regions.body.needed
        child.run([op for op in needed if op not in but] if but else needed)

    def step(self, carry: Carry) -> Carry:
        """Evaluate one iteration: carry -> carry.

        Raises:
          Changes: the shape of a loop variable would not be the same afterwards.
        """
        return self.scan_step(carry, ((), []))[0]

    def scan_step(self, carry: Carry, inputs: Rows) -> tuple[Carry, Rows]:
        """Evaluate one iteration as a step of ``lax.scan``.

        Args:
          carry: (int32 number of the iteration, the loop variables that change, the state).
          inputs: the elements of arrays that it reads, one per read of ``walks``; the zeros of the row lookups inside.

        Returns:
          The carry; the elements that it writes, one per write of ``walks``, and the indices of the row lookups.
        """
        rows, zeros = inputs
        walks, results = self.walks, self.regions.body.results
        child = self._child(self.regions.body_vars, carry)
        self.lookups.enter(child, zeros)
        child.values.update((walk.op.outputs[0], row) for walk, row in zip(walks.reads, rows, strict=True))
        for walk in walks.reads:
            self._check(child, walk)
        self.run_body(child, {walk.op for walk in walks})
        for walk in walks.writes.values():
            self._check(child, walk)
        elements = tuple(leaving(child, walk.op.inputs[2], self._varies(i)) for i, walk in walks.writes.items())
        values = tuple(leaving(child, results[i], self._varies(i)) for i in self.changing)
        if [carry_type(v) for v in values] != [carry_type(v) for v in carry[1]]:
            raise Changes
        indices = self.lookups.indices(child)
        return (carry[0] + np.int32(1), values, self._carry_state(self._state(child))), (elements, indices)

    def _check(self, child: Lowering, walk: Walk) -> None:
        """Check the index of a read or write that became a scan's input or output, where it may be out of range."""
        if self.walks.is_unsure(walk):
            child.check(walk.op)

    def _carry_state(self, state: Sequence[Array]) -> tuple[Array, ...]:
        """The state, typed as in the carry: varying or replicated."""
        return tuple(state_type(self.lowering, c, v) for c, v in zip(self.cells, state, strict=True))

    def start(self) -> Carry:
        """The initial carry."""
        axis = self.lowering.axis
        count = jnp.zeros((), jnp.int32)
        values = []
        for i in self.changing:
            value = jnp.asarray(self.lowering.classes.require_one_shape(self.inits[i], self.op.inputs[i]))
            values.append(vary(value, axis) if self._varies(i) else value)
        state = [self.lowering.state.read(c, self.op) for c in self.cells]
        return vary(count, axis) if self._varies(len(self.inits)) else count, tuple(values), self._carry_state(state)

    # ---- the whole -------------------------------------------------------------------------------------------

    def run(self) -> list[Value]:
        """Evaluate the loop.

        Raises:
          NeedsStatic: it can only be evaluated with the values of its control part known.
          NeedsTripCount: it is differentiated, and its number of iterations has to be counted first.
        """
        if self.lowering.eager:
            return self._finish(self._one_by_one(None))
        if any(t.dtype is string for t in self.op.outputs):
            raise self._needs_course()
        # Without gradients lax.while_loop serves any trip count, so the control part is not worth following.
        trajectory = evaluate_control(self.lowering, self.op, self._limit()) if self.lowering.vjp.active else None
        try:
            self.shape_arrays()
            return self._finish(self._run_compiled(trajectory))
        except (Changes, Grows):
            trajectory = trajectory or evaluate_control(self.lowering, self.op, self._limit())
            if trajectory is None or trajectory.length > _UNROLLED:
                raise self._needs_course() from None
        again = Loop(self.lowering, self.op)
        return again._finish(again._one_by_one(trajectory.length))

    def _limit(self) -> int | None:
        """``maximum_iterations`` as a number, where it is known while lowering."""
        return None if self.maximum is None or isinstance(self.maximum, jax.core.Tracer) else int(self.maximum)

    def _needs_course(self) -> NeedsStatic:
        """The request for the value of the first unknown input of the control part."""
        control = control_of(self.op)
        tensor = first_unknown(self.lowering, self.op, control) if control is not None else None
        return NeedsStatic(self.op, (place_of(tensor, self.op.inputs) or 0) if tensor is not None else 0)

    def _finish(self, carry: Carry) -> list[Value]:
        """Write the state back; return the outputs from the final carry."""
        count, changed, state = carry
        before = self.lowering.errors.record
        for cell, value in zip(self.cells, state, strict=True):
            self.lowering.state.write(cell, value, None if cell in self._unmasked else before)
        values = list(self.inits)
        for i, value in zip(self.changing, changed, strict=True):
            values[i] = value
        counter = self.lowering.trip_counters.get(self.op)
        if counter is not None:
            self.lowering.state.write(counter, jnp.maximum(self.lowering.state.read(counter, self.op), count))
        return [*values, jnp.asarray(count, jnp.int32)]

    def shape_arrays(self) -> None:
        """Allocate unwritten arrays with the shape that the body writes; those that it does not write are not carried.

        A loop can do so for several arrays in turn, each found once the one before is known.

        Raises:
          Changes: the body returns an array of another size.
        """
        while any(isinstance(self.inits[i], Unwritten) for i in self.changing):
            results: list[Value] = []

            def probe(results: list[Value] = results) -> tuple[()]:
                child = self._child(
                    self.regions.body_vars, (0, tuple(self.inits[i] for i in self.changing), self._first_state())
                )
                # The zeros of the row lookups are those of all iterations, too many for one.
                child.vjp.lookups = None
                self.run_body(child)
                results.extend(child.value(r) for r in self.regions.body.results)
                return ()

            jax.eval_shape(probe)
            before = len(self.changing)
            for i in list(self.changing):
                init, result = self.inits[i], results[i]
                if not isinstance(init, Unwritten):
                    continue
                if isinstance(result, Unwritten):
                    self.changing.remove(i)
                else:
                    self.inits[i] = init.like(result.shape)
                    if self.inits[i] is None:
                        raise Changes
            if len(self.changing) == before:
                break

    def _first_state(self) -> tuple[Array, ...]:
        return tuple(self.lowering.state.read(c, self.op) for c in self.cells)

    def _run_compiled(self, trajectory: LoopTrajectory | None) -> Carry:
        """Evaluate the loop as one JAX loop. ``trajectory``: its evaluated control part, where it is known."""
        # A derivative drops calls that depend on nothing: the last test makes its own where it might not be due.
        if trajectory is not None and not self.regions.condition_calls:
            return self._differentiable(trajectory, exact=True)
        if not self.lowering.vjp.active:
            return self._loop()
        bound = self._limit() if trajectory is None else trajectory.length
        if bound is None:
            bound = self.lowering.trip_counts.get(self.op)
        if bound is None:
            raise NeedsTripCount(self.op)
        counters = () if self.lowering.vjp.nested else indices_in(self.op)
        return self._differentiable(evaluate_counters(self.lowering, self.op, counters, bound), exact=False)

    def _loop(self) -> Carry:
        """Lower to ``lax.while_loop``, which has no gradient. A condition that acts is evaluated in its body."""
        if not self.regions.condition_acts:
            return lax.while_loop(lambda c: self.test(c)[0], self.step, self.start())
        return lax.while_loop(lambda c: c[0], lambda c: self.test(self.step(c[1])), self.test(self.start()))[1]

    def _differentiable(self, trajectory: LoopTrajectory, exact: bool) -> Carry:
        """Lower to a differentiable loop of ``trajectory.length`` iterations, or at most as many where not ``exact``.

        A condition that acts is evaluated before the first iteration and after each: it cannot act in one of JAX.
        """
        count, changing = trajectory.length, self.changing
        acts = self.regions.condition_acts
        self._find_walks(trajectory, exact)
        state: State = self.test(self.start()) if acts else self.start()
        elements: Sequence[Any] = ()
        if count:
            rows = tuple(walk.take(self._rows(walk.op.inputs[0]), count) for walk in self.walks.reads)
            inputs = (rows, self.lookups.zeros(count))
            if not self.lowering.vjp.nested:
                ends = () if exact else (self._goes_on, self._rest(count))
                state, (elements, indices) = repeat(self._advance, state, inputs, count, *ends)
            elif exact:
                state, (elements, indices) = lax.scan(self._advance, state, inputs, length=count)
            else:
                state, (elements, indices) = self._run_masked(state, inputs, count)
            self.lookups.note(indices, count)
        for (i, walk), rows in zip(self.walks.writes.items(), elements, strict=True):
            self.inits[i] = walk.put(self.inits[i], rows)
        carry: Carry = state[1] if acts else state
        values = dict(zip(self.changing, carry[1], strict=True))
        self.changing, self.walks = changing, Walks()
        return carry[0], tuple(values[i] if i in values else self.inits[i] for i in changing), carry[2]

    def _advance(self, state: State, inputs: Rows) -> tuple[State, Rows]:
        if not self.regions.condition_acts:
            return self.scan_step(state, inputs)
        carry, outputs = self.scan_step(state[1], inputs)
        return self.test(carry), outputs

    def _goes_on(self, state: State) -> jax.Array:
        return state[0] if self.regions.condition_acts else self.test(state)[0]

    def _rest(self, count: int) -> Rows:
        """The stacks of iterations that do not run: the arrays' own elements, and no lookups."""
        axis, writes = self.lowering.axis, self.walks.writes
        arrays = [vary(jnp.asarray(walk.take(self.inits[i], count)), axis) for i, walk in writes.items()]
        return tuple(arrays), self.lookups.padding_of_all(count)

    def _run_masked(self, state: State, inputs: Rows, bound: int) -> tuple[State, Rows]:
        """Lower to ``lax.scan`` of ``bound`` iterations, of which those after the loop's end pass the state on.

        It has derivatives of any order. For these, iterations without effects are rematerialized, so that values common
        to all iterations are not kept for each.
        """

        def keep(state: State, inputs: Rows) -> tuple[State, Rows]:
            return state, ((), self.lookups.padding(inputs[1]))

        def masked_step(state: State, inputs: Rows) -> tuple[State, Rows]:
            result: tuple[State, Rows] = lax.cond(self._goes_on(state), self._advance, keep, state, inputs)
            return result

        if not self.regions.has_effects:
            masked_step = jax.checkpoint(masked_step, prevent_cse=False)
        result: tuple[State, Rows] = lax.scan(masked_step, state, inputs, length=bound)
        return result

    def _rows(self, tensor: Tensor) -> Any:
        """The value of an array that the loop reads."""
        number = place_of(tensor, self.regions.body_vars)
        return self.lowering.classes.require_one_shape(
            self._value(tensor) if number is None else self.inits[number], tensor
        )

    def _find_walks(self, trajectory: LoopTrajectory, exact: bool) -> None:
        """Find the arrays that become inputs and outputs of iterations (``walks``); see ``scan_arrays``.

        Where the number of iterations is not ``exact``, only those that are walked upwards, and written first.
        """
        if not trajectory.length:
            return
        walks = self.walks
        fixed = [v for i, v in enumerate(self.regions.body_vars) if i not in self.changing]
        for walk in reads_of(self.op, trajectory, fixed):
            array = self._rows(walk.op.inputs[0])
            if not isinstance(array, Unwritten) and walks.admits(walk, array.shape[0], trajectory.length, exact):
                walks.reads.append(walk)
        for i, walk in writes_of(self.op, trajectory, self.changing).items():
            init, new = self.inits[i], self.op.inputs[i].op.type == "TensorArrayV3"
            size = init.size if isinstance(init, Unwritten) else init.shape[0]
            if (exact or new) and walks.admits(walk, size, trajectory.length, exact):
                walks.writes[i] = walk
        self.changing = [i for i in self.changing if i not in walks.writes]

    # ---- iteration by iteration ------------------------------------------------------------------------------

    def _one_by_one(self, count: int | None) -> Carry:
        """Unroll the loop: ``count`` iterations, or (None) while the condition, whose value is known, is true."""
        carry: Carry = (0, tuple(self.inits[i] for i in self.changing), self._first_state())
        limit, regions = self._limit(), self.regions
        while True:
            if count is None or regions.condition_acts:
                child = self._child(regions.cond_vars, carry)
                child.run(regions.cond.needed)
                carry = (*carry[:2], self._state(child))
                if count is None and not (
                    bool(child.value(regions.cond.results[0])) and (limit is None or carry[0] < limit)
                ):
                    break
            if carry[0] == count:
                break
            child = self._child(regions.body_vars, carry)
            self.lookups.enter_unrolled(child, int(carry[0]))
            self.run_body(child)
            self.lookups.leave_unrolled(child)
            values = tuple(leaving(child, regions.body.results[i], self._varies(i), keep=True) for i in self.changing)
            carry = (carry[0] + 1, values, self._state(child))
        return carry
