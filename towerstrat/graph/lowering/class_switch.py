"""Compile a function whose shapes differ by tower: each tower runs the equations of its own shard class.

An SPMD program has one shape per array for all shards. A batch of 5 on two towers is 3 and 2 rows: both are padded to
3, and each tower slices its own rows again, under a ``lax.switch`` over its shard class (see ``shard_classes``). The
function is traced once by ``jax.make_jaxpr``, with what depends on uneven inputs traced once per class, and the jaxpr
is then cut into switches:

    traced                                          compiled
    a0: f32[3,d] = slice x    a1: f32[2,d] = ...    switch(class): branch 0: a0, s0    branch 1: a1, s1
    s0 = sum(a0 @ w)          s1 = sum(a1 @ w)                     -> s
    s = joined(class, s0, s1)                       t = psum(s)
    t = psum(s)

A jitted call of the name ``JOINED`` marks where one value is selected out of the classes' ones; one named ``SAME``
marks a value of the first class that all share:

>>> from towerstrat.graph.lowering.shard_classes import mark_equal
>>> jaxpr = jax.make_jaxpr(lambda x: mark_equal(x) + 1.0)(1.0).jaxpr
>>> [_is_call(equation, SAME) for equation in jaxpr.eqns]
[True, False]

A collective is never put in a branch: towers of other classes would
not take part, and the program would hang. So one switch may need what a collective made of another's result: there are
as many switches, one after the other, as ``_ClassAnalysis`` finds levels.

Differentiation comes before: the trace contains the backward pass, whose values of the forward pass cross from an
earlier switch to a later one as residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.mesh import undivided, vary, whole
from towerstrat.graph.ir.types import Array
from towerstrat.graph.ir.uneven_shards import exactly
from towerstrat.graph.lowering.shard_classes import (
    JOINED,
    SAME,
    ByClass,
    ShardClasses,
    largest,
    padded,
    shard_classes_in_scope,
)
from towerstrat.platform.deferred import jax_extend

Variable = Any
"""A ``Var`` of a jaxpr. JAX exports no type for it that mypy could check attributes on."""
Equation = Any
"""A ``JaxprEqn``, likewise."""
Atom = Any
"""An operand of an equation: a variable or a literal."""

_COLLECTIVES = ("psum", "all_gather", "pmax", "pmin", "ppermute", "all_to_all", "reduce_scatter")


def switch_by_class(
    classes: ShardClasses, function: Callable[[Any, Sequence[ByClass]], Any], inputs: Any, uneven: Sequence[Any]
) -> Any:
    """``function(inputs, exact)``, with each shard computing its own class only.

    The function is traced once. ``exact`` holds the uneven values at their shapes in each class; what depends on them
    is traced per class, and ``padded_value`` selects one value out of those of all classes. The equations before a
    selection become branches of a ``lax.switch``; there are several switches where one needs what collectives made of
    the selected values of another.

    Args:
      classes: the shard classes of the axis.
      function: takes ``inputs`` and a ``ByClass`` per uneven value; returns a pytree of arrays.
      inputs: a pytree of arrays.
      uneven: for each entry of ``classes.shapes`` this shard's value, padded.

    Returns:
      What ``function`` returns, a pytree of arrays.
    """
    inputs, uneven = whole((inputs, uneven))
    exact = [[value[exactly(shape)] for shape in shapes] for value, shapes in zip(uneven, classes.shapes, strict=True)]

    def trace(inputs: Any, exact: Any) -> Any:
        return function(inputs, [ByClass(values) for values in exact])

    with undivided():
        closed, form = jax.make_jaxpr(trace, return_shape=True)(inputs, exact)
    leaves = jax.tree.leaves(inputs)
    if classes.count == 1:
        results = jax_extend.core.jaxpr_as_fun(closed)(*leaves, *jax.tree.leaves(exact))
    else:
        results = _Switches(classes, closed, leaves, uneven).run()
    return whole(jax.tree.unflatten(jax.tree.structure(form), results))


def _is_call(equation: Equation, name: str) -> bool:
    return equation.primitive.name in ("jit", "pjit") and equation.params["name"] == name


def _is_collective(equation: Equation) -> bool:
    """Whether shards wait for each other in the equation or in a jaxpr inside it."""
    if equation.primitive.name.startswith(_COLLECTIVES):
        return True
    return any(_is_collective(e) for jaxpr in jax_extend.core.jaxprs_in_params(equation.params) for e in jaxpr.eqns)


def _variables(operands: Iterable[Atom]) -> list[Variable]:
    return [v for v in operands if not isinstance(v, jax_extend.core.Literal)]


class _ClassAnalysis:
    """Forward pass over the equations of a jaxpr: the shard class and the level of each, from its operands.

    Levels: the inputs are of level 0, the result of a join is one level above its operands, any other result is of its
    operands' highest level. The switch of level n makes the joins whose operands are of level n, so it runs after all
    switches of lower levels and the collectives on their results.

    Args:
      equations: of the jaxpr, in its order.
      shard_class: class of each variable for the exact form of an uneven input.

    Attributes:
      shard_class: variable -> its class; those without an entry belong to all classes.
      owner: equation, by id -> its class.
      mixed: equations, by id, with operands of several classes, such as a loop over all of them: every shard evaluates
        them.
      levels: the highest level.
    """

    def __init__(self, equations: Sequence[Equation], shard_class: Mapping[Variable, int]):
        self.shard_class = dict(shard_class)
        self.owner: dict[int, int] = {}
        self.mixed: set[int] = set()
        self._level: dict[Variable, int] = {}
        for equation in equations:
            self._enter(equation)
        self.levels = max(self._level.values(), default=0)

    def _enter(self, equation: Equation) -> None:
        level = self.level(equation)
        if _is_call(equation, JOINED):
            level += 1
        elif not _is_call(equation, SAME):
            operands = _variables(equation.invars)
            classes = {self.shard_class[v] for v in operands if v in self.shard_class}
            # A print of a constant has no operand that says for which class it was traced.
            if equation.effects and not classes:
                classes = shard_classes_in_scope(equation.source_info.name_stack)
            if len(classes) > 1:
                self.mixed.add(id(equation))
            elif classes:
                (number,) = classes
                self.owner[id(equation)] = number
                self.assign(equation, number)
        self._level.update(dict.fromkeys(equation.outvars, level))

    def level(self, equation: Equation) -> int:
        """The highest level of an equation's operands."""
        return max([self._level.get(v, 0) for v in _variables(equation.invars)], default=0)

    def assign(self, equation: Equation, number: int) -> None:
        """Give an equation's results to one class."""
        self.shard_class.update(dict.fromkeys(equation.outvars, number))

    def can_move(self, equation: Equation, needed: set[int | None]) -> bool:
        """Whether an equation of all classes is needed by one of them only and may run in its branches alone.

        Collectives may not: shards of other classes would not take part.
        """
        if equation.effects or id(equation) in self.mixed or _is_collective(equation):
            return False
        return len(needed) == 1 and None not in needed


