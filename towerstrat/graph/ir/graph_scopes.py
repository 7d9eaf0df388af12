"""Scopes that are open in a graph: the thread's name scope and variable creators, and control dependencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Block, Operation
from towerstrat.platform.threads import ThreadState


class ThreadScopes(ThreadState):
    """The scopes of a graph that each thread has for itself.

    Attributes:
      name: the current name scope, without a slash at its end.
      creators: the variable creators in scope, the outermost first.
    """

    def __init__(self) -> None:
        self.name = ""
        self.creators: list[Callable[..., Any]] = []


class ControlScope:
    """One ``control_dependencies`` scope.

    Attributes:
      block: the region that it was entered in; operations of that region and of those inside run after ``controls``.
      made: the operations made in it so far. What uses their outputs comes after ``controls`` by itself.
    """

    def __init__(self, block: Block, controls: Sequence[Operation]) -> None:
        self.block = block
        self.controls = controls
        self.made: set[Operation] = set()
