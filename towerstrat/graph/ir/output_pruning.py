"""Dead-code elimination by output: branches and loops run only the parts that lead to outputs in use.

In TensorFlow's graphs each output of a branch or loop is a ``Merge`` or ``Exit`` of its own, and a run needs what leads
to it: an assignment that leads to another output does not happen. Here a branch or loop is one operation. So for each
run it is replaced by a ``PrunedOperation`` with the outputs in use, and bodies that compute these only.

    a, b = cond(p, lambda: (f(x), g(x)), lambda: (x, x))        session.run(a):  If' with bodies (f(x),) and (x,)

A ``PrunedOperation`` equals and hashes as the operation that it stands for, so that values, records and feeds that are
keyed by that one are found by either.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, dependencies, execution_order


class PrunedOperation(Operation):
    """A branch or loop for some of its outputs, which are the same tensors. It is no part of the graph.

    It equals the operation that it stands for (``whole``), and hashes like it.
    """

    __slots__ = ("whole",)

    whole: Operation

    def __eq__(self, other: object) -> bool:
        return self.whole is (other.whole if isinstance(other, PrunedOperation) else other)

    def __hash__(self) -> int:
        return hash(self.whole)


def prune(
    op: Operation, inputs: Sequence[Tensor], outputs: Sequence[Tensor], attrs: Mapping[str, Any]
) -> PrunedOperation:
    """An operation with other inputs, bodies among ``attrs``, and only some of its outputs."""
    pruned = PrunedOperation.__new__(PrunedOperation)
    for name in Operation.__slots__:
        if not name.startswith("__"):
            setattr(pruned, name, getattr(op, name))
    pruned.whole = op.whole if isinstance(op, PrunedOperation) else op
    pruned._inputs = tuple(inputs)
    pruned._outputs = tuple(outputs)
    pruned.attrs = {**op.attrs, **attrs}
    op.graph._bind_effects(pruned)
    return pruned


def rewired(tensor: Tensor, source: Tensor) -> PrunedOperation:
    """An operation that equals the one of ``tensor``, and forwards the value of ``source`` to it (an Identity).

    Raises:
      ValueError: the operation has other outputs too, or the two tensors have different element types.
    """
    op = tensor.op
    if len(op.outputs) > 1 or tensor.dtype != source.dtype:
        raise ValueError(f"{tensor!r} (created at {op.line}) cannot take its value from {source!r}.")
    identity = prune(op, [source], [tensor], {})
    identity.definition, identity.attrs, identity._control_inputs = op_registry.lookup("Identity"), {}, []
    identity.type = identity.definition.type
    op.graph._bind_effects(identity)
    return identity


def prune_block(block: Block, results: Sequence[Tensor | Operation]) -> Block:
    """A region for some of its results, and its effects; the same object where nothing is left out."""
    targets = [*results, *block.effects]
    order = execution_order([t.op if isinstance(t, Tensor) else t for t in targets], block)
    order = prune_order(order, targets)
    same = len(results) == len(block.results) and len(order) == len(block.needed)
    if same and all(a is b for a, b in zip(order, block.needed, strict=True)):
        return block
    pruned = copy.copy(block)
    pruned.results, pruned.needed = tuple(results), order
    return pruned


def prune_order(
    order: Sequence[Operation], targets: Iterable[Tensor | Operation], fed: Container[Tensor] = ()
) -> list[Operation]:
    """The part of an order of execution that targets need, with branches and loops pruned to the outputs in use.

    Args:
      order: all operations that the targets depend on, in an order of execution.
      targets: tensors, and operations, of which all outputs count as used.
      fed: tensors whose operations need not run.
    """
    if not any(op.definition.narrow is not None for op in order):
        return list(order)
    used: set[Tensor] = set()
    fully_used: set[Operation] = set()
    for target in targets:
        if isinstance(target, Tensor):
            used.add(target)
        else:
            fully_used.add(target)
    needed = fully_used | {t.op for t in used if t not in fed}
    pruned: list[Operation] = []
    for op in reversed(order):
        if op not in needed:
            continue
        if op.definition.narrow is not None:
            op = op.definition.narrow(op, used.union(op.outputs) if op in fully_used else used)
        pruned.append(op)
        path = op.attrs.get("path", ())
        before = set(dependencies(op, fed))
        needed |= before
        used.update(t for t in op.inputs if t not in fed)
        used |= op.attrs.get("active", frozenset())
        fully_used |= before.difference((t.op for t in op.inputs), path)
    return list(_along_paths(reversed(pruned)))


def _along_paths(order: Iterable[Operation]) -> Iterator[Operation]:
    """The operations of an order, with pruned ones replaced on gradients' paths, too."""
    pruned: dict[Operation, Operation] = {}
    for op in order:
        path = op.attrs.get("path", ())
        if any(step in pruned for step in path):
            op = prune(op, op.inputs, op.outputs, {"path": tuple(pruned.get(step, step) for step in path)})
        if isinstance(op, PrunedOperation):
            pruned[op] = op
        yield op


def captured_by(blocks: Iterable[Block]) -> set[Tensor]:
    """All tensors that the operations of some regions use, and their results."""
    return {t for b in blocks for t in (*(t for op in b.needed for t in op.inputs), *b.results)}
