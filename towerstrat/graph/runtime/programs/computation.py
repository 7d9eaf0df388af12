"""Outputs of a graph as a function of placeholders (a ``Computation``), and that function compiled.

Of an eager ``tf.reshape(x, [3, 2])``, whose second input is a constant of the program:

    Computation    places [x, shape], known {shape: [3, 2]}, operations [Reshape], outputs [Reshape:0]
    arguments      [0]: the program takes x alone

``eager_programs`` makes one of each operation type and signature, and one more of its gradient; the compiled form is
made at the first call. As a function of x:

>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> from towerstrat.graph.ops.math import arithmetic
>>> with (graph := Graph()).as_default():
...     x, y = placeholder("float32", []), placeholder("float32", [])
...     total = arithmetic.add(x, y)
>>> sums = Computation(graph, [x, y], [total.op], [total], [], {y: 10.0}, False)
>>> sums.arguments
[0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax

from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.executor import Executor
from towerstrat.graph.runtime.programs.host_form import Argument
from towerstrat.graph.runtime.programs.program_cache import ArrayFunction
from towerstrat.platform import compilers


@dataclass(frozen=True, slots=True)
class Computation:
    """Outputs of a graph as a function of placeholders and of state variables.

    Attributes:
      graph: the graph that they are in.
      places: placeholders of the inputs.
      operations: what has to run.
      outputs: the tensors whose values it returns.
      cells: the state variables whose values it takes and returns.
      known: values of some of the placeholders, constants of the function.
      dynamic: whether the shape of a result depends on values, so that it is not compiled.
    """

    graph: Graph
    places: Sequence[Tensor]
    operations: Sequence[Operation]
    outputs: Sequence[Tensor]
    cells: Sequence[StateVariable]
    known: Mapping[Tensor, Array]
    dynamic: bool

    @property
    def arguments(self) -> list[int]:
        """Indices of the placeholders that are arguments of the function; the others are constants, or handles."""
        return [i for i, p in enumerate(self.places) if p not in self.known and p.dtype is not resource]

    def function(self) -> ArrayFunction:
        """The function of the arguments' values and those of ``cells``."""
        inputs = [self.places[i] for i in self.arguments]
        order = execution_order(self.operations, self.graph.root, {*inputs, *self.known})
        return ArrayFunction(order, inputs, self.outputs, self.known, self.cells, compilers.default_platform())


class CompiledComputation:
    """A computation as a jitted function; one whose shapes depend on values runs operation by operation.

    Args:
      computation: the computation.
      early: how many more times it is executed without being compiled by itself.

    Attributes:
      function: what is jitted.
    """

    __slots__ = ("_arguments", "_dynamic", "_early", "_jitted", "function")

    def __init__(self, computation: Computation, early: int = 0):
        self.function = computation.function()
        self._arguments = computation.arguments
        self._dynamic = computation.dynamic
        self._early = early
        self._jitted = compilers.jit(self.function, self.function.platform)

    def run(
        self, inputs: Sequence[Argument], state: Sequence[Array | None], executor: Executor
    ) -> tuple[Sequence[Array], Sequence[Array | None]]:
        """Compute (outputs, new values of the state variables). ``executor``: of operations that run one by one."""
        arrays = [inputs[i].array for i in self._arguments]
        with jax.enable_x64(True):
            if self._dynamic or self._early:
                self._early -= self._early > 0
                return self.function(arrays, state, eager=True, executor=executor if self._dynamic else None)
            results: tuple[Sequence[Array], Sequence[Array | None]] = self._jitted(arrays, state)
            return results
