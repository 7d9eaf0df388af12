"""Trip counts: the control part of a loop, evaluated by numpy while lowering.

The control part is the backward slice of the condition: its operations, and those of the body on which the loop
variables in it depend. If all its inputs are known to lowering and all its operations have numpy forms, evaluating it
tells the number of iterations and the value of its variables in each, without the rest of the body:

    i, s = 0, x                          slice: i, Less(i, n), Add(i, 2); s is not in it
    while i < n: i, s = i + 2, s * w     n = 5:  LoopTrajectory(length=3, values={0: [0, 2, 4]})

The trajectory of counters also shows which arrays are walked element by element (``scan_arrays``); for these alone
``evaluate_counters`` evaluates counters of loops whose end is not known.

``gradients_decide`` is for the plan: a loop whose end depends on a gradient taken inside of an operation around it
cannot be counted by a run without gradients.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, loops_in
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, HostArray
from towerstrat.graph.lowering.lowering import Lowering

_LIMIT = 100_000
"""Iterations up to which a control part is evaluated."""
_LARGEST = 4096
"""Entries up to which a value of the control part counts as known."""
_OF_SHAPE = ("Shape", "Size", "Rank")
"""Types that use only the shape of their input, which is known while lowering."""


class LoopControl(NamedTuple):
    """The control part of a loop: the slice of condition and body that decides when the loop ends.

    Attributes:
      variables: indices of its loop variables.
      condition, body: its operations in either region, in order.
      outside: outside tensors whose values it uses.
      shaped: outside tensors of which it uses the shape only.
    """

    variables: tuple[int, ...]
    condition: tuple[Operation, ...]
    body: tuple[Operation, ...]
    outside: tuple[Tensor, ...]
    shaped: tuple[Tensor, ...]


class LoopTrajectory(NamedTuple):
    """The evaluated control part of a loop.

    Attributes:
      length: the number of iterations.
      values: index of a control variable -> its value at the beginning of each iteration.
    """

    length: int
    values: Mapping[int, list[HostArray]]


class Parts(NamedTuple):
    """A control part under construction: operations of the body, and the rest as in ``LoopControl``."""

    steps: dict[Operation, None]
    outside: dict[Tensor, None]
    shaped: dict[Tensor, None]
    places: dict[int, None]


def control_of(op: Operation) -> LoopControl | None:
    """The control part of a loop, or None where it holds operations that numpy cannot evaluate."""
    cond, body = op.bodies
    cond_vars, body_vars = op.attrs["variables"]
    condition: dict[Operation, None] = {}
    steps: dict[Operation, None] = {}
    outside: dict[Tensor, None] = {}
    shaped: dict[Tensor, None] = {}
    places: dict[int, None] = {}
    if not _slice(cond.results[0], cond, cond_vars, condition, outside, shaped, places):
        return None
    if not _complete(body, body_vars, steps, outside, shaped, places):
        return None
    return LoopControl(
        tuple(places),
        tuple(o for o in cond.needed if o in condition),
        tuple(o for o in body.needed if o in steps),
        tuple(outside),
        tuple(shaped),
    )


def _complete(
    body: Block,
    variables: tuple[Tensor, ...],
    steps: dict[Operation, None],
    outside: dict[Tensor, None],
    shaped: dict[Tensor, None],
    places: dict[int, None],
) -> bool:
    """Add to the slice all that the loop variables at ``places`` depend on in the body; False as of ``_slice``."""
    done: set[int] = set()
    while remaining := [i for i in places if i not in done]:
        for i in remaining:
            done.add(i)
            if not _slice(body.results[i], body, variables, steps, outside, shaped, places):
                return False
    return True


def _slice(
    result: Tensor,
    block: Block,
    variables: tuple[Tensor, ...],
    steps: dict[Operation, None],
    outside: dict[Tensor, None],
    shaped: dict[Tensor, None],
    places: dict[int, None],
) -> bool:
    """Add the operations and inputs that a region's result depends on to the other arguments (a backward slice).

    Returns:
      False where it depends on an operation without a numpy form, or one that reads or writes state.
    """
    where = {t: i for i, t in enumerate(variables)}
    stack = [result]
    while stack:
        tensor = stack.pop()
        if tensor in where:
            places[where[tensor]] = None
        elif not block.encloses(tensor.op.block):
            outside[tensor] = None
        elif tensor.op not in steps:
            op = tensor.op
            if op.type != "Const" and (op.definition.numpy is None or op.reads or op.definition.stateful):
                return False
            steps[op] = None
            if op.type in _OF_SHAPE and op.inputs[0] not in where and not block.encloses(op.inputs[0].op.block):
                shaped[op.inputs[0]] = None
            else:
                stack += op.inputs
    return True


def first_unknown(lowering: Lowering, op: Operation, control: LoopControl) -> Tensor | None:
    """The first outside tensor whose value the control part needs and lowering does not know, or None."""
    for tensor in (*(op.inputs[i] for i in control.variables), *control.outside):
        if not _is_known(lowering.value(tensor)):
            return tensor
    return None


def _is_known(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.size <= _LARGEST


def evaluate_control(lowering: Lowering, op: Operation, limit: int | None) -> LoopTrajectory | None:
    """Evaluate a loop's control part.

    Args:
      lowering: has the values of the loop's inputs.
      op: the loop, a ``While``.
      limit: ``maximum_iterations``, where it is known.

    Returns:
      None where the control part has an unknown input or no numpy form, runs for more than ``_LIMIT`` iterations, or
      cannot be computed: the loop itself then says why.
    """
    control = control_of(op)
    if control is None or first_unknown(lowering, op, control) is not None:
        return None
    try:
        return _follow(lowering, op, control, limit)
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return None


def evaluate_counters(lowering: Lowering, op: Operation, counters: Collection[Tensor], count: int) -> LoopTrajectory:
    """The first ``count`` values of those ``counters`` that can be evaluated, whenever the loop ends."""
    body, variables = op.bodies[1], op.attrs["variables"][1]
    steps, outside, shaped, places = all_parts = Parts({}, {}, {}, {})
    for i, variable in enumerate(variables):
        parts = Parts({}, {}, {}, {i: None})
        if variable not in counters or not _complete(body, variables, *parts):
            continue
        if all(_is_known(lowering.value(t)) for t in (*parts.outside, *(op.inputs[k] for k in parts.places))):
            for all_of, of_variable in zip(all_parts, parts, strict=True):
                all_of.update(of_variable)  # type: ignore[attr-defined]
    ordered = tuple(o for o in body.needed if o in steps)
    control = LoopControl(tuple(places), (), ordered, tuple(outside), tuple(shaped))
    try:
        trajectory = _follow(lowering, op, control, count, asked=False)
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        trajectory = None
    return trajectory or LoopTrajectory(count, {})


def _follow(
    lowering: Lowering, op: Operation, control: LoopControl, limit: int | None, asked: bool = True
) -> LoopTrajectory | None:
    """Evaluate the control part until its condition (where it is ``asked``) or the limit ends the loop."""
    cond, body = op.bodies
    cond_vars, body_vars = op.attrs["variables"]
    current = {i: np.asarray(lowering.value(op.inputs[i])) for i in control.variables}
    outside = {t: lowering.value(t) for t in (*control.outside, *control.shaped)}
    history: dict[int, list[HostArray]] = {i: [] for i in current}
    count = 0
    while limit is None or count < limit:
        before = {**outside, **_at(cond_vars, current)}
        if asked and not bool(_evaluate(control.condition, cond.results[0], before)):
            break
        if count == _LIMIT:
            return None
        for i, value in current.items():
            history[i].append(value)
        values = {**outside, **_at(body_vars, current)}
        _run(control.body, values)
        current = {i: np.asarray(values[body.results[i]]) for i in current}
        count += 1
    return LoopTrajectory(count, history)


def _at(variables: tuple[Tensor, ...], current: Mapping[int, Array]) -> dict[Tensor, Array]:
    """Loop variable -> value, from index -> value."""
    return {variables[i]: v for i, v in current.items()}


def _run(ops: tuple[Operation, ...], values: dict[Tensor, Array]) -> None:
    """Evaluate operations by numpy and add their outputs to ``values``."""
    for op in ops:
        if op.type == "Const":
            values[op.outputs[0]] = op.attrs["value"]
            continue
        assert op.definition.numpy is not None
        outputs = op.definition.numpy(*(values[t] for t in op.inputs), **op.arguments)
        if not isinstance(outputs, tuple | list):
            outputs = (outputs,)
        values.update(zip(op.outputs, map(np.asarray, outputs), strict=True))


def _evaluate(ops: tuple[Operation, ...], result: Tensor, values: dict[Tensor, Array]) -> Array:
    """The value of one tensor after some operations."""
    _run(ops, values)
    return values[result]


def gradients_decide(around: Operation) -> bool:
    """Whether a gradient taken inside of a loop or branch decides the number of iterations of a loop inside."""
    reached: set[Tensor | StateVariable] = set()
    size = -1
    while size < len(reached):
        size = len(reached)
        _spread(around, reached)
    return not reached.isdisjoint(_loop_decisions(around))


def _spread(op: Operation, reached: set[Tensor | StateVariable]) -> None:
    """Add to ``reached`` the tensors and state variables that an operation computes from it, or from gradients."""
    if op.type == "Gradients":
        reached.update(op.outputs)
        return
    for body in op.bodies:
        for inner in body.needed:
            _spread(inner, reached)
    if op.type == "While":
        cond, body = op.bodies
        for i, variables in enumerate(zip(*op.attrs["variables"], op.outputs, strict=False)):
            if not reached.isdisjoint((op.inputs[i], body.results[i], cond.results[0])):
                reached.update(variables)
    elif op.bodies:
        for i, output in enumerate(op.outputs):
            if op.inputs[0] in reached or any(body.results[i] in reached for body in op.bodies):
                reached.add(output)
    elif not reached.isdisjoint((*op.inputs, *op.reads)):
        reached.update((*op.outputs, *op.writes))


def _loop_decisions(op: Operation) -> Iterator[Tensor]:
    """The conditions and bounds of the loops in an operation, and the predicates of branches around some."""
    if op.type == "While":
        yield op.bodies[0].results[0]
        yield from op.inputs[len(op.bodies[1].results) :][:1] if op.attrs["bounded"] else ()
    elif loops_in(op):
        yield op.inputs[0]
    for body in op.bodies:
        for inner in body.needed:
            yield from _loop_decisions(inner)
