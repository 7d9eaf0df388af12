"""From a function traced for all kinds of positions to a program in which a position runs what is for its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, DropVar, Literal, jaxpr_as_fun, jaxprs_in_params

from towerstrat.graph.ir.mesh import undivided, vary, whole
from towerstrat.graph.ir.uneven import exactly
from towerstrat.graph.lowering.kinds import JOINED, SAME, ByKind, Kinds, kinds_around, largest, padded

Variable = Any
Equation = Any

_COLLECTIVES = ("psum", "all_gather", "pmax", "pmin", "ppermute", "all_to_all", "reduce_scatter")


def switched(kinds: Kinds, function: Callable[[Any, Sequence[ByKind]], Any], given: Any, uneven: Sequence[Any]) -> Any:
    """``function(given, exact)``, with each position computing what is for its own kind only.

    The function is traced once: ``exact`` are the uneven values at their shapes in each kind, what it computes of them
    it computes per kind, and ``kinds.joined`` makes one value of those of all kinds. What leads up to the joined values
    becomes one ``lax.switch``, or several where it needs joined values that were combined over positions in between.

    Args:
      given: a structure of arrays.
      uneven: for each entry of ``kinds.shapes`` the position's value, padded.
    """
    given, uneven = whole((given, uneven))
    exact = [[value[exactly(shape)] for shape in shapes] for value, shapes in zip(uneven, kinds.shapes, strict=True)]

    def traced(given: Any, exact: Any) -> Any:
        return function(given, [ByKind(values) for values in exact])

    with undivided():
        closed, form = jax.make_jaxpr(traced, return_shape=True)(given, exact)
    leaves = jax.tree.leaves(given)
    if kinds.count == 1:
        results = jaxpr_as_fun(closed)(*leaves, *jax.tree.leaves(exact))
    else:
        results = _Switches(kinds, closed, leaves, uneven).run()
    return whole(jax.tree.unflatten(jax.tree.structure(form), results))


def _is_call(equation: Equation, name: str) -> bool:
    return equation.primitive.name in ("jit", "pjit") and equation.params["name"] == name


def _is_collective(equation: Equation) -> bool:
    """Whether positions wait for each other in it."""
    if equation.primitive.name.startswith(_COLLECTIVES):
        return True
    return any(_is_collective(e) for jaxpr in jaxprs_in_params(equation.params) for e in jaxpr.eqns)


def _variables(operands: Iterable[Any]) -> list[Variable]:
    return [v for v in operands if not isinstance(v, Literal)]


class _Switches:
    """Sorts equations into those that every position evaluates, and the branches of switches.

    A switch of level n needs values that were joined by switches of lower levels. An equation of a branch is evaluated
    in the last switch that comes before all of its uses; where a later one uses it too it is passed on, padded.
    """

    def __init__(self, kinds: Kinds, closed: ClosedJaxpr, given: Sequence[Any], uneven: Sequence[Any]):
        self.kinds = kinds
        jaxpr = closed.jaxpr
        self.jaxpr = jaxpr
        self.equations: list[Equation] = list(jaxpr.eqns)
        self.values: dict[Variable, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        self.values.update(zip(jaxpr.invars, given, strict=False))
        self.kind: dict[Variable, int] = {}
        self.owner: dict[int, int] = {}
        """The kinds that variables and equations are for; the others are for all."""
        self.mixed: set[int] = set()
        """Equations that take what several kinds have: loops over what all kinds do. Every position evaluates them."""
        self.inputs: dict[Variable, Any] = {}
        """For the exact form of an uneven value, the padded one."""
        rest = iter(jaxpr.invars[len(given) :])
        for value in uneven:
            for kind in range(kinds.count):
                variable = next(rest)
                self.kind[variable] = kind
                self.inputs[variable] = value
        self.level: dict[Variable, int] = {}
        self.maker: dict[Variable, Equation] = {v: e for e in self.equations for v in e.outvars}
        self.order = {id(e): i for i, e in enumerate(self.equations)}
        self.places: dict[int, set[int | None]] = {}
        """Where each equation is evaluated: in branches of a kind, or (None) at every position."""
        self.turn: dict[int, int] = {}
        """The level of the switch whose branch evaluates it."""
        self.late: dict[Variable, int] = {}
        """The lowest level of switch in which something for one kind is used."""
        self._find_kinds()
        self._find_places()

    # ---- sorting ---------------------------------------------------------------------------------------------

    def _level(self, equation: Equation) -> int:
        return max([self.level.get(v, 0) for v in _variables(equation.invars)], default=0)

    def _find_kinds(self) -> None:
        for equation in self.equations:
            operands = _variables(equation.invars)
            level = self._level(equation)
            if _is_call(equation, JOINED):
                level += 1
            elif not _is_call(equation, SAME):
                found = {self.kind[v] for v in operands if v in self.kind}
                if equation.effects and not found:
                    found = kinds_around(equation.source_info.name_stack)
                if len(found) > 1:
                    self.mixed.add(id(equation))
                elif found:
                    (kind,) = found
                    self.owner[id(equation)] = kind
                    self.kind.update(dict.fromkeys(equation.outvars, kind))
            self.level.update(dict.fromkeys(equation.outvars, level))
        self.levels = max(self.level.values(), default=0)

    def _find_places(self) -> None:
        """From the last equation to the first: who needs it, and when. What nobody needs is left out."""
        uses: dict[Variable, set[int | None]] = {}
        for variable in _variables(self.jaxpr.outvars):
            uses.setdefault(variable, set()).add(None)
        for equation in reversed(self.equations):
            needed = set().union(*(uses.get(v, ()) for v in equation.outvars))
            kind = self.owner.get(id(equation))
            if equation.effects:
                needed.add(kind)
            if not needed:
                continue
            if _is_call(equation, JOINED):
                level = self._level(equation)
                for k, operand in enumerate(equation.invars[1:]):
                    self._use(uses, [operand], {k}, level)
                self.places[id(equation)] = needed
                continue
            level = min([self.late.get(v, self.levels) for v in equation.outvars], default=self.levels)
            if equation.effects:
                level = self._level(equation)
            if _is_call(equation, SAME) or (kind is None and not self._can_move(equation, needed)):
                needed = {None}
            elif kind is None:
                (kind,) = needed
                self.kind.update(dict.fromkeys(equation.outvars, kind))
            self.places[id(equation)] = needed
            self.turn[id(equation)] = level
            self._use(uses, equation.invars, needed, level)

    def _can_move(self, equation: Equation, needed: set[int | None]) -> bool:
        """Whether what does not depend on uneven values is evaluated in branches of the one kind that needs it."""
        if equation.effects or id(equation) in self.mixed or _is_collective(equation):
            return False
        return len(needed) == 1 and None not in needed

    def _use(
        self, uses: dict[Variable, set[int | None]], operands: Iterable[Any], places: set[int | None], level: int
    ) -> None:
        for variable in _variables(operands):
            uses.setdefault(variable, set()).update(places)
            if places != {None}:
                self.late[variable] = min(level, self.late.get(variable, level))

    # ---- branches --------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        """What the branches of each switch evaluate, take and hand on; the last switch first."""
        self.joins: list[list[Equation]] = [[] for _ in range(self.levels + 1)]
        self.branches: list[list[_Branch]] = [
            [_Branch(self, kind, level) for kind in range(self.kinds.count)] for level in range(self.levels + 1)
        ]
        for equation in self.equations:
            if id(equation) not in self.places:
                continue
            if _is_call(equation, JOINED):
                level = self._level(equation)
                self.joins[level].append(equation)
                for branch, operand in zip(self.branches[level], equation.invars[1:], strict=True):
                    branch.wanted += _variables([operand])
            elif equation.effects and (kind := self.owner.get(id(equation))) is not None:
                self.branches[self._level(equation)][kind].roots.append(equation)
        for branches in reversed(self.branches):
            for branch in branches:
                branch.collect()

    def run(self) -> list[Any]:
        """The function's results."""
        self._collect()
        shared: list[list[Equation]] = [[] for _ in range(self.levels + 1)]
        for equation in self.equations:
            if None in self.places.get(id(equation), ()) and not _is_call(equation, JOINED):
                shared[self._level(equation)].append(equation)
        taken: set[Variable] = set()
        for equations in shared:
            taken.update(v for e in equations for v in _variables(e.invars))
        for variable in taken & set(self.inputs):
            self.values[variable] = self.inputs[variable][exactly(variable.aval.shape)]
        for level, equations in enumerate(shared):
            self.values.update(self.evaluated(equations, self.values))
            self._switch(level)
        return [v.val if isinstance(v, Literal) else self.values[v] for v in self.jaxpr.outvars]

    def evaluated(
        self, equations: Sequence[Equation], values: Mapping[Variable, Any], wanted: Iterable[Variable] | None = None
    ) -> dict[Variable, Any]:
        """The values of what equations make; only of ``wanted``, where given."""
        made = {v: None for e in equations for v in e.outvars}
        taken = dict.fromkeys(v for e in equations for v in _variables(e.invars) if v not in made)
        results = list(made) if wanted is None else [v for v in dict.fromkeys(wanted) if v in made]
        results = [v for v in results if not isinstance(v, DropVar)]
        jaxpr = self.jaxpr.replace(constvars=[], invars=list(taken), outvars=results, eqns=list(equations))
        found = jaxpr_as_fun(ClosedJaxpr(jaxpr, []))(*(values[v] for v in taken))
        return dict(zip(results, found, strict=True))

    def _switch(self, level: int) -> None:
        branches = self.branches[level]
        joins = self.joins[level]
        slots = _Slots(joins, branches)
        if not slots.shapes and not any(b.equations for b in branches):
            return
        results = lax.switch(self.kinds.index(), [partial(slots.filled, branch) for branch in branches])
        for equation, value in zip(joins, results, strict=False):
            self.values[equation.outvars[0]] = value
        for branch in branches:
            passed = zip(slots.passed[branch.kind], results[len(joins) :], strict=True)
            branch.kept = {variable: value for variable, value in passed if variable is not None}


