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
body instead, and its value carried (``cond_acts``). Arrays that nothing was written to yet get their shape by
``jax.eval_shape`` of the body (``shape_arrays``). Row lookups inside pass through the loop as zeros in and indices out,
so that their cotangents stay rows.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph_elements import Operation, Tensor, has_effect, place_of
from towerstrat.graph.ir.mesh import vary
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, string
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.lowering_errors import NeedsStatic, NeedsTripCount
from towerstrat.graph.lowering.row_cotangents import Lookups
from towerstrat.graph.ops.control.regions import bind, described, entering, leaving, state_type
from towerstrat.graph.ops.control.residual_stacks import repeat
from towerstrat.graph.ops.control.scan_arrays import Walk, indices_in, reads_of, writes_of
from towerstrat.graph.ops.control.tensor_array_lowering import Grows, Unwritten, Value
from towerstrat.graph.ops.control.trip_counts import (
    LoopTrajectory,
    control_of,
    evaluate_control,
    evaluate_counters,
    unknown,
)

_UNROLLED = 1024
"""Iterations up to which a loop whose shapes change is unrolled."""

Rows = tuple[Sequence[Array], list[Array]]
"""Inputs or outputs of an iteration beside the carry: elements of arrays; zeros or indices of row lookups."""
Carry = tuple[Array | np.int32 | int, tuple[Any, ...], tuple[Array, ...]]
"""(number of iterations so far, loop variables that change, state variables that are written): arrays."""
State = Any
"""The carry; with ``cond_acts`` (whether the loop goes on, the carry)."""


class Changes(Exception):
    """A loop variable has another shape or dtype after an iteration than before."""


def lower_while(lowering: Lowering, op: Operation) -> list[Value]:
    """Evaluate a loop; return the final loop variables and the number of iterations."""
    return Loop(lowering, op).run()


