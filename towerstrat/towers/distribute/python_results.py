"""Functions that replicas are given to run, and Python values among what the traced ones return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from towerstrat.graph.autograph.methods import Bound
from towerstrat.graph.functions.concrete import ConcreteFunction
from towerstrat.graph.functions.polymorphic import Function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Composite
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.control.regions import is_composite
from towerstrat.graph.variables.variables import Variable

_TRACED = (Function, Bound, ConcreteFunction)


def is_traced(fn: Any) -> bool:
    """Whether a function is a ``tf.function``, or an object whose calls are."""
    return isinstance(fn, _TRACED) or isinstance(getattr(fn, "__call__", None), _TRACED)  # noqa: B004


class _PythonValue(Composite):
    """A Python value that a trace returned, which each call returns again."""

    def __init__(self, value: Any):
        self.value = value

    def _tensors(self) -> list[Tensor]:
        return []

    def _like(self, tensors: Sequence[Tensor]) -> _PythonValue:
        return self


def wrapped(structure: Any) -> Any:
    """A structure whose Python values are wrapped so that a traced function can return them; operations become None."""

    def wrap(value: Any) -> Any:
        if isinstance(value, Variable) or not (isinstance(value, Tensor | jax.Array) or is_composite(value)):
            return _PythonValue(None if isinstance(value, Operation) else value)
        return value

    return nest.map_structure(wrap, structure)


def unwrapped(structure: Any) -> Any:
    """A structure that ``wrapped`` returned, with the Python values themselves."""
    return nest.map_structure(lambda value: value.value if isinstance(value, _PythonValue) else value, structure)
