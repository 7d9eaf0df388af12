"""Predicates of branches with collectives over several processes: a consensus makes them the same in all.

A cond whose branches reduce over towers of several processes deadlocks if the processes disagree. Values that each
process brings (feeds, function arguments, host operations) may differ after the first call, when they are no longer
compared. So such a predicate is gathered, and an assertion stops the run if it differed:

    pred of 2 processes: [True, False]     branch taken: any = True, in both; then InvalidArgumentError shows them

A predicate computed from state or constants is the same in all processes, and is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.array.arrays import identity, reshape
from towerstrat.graph.ops.collectives.all_reduce import all_concat
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.math.arithmetic import equal
from towerstrat.graph.ops.math.reductions import reduce_all, reduce_any
from towerstrat.hosts.process_index import PROCESSES

_EQUAL = frozenset({"Const", "VarHandleOp", "LoopVariable"})
"""Operations without inputs whose values are taken to be the same in all processes: none is compared in each iteration
of a loop."""


def require_agreement(pred: Tensor, branches: Sequence[Block]) -> Tensor:
    """The predicate, made the same in all processes; a run in which it was not raises InvalidArgumentError.

    Only where a branch has a collective over several processes and the predicate depends on values that each process
    brings: then one small all-gather. Any other predicate is returned as it is.
    """
    if PROCESSES.count == 1:
        return pred
    axis = next((axis for block in branches for axis in _collective_axes(block) if axis.is_multi_process), None)
    if axis is None or pred.varies or not any(_is_brought(op) for op in _ancestors(pred)):
        return pred
    graph = get_default_graph()
    with graph.name_scope("agreed"):
        predicates = all_concat(reshape(pred, [1]), axis)
        is_same = equal(reduce_all(predicates), reduce_any(predicates))
        text = (
            f"The predicate {pred.name} (created at {pred.op.line}) of a cond differs by process, and the branches "
            "combine values of all towers: some processes would wait for others forever. Make it the same in all, or "
            "combine outside of the cond. By tower, which come in the order of the processes, it is"
        )
        with graph.control_dependencies([Assert(is_same, [text, predicates], summarize=axis.size)]):
            return identity(reduce_any(predicates))


def _collective_axes(block: Block) -> Iterator[Axis]:
    """Yield the axes of the collectives in a block, or in bodies inside."""
    for op in block.needed:
        if op.definition.collective:
            yield op.attrs["axis"]
        for body in op.bodies:
            yield from _collective_axes(body)


def _ancestors(tensor: Tensor) -> Iterator[Operation]:
    """Yield the operations that a value depends on."""
    seen: set[Operation] = set()
    left = [tensor.op]
    while left:
        op = left.pop()
        if op not in seen:
            seen.add(op)
            yield op
            left.extend(each.op for each in (*op.inputs, *(t for body in op.bodies for t in body.captures())))


def _is_brought(op: Operation) -> bool:
    """Whether each process brings a value of its own here: fed, passed to a function, or made by the host."""
    return (not op.inputs and op.type not in _EQUAL and not op.reads) or op.type == "PlaceholderWithDefault"
