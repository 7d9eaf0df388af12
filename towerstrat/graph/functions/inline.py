"""Operations of one graph made again in another, or executed: how a function becomes part of what calls it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import Record, context
from towerstrat.graph.functions.graph import LIFTS, FunctionGraph
from towerstrat.graph.ir.convert import constant
from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Block, Operation, Tensor, execution_order, has_effect
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.runtime.host_control_flow import EndOfLoop

_STRUCTURAL = ("bodies", "path", "active", "rules", "ys", "seeds_given", "xs", "stops", "variables", "flows", "_of",
               "_traced_gradient", "elements", "results")  # fmt: skip
"""Attributes that hold parts of the graph."""


def effects_of(graph: FunctionGraph) -> list[Operation]:
    """The operations that run in each call, needed or not."""
    return [op for op in graph.root.ops if has_effect(op)]


class Inlining:
    """One copying of operations into another graph.

    Args:
      target: where they are made again; in the eager context they are executed.
      mapping: tensors that stand for others.
    """

    def __init__(self, target: Graph, mapping: Mapping[Tensor, Tensor]):
        self.target = target
        self.tensors: dict[Tensor, Any] = dict(mapping)
        self.operations: dict[Operation, Operation] = {}
        self.blocks: dict[Block, Block] = {}

    def copy(self, operations: Iterable[Operation]) -> None:
        """Makes operations again, in order."""
        for op in operations:
            if all(t in self.tensors for t in op.outputs) and op.outputs:
                continue
            if self.target.executing_eagerly:
                self._execute(op)
            else:
                self._copy_one(op)

    def _copy_one(self, op: Operation) -> None:
        target = self.target
        if op.type == "VarHandleOp" and isinstance(op.graph, FunctionGraph):
            self.tensors[op.outputs[0]] = target.inside(op.graph.outside_of[op.outputs[0]])
            return
        bodies = tuple([self._copy_block(b) for b in op.bodies if op.type != "Gradients"])
        inputs = [self.tensors[t] for t in op.inputs]
        controls = [self.operations[c] for c in op.control_inputs if c in self.operations]
        attrs = {k: self._mapped(v) if k in _STRUCTURAL else v for k, v in op.attrs.items() if k != "bodies"}
        if bodies:
            attrs["bodies"] = bodies
        elif "bodies" in op.attrs:
            attrs["bodies"] = self._mapped(op.attrs["bodies"])
        made = target.add(op.type, inputs, attrs, op.name, axis=op.axis, control_inputs=controls)
        made.line = op.line
        for old, new in zip(op.outputs, made.outputs, strict=True):
            new.varies |= old.varies
            if new.dims is None or (old.dims is not None and None in new.dims):
                new.dims = old.dims if new.dims is None else new.dims
            self.tensors[old] = new
        self.operations[op] = made

    def _mapped(self, value: Any) -> Any:
        """A value of an attribute over the copies of what it holds."""
        if isinstance(value, Tensor):
            return self.tensors.get(value, value)
        if isinstance(value, Operation):
            return self.operations.get(value, value)
        if isinstance(value, Block):
            return self._copy_block(value)
        if isinstance(value, dict):
            return {self._mapped(k): self._mapped(v) for k, v in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._mapped(v) for v in value))
        if isinstance(value, tuple | list | set | frozenset):
            return type(value)([self._mapped(v) for v in value])
        return value

    def _copy_block(self, block: Block) -> Block:
        if block in self.blocks:
            return self.blocks[block]
        target = self.target
        with target.body(block.what) as made:
            self.blocks[block] = made
            made.line = block.line
            wanted = set(block.needed)
            for op in block.ops:
                if op in wanted or op.type in ("LoopVariable", "Cotangent", "StepInput"):
                    self._copy_one(op)
            if block.predicate is not None:
                made.predicate = self.tensors[block.predicate]
            made.finish([self._mapped(r) for r in block.results])
        return made

    # ---- eagerly ---------------------------------------------------------------------------------------------

    def _execute(self, op: Operation) -> None:
        if op.type == "VarHandleOp" and isinstance(op.graph, FunctionGraph):
            self.tensors[op.outputs[0]] = op.graph.outside_of[op.outputs[0]]
        elif op.type == "If":
            self._execute_if(op)
        elif op.type == "While":
            self._execute_while(op)
        elif op.type == "VectorizedMap":
            self._execute_rows(op)
        elif "_traced_gradient" in op.attrs:
            self._execute_ruled(op)
        elif op.bodies:
            raise UnsupportedError(
                f"{op.name} (type {op.type}, created at {op.line}) cannot be executed operation by operation under a "
                "GradientTape. Take the gradient inside of the tf.function."
            )
        else:
            made = self.target.add(op.type, [self.tensors[t] for t in op.inputs], op.attrs, op.name)
            self.tensors.update(zip(op.outputs, made.outputs, strict=True))

    def _execute_if(self, op: Operation) -> None:
        block = op.bodies[0 if bool(self.tensors[op.inputs[0]]) else 1]
        self.copy(block.needed)
        self.tensors.update(zip(op.outputs, [self.tensors[t] for t in block.results], strict=True))

    def _execute_while(self, op: Operation) -> None:
        cond, body = op.bodies
        cond_vars, body_vars = op.attrs["variables"]
        values = [self.tensors[t] for t in op.inputs[: len(body_vars)]]
        limit = int(self.tensors[op.inputs[len(body_vars)]]) if op.attrs["bounded"] else None
        count = 0
        while limit is None or count < limit:
            test = Inlining(self.target, {**self.tensors, **dict(zip(cond_vars, values, strict=True))})
            test.copy(cond.needed)
            if not bool(test.tensors[cond.results[0]]):
                break
            step = Inlining(self.target, {**self.tensors, **dict(zip(body_vars, values, strict=True))})
            try:
                step.copy(body.needed)
            except EndOfLoop:
                break
            values = [step.tensors[t] for t in body.results]
            count += 1
        made = self.target.add(
            "Const", (), {"value": op.outputs[-1].dtype.np.type(count), "dtype": op.outputs[-1].dtype}
        )
        self.tensors.update(zip(op.outputs, [*values, *made.outputs], strict=True))

    def _execute_rows(self, op: Operation) -> None:
        (block,), rows = op.bodies, op.attrs["variables"]
        given = [self.tensors[t] for t in op.inputs[: len(rows)]]
        count = next((t.dims[0] for t in given if t.dims[0] != 1), 1)
        made: list[list[Any]] = []
        for i in range(count):
            step = Inlining(self.target, self.tensors)
            for row, tensor in zip(rows, given, strict=True):
                step.tensors[row] = tensor[0 if tensor.dims[0] == 1 else i]
            step.copy(block.needed)
            made.append([step.tensors[t] for t in block.results])
        for place, output in enumerate(op.outputs):
            if count:
                stacked = self.target.add("Pack", [row[place] for row in made], {"axis": 0}).outputs[0]
            else:
                dims = block.results[place].dims or ()
                stacked = constant(np.zeros((0, *(d or 0 for d in dims)), output.dtype.np))
            self.tensors[output] = stacked

    def _execute_ruled(self, op: Operation) -> None:
        """An operation with a gradient of its own: the tapes see that."""
        eager: Any = self.target
        inputs = [self.tensors[t] for t in op.inputs]
        outputs = [eager.tensor(t.array, t.dtype) for t in inputs[: len(op.outputs)]]
        self.tensors.update(zip(op.outputs, outputs, strict=True))
        if eager.tapes.active:
            eager.record(_RuleRecord(self, op, inputs, outputs))


class _RuleRecord(Record):
    """An executed operation whose gradient was traced in a function."""

    __slots__ = ("copying", "op")

    def __init__(self, copying: Inlining, op: Operation, inputs: Any, outputs: Any):
        super().__init__(inputs, outputs)
        self.copying = copying
        self.op = op

    def backward(self, wanted: Sequence[bool], cotangents: Sequence[Any]) -> Sequence[Any]:
        rule = self.op.attrs["_traced_gradient"]
        step = Inlining(self.copying.target, self.copying.tensors)
        for place, cotangent, output in zip(rule.cotangents, cotangents, self.outputs, strict=True):
            zeros = self.copying.target.add("ZerosLike", [output]) if cotangent is None else None
            step.tensors[place] = cotangent if zeros is None else zeros.outputs[0]
        step.copy(rule.block.needed)
        return [
            IndexedSlices(*(step.tensors[t] for t in g))
            if isinstance(g, tuple)
            else None
            if g is None
            else step.tensors[g]
            for g in rule.grads
        ]


def inline(
    source: FunctionGraph, outputs: Sequence[Tensor], given: Mapping[Tensor, Tensor], target: Graph
) -> list[Tensor]:
    """The outputs of a function's graph as tensors of another graph; its effects happen there too.

    Args:
      given: for each input of the function the tensor that is passed.
    """
    mapping = {inner: target.inside(outer) for outer, inner in source.captured.items()}
    mapping.update(given)
    copying = Inlining(target, mapping)
    targets = [t.op for t in outputs if t not in mapping]
    effects = effects_of(source)
    copying.copy(execution_order([*targets, *effects], source.root, mapping))
    made = [copying.tensors[t] for t in outputs]
    if not effects or target.executing_eagerly or target.building_function:
        return made
    # A plain graph runs what is needed only: whoever needs an output of a function needs its effects.
    first = [copying.operations[op] for op in effects]
    return [target.add("Identity", (t,), control_inputs=first).outputs[0] for t in made]


def _lift(graph: FunctionGraph, tensor: Tensor, name: str) -> Any:
    """The value of an initial value that was made inside of a function."""
    fed: dict[Tensor, Any] = {}
    source: Graph = graph
    for outer, inner in graph.captured.items():
        if outer.graph.executing_eagerly:
            fed[inner] = outer
        elif isinstance(source, FunctionGraph):
            fed[inner] = graph.outer.lifted(outer, name)
    order = execution_order([tensor.op], graph.root, fed)
    wrong = next((op for op in order if op.type in ("Placeholder", "LoopVariable")), None)
    if wrong is not None or tensor.op.block is not graph.root:
        where = f"the argument {wrong.name}" if wrong is not None else "a branch or loop"
        raise ValueError(
            f"The initial value of variable {name} depends on {where} of {graph.what} (created at {tensor.op.line}): a "
            "variable is initialized once, before the function runs. Pass a function that makes the initial value "
            "(initial_value=lambda: ...), or assign in the function."
        )
    copying = Inlining(context(), fed)
    copying.copy(order)
    return copying.tensors[tensor]


LIFTS[0] = _lift