class _Schedule:
    """Backward pass over the equations of a jaxpr: who needs each and in which switch it runs; dead ones drop out.

    An equation of one class is evaluated in the branches of the latest switch that still comes before all of its uses;
    where branches of later switches use it too it leaves the switch as a residual, padded.

    Args:
      equations: of the jaxpr, in its order.
      outputs: of the jaxpr.
      analysis: of the equations; learns the class of those that one class alone turns out to need.

    Attributes:
      places: equation, by id -> the classes whose branches evaluate it; None stands for every shard, outside of the
        switches.
      switch_of: equation of one class, by id -> the level of the switch whose branch evaluates it.
    """

    def __init__(self, equations: Sequence[Equation], outputs: Iterable[Atom], analysis: _ClassAnalysis):
        self.places: dict[int, set[int | None]] = {}
        self.switch_of: dict[int, int] = {}
        self._analysis = analysis
        self._uses: dict[Variable, set[int | None]] = {}
        """The classes that use a variable."""
        self._first_use: dict[Variable, int] = {}
        """The lowest level of switch in which a branch uses a variable."""
        for variable in _variables(outputs):
            self._uses.setdefault(variable, set()).add(None)
        for equation in reversed(equations):
            self._enter(equation)

    def _enter(self, equation: Equation) -> None:
        analysis = self._analysis
        needed = set().union(*(self._uses.get(v, ()) for v in equation.outvars))
        number = analysis.owner.get(id(equation))
        if equation.effects:
            needed.add(number)
        if not needed:
            return
        if _is_call(equation, JOINED):
            for k, operand in enumerate(equation.invars[1:]):
                self._use([operand], {k}, analysis.level(equation))
            self.places[id(equation)] = needed
            return
        level = min([self._first_use.get(v, analysis.levels) for v in equation.outvars], default=analysis.levels)
        # An effect (a print) need not have a use: it runs in the first switch that has its operands.
        if equation.effects:
            level = analysis.level(equation)
        if _is_call(equation, SAME) or (number is None and not analysis.can_move(equation, needed)):
            needed = {None}
        elif number is None:
            (mover,) = needed
            assert mover is not None
            analysis.assign(equation, mover)
        self.places[id(equation)] = needed
        self.switch_of[id(equation)] = level
        self._use(equation.invars, needed, level)

    def _use(self, operands: Iterable[Atom], places: set[int | None], level: int) -> None:
        for variable in _variables(operands):
            self._uses.setdefault(variable, set()).update(places)
            if places != {None}:
                self._first_use[variable] = min(level, self._first_use.get(variable, level))