class _Branch:
    """What one switch does at positions of one kind.

    Attributes:
      wanted: variables that are joined after it.
      roots: equations that have an effect.
      passed: variables for branches of later switches; ``kept``: their padded values.
      taken: variables from branches of earlier switches.
      exact: inputs at their shapes in this kind.
      equations: what it evaluates, in order.
    """

    def __init__(self, switches: _Switches, kind: int, level: int):
        self.switches = switches
        self.kind = kind
        self.level = level
        self.wanted: list[Variable] = []
        self.roots: list[Equation] = []
        self.passed: dict[Variable, None] = {}
        self.equations: list[Equation] = []
        self.taken: dict[Variable, _Branch] = {}
        self.exact: dict[Variable, None] = {}
        self.kept: dict[Variable, Any] = {}

    def collect(self) -> None:
        switches = self.switches
        found: dict[int, Equation] = {id(e): e for e in self.roots}
        stack = [*self.wanted, *self.passed, *(v for e in self.roots for v in _variables(e.invars))]
        seen: set[Variable] = set()
        while stack:
            variable = stack.pop()
            if variable in seen or variable not in switches.kind:
                continue
            seen.add(variable)
            if variable in switches.inputs:
                self.exact[variable] = None
                continue
            maker = switches.maker[variable]
            level = switches.turn[id(maker)]
            if level < self.level and not _is_cheap(maker):
                source = switches.branches[level][self.kind]
                source.passed[variable] = None
                self.taken[variable] = source
            elif id(maker) not in found:
                found[id(maker)] = maker
                stack += _variables(maker.invars)
        self.equations = sorted(found.values(), key=lambda e: switches.order[id(e)])

    def run(self) -> dict[Variable, Any]:
        """The values of what it evaluates, and all that it can see."""
        values = dict(self.switches.values)
        values.update((v, self.switches.inputs[v][exactly(v.aval.shape)]) for v in self.exact)
        values.update((v, source.kept[v][exactly(v.aval.shape)]) for v, source in self.taken.items())
        return values | self.switches.evaluated(self.equations, values, [*self.wanted, *self.passed])


