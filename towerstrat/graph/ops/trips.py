"""How often a loop turns, where that can be told while lowering: its control part, evaluated by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from towerstrat.graph.ir.elements import Block, Operation, Tensor
from towerstrat.graph.lowering.lowering import Lowering

_LIMIT = 100_000
"""Iterations up to which a control part is evaluated."""
_LARGEST = 4096
_OF_SHAPE = ("Shape", "Size", "Rank")
"""Types that need no more of their input than its shape, which is known while lowering."""


class Control(NamedTuple):
    """The part of a loop that decides when it ends.

    Attributes:
      variables: places of the loop variables it consists of.
      inside: its operations, of the condition and of the body.
      outside: what it uses from outside.
      shaped: of what tensors from outside it uses the shape.
    """

    variables: tuple[int, ...]
    condition: tuple[Operation, ...]
    body: tuple[Operation, ...]
    outside: tuple[Tensor, ...]
    shaped: tuple[Tensor, ...]


class Course(NamedTuple):
    """What a control part does: the number of iterations, and its variables' values in each."""

    length: int
    values: Mapping[int, list[Any]]


def control_of(op: Operation) -> Control | None:
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
    done: set[int] = set()
    while rest := [i for i in places if i not in done]:
        for i in rest:
            done.add(i)
            if not _slice(body.results[i], body, body_vars, steps, outside, shaped, places):
                return None
    return Control(
        tuple(places),
        tuple(o for o in cond.needed if o in condition),
        tuple(o for o in body.needed if o in steps),
        tuple(outside),
        tuple(shaped),
    )


def _slice(
    result: Tensor,
    block: Block,
    variables: tuple[Tensor, ...],
    steps: dict[Operation, None],
    outside: dict[Tensor, None],
    shaped: dict[Tensor, None],
    places: dict[int, None],
) -> bool:
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


def unknown(lowering: Lowering, op: Operation, control: Control) -> Tensor | None:
    """The first tensor from outside whose value the control part needs and that is not known while lowering."""
    for tensor in (*(op.inputs[i] for i in control.variables), *control.outside):
        if not _is_known(lowering.value(tensor)):
            return tensor
    return None


def _is_known(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.size <= _LARGEST


def course(lowering: Lowering, op: Operation, limit: int | None) -> Course | None:
    """Follows a loop's control part; None where it cannot be, or is too long."""
    control = control_of(op)
    if control is None or unknown(lowering, op, control) is not None:
        return None
    cond, body = op.bodies
    cond_vars, body_vars = op.attrs["variables"]
    current = {i: np.asarray(lowering.value(op.inputs[i])) for i in control.variables}
    outside = {t: lowering.value(t) for t in (*control.outside, *control.shaped)}
    history: dict[int, list[Any]] = {i: [] for i in current}
    count = 0
    while limit is None or count < limit:
        if not bool(_evaluate(control.condition, cond.results[0], {**outside, **_at(cond_vars, current)})):
            break
        if count == _LIMIT:
            return None
        for i, value in current.items():
            history[i].append(value)
        values = {**outside, **_at(body_vars, current)}
        _run(control.body, values)
        current = {i: np.asarray(values[body.results[i]]) for i in current}
        count += 1
    return Course(count, history)


def _at(variables: tuple[Tensor, ...], current: Mapping[int, Any]) -> dict[Tensor, Any]:
    return {variables[i]: v for i, v in current.items()}


def _run(ops: tuple[Operation, ...], values: dict[Tensor, Any]) -> None:
    for op in ops:
        if op.type == "Const":
            values[op.outputs[0]] = op.attrs["value"]
            continue
        assert op.definition.numpy is not None
        outputs = op.definition.numpy(*(values[t] for t in op.inputs), **op.arguments)
        if not isinstance(outputs, tuple | list):
            outputs = (outputs,)
        values.update(zip(op.outputs, map(np.asarray, outputs), strict=True))


def _evaluate(ops: tuple[Operation, ...], result: Tensor, values: dict[Tensor, Any]) -> Any:
    _run(ops, values)
    return values[result]