class _Switches:
    """The equations of a jaxpr, evaluated: some by every shard, the others in the branches of switches.

    Args:
      classes: the shard classes.
      closed: the jaxpr, which takes ``inputs`` and, for each uneven input, its exact form in each class.
      inputs: arrays.
      uneven: this shard's values of the uneven inputs, padded.

    Attributes:
      jaxpr: the jaxpr.
      values: the variables' values so far.
      inputs: the padded value that a variable for the exact form of an uneven input is sliced from.
      analysis: the class and level of variables and equations.
      schedule: where the equations are evaluated.
      maker: variable -> the equation that makes it.
      order: equation, by id -> its number.
      joins: by level, the equations that join values of the classes.
      branches: by level, those of the switch.
    """

    def __init__(
        self,
        classes: ShardClasses,
        closed: jax_extend.core.ClosedJaxpr,
        inputs: Sequence[Array],
        uneven: Sequence[Array],
    ):
        self.kinds = classes
        self.jaxpr = jaxpr = closed.jaxpr
        self.values: dict[Variable, Array] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        self.values.update(zip(jaxpr.invars, inputs, strict=False))
        exact = [(value, number) for value in uneven for number in range(classes.count)]
        pairs = list(zip(jaxpr.invars[len(inputs) :], exact, strict=True))
        self.inputs: dict[Variable, Array] = {variable: value for variable, (value, _) in pairs}
        equations = jaxpr.eqns
        self.analysis = _ClassAnalysis(equations, {variable: number for variable, (_, number) in pairs})
        self.schedule = _Schedule(equations, jaxpr.outvars, self.analysis)
        self.maker: dict[Variable, Equation] = {v: e for e in equations for v in e.outvars}
        self.order = {id(e): i for i, e in enumerate(equations)}
        levels = range(self.analysis.levels + 1)
        self.joins: list[list[Equation]] = [[] for _ in levels]
        self.branches = [[_Branch(self, number, level) for number in range(classes.count)] for level in levels]

    def _collect(self) -> None:
        """Fill in the branches of all switches, the last one first: it decides which residuals earlier ones pass on."""
        analysis = self.analysis
        for equation in self.jaxpr.eqns:
            if id(equation) not in self.schedule.places:
                continue
            level = analysis.level(equation)
            if _is_call(equation, JOINED):
                self.joins[level].append(equation)
                for branch, operand in zip(self.branches[level], equation.invars[1:], strict=True):
                    branch.wanted += _variables([operand])
            elif equation.effects and (number := analysis.owner.get(id(equation))) is not None:
                self.branches[level][number].roots.append(equation)
        for branches in reversed(self.branches):
            for branch in branches:
                branch.collect()

    def run(self) -> list[Array]:
        """Evaluate the program, level by level: the equations of all shards, then the switch."""
        self._collect()
        shared: list[list[Equation]] = [[] for _ in self.branches]
        for equation in self.jaxpr.eqns:
            if None in self.schedule.places.get(id(equation), ()) and not _is_call(equation, JOINED):
                shared[self.analysis.level(equation)].append(equation)
        operands: set[Variable] = set()
        for equations in shared:
            operands.update(v for e in equations for v in _variables(e.invars))
        for variable in operands & set(self.inputs):
            self.values[variable] = self.inputs[variable][exactly(variable.aval.shape)]
        for level, equations in enumerate(shared):
            self.values.update(self.evaluate(equations, self.values))
            self._switch(level)
        return [v.val if isinstance(v, jax_extend.core.Literal) else self.values[v] for v in self.jaxpr.outvars]

    def evaluate(
        self,
        equations: Sequence[Equation],
        values: Mapping[Variable, Array],
        requested: Iterable[Variable] | None = None,
    ) -> dict[Variable, Array]:
        """The values of the variables that equations make, or of those among ``requested``.

        Args:
          equations: of the traced jaxpr, in its order.
          values: at least of the variables that the equations take and do not make.
          requested: variables to return, others than the equations' are skipped; None: all that they make.
        """
        outputs = {v: None for e in equations for v in e.outvars}
        operands = dict.fromkeys(v for e in equations for v in _variables(e.invars) if v not in outputs)
        results = list(outputs) if requested is None else [v for v in dict.fromkeys(requested) if v in outputs]
        results = [v for v in results if not isinstance(v, jax_extend.core.DropVar)]
        jaxpr = self.jaxpr.replace(constvars=[], invars=list(operands), outvars=results, eqns=list(equations))
        arrays = jax_extend.core.jaxpr_as_fun(jax_extend.core.ClosedJaxpr(jaxpr, []))(*(values[v] for v in operands))
        return dict(zip(results, arrays, strict=True))

    def _switch(self, level: int) -> None:
        branches = self.branches[level]
        joins = self.joins[level]
        slots = _Slots(joins, branches)
        if not slots.shapes and not any(b.equations for b in branches):
            return
        results = lax.switch(self.kinds.index(), [partial(slots.fill, branch) for branch in branches])
        for equation, value in zip(joins, results, strict=False):
            self.values[equation.outvars[0]] = value
        for branch in branches:
            passed = zip(slots.passed[branch.kind], results[len(joins) :], strict=True)
            branch.residuals = {variable: value for variable, value in passed if variable is not None}


