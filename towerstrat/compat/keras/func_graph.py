"""``tf.__internal__.FuncGraph``: graphs that the package makes itself, to look at what layers do."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.ir.graph import get_default_graph


class _OfFunctions(type):
    """The class of ``FuncGraph``: the graph of every traced function is one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, FunctionGraph)


class FuncGraph(FunctionGraph, metaclass=_OfFunctions):
    """The graph of a function, to be filled by hand: it captures what it uses from where it was made.

    Args:
      name: of the function.
    """

    def __init__(self, name: str):
        super().__init__(get_default_graph(), name)
