"""Inline execution of a traced function: its operations one by one in the eager context, so that tapes record each.

``Executing`` has the interface of ``Copying``, which copies operations to another graph; here a copy is an execution,
and ``tensors`` maps the graph's tensors to eager ones. Branches and loops are unrolled by the ``unroll`` of their
types:

    graph       m = Mul(x, x)      c = If(p, ...)          tensors = {x: eager 3., p: eager True}
    copy        m -> eager 9.      the taken branch's operations, one by one

>>> import numpy as np
>>> from towerstrat.graph.eager.context import context
>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> from towerstrat.graph.ops.math.arithmetic import square
>>> with Graph().as_default():
...     y = square(x := placeholder("float32", []))
>>> executing = Executing(context(), {x: context().tensor(np.float32(3.0), x.dtype)})
>>> executing.copy([y.op])
>>> float(executing.tensors[y])
9.0

A ``CustomGradient`` in the graph becomes a record of its own, so that a tape uses the traced gradient function instead
of the gradient of an identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import Cotangent, EagerContext, Record
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.lowering.python_gradients import TracedRule


class Executing:
    """Executor of a graph's operations in the eager context (an ``Unrolling`` of the registry).

    Args:
      eager: the context that executes them.
      tensors: tensor of the graph -> eager tensor.
    """

    def __init__(self, eager: EagerContext, tensors: Mapping[Tensor, Tensor]):
        self.eager = eager
        self.tensors: dict[Tensor, Tensor] = dict(tensors)

    def inner(self, tensors: Mapping[Tensor, Tensor]) -> Executing:
        """A copy for one execution of a body, with values for the body's variables added."""
        return Executing(self.eager, {**self.tensors, **tensors})

    def execute(self, type: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None = None) -> list[Tensor]:
        """Execute one operation on eager tensors; return its outputs."""
        return self.eager.add(type, inputs, attrs).outputs

    def copy(self, operations: Iterable[Operation]) -> None:
        """Execute operations of the graph in order and add their outputs to ``tensors``."""
        for op in operations:
            if not (op.outputs and all(t in self.tensors for t in op.outputs)):
                self._execute(op)

    def _execute(self, op: Operation) -> None:
        """Execute one operation; branches and loops by the ``unroll`` of their types."""
        outside = op.graph.outer_handle(op.outputs[0]) if op.outputs else None
        if outside is not None:
            self.tensors[op.outputs[0]] = outside
        elif op.definition.unroll is not None:
            op.definition.unroll(self, op)
        elif "_traced_gradient" in op.attrs:
            self._execute_custom_gradient(op)
        elif op.bodies or op.type == "Gradients":
            raise UnsupportedError(
                f"{op.name} (type {op.type}, created at {op.line}) cannot be executed operation by operation under a "
                "GradientTape. Take the gradient inside of the tf.function."
            )
        else:
            executed = self.eager.add(op.type, [self.tensors[t] for t in op.inputs], op.attrs, op.name)
            self.tensors.update(zip(op.outputs, executed.outputs, strict=True))

    def _execute_custom_gradient(self, op: Operation) -> None:
        """Execute a ``CustomGradient``: its outputs are new tensors, so that tapes record its own gradient."""
        inputs = [self.tensors[t] for t in op.inputs]
        outputs = [self.eager.tensor(t.array, t.dtype) for t in inputs[: len(op.outputs)] if isinstance(t, EagerTensor)]
        self.tensors.update(zip(op.outputs, outputs, strict=True))
        if self.eager.tapes.active:
            self.eager.record(_RuleRecord(self, op, inputs, outputs))


class _RuleRecord(Record):
    """An executed ``CustomGradient`` whose gradient function was traced as a region of the function's graph."""

    __slots__ = ("executing", "op")

    def __init__(self, executing: Executing, op: Operation, inputs: Sequence[Tensor], outputs: Sequence[Tensor]):
        super().__init__(inputs, outputs)
        self.executing = executing
        self.op = op

    def backward(self, requested: Sequence[bool], cotangents: Sequence[Tensor | None]) -> Sequence[Cotangent]:
        rule: TracedRule = self.op.attrs["_traced_gradient"]
        step = self.executing.inner({})
        for placeholder, cotangent, output in zip(rule.cotangents, cotangents, self.outputs, strict=True):
            step.tensors[placeholder] = step.execute("ZerosLike", [output])[0] if cotangent is None else cotangent
        step.copy(rule.block.needed)
        gradients: list[Cotangent] = []
        for gradient in rule.grads:
            if isinstance(gradient, tuple):
                gradients.append(IndexedSlices(*(step.tensors[t] for t in gradient)))
            else:
                gradients.append(None if gradient is None else step.tensors[gradient])
        return gradients
