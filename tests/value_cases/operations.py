"""Operation types and their gradients: which there are, and how one is disturbed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tests.value_cases.change import Change, after, changed, scaled, slanted
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.check_definitions import InputCheck
from towerstrat.graph.ir.op_registry import OpDef
from towerstrat.graph.ir.types import resource


def replace(definition: OpDef, field: str, value: Any) -> None:
    """Sets a field of a definition for all that have it."""
    object.__setattr__(definition, field, value)


def disturb_operation(type: str, change: Change) -> None:
    """The results, writes or inputs of effects of the operations of a type are changed."""
    disturb_definition(op_registry.lookup(type), change)


def disturb_definition(definition: OpDef, change: Change) -> None:
    """The results, writes or inputs of effects of the operations of a definition are changed."""
    for form in ("kernel", "numpy"):
        function = getattr(definition, form)
        if function is not None:
            # Of what is encoded it is the input: decoders pass over a changed end.
            of_input = definition.type.startswith("Encode")
            replace(definition, form, _before(function, change) if of_input else _after(function, change))
    if definition.type == "Assert":
        replace(definition, "check", _of_check(definition.check, change))
    if definition.lower is not None:
        replace(definition, "lower", of_lower(definition.lower, change))
    if definition.host is not None:
        replace(definition, "host", _of_host(definition.host, change))
    if definition.execute is not None:
        replace(definition, "execute", _of_execute(definition.execute, definition.writes, change))


def _after(function: Callable[..., Any], change: Change) -> Callable[..., Any]:
    return after(function, lambda found: changed(found, change))


def _before(function: Callable[..., Any], change: Change) -> Callable[..., Any]:
    @wraps(function)
    def wrapped(first: Any, *rest: Any, **attrs: Any) -> Any:
        return function(changed(first, change), *rest, **attrs)

    return wrapped


def _of_check(check: InputCheck, change: Change) -> InputCheck:
    @wraps(check.test)
    def test(op: Any, values: Sequence[Any]) -> Any:
        return check.test(op, [changed(values[0], change), *values[1:]])

    return dataclasses.replace(check, test=test)


def of_lower(lower: Callable[..., Any], change: Change) -> Callable[..., Any]:
    """A ``lower`` whose results, and what it writes, are changed."""

    @wraps(lower)
    def wrapped(lowering: Any, op: Any) -> Any:
        if not op.outputs and not op.writes and change.flip:
            return []  # What is there for its effect has none.
        found = lower(lowering, op)
        for cell in op.writes:
            lowering.state.write(cell, changed(lowering.state[cell], change))
        return changed(found, change)

    return wrapped


def _of_host(host: Callable[..., Any], change: Change) -> Callable[..., Any]:
    @wraps(host)
    def wrapped(session: Any, op: Any, values: Sequence[Any]) -> Any:
        if op.outputs:
            return changed(host(session, op, values), change)
        if change.flip and all(t.dtype is resource for t in op.inputs):
            return []  # What is there for its effect has none.
        return host(session, op, [changed(v, change) for v in values])

    return wrapped


def _of_execute(execute: Callable[..., Any], writes: bool, change: Change) -> Callable[..., Any]:
    @wraps(execute)
    def wrapped(context: Any, inputs: Sequence[Any], attrs: Any) -> Any:
        def of(tensor: Any) -> Any:
            return tensor if tensor.dtype is resource else context.tensor(changed(tensor.array, change), tensor.dtype)

        if writes:
            return execute(context, [of(t) for t in inputs], attrs)
        return [of(t) for t in execute(context, inputs, attrs)]

    return wrapped


def disturb_gradient(type: str, change: Change) -> None:
    """The gradients of a type's operations are scaled, their values are as they were."""
    definition = op_registry.lookup(type)
    if definition.gradient is not None or definition.backward is not None:
        for form in ("gradient", "backward"):
            if getattr(definition, form) is not None:
                replace(definition, form, after(getattr(definition, form), lambda found: scaled(found, change)))
        return
    for form in ("kernel", "lower"):
        if getattr(definition, form) is not None:
            replace(definition, form, after(getattr(definition, form), lambda found: slanted(found, change)))


def differentiable_types() -> list[str]:
    """The types that have a gradient."""
    return [t for t in op_registry.types() if op_registry.lookup(t).differentiable]
