"""One operation on inputs of one signature, ready to be executed again and again; and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir.convert import placeholder
from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Operation, Tensor, execution_order
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.registry import OpDef
from towerstrat.graph.ir.state import Cell, Flag
from towerstrat.graph.ir.types import resource
from towerstrat.graph.lowering.gradients import gradients
from towerstrat.graph.lowering.lowering import Lowering

SMALL = 4096
"""Elements up to which numpy computes what it can."""


class Routine:
    """A graph of a few operations as a compiled function of its inputs and of cells.

    Args:
      graph: the graph.
      inputs: what the function takes, without those whose values are known.
      known: inputs whose values are part of the function.
      cells: state that it takes, in order.
      outputs: what it gives.
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Tensor], known: Mapping[Tensor, Any], cells: Sequence[Cell],
        outputs: Sequence[Tensor], operations: Sequence[Operation],
    ):  # fmt: skip
        self.graph = graph
        self.inputs = inputs
        self.known = known
        self.cells = cells
        self.outputs = outputs
        self.order = execution_order(operations, graph.root, {*inputs, *known})
        self.dtypes = [t.dtype for t in outputs]
        self.jitted = jax.jit(self.evaluate)

    def evaluate(self, arrays: Sequence[Any], state: Sequence[Any], eager: bool = False) -> Any:
        """(values of the outputs, the cells' new values). Traced by ``jitted``; or run one by one on values."""
        before = {c: v for c, v in zip(self.cells, state, strict=True) if v is not None}
        lowering = Lowering(jax.default_backend(), None, before, operations=self.order)
        lowering.eager = eager
        lowering.values.update(self.known)
        lowering.values.update(zip(self.inputs, arrays, strict=True))
        lowering.run(self.order)
        return [lowering.value(t) for t in self.outputs], [lowering.state.get(c) for c in self.cells]


class Execution:
    """One operation type with its attributes, on inputs of given types and shapes.

    Attributes:
      dynamic: the shape of a result depends on values, so that it is not compiled.
      flag_place, message: which of its cells is the flag of a check, and what the check says.
      host_form: (numpy arrays) -> outputs, where numpy can compute it.
      arrays: positions of the inputs that are given to the compiled form; the others' values are part of it.
    """

    def __init__(self, definition: OpDef, attrs: Mapping[str, Any], inputs: Sequence[Any], static: Sequence[int]):
        graph = Graph()
        self.graph = graph
        with graph.as_default():
            self.places = [_stand_in(graph, t) for t in inputs]
            self.op = graph.add(definition.type, self.places, attrs)
        self.definition = definition
        self.differentiable = definition.differentiable
        self.dynamic = definition.dynamic
        self.dtypes = [t.dtype for t in self.op.outputs]
        self.types = [d.np for d in self.dtypes]
        self.host_form: Callable[..., Any] | None = None
        if definition.numpy is not None:
            self.host_form = definition.numpy
            self.arguments = self.op.arguments
        self.cells = list(dict.fromkeys((*self.op.reads, *self.op.writes)))
        self.message = ""
        self.flag_place = next((i for i, c in enumerate(self.cells) if isinstance(c, Flag)), -1)
        known = {self.places[i]: inputs[i].host() for i in static if i < len(inputs)}
        self.arrays = [i for i, p in enumerate(self.places) if p not in known and p.dtype is not resource]
        self.known = known
        self.routine = Routine(
            graph, [self.places[i] for i in self.arrays], known, self.cells, self.op.outputs, [self.op]
        )
        self.pulls: dict[Any, Pull] = {}

    def on_host(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """The outputs by numpy."""
        assert self.host_form is not None
        try:
            found = self.host_form(*arrays, **self.arguments)
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            raise type(error)(f"{error} (operation {self.op.type})") from None
        values = [found] if len(self.types) == 1 and not isinstance(found, tuple | list) else found
        return [_as(v, t) for v, t in zip(values, self.types, strict=True)]

    def pull(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> Pull | None:
        """What turns cotangents of the outputs that are given into those of the inputs that are wanted."""
        key = (wanted, given)
        if key not in self.pulls:
            self.pulls[key] = Pull(self, wanted, given)
        return self.pulls[key] if self.pulls[key].outputs else None


class Pull:
    """The gradient of an execution, compiled with it: what of the forward pass it does not need is left out.

    Attributes:
      results: per wanted input its gradient in the graph: a tensor, IndexedSlices, or None.
    """

    differentiable = True

    def __init__(self, execution: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]):
        self.graph = graph = execution.graph
        self.op = execution.op
        with graph.as_default():
            ys = [t for t, g in zip(execution.op.outputs, given, strict=True) if g]
            self.seeds = [placeholder(t.dtype, t.dims) for t in ys]
            xs = [p for p, w in zip(execution.places, wanted, strict=True) if w]
            self.results = gradients(ys, xs, self.seeds)
        self.outputs: list[Tensor] = []
        for found in self.results:
            if isinstance(found, IndexedSlices):
                self.outputs += [found.values, found.indices]
            elif found is not None:
                self.outputs.append(found)
        self.places = [*execution.places, *self.seeds]
        self.cells = execution.cells
        self.known = execution.known
        self.dynamic = execution.dynamic
        self.arrays = [i for i, p in enumerate(self.places) if p not in self.known and p.dtype is not resource]
        self.dtypes = [t.dtype for t in self.outputs]
        self.host_form = None
        self.routine = Routine(
            graph, [self.places[i] for i in self.arrays], self.known, self.cells, self.outputs,
            [t.op for t in self.outputs],
        )  # fmt: skip
        self.pulls: dict[Any, Any] = {}

    def pull(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> Pull | None:
        """As of an execution: the gradient of a gradient."""
        key = (wanted, given)
        if key not in self.pulls:
            self.pulls[key] = Pull(_Results(self), wanted, given)
        return self.pulls[key] if self.pulls[key].outputs else None


class _Results:
    """A pull seen as an execution whose outputs are its results."""

    def __init__(self, pull: Pull):
        self.graph = pull.graph
        self.op = pull
        self.places = pull.places
        self.cells = pull.cells
        self.known = pull.known
        self.dynamic = pull.dynamic


def _stand_in(graph: Graph, tensor: Any) -> Tensor:
    """A tensor of the graph like an eager one; for a variable's handle one of a cell of its own."""
    if tensor.dtype is not resource:
        return graph.add("Placeholder", (), {"dtype": tensor.dtype, "shape": tensor.dims}, "x").outputs[0]
    cell = tensor.cell
    own = Cell(cell.name, cell.dtype, cell.dims, default=cell.default)
    return graph.add("VarHandleOp", (), {"cell": own}, "handle").outputs[0]


def _as(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray) and value.dtype == dtype:
        return value
    if dtype.hasobject and not isinstance(value, np.ndarray):
        array = np.empty((), object)
        array[()] = value
        return array
    return np.asarray(value, dtype)
