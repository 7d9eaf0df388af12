"""Interface of the eager executor: run one operation as a compiled program of its own, and give its pullback.

``Lowering`` calls it for operations on concrete arrays instead of the kernel: ``executor(op, [x, y])`` returns
``(outputs, pullback)``. An operation on a gradient's path is recorded with that pullback:

    outputs, pull_back = executor(mul, [x, y])
    pull_back([True, False], [dz])                 # [dz * y, None]: y's cotangent is not wanted
"""

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
