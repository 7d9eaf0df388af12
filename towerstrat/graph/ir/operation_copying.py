"""Copy operations into another graph, with their bodies, attributes and effects.

``Copying(target, {x: x2}).copy(operations)`` makes each operation again, on the copies of its inputs; ``x`` is replaced
by ``x2``, which cuts off what computes it. Functions are inlined with it. Attributes may hold
tensors, operations and regions (a gradient's path, a loop's variables): these are mapped too (``_mapped``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.shapes import merge
from towerstrat.graph.ir.shard_operations import replicated_of


def path_from(tensor: Tensor, begins: Callable[[Operation], bool]) -> list[Operation]:
    """The operations on paths to a tensor from those of which ``begins`` is true; both ends included.

    They are in the order of creation.
    """
    above: set[Operation] = set()
    waiting = [tensor.op]
    while waiting:
        op = waiting.pop()
        if op not in above:
            above.add(op)
            waiting += [*(t.op for t in op.inputs), *op.control_inputs]
    path: dict[Operation, None] = {}
    for op in sorted(above, key=lambda op: op.index):
        if begins(op) or any(t.op in path for t in op.inputs) or any(c in path for c in op.control_inputs):
            path[op] = None
    return list(path)


class Copying:
    """Copies operations of one graph into another.

    Args:
      target: the graph that gets the copies.
      mapping: tensor of the source graph -> tensor of ``target`` that replaces it.

    Attributes:
      tensors, operations, blocks: original -> copy.
    """

    def __init__(self, target: Graph, mapping: Mapping[Tensor, Tensor]):
        self.target = target
        self.tensors: dict[Tensor, Tensor] = dict(mapping)
        self.operations: dict[Operation, Operation] = {}
        self.blocks: dict[Block, Block] = {}

    def copy(self, operations: Iterable[Operation]) -> None:
        """Copy operations, in order; those whose outputs are all replaced are left out."""
        for op in operations:
            if not (op.outputs and all(t in self.tensors for t in op.outputs)):
                self._copy_one(op)

    def copy_beside(self, op: Operation) -> None:
        """Copy an operation of ``target`` itself: inputs and controls without a copy stand for themselves."""
        self.tensors.update((t, t) for t in op.inputs if t not in self.tensors)
        self.operations.update((c, c) for c in op.control_inputs if c not in self.operations)
        self._copy_one(op)

    def _copy_one(self, op: Operation) -> None:
        """Copy one operation with its bodies; the handle of a captured variable becomes the target's."""
        target = self.target
        outside = op.graph.outer_handle(op.outputs[0]) if op.outputs else None
        if outside is not None:
            self.tensors[op.outputs[0]] = target.inside(outside)
            return
        bodies = tuple([self._copy_block(b) for b in op.bodies if op.type != "Gradients"])
        inputs = [self.tensors[t] for t in op.inputs]
        controls = [self.operations[c] for c in op.control_inputs if c in self.operations]
        # Hidden attributes and those with a leading underscore may hold tensors, operations and blocks.
        hidden = op.definition.hidden
        attrs = {k: self._mapped(v) if k in hidden or k[0] == "_" else v for k, v in op.attrs.items() if k != "bodies"}
        if bodies:
            attrs["bodies"] = bodies
        elif "bodies" in op.attrs:
            attrs["bodies"] = self._mapped(op.attrs["bodies"])
        copied = target.add(op.type, inputs, attrs, op.name, axis=op.axis, control_inputs=controls)
        full_operation = replicated_of(copied)
        copied.line = full_operation.line = op.line
        for old, new in zip(op.outputs, full_operation.outputs, strict=True):
            new.varies |= old.varies
            new.dims = merge(new.dims, old.dims)  # what set_shape gave the original counts here too
        self.tensors.update(zip(op.outputs, copied.outputs, strict=True))
        self.operations[op] = copied

    def _mapped(self, value: Any) -> Any:
        """An attribute's value with each tensor, operation and block in it replaced by its copy."""
        if isinstance(value, Tensor):
            if value in self.tensors:
                return self.target.own(self.tensors[value])
            outside = value.graph.outer_handle(value)
            return value if outside is None else self.target.inside(outside)
        if isinstance(value, Operation):
            return self.target.own_operation(self.operations.get(value, value))
        if isinstance(value, Block):
            return self._copy_block(value)
        if isinstance(value, dict):
            return {self._mapped(k): self._mapped(v) for k, v in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return value.__class__(*(self._mapped(v) for v in value))
        if isinstance(value, tuple | list | set | frozenset):
            return value.__class__([self._mapped(v) for v in value])
        return value

    def _copy_block(self, block: Block) -> Block:
        """Copy the operations that a region runs, with its effects as of when it was finished; each region once."""
        if block in self.blocks:
            return self.blocks[block]
        with self.target.body(block.what) as copied:
            self.blocks[block] = copied
            copied.line = block.line
            needed = set(block.needed)
            for op in block.ops:
                if op in needed or op.definition.is_placeholder:
                    self._copy_one(op)
            if block.predicate is not None:
                copied.predicate = self.target.own(self.tensors[block.predicate])
            copied.finish([self._mapped(r) for r in block.results], [self.operations[op] for op in block.effects])
        return copied