class _Branch:
    """The branch of one switch for one shard class.

    Attributes:
      wanted: operands of the joins of this level.
      roots: equations with an effect.
      passed: variables that branches of later switches take from here; ``residuals``: their padded values.
      taken: variables that it takes from branches of earlier switches.
      exact: uneven inputs, at their shapes in this class.
      equations: the equations that it evaluates, in the order of the jaxpr.
    """

    def __init__(self, switches: _Switches, number: int, level: int):
        self.switches = switches
        self.kind = number
        self.level = level
        self.wanted: list[Variable] = []
        self.roots: list[Equation] = []
        self.passed: dict[Variable, None] = {}
        self.equations: list[Equation] = []
        self.taken: dict[Variable, _Branch] = {}
        self.exact: dict[Variable, None] = {}
        self.residuals: dict[Variable, Array] = {}

    def collect(self) -> None:
        """Find the equations that its results need, down to inputs, shared values and residuals of earlier switches."""
        switches = self.switches
        needed: dict[int, Equation] = {id(e): e for e in self.roots}
        stack = [*self.wanted, *self.passed, *(v for e in self.roots for v in _variables(e.invars))]
        seen: set[Variable] = set()
        while stack:
            variable = stack.pop()
            if variable in seen or variable not in switches.analysis.shard_class:
                continue
            seen.add(variable)
            if variable in switches.inputs:
                self.exact[variable] = None
                continue
            maker = switches.maker[variable]
            level = switches.schedule.switch_of[id(maker)]
            if level < self.level and not _is_cheap(maker):
                source = switches.branches[level][self.kind]
                source.passed[variable] = None
                self.taken[variable] = source
            elif id(maker) not in needed:
                needed[id(maker)] = maker
                stack += _variables(maker.invars)
        self.equations = sorted(needed.values(), key=lambda e: switches.order[id(e)])

    def run(self) -> dict[Variable, Array]:
        """Evaluate the branch: variable -> value, of its results and all that it takes."""
        values = dict(self.switches.values)
        values.update((v, self.switches.inputs[v][exactly(v.aval.shape)]) for v in self.exact)
        values.update((v, source.residuals[v][exactly(v.aval.shape)]) for v, source in self.taken.items())
        return values | self.switches.evaluate(self.equations, values, [*self.wanted, *self.passed])


