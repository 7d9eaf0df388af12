"""A differentiable loop of a traced number of iterations: two ``while`` loops, and stacks of residuals between them.

Forwards each iteration keeps the residuals of its ``jax.vjp`` in stacks ``[bound, ...]``; backwards the iterations that
happened are walked in reverse. ``repeat(lambda s, row: (s * w, row), s, rows, 3)`` with a float s:

    forward     i = 0, 1, 2     s -> s * w        stack: s of each iteration; kept once: w
    backward    i = 2, 1, 0     ds -> ds * w,  dw += s[i] * ds

``_Derivative`` traces one iteration with its residuals as a jaxpr and divides its equations: those that depend on
constants alone are evaluated once for the loop (``fixed``), the others in each iteration (``moving``). A residual is
kept in the cheapest place: once if it is the same in all iterations, in the rows or outputs if it is one of them, else
in a stack of its own.

In contrast to ``lax.scan`` nothing runs past the end, and counters are int32 whatever ``jax.enable_x64`` says: with
those the TPU compiler sees that each entry of a stack is written once. It has a first derivative only.

Source: Griewank and Walther, *Evaluating Derivatives*, 2nd ed., SIAM 2008, chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import CustomVJPPrimal, SymbolicZero

from towerstrat.graph.ir.types import Array
from towerstrat.platform.deferred import jax_extend

Carry = TypeVar("Carry")
Row = TypeVar("Row")
Y = TypeVar("Y")
Chosen = TypeVar("Chosen")
Variable: TypeAlias = "jax_extend.core.Var"
Operand: TypeAlias = "jax_extend.core.Var | jax_extend.core.Literal"
Equation: TypeAlias = "jax_extend.core.JaxprEqn"
Aval = Any
"""The abstract value (shape, dtype, varying axes) of a traced value. JAX exports no type that has all of these."""
Counter: TypeAlias = "jax.Array | np.int32"
Cotangents: TypeAlias = "tuple[Sequence[jax.Array | SymbolicZero], Sequence[jax.Array | SymbolicZero]]"
"""Of the last carry and of ``ys``."""
Constants: TypeAlias = "tuple[list[Array], list[Array], list[Array]]"
"""Those of an iteration, those of the condition, and the first stacks of ``ys``."""
Nothing: TypeAlias = "tuple[list[None], list[None]]"
"""The cotangents of the other constants than those of an iteration."""
Outputs: TypeAlias = "tuple[Sequence[Array], Sequence[Array]]"
"""The last carry, and the stacks of ``ys``."""
Gradients: TypeAlias = "list[jax.Array | None]"
"""None where no cotangent is asked for."""
Pulled: TypeAlias = "tuple[tuple[Gradients, list[None], list[None]], Gradients, Gradients]"
"""The cotangents of constants, first carry and rows."""
Primals: TypeAlias = "Sequence[CustomVJPPrimal]"
_State: TypeAlias = "tuple[Counter, Sequence[Array], Sequence[Array], Sequence[Array]]"
"""Of a loop forwards: the counter, the carry, the stacks of ``ys`` and of residuals."""
_Back: TypeAlias = "tuple[Counter, list[jax.Array], list[jax.Array], list[jax.Array]]"
"""Of a loop backwards: the counter, the cotangents of constants, of the carry, and the stacks of those of rows."""
ONE = np.int32(1)


def repeat(
    step: Callable[[Carry, Row], tuple[Carry, Y]],
    carry: Carry,
    rows: Row,
    bound: int,
    test: Callable[[Carry], Array] | None = None,
    initial: object = (),
) -> tuple[Carry, Y]:
    """Iterate ``carry, y = step(carry, row)``, ``bound`` times or while ``test(carry)``; once differentiable.

    Args:
      step: (carry, row) -> (carry, y), traced once; the carry keeps its structure, shapes and dtypes.
      carry: a pytree of arrays.
      rows: one of arrays, of which each iteration gets a row; as many rows as there are iterations at least.
      bound: the most iterations there may be, 1 or more.
      test: a scalar bool, evaluated before each iteration; None: there are ``bound`` iterations.
      initial: with ``test``, the initial stacks of ``y``, which entries of iterations that do not happen keep. It has
        no derivative.

    Returns:
      The last carry, and ``y`` of all iterations, stacked.
    """
    first = jax.tree.map(lambda row: lax.index_in_dim(row, 0, keepdims=False), rows)
    one, shapes = jax.make_jaxpr(step, return_shape=True)(carry, first)
    asked = None if test is None else jax.make_jaxpr(test)(carry)
    leaves = jax.tree.leaves(carry)
    loop = _Loop(_Function(one), None if asked is None else _Function(asked), len(leaves), bound)
    function = jax.custom_vjp(loop.run)
    # With symbolic zeros the rule sees which inputs are perturbed, and keeps residuals for these alone.
    function.defvjp(loop.forward, lambda pull, cotangents: pull(cotangents), symbolic_zeros=True)
    consts = (list(one.consts), [] if asked is None else list(asked.consts), jax.tree.leaves(initial))
    after, ys = function(consts, leaves, jax.tree.leaves(rows))
    result: tuple[Carry, Y] = jax.tree.unflatten(jax.tree.structure(shapes), [*after, *ys])
    return result


class _Function:
    """A traced function of its constants and its arguments."""

    def __init__(self, closed: jax_extend.core.ClosedJaxpr):
        jaxpr = closed.jaxpr
        self.constants = len(jaxpr.constvars)
        self.jaxpr = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
        self.avals = [_aval(v) for v in jaxpr.outvars]

    def __call__(self, *inputs: Array) -> list[jax.Array]:
        return _evaluate(self.jaxpr, inputs)

    def reach(self, active: Sequence[bool]) -> list[bool]:
        """For each output whether it may have a derivative by an ``active`` input, by types and equations alone."""
        variables = set(_select(self.jaxpr.invars, active))
        for equation in self.jaxpr.eqns:
            if not variables.isdisjoint(_variables(equation.invars)):
                variables.update(v for v in equation.outvars if jnp.issubdtype(_aval(v).dtype, jnp.inexact))
        return [not variables.isdisjoint(_variables([v])) for v in self.jaxpr.outvars]


class _Loop:
    """One loop, traced.

    Args:
      one: an iteration: (carry, row) -> (carry, y). asked: the condition, of the carry.
      size: number of arrays in the carry. bound: as of ``repeat``.

    Constants are those of ``one``, those of ``asked``, and the ``initial`` stacks.
    """

    def __init__(self, one: _Function, asked: _Function | None, size: int, bound: int):
        self.one = one
        self.asked = asked
        self.size = size
        self.bound = bound

    def run(self, consts: Constants, carry: Sequence[Array], rows: Sequence[Array]) -> Outputs:
        """Run the loop: (last carry, stacks of ``ys``)."""
        return self.evaluate(consts, carry, rows, lambda *inputs: (self.one(*inputs), []), [])[1]

    def evaluate(
        self, consts: Constants, carry: Sequence[Array], rows: Sequence[Array],
        iterate: Callable[..., tuple[list[jax.Array], list[jax.Array]]], stacks: Sequence[jax.Array],
    ) -> tuple[Counter, Outputs, Sequence[Array]]:  # fmt: skip
        """Run the loop: (number of iterations, the result of ``run``, the ``stacks`` filled by ``iterate``)."""

        def goes_on(state: _State) -> jax.Array | np.bool_:
            within = state[0] < np.int32(self.bound)
            return within if self.asked is None else within & self.asked(*consts[1], *state[1])[0]

        def body(state: _State) -> _State:
            i, carry, ys, stacks = state
            outputs, residuals = iterate(*consts[0], *carry, *_at(rows, i))
            return i + ONE, outputs[: self.size], _put(ys, outputs[self.size :], i), _put(stacks, residuals, i)

        ys = self.stacks(self.one.avals[self.size :]) if self.asked is None else list(consts[2])
        start: _State = (self.zero(), list(carry), ys, stacks)
        count, last, stacked, filled = lax.while_loop(goes_on, body, start)
        return np.int32(self.bound) if self.asked is None else count, (last, stacked), filled

    def zero(self) -> Counter:
        """The initial counter; it varies if the condition does: shards may count differently."""
        return np.int32(0) if self.asked is None else _as_type(jnp.int32(0), self.asked.avals[0])

    def stacks(self, avals: Iterable[Aval]) -> list[jax.Array]:
        """Stacks of which each iteration fills an entry.

        Where all are filled the TPU compiler makes no zeros; else it would write some for each step.
        """
        if self.asked is None:
            return [_zeros(aval, self.bound) for aval in avals]
        # An entry is written where the counter says, so that all of a stack varies as that does.
        varies = self.asked.avals[0]
        return [_empty(a if a.manual_axis_type.varying else varies.update(shape=a.shape, dtype=a.dtype), self.bound)
                for a in avals]  # fmt: skip

    def forward(
        self, consts: Sequence[Primals], carry: Primals, rows: Primals
    ) -> tuple[Outputs, Callable[[Cotangents], Pulled]]:
        """The forward rule of ``jax.custom_vjp``: the result of ``run``, and its pullback."""
        perturbed = [x.perturbed for x in (*consts[0], *carry, *rows)]
        parts: Iterator[list[Array]] = ([x.value for x in part] for part in (*consts, carry, rows))
        steps, asked, initial, begin, every = parts
        first = [lax.index_in_dim(row, 0, keepdims=False) for row in every]
        derivative = _Derivative(self, perturbed, [*steps, *begin, *first], [len(row) for row in every])
        common = derivative.common(steps)
        empty = self.stacks(_aval(v) for v in derivative.kept["stacked"])
        iterate = partial(derivative.iterate, common)
        count, outputs, stacks = self.evaluate((steps, asked, initial), begin, every, iterate, empty)
        shared = [_read(v, common) for v in derivative.kept["shared"]]
        nothing = [None] * len(asked), [None] * len(initial)
        residuals = {"stacked": stacks, **derivative.kept_anyway({"rows": every, "ys": outputs[1]})}
        return outputs, jax.tree_util.Partial(derivative.pull, count, residuals, shared, nothing)


class _Derivative:
    """The derivative of one iteration: its residuals, and the pullback of the loop.

    Args:
      perturbed: for each constant, array of the first carry and row whether it has a cotangent.
      inputs: constants, carry and row of an iteration. lengths: number of rows of each.

    Attributes:
      active: which inputs of an iteration have cotangents; reached: which of its outputs.
      fixed: equations that are the same in all iterations; moving: those of each.
      kept: the residuals by their place: "stacked", or once, "shared"; among the "rows" or the "ys", of
        which there are stacks anyway.
      places: for each residual a key of ``kept``, and its index there.
    """

    def __init__(self, loop: _Loop, perturbed: Sequence[bool], inputs: Sequence[Array], lengths: Sequence[int]):
        self.loop = loop
        self.lengths = lengths
        self.constants = loop.one.constants
        self.end = self.constants + loop.size
        self.active, self.reached = self._active(perturbed)
        self.tree: jax.tree_util.PyTreeDef
        closed = jax.make_jaxpr(self._with_residuals)(*inputs)
        self.jaxpr, self.consts = closed.jaxpr, closed.consts
        self.fixed: list[Equation] = []
        self.moving: list[Equation] = []
        moved = self._divide()
        self.kept: dict[str, list[Operand]] = {kind: [] for kind in ("stacked", "shared", "rows", "ys")}
        self.places = [self._place(v, moved) for v in self.jaxpr.outvars[len(self.reached) :]]

    def _active(self, perturbed: Sequence[bool]) -> tuple[list[bool], list[bool]]:
        """For each input and output of an iteration whether it has a cotangent: a fixpoint over the carry."""
        active = list(perturbed)
        while True:
            reached = self.loop.one.reach(active)
            before = active[self.constants : self.end]
            after = [a or r for a, r in zip(before, reached, strict=False)]
            if after == before:
                return active, [*after, *reached[self.loop.size :]]
            active[self.constants : self.end] = after

    def _with_residuals(self, *inputs: Array) -> tuple[list[jax.Array], list[jax.Array]]:
        """Evaluate an iteration: (outputs, residuals of its VJP)."""

        def of_active(*args: Array) -> tuple[list[jax.Array], list[jax.Array]]:
            values = iter(args)
            outputs = self.loop.one(*(next(values) if a else x for x, a in zip(inputs, self.active, strict=True)))
            return _select(outputs, self.reached), outputs

        _, pull, outputs = jax.vjp(of_active, *_select(inputs, self.active), has_aux=True)
        residuals, self.tree = jax.tree.flatten(pull)
        return outputs, residuals

    def _divide(self) -> set[Variable]:
        """Divide the equations into ``fixed`` and ``moving``; return the variables that differ by iteration.

        Equations of no inputs (zeros, a range) are in both: they are evaluated where they are used, as the compiler
        would.
        """
        moved: set[Variable] = set(self.jaxpr.invars[self.constants :])
        free: set[Variable] = set()
        for equation in self.jaxpr.eqns:
            used = _variables(equation.invars)
            moves = bool(equation.effects) or not moved.isdisjoint(used)
            if moves:
                moved.update(equation.outvars)
            else:
                self.fixed.append(equation)
            if moves or free.issuperset(used):
                self.moving.append(equation)
                free.update(() if moves else equation.outvars)
        return moved

    def _place(self, residual: Operand, moved: set[Variable]) -> tuple[str, int]:
        kinds = self._stacks().items()
        kind = next((kind for kind, variables in kinds if any(residual is v for v in variables)), "stacked")
        if not _variables([residual]) or residual not in moved:
            kind = "shared"
        return kind, _index_in(self.kept[kind], residual)

    def _stacks(self) -> dict[str, Sequence[Operand]]:
        """The variables that are stacked in any case: the rows, and ``ys``."""
        ys = self.jaxpr.outvars[self.loop.size : len(self.reached)]
        return {"rows": self.jaxpr.invars[self.end :], "ys": ys}

    def kept_anyway(self, arrays: Mapping[str, Sequence[Array]]) -> dict[str, list[Array]]:
        """Select those stacks of rows and of ``ys`` that hold residuals."""
        return {
            kind: [arrays[kind][_index_in(list(variables), v)] for v in self.kept[kind]]
            for kind, variables in self._stacks().items()
        }

    def common(self, consts: Sequence[Array]) -> dict[Variable, Array]:
        """The values of variables that all iterations have in common."""
        values = dict(zip([*self.jaxpr.constvars, *self.jaxpr.invars], [*self.consts, *consts], strict=False))
        outputs = [v for e in self.fixed for v in e.outvars if not isinstance(v, jax_extend.core.DropVar)]
        return values | dict(zip(outputs, self._evaluate(self.fixed, values, outputs), strict=True))

    def iterate(self, common: Mapping[Variable, Array], *inputs: Array) -> tuple[list[jax.Array], list[jax.Array]]:
        """Evaluate an iteration: (outputs, residuals to stack)."""
        values = {**common, **dict(zip(self.jaxpr.invars, inputs, strict=True))}
        outputs = self.jaxpr.outvars[: len(self.reached)]
        results = self._evaluate(self.moving, values, [*outputs, *self.kept["stacked"]])
        return results[: len(outputs)], results[len(outputs) :]

    def _evaluate(
        self, equations: Sequence[Equation], values: Mapping[Variable, Array], requested: Sequence[Operand]
    ) -> list[jax.Array]:
        outputs = {v for e in equations for v in e.outvars}
        used = [*(v for e in equations for v in _variables(e.invars)), *_variables(requested)]
        operands = list(dict.fromkeys(v for v in used if v not in outputs))
        jaxpr = self.jaxpr.replace(constvars=[], invars=operands, outvars=list(requested), eqns=list(equations))
        return _evaluate(jaxpr, [values[v] for v in operands])

    def pull(
        self, count: Counter, residuals: Mapping[str, Sequence[Array]], shared: list[Array], nothing: Nothing,
        cotangents: Cotangents,
    ) -> Pulled:  # fmt: skip
        """Pull cotangents of the last carry and ``ys`` back to those of constants, first carry and rows."""
        avals = _select([_aval(v) for v in self.jaxpr.invars], self.active)
        first, last = sum(self.active[: self.constants]), sum(self.active[: self.end])
        size, lengths = self.loop.size, _select(self.lengths, self.active[self.end :])
        of_ys = _select(cotangents[1], self.reached[size:])

        def body(state: _Back) -> _Back:
            done, sums, carried, row_cotangents = state
            i = count - ONE - done
            values = {kind: _at(arrays, i) for kind, arrays in residuals.items()} | {"shared": shared}
            pull = jax.tree.unflatten(self.tree, [values[kind][number] for kind, number in self.places])
            of_step = pull([*carried, *(_row_of(c, i) for c in of_ys)])
            sums = [total + new for total, new in zip(sums, of_step[:first], strict=True)]
            return done + ONE, sums, list(of_step[first:last]), _put(row_cotangents, of_step[last:], i)

        start = (
            self.loop.zero(),
            [_zeros(aval) for aval in avals[:first]],
            [_instantiate(c) for c in _select(cotangents[0], self.reached[:size])],
            [_zeros(aval, length) for aval, length in zip(avals[last:], lengths, strict=True)],
        )
        _, sums, carried, row_cotangents = lax.while_loop(lambda state: state[0] < count, body, start)
        results = iter([*sums, *carried, *row_cotangents])
        every = [next(results) if a else None for a in self.active]
        return (every[: self.constants], *nothing), every[self.constants : self.end], every[self.end :]


# ---- values ------------------------------------------------------------------------------------------------------


def _aval(operand: Operand) -> Aval:
    return operand.aval


def _evaluate(jaxpr: jax_extend.core.Jaxpr, inputs: Sequence[Array]) -> list[jax.Array]:
    """The outputs of a jaxpr without constants."""
    outputs: list[jax.Array] = jax_extend.core.jaxpr_as_fun(jax_extend.core.ClosedJaxpr(jaxpr, []))(*inputs)
    return outputs


def _variables(operands: Iterable[Operand]) -> list[Variable]:
    return [v for v in operands if not isinstance(v, jax_extend.core.Literal)]


def _read(operand: Operand, values: Mapping[Variable, Array]) -> Array:
    return operand.val if isinstance(operand, jax_extend.core.Literal) else values[operand]


def _select(values: Iterable[Chosen], which: Iterable[bool]) -> list[Chosen]:
    return [value for value, chosen in zip(values, which, strict=True) if chosen]


def _index_in(operands: list[Operand], operand: Operand) -> int:
    """The index of an operand in a list; a new one is appended."""
    index = next((i for i, other in enumerate(operands) if other is operand), len(operands))
    if index == len(operands):
        operands.append(operand)
    return index


def _as_type(value: jax.Array, aval: Aval) -> jax.Array:
    """A value, cast to vary along the axes along which its type varies."""
    axes = tuple(sorted(aval.manual_axis_type.varying))
    return lax.pcast(value, axes, to="varying") if axes else value


def _zeros(aval: Aval, *sizes: int) -> jax.Array:
    return _as_type(jnp.zeros((*sizes, *aval.shape), aval.dtype), aval)


def _empty(aval: Aval, *sizes: int) -> jax.Array:
    return _as_type(lax.empty((*sizes, *aval.shape), aval.dtype), aval)


def _at(arrays: Iterable[Array], i: Counter) -> list[jax.Array]:
    """The entry ``i`` of each array."""
    return [lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False) for x in arrays]


def _put(arrays: Iterable[Array], values: Iterable[Array], i: Counter) -> list[jax.Array]:
    """Arrays with ``values`` as entries ``i``."""
    return [
        lax.dynamic_update_index_in_dim(x, v, i, 0, allow_negative_indices=False)
        for x, v in zip(arrays, values, strict=True)
    ]


def _instantiate(cotangent: jax.Array | SymbolicZero) -> jax.Array:
    return _zeros(cotangent.aval) if isinstance(cotangent, SymbolicZero) else cotangent


def _row_of(cotangent: jax.Array | SymbolicZero, i: Counter) -> jax.Array:
    """The entry ``i`` of a stack of cotangents."""
    if isinstance(cotangent, SymbolicZero):
        aval: Aval = cotangent.aval
        return _zeros(aval.update(shape=aval.shape[1:]))
    return _at([cotangent], i)[0]
