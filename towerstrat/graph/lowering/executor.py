"""What runs operations one by one, and gives their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.types import Array

Pullback = Callable[[Sequence[bool], Sequence[Array | None]], list[Array | None]]
"""(per input: wanted, output cotangents) -> input cotangents. None stands for zeros, or an input not wanted."""


class Executor(Protocol):
    """Runs operations one by one on concrete arrays, each as a compiled program of its own."""

    def __call__(self, op: Operation, values: Sequence[Array]) -> tuple[list[Array], Pullback]:
        """The operation's outputs, and its vector-Jacobian product at ``values``."""