def _is_cheap(equation: Equation) -> bool:
    """Whether it is evaluated again rather than passed on: it takes nothing, or makes a random key."""
    extended = any(jax.dtypes.issubdtype(v.aval.dtype, jax.dtypes.extended) for v in equation.outvars)
    return extended or not _variables(equation.invars)


class _Slots:
    """The results of a switch: joined values, and what branches pass on; one result holds a variable of each kind.

    Attributes:
      passed: per kind the variable that each of the latter results holds, or None.
    """

    def __init__(self, joins: Sequence[Equation], branches: Sequence[_Branch]):
        self.joins = joins
        self.dtypes: list[Any] = [e.outvars[0].aval.dtype for e in joins]
        self.shapes: list[tuple[int, ...]] = [e.outvars[0].aval.shape for e in joins]
        self.passed: list[list[Variable | None]] = [[] for _ in branches]
        alike: dict[Any, list[list[Variable]]] = {}
        for branch in branches:
            for variable in branch.passed:
                of_kinds = alike.setdefault((variable.aval.dtype, variable.aval.ndim), [[] for _ in branches])
                of_kinds[branch.kind].append(variable)
        for (dtype, _), of_kinds in alike.items():
            for row in zip_longest(*of_kinds):
                self.dtypes.append(dtype)
                self.shapes.append(largest([v.aval.shape for v in row if v is not None]))
                for variables, variable in zip(self.passed, row, strict=True):
                    variables.append(variable)

    def filled(self, branch: _Branch) -> list[Any]:
        """What a branch gives, each value padded to its result's shape."""
        values = branch.run()
        wanted = [*(e.invars[1 + branch.kind] for e in self.joins), *self.passed[branch.kind]]
        results = []
        for variable, shape, dtype in zip(wanted, self.shapes, self.dtypes, strict=True):
            if variable is None:
                array = jnp.zeros(shape, dtype)
            else:
                value = variable.val if isinstance(variable, Literal) else values[variable]
                array = padded(lax.convert_element_type(value, dtype), shape)
            results.append(vary(array, branch.switches.kinds.axis))
        return results