def _is_cheap(equation: Equation) -> bool:
    """Whether to evaluate again rather than pass a residual: no operands, or a PRNG key, which cannot be padded."""
    extended = any(jax.dtypes.issubdtype(v.aval.dtype, jax.dtypes.extended) for v in equation.outvars)
    return extended or not _variables(equation.invars)


class _Slots:
    """The outputs of one switch: the joined values, then the residuals.

    All branches of a ``lax.switch`` return the same types. A residual's slot is shared by the classes: it holds a
    variable of each, of one dtype and rank, padded to the largest.

    Attributes:
      shapes, dtypes: of the outputs.
      passed: per class, the variable in each residual slot, or None.
    """

    def __init__(self, joins: Sequence[Equation], branches: Sequence[_Branch]):
        self.joins = joins
        self.dtypes: list[np.dtype[Any]] = [e.outvars[0].aval.dtype for e in joins]
        self.shapes: list[tuple[int, ...]] = [e.outvars[0].aval.shape for e in joins]
        self.passed: list[list[Variable | None]] = [[] for _ in branches]
        alike: dict[tuple[np.dtype[Any], int], list[list[Variable]]] = {}
        for branch in branches:
            for variable in branch.passed:
                by_class = alike.setdefault((variable.aval.dtype, variable.aval.ndim), [[] for _ in branches])
                by_class[branch.kind].append(variable)
        for (dtype, _), by_class in alike.items():
            for row in zip_longest(*by_class):
                self.dtypes.append(dtype)
                self.shapes.append(largest([v.aval.shape for v in row if v is not None]))
                for variables, variable in zip(self.passed, row, strict=True):
                    variables.append(variable)

    def fill(self, branch: _Branch) -> list[Array]:
        """The outputs of a branch, each padded to its slot's shape; zeros in slots that it does not use."""
        values = branch.run()
        outputs = [*(e.invars[1 + branch.kind] for e in self.joins), *self.passed[branch.kind]]
        results = []
        for variable, shape, dtype in zip(outputs, self.shapes, self.dtypes, strict=True):
            array: Array
            if variable is None:
                array = jnp.zeros(shape, dtype)
            else:
                value = variable.val if isinstance(variable, jax_extend.core.Literal) else values[variable]
                array = padded(lax.convert_element_type(value, dtype), shape)
            results.append(vary(array, branch.switches.kinds.axis))
        return results
