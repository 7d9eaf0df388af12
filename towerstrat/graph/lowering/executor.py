"""Interface of the eager executor: run one operation as a compiled program of its own, and give its pullback.

``Lowering`` calls it for operations on concrete arrays instead of the kernel: ``executor(op, [x, y])`` returns
``(outputs, pullback)``, and an operation on a gradient's path is recorded with that pullback. The one that
there is, ``SingleOperations``, belongs to the room above (``runtime/programs/eager_programs.py``), which hands it down,
since this one cannot import it. One for products of floats would be

>>> def executor(op, values):
...     x, y = values
...     def pull_back(wanted, cotangents):
...         (dz,) = cotangents
...         return [dz * other if is_wanted else None for other, is_wanted in zip((y, x), wanted)]
...     return [x * y], pull_back
>>> outputs, pull_back = executor("the operation", [2.0, 5.0])
>>> outputs, pull_back([True, False], [1.0])                # y's cotangent is not wanted
([10.0], [5.0, None])
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
