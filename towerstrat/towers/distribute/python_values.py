"""Python values that a replica function returned, on their way out of a traced function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite import Composite
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ops.regions import is_composite
from towerstrat.graph.variables.variables import Variable


class _Kept(Composite):
    """A value that a trace returned and that is no tensor: each call returns it."""

    def __init__(self, value: Any):
        self.value = value

    def _tensors(self) -> list[Tensor]:
        return []

    def _like(self, tensors: Sequence[Tensor]) -> _Kept:
        return self


def keep(structure: Any) -> Any:
    """A structure with what is no tensor wrapped, so that it leaves a traced function as it is; of operations None."""

    def wrap(value: Any) -> Any:
        if isinstance(value, Variable) or not (isinstance(value, Tensor | jax.Array) or is_composite(value)):
            return _Kept(None if isinstance(value, Operation) else value)
        return value

    return nest.map_structure(wrap, structure)


def kept(structure: Any) -> Any:
    """The structure with these values unwrapped."""
    return nest.map_structure(lambda value: value.value if isinstance(value, _Kept) else value, structure)
