"""Branches and loops with host operations in their bodies: the host takes the branch, and runs the loop, in Python.

Each body is a plan of its own (``Region``), with a device program between host operations, so a loop calls one program
per iteration or more. Of ``while_loop(lambda i: i < n, body, [0])`` with a ``py_func`` and ``i + 1`` in its body:

    count       control part evaluated by numpy: i counts up by 1 to n = 3      -> 3 iterations, cond is not run
    run_from    body.run(run, {i: 0}), body.run(run, {i: 1}), ...               -> i = 3, and the number of iterations

``count`` finds the number of iterations beforehand where it depends on values that the host has: a counter against a
limit directly (``_Counting``), else by evaluating the loop's control part (``trip_counts``). Otherwise the condition is
run before each iteration. From 0 in steps of 2 it takes 4 iterations to reach 7:

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ops.control.while_loop import while_loop
>>> from towerstrat.graph.ops.math import arithmetic  # registers the operators of tensors
>>> with Graph().as_default():
...     op = while_loop(lambda i: i < 7, lambda i: i + 2, [0]).op.inputs[0].op
>>> HostLoop(op, {}).count(Run(None, None, {op.inputs[0]: 0}, {}))
4

``DataLoop`` is the subclass whose host operations only take elements of datasets. A gradient cannot go through such a
loop or branch: ``Plan._crosses`` raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, has_effect
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.control.regions import EndOfLoop
from towerstrat.graph.ops.control.trip_counts import control_of, evaluate_control
from towerstrat.graph.runtime.plans.plan import Plan, Stages
from towerstrat.graph.runtime.plans.runner import Run
from towerstrat.graph.runtime.programs.placement import effective_axis
from towerstrat.graph.runtime.programs.program_cache import to_host


class Region:
    """A branch, or the condition or body of a loop, as a plan of its own.

    Args:
      stages: factories of the stages of operations that have one of their own.
      arguments: the region's parameters, besides the tensors that it captures.
    """

    def __init__(self, block: Block, stages: Stages, arguments: Sequence[Tensor] = ()):
        self.results = block.results
        self.outside = [t for t in block.captures() if t.dtype is not resource]
        self.plan = Plan(block.graph, [*block.results, *block.effects], [*arguments, *self.outside], stages, block)

    def run(self, outer: Run, arguments: Mapping[Tensor, Array]) -> list[Any]:
        """Run the region inside a run; return the values of its results, None for operations."""
        values = {t: outer.values[t] for t in self.outside if t not in arguments}
        inner = Run(outer.session, outer.store, {**values, **arguments}, {})
        inner.carry(self.plan.stages)
        return [self.plan.value(t, inner) if isinstance(t, Tensor) else None for t in self.results]


class HostBranch:
    """The stage of an ``If`` operation: runs the branch that is taken."""

    def __init__(self, op: Operation, stages: Stages):
        self.op = op
        self.regions = [Region(block, stages) for block in op.bodies]

    def run(self, run: Run) -> None:
        index = 0 if bool(np.reshape(to_host(run.values[self.op.inputs[0]]), ())) else 1
        run.values.update(zip(self.op.outputs, self.regions[index].run(run, {}), strict=True))


class _Counting(NamedTuple):
    """The counter of a loop ``while i < limit: i += by``.

    Attributes:
      place: index of the loop variable that counts.
      limit, bound: the tensor that it stays below, and its value where that is a constant.
      by: the increment.
    """

    place: int
    limit: Tensor
    bound: int | None
    by: int


class HostLoop:
    """The stage of a ``While`` operation, run iteration by iteration.

    Attributes:
      endless: whether the condition is the constant True.
      control: the operations that decide when the loop ends, where they can be evaluated apart from the rest.
      counting: the counter, where that is all that decides.
    """

    def __init__(self, op: Operation, stages: Stages):
        self.op = op
        cond, body = op.bodies
        variables: tuple[Sequence[Tensor], Sequence[Tensor]] = op.attrs["variables"]
        self.cond_vars, self.body_vars = variables
        self.size = len(self.body_vars)
        self.axis = effective_axis([op])
        self.cond = Region(cond, stages, self.cond_vars)
        self.body = Region(body, stages, self.body_vars)
        result = constant_value(cond.results[0])
        self.endless = result is not None and bool(result)
        self.plain = not any(has_effect(inner) for inner in cond.needed)
        self.control = control_of(op) if self.plain and not self.endless else None
        self.counting = None if self.control is None else self._counting()

    def run(self, run: Run) -> None:
        self.run_from(run, self.initial(run), 0, self.count(run))

    def initial(self, run: Run) -> list[Array]:
        """The loop variables before the first iteration, stacked by tower where the variable varies."""
        return self._like_variables([run.values[t] for t in self.op.inputs[: self.size]], self.op.inputs)

    def _like_variables(self, values: Sequence[Array], tensors: Sequence[Tensor]) -> list[Array]:
        """Broadcast replicated values to ``[axis size, ...]`` where the loop variable that takes them varies."""
        axis = self.axis
        return [
            np.broadcast_to(to_host(v), (axis.size, *np.shape(v)))
            if axis is not None and variable.varies and not t.varies
            else v
            for v, t, variable in zip(values, tensors, self.body_vars, strict=False)
        ]

    def count(self, run: Run) -> int | None:
        """The number of iterations, None where only running tells it."""
        limit = int(run.values[self.op.inputs[self.size]]) if self.op.attrs["bounded"] else None
        if self.endless:
            return limit
        if self.control is None:
            return None
        counted = self._range_length(run)
        if counted is None:
            lowering = Lowering("cpu")
            for tensor in (*(self.op.inputs[i] for i in self.control.variables), *self.control.outside):
                lowering.values[tensor] = to_host(run.values[tensor])
            control_values = evaluate_control(lowering, self.op, limit)
            return None if control_values is None else control_values.length
        return counted if limit is None else min(limit, counted)

    def _range_length(self, run: Run) -> int | None:
        """The number of iterations of a loop that counts up to a limit."""
        if self.counting is None:
            return None
        index, limit, bound, by = self.counting
        if bound is None:
            if limit not in run.values:
                return None
            bound = int(to_host(run.values[limit]))
        start = int(to_host(run.values[self.op.inputs[index]]))
        return len(range(start, bound, by))

    def _counting(self) -> _Counting | None:
        """The counter of a loop with condition ``i < limit`` whose body adds a positive constant to i; else None."""
        test = self.op.bodies[0].results[0].op
        if test.type != "Less" or test.inputs[0] not in set(self.cond_vars) or test.inputs[1] in set(self.cond_vars):
            return None
        index = next(i for i, t in enumerate(self.cond_vars) if t is test.inputs[0])
        step = self.op.bodies[1].results[index].op
        if step.type not in ("Add", "AddV2") or step.inputs[0] is not self.body_vars[index]:
            return None
        by, bound = constant_value(step.inputs[1]), constant_value(test.inputs[1])
        if by is None or not test.inputs[0].dtype.is_integer or int(by) <= 0:
            return None
        return _Counting(index, test.inputs[1], None if bound is None else int(bound), int(by))

    def goes_on(self, run: Run, values: Sequence[Array], done: int) -> bool:
        """Evaluate the condition: whether there is another iteration."""
        if self.op.attrs["bounded"] and done >= int(run.values[self.op.inputs[self.size]]):
            return False
        return bool(np.reshape(to_host(self.cond.run(run, dict(zip(self.cond_vars, values, strict=True)))[0]), ()))

    def iterate(self, run: Run, values: Sequence[Array]) -> list[Array]:
        """Run one iteration; return the loop variables after it. Raises EndOfLoop where the data ends."""
        after = self.body.run(run, dict(zip(self.body_vars, values, strict=True)))
        return self._like_variables(after, self.body.results)

    def run_from(self, run: Run, values: Sequence[Array], done: int, total: int | None) -> None:
        """Run the iterations from number ``done`` on, and store the loop's outputs."""
        while done < total if total is not None else self.endless or self.goes_on(run, values, done):
            try:
                values = self.iterate(run, values)
            except EndOfLoop:
                break
            done += 1
        self.finish(run, values, done)

    def finish(self, run: Run, values: Sequence[Array], done: int) -> None:
        run.values.update(zip(self.op.outputs, [*values, np.asarray(done, np.int32)], strict=True))