class Loop:
    """One evaluation of a loop.

    Args:
      inits: the loop variables, where a caller runs iterations on its own; then it applies ``maximum_iterations``
        itself.

    Attributes:
      given: replicated values of inputs that do not vary (see ``entering``).
      changing: indices of the loop variables that the body changes; only these are carried.
      reads, writes: arrays that are inputs and outputs of the iterations, while they are built; unsure: those of these
        operations whose index may lie outside of the array.
      keys: the row lookups inside whose cotangents stay rows.
      cond_acts: whether evaluating the condition has effects: writes, checks, others.
    """

    def __init__(self, lowering: Lowering, op: Operation, inits: Sequence[Value] | None = None):
        self.lowering = lowering
        self.op = op
        self.cond, self.body = op.bodies
        self.cond_vars, self.body_vars = op.attrs["variables"]
        self.size = len(self.body_vars)
        self.given = entering(lowering, op.inputs if inits is None else op.inputs[self.size :])
        self.maximum = self._value(op.inputs[self.size]) if op.attrs["bounded"] and inits is None else None
        self.inits: list[Any] = [self._value(t) for t in op.inputs[: self.size]] if inits is None else list(inits)
        self.cells = lowering.cells_of(op)
        self._ungated: set[StateVariable] = set()
        self.changing = [
            i for i, (r, v) in enumerate(zip(self.body.results, self.body_vars, strict=True)) if r is not v
        ]
        self.reads: list[Walk] = []
        self.writes: dict[int, Walk] = {}
        self.unsure: list[Operation] = []
        self.lookups = lowering.vjp.lookups
        self._looked_up: Lookups | None = None
        self.keys = [] if self.lookups is None else self.lookups.keys_in(op)
        self.cond_acts = any(inner.writes or inner.checks or has_effect(inner) for inner in self.cond.needed)

    def _value(self, tensor: Tensor) -> Any:
        return self.given[tensor] if tensor in self.given else self.lowering.value(tensor)

    def _varies(self, output: int) -> bool:
        """Whether JAX types an output as varying: where gradients are taken everything is."""
        return self.lowering.vjp.active or self.op.outputs[output].varies

    # ---- one iteration ---------------------------------------------------------------------------------------

    def _child(self, variables: Sequence[Tensor], carry: Carry) -> Lowering:
        """A fork of the lowering for one of the regions, with the carry's values."""
        values = list(self.inits)
        for i, value in zip(self.changing, carry[1], strict=True):
            values[i] = value
        return self.lowering.fork(bind(variables, values, self.given), dict(zip(self.cells, carry[2], strict=True)))

    def _state(self, child: Lowering) -> tuple[Array, ...]:
        self._ungated.update(c for c in self.cells if not child.errors.is_masked(c))
        return tuple(child.state[c] for c in self.cells)

    def test(self, carry: Carry) -> tuple[jax.Array, Carry]:
        """Evaluate the condition: (whether there is another iteration, the carry with the state after it)."""
        child = self._child(self.cond_vars, carry)
        child.run(self.cond.needed)
        result = self.cond.results[0]
        goes_on = jnp.reshape(leaving(child, result, self.lowering.vjp.active or result.varies), ())
        if self.maximum is not None:
            goes_on = goes_on & (carry[0] < jnp.asarray(self.maximum, jnp.int32))
        return goes_on, (carry[0], carry[1], self._typed(self._state(child)))

    def run_body(self, child: Lowering, but: Set[Operation] = frozenset()) -> None:
        """Evaluate the body, without the operations in ``but``, whose outputs are known."""
        child.run([op for op in self.body.needed if op not in but] if but else self.body.needed)

    def step(self, carry: Carry) -> Carry:
        """Evaluate one iteration: carry -> carry.

        Raises:
          Changes: the shape of a loop variable would not be the same afterwards.
        """
        return self.scan_step(carry, ((), []))[0]

    def scan_step(self, carry: Carry, given: Rows) -> tuple[Carry, Rows]:
        """Evaluate one iteration as a step of ``lax.scan``.

        Args:
          carry: (int32 number of the iteration, the loop variables that change, the state).
          given: the elements of arrays that it reads, one per entry of ``reads``; the zeros of the row lookups inside.

        Returns:
          The carry; the elements that it writes, one per entry of ``writes``, and the indices of the row lookups.
        """
        rows, zeros = given
        child = self._child(self.body_vars, carry)
        if self.lookups is not None:
            child.vjp.lookups = self._looked_up = self.lookups.step(dict(zip(self.keys, zeros, strict=True)))
        child.values.update((walk.op.outputs[0], row) for walk, row in zip(self.reads, rows, strict=True))
        for walk in self.reads:
            self._check(child, walk)
        self.run_body(child, {walk.op for walk in (*self.reads, *self.writes.values())})
        for walk in self.writes.values():
            self._check(child, walk)
        made = tuple(leaving(child, walk.op.inputs[2], self._varies(i)) for i, walk in self.writes.items())
        values = tuple(leaving(child, self.body.results[i], self._varies(i)) for i in self.changing)
        if [described(v) for v in values] != [described(v) for v in carry[1]]:
            raise Changes
        indices = [] if child.vjp.lookups is None else child.vjp.lookups.of(self.keys)
        return (carry[0] + np.int32(1), values, self._typed(self._state(child))), (made, indices)

    def _check(self, child: Lowering, walk: Walk) -> None:
        """Check the index of a read or write that became a scan's input or output, where it may be out of range."""
        if walk.op in self.unsure:
            child.check(walk.op)

    def _typed(self, state: Sequence[Array]) -> tuple[Array, ...]:
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
        return vary(count, axis) if self._varies(self.size) else count, tuple(values), self._typed(state)

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
        found = evaluate_control(self.lowering, self.op, self._limit()) if self.lowering.vjp.active else None
        try:
            self.shape_arrays()
            return self._finish(self._compiled(found))
        except (Changes, Grows):
            found = found or evaluate_control(self.lowering, self.op, self._limit())
            if found is None or found.length > _UNROLLED:
                raise self._needs_course() from None
        again = Loop(self.lowering, self.op)
        return again._finish(again._one_by_one(found.length))

    def _limit(self) -> int | None:
        """``maximum_iterations`` as a number, where it is known while lowering."""
        return None if self.maximum is None or isinstance(self.maximum, jax.core.Tracer) else int(self.maximum)

    def _needs_course(self) -> NeedsStatic:
        """The request for the value of the first unknown input of the control part."""
        control = control_of(self.op)
        tensor = unknown(self.lowering, self.op, control) if control is not None else None
        return NeedsStatic(self.op, (place_of(tensor, self.op.inputs) or 0) if tensor is not None else 0)

    def _finish(self, carry: Carry) -> list[Value]:
        """Write the state back; return the outputs from the final carry."""
        count, changed, state = carry
        before = self.lowering.errors.record
        for cell, value in zip(self.cells, state, strict=True):
            self.lowering.state.write(cell, value, None if cell in self._ungated else before)
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
            found: list[Value] = []

            def probe(found: list[Value] = found) -> tuple[()]:
                child = self._child(
                    self.body_vars, (0, tuple(self.inits[i] for i in self.changing), self._first_state())
                )
                # The zeros of the row lookups are those of all iterations, too many for one.
                child.vjp.lookups = None
                self.run_body(child)
                found.extend(child.value(r) for r in self.body.results)
                return ()

            jax.eval_shape(probe)
            before = len(self.changing)
            for i in list(self.changing):
                init, result = self.inits[i], found[i]
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

    def _compiled(self, found: LoopTrajectory | None) -> Carry:
        """Evaluate the loop as one JAX loop. ``found``: its evaluated control part, where it is known."""
        # A derivative drops calls that depend on nothing: the last test makes its own where it might not be due.
        calls = any(has_effect(inner) and not inner.writes for inner in self.cond.needed)
        if found is not None and not calls:
            return self._differentiable(found, exact=True)
        if not self.lowering.vjp.active:
            return self._loop()
        bound = self._limit() if found is None else found.length
        if bound is None:
            bound = self.lowering.trip_counts.get(self.op)
        if bound is None:
            raise NeedsTripCount(self.op)
        counters = () if self.lowering.vjp.nested else indices_in(self.op)
        return self._differentiable(evaluate_counters(self.lowering, self.op, counters, bound), exact=False)

    def _loop(self) -> Carry:
        """Lower to ``lax.while_loop``, which has no gradient. A condition that acts is evaluated in its body."""
        if not self.cond_acts:
            return lax.while_loop(lambda c: self.test(c)[0], self.step, self.start())
        return lax.while_loop(lambda c: c[0], lambda c: self.test(self.step(c[1])), self.test(self.start()))[1]

    def _differentiable(self, found: LoopTrajectory, exact: bool) -> Carry:
        """Lower to a differentiable loop of ``found.length`` iterations, or at most so many where that is not exact.

        A condition that acts is evaluated before the first iteration and after each: it cannot act in one of JAX.
        """
        count, changing = found.length, self.changing
        self._find_walks(found, exact)
        state: State = self.test(self.start()) if self.cond_acts else self.start()
        made: Sequence[Any] = ()
        if count:
            rows = tuple(walk.taken(self._rows(walk.op.inputs[0]), count) for walk in self.reads)
            given = (rows, self._zeros(count))
            if not self.lowering.vjp.nested:
                ends = () if exact else (self._goes_on, self._rest(count))
                state, (made, indices) = repeat(self._advanced, state, given, count, *ends)
            elif exact:
                state, (made, indices) = lax.scan(self._advanced, state, given, length=count)
            else:
                state, (made, indices) = self._masked(state, given, count)
            self._note(indices, count)
        for (i, walk), elements in zip(self.writes.items(), made, strict=True):
            self.inits[i] = walk.put(self.inits[i], elements)
        carry: Carry = state[1] if self.cond_acts else state
        values = dict(zip(self.changing, carry[1], strict=True))
        self.changing, self.reads, self.writes, self.unsure = changing, [], {}, []
        return carry[0], tuple(values[i] if i in values else self.inits[i] for i in changing), carry[2]

    def _advanced(self, state: State, given: Rows) -> tuple[State, Rows]:
        if not self.cond_acts:
            return self.scan_step(state, given)
        carry, made = self.scan_step(state[1], given)
        return self.test(carry), made

    def _goes_on(self, state: State) -> jax.Array:
        return state[0] if self.cond_acts else self.test(state)[0]

    def _rest(self, count: int) -> Rows:
        """The stacks of iterations that do not run: the arrays' own elements, and no lookups."""
        axis = self.lowering.axis
        arrays = [vary(jnp.asarray(walk.taken(self.inits[i], count)), axis) for i, walk in self.writes.items()]
        if self.lookups is None:
            return tuple(arrays), []
        rest = self.lookups.skipped(self.keys, [zeros[0] for zeros in self._zeros(count)])
        return tuple(arrays), [jnp.broadcast_to(r, (count, *r.shape)) for r in rest]

    def _masked(self, state: State, given: Rows, bound: int) -> tuple[State, Rows]:
        """Lower to ``lax.scan`` of ``bound`` iterations, of which those after the loop's end pass the state on.

        It has derivatives of any order. For these, iterations without effects are rematerialized, so that values common
        to all iterations are not kept for each.
        """

        def keep(state: State, given: Rows) -> tuple[State, Rows]:
            return state, ((), [] if self.lookups is None else self.lookups.skipped(self.keys, given[1]))

        def masked(state: State, given: Rows) -> tuple[State, Rows]:
            result: tuple[State, Rows] = lax.cond(self._goes_on(state), self._advanced, keep, state, given)
            return result

        if not any(has_effect(inner) for block in (self.cond, self.body) for inner in block.needed):
            masked = jax.checkpoint(masked, prevent_cse=False)
        result: tuple[State, Rows] = lax.scan(masked, state, given, length=bound)
        return result

    def _zeros(self, count: int) -> list[Array]:
        """The zeros of the row lookups in ``count`` iterations."""
        return [] if self.lookups is None else self.lookups.split(self.keys, count)

    def _note(self, indices: list[Array], count: int) -> None:
        """Enter the indices that ``count`` iterations have looked up."""
        if self.lookups is not None and self._looked_up is not None:
            self.lookups.join(self.keys, indices)
            self.lookups.repeat(self._looked_up, count)

    def _rows(self, tensor: Tensor) -> Any:
        """The value of an array that the loop reads."""
        place = place_of(tensor, self.body_vars)
        return self.lowering.classes.require_one_shape(
            self._value(tensor) if place is None else self.inits[place], tensor
        )

    def _find_walks(self, found: LoopTrajectory, exact: bool) -> None:
        """Find the arrays that become inputs (``reads``) and outputs (``writes``) of iterations; see ``scan_arrays``.

        Where the number of iterations is not ``exact``, only those that are walked upwards, and written first.
        """
        if not found.length:
            return
        fixed = [v for i, v in enumerate(self.body_vars) if i not in self.changing]
        for walk in reads_of(self.op, found, fixed):
            array = self._rows(walk.op.inputs[0])
            if not isinstance(array, Unwritten) and self._walks(walk, array.shape[0], found.length, exact):
                self.reads.append(walk)
        for i, walk in writes_of(self.op, found, self.changing).items():
            init, new = self.inits[i], self.op.inputs[i].op.type == "TensorArrayV3"
            size = init.size if isinstance(init, Unwritten) else init.shape[0]
            if (exact or new) and self._walks(walk, size, found.length, exact):
                self.writes[i] = walk
        self.changing = [i for i in self.changing if i not in self.writes]

    def _walks(self, walk: Walk, size: int, count: int, exact: bool) -> bool:
        """Whether a read or write may walk an array of ``size`` elements; ``unsure`` if it may run past the end."""
        if walk.fits(size, count) and (exact or walk.step == 1):
            return True
        if exact or not walk.begins(size):
            return False
        self.unsure.append(walk.op)
        return True

    # ---- iteration by iteration ------------------------------------------------------------------------------

    def _one_by_one(self, count: int | None) -> Carry:
        """Unroll the loop: ``count`` iterations, or (None) while the condition, whose value is known, is true."""
        carry: Carry = (0, tuple(self.inits[i] for i in self.changing), self._first_state())
        limit = self._limit()
        while True:
            if count is None or self.cond_acts:
                child = self._child(self.cond_vars, carry)
                child.run(self.cond.needed)
                carry = (*carry[:2], self._state(child))
                if count is None and not (
                    bool(child.value(self.cond.results[0])) and (limit is None or carry[0] < limit)
                ):
                    break
            if carry[0] == count:
                break
            child = self._child(self.body_vars, carry)
            if self.lookups is not None:
                child.vjp.lookups = self.lookups.region((self.op, int(carry[0])))
            self.run_body(child)
            if self.lookups is not None:
                self.lookups.take(child.vjp.lookups)
            values = tuple(leaving(child, self.body.results[i], self._varies(i), keep=True) for i in self.changing)
            carry = (carry[0] + 1, values, self._state(child))
        return carry
