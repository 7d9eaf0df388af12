"""Optimizers and their rules: which there are, and how one is disturbed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tests.value_cases import functions
from tests.value_cases.change import Change, intercept
from tests.value_cases.operations import of_lower, replace
from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.training import optimizers
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.optimizer_wrapper import OptimizerWrapper
from towerstrat.training.optimizers.update_ops import Update
from towerstrat.training.optimizers.v2.optimizer_v2 import OptimizerV2

HOOKS = {"dense": "_call_dense_hook", "rows": "_call_sparse_hook"}
"""The methods by which an optimizer updates a variable, by what gradients they take."""


@cache
def _classes() -> Mapping[str, type]:
    found = {n: v for n, v in functions.public("training.optimizers").items() if inspect.isclass(v)}
    return {n: v for n, v in found.items() if issubclass(v, Optimizer) and v not in (Optimizer, OptimizerV2)}


@cache
def names() -> tuple[str, ...]:
    """The public optimizers, with what gradients they take; those around others as a whole."""
    found: list[str] = []
    for name, owner in _classes().items():
        found += [name] if issubclass(owner, OptimizerWrapper) else [f"{name} {kind}" for kind in HOOKS]
    return tuple(found)


def disturb(name: str, change: Change) -> None:
    """The result of an optimizer on a variable is changed; of one around others the gradients that it hands on."""
    where, _, kind = name.partition(" ")
    owner = _classes()[where]
    if issubclass(owner, OptimizerWrapper):
        intercept(owner.apply_gradients, lambda original, self, pairs, *rest, **named: original(
            self, [(g if g is None else g * change.factor, v) for g, v in pairs], *rest, **named))  # fmt: skip
        return

    def around(original: Any, self: Any, grad: Any, var: Any, *args: Any) -> Any:
        updated = original(self, grad, var, *args)
        if type(self) is not owner:
            return updated
        with control_dependencies([updated]):
            return var.assign_add(var.read_value() * (change.factor - 1.0) + change.offset)

    intercept(getattr(Optimizer, HOOKS[kind]), around)


@cache
def variants() -> tuple[str, ...]:
    """The types of operations of the rules that go two ways, with each way."""
    found: list[str] = []
    for module in pkgutil.iter_modules(optimizers.__path__, f"{optimizers.__name__}."):
        for rule in vars(importlib.import_module(module.name)).values():
            if isinstance(rule, Update):
                ways = [p.name for p in inspect.signature(rule.function).parameters.values() if p.annotation == "bool"]
                found += [f"Resource{kind}{rule.name} {way}={value}" for kind in ("Apply", "SparseApply")
                          for way in ways for value in (False, True)]  # fmt: skip
    return tuple(sorted(set(found)))


def disturb_variant(name: str, change: Change) -> None:
    """The writes of the operations of a type are changed where an attribute has a value."""
    type, _, way = name.partition(" ")
    attribute, _, value = way.partition("=")
    definition = op_registry.lookup(type)
    plain, other = definition.lower, of_lower(definition.lower, change)

    def lower(lowering: Any, op: Any) -> Any:
        return (other if str(op.attrs[attribute]) == value else plain)(lowering, op)

    replace(definition, "lower", lower)


def watch(note: Callable[[str, str], None]) -> None:
    """From now on ``note`` is called with each optimizer, and each way of a rule, that is used."""
    known = {owner: name for name, owner in _classes().items()}
    for kind, hook in HOOKS.items():

        def around(original: Any, self: Any, *args: Any, kind: str = kind) -> Any:
            if type(self) in known:
                note("optimizer", f"{known[type(self)]} {kind}")
            return original(self, *args)

        intercept(getattr(Optimizer, hook), around)
    for name, owner in _classes().items():
        if issubclass(owner, OptimizerWrapper):

            def handed_on(original: Any, self: Any, *args: Any, optimizer: str = name, **named: Any) -> Any:
                note("optimizer", optimizer)
                return original(self, *args, **named)

            intercept(owner.apply_gradients, handed_on)

    def applied(
        original: Any, self: Any, variables: Any, scalars: Any, grad: Any, indices: Any = None, **ways: Any
    ) -> Any:
        for way, value in ways.items():
            note("rule", f"Resource{'Apply' if indices is None else 'SparseApply'}{self.name} {way}={value}")
        return original(self, variables, scalars, grad, indices, **ways)

    intercept(Update.apply, applied)
