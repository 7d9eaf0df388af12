"""Replicated copies: values on a differentiated path, evaluated a second time with the type of a replicated value.

Values on a differentiated path are cast to varying, so that each tower has its own cotangents. ``jax.shard_map`` with
``check_vma=True`` refuses to store or fetch one as replicated, and a ``pmean`` per write would double the all-reduces.
So where the graph knows that all shards agree, the operation is evaluated again on replicated inputs; XLA merges the
two evaluations, which compute the same on the same numbers.

    w: replicated        h = Mul(w, 2.) on the path of a gradient: varying, as w was cast before
    v.assign(h)          copies[h] = Mul(w, 2.) again, of the replicated w: stored without a collective

Branches and loops are evaluated again in their pruned form, where the program runs only some of their outputs.

>>> pruned_forms([])
{}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from towerstrat.graph.ir.graph_elements import Operation, Tensor, with_bodies
from towerstrat.graph.ir.mesh import varies
from towerstrat.graph.ir.output_pruning import PrunedOperation
from towerstrat.graph.ir.types import Array, resource

if TYPE_CHECKING:
    from towerstrat.graph.lowering.lowering import Lowering


class ReplicatedCopies:
    """The replicated copies that an evaluation has made.

    Args:
      pruned: operation -> its pruned form, where some of its outputs are left out.
    """

    def __init__(self, pruned: Mapping[Operation, Operation]):
        self._pruned = pruned
        self._copies: dict[Tensor, Array] = {}

    def fork(self) -> ReplicatedCopies:
        """The copies of an evaluation inside of this one's: none yet."""
        return ReplicatedCopies(self._pruned)

    def copy_of(self, tensor: Tensor, lowering: Lowering) -> Array:
        """The replicated copy of a tensor that the graph calls invariant; ``lowering``: the evaluation of these copies.

        Its operation, and those before it whose values were cast, are evaluated again, each once.
        """
        # Depth first with a stack of its own: chains of operations are longer than Python's recursion limit.
        stack = [tensor]
        while stack:
            op = self._pruned.get(stack[-1].op, stack[-1].op)
            equal = [t for t in op.inputs if t.dtype is not resource and not t.varies]
            missing = [t for t in equal if t not in self._copies and varies(lowering.value(t))]
            if missing and stack[-1] not in self._copies:
                stack += missing
                continue
            if stack.pop() not in self._copies:
                again = lowering.fork({t: lowering.invariant(t) for t in equal}, lowering.state_read_by(op))
                again.suppress_prints = True
                self._copies.update(zip(op.outputs, again.evaluate(op), strict=True))
        return self._copies[tensor]


def pruned_forms(operations: Iterable[Operation]) -> dict[Operation, Operation]:
    """Operation -> its pruned form, of those among operations and in their bodies that have one."""
    return {op.whole: op for op in with_bodies(operations) if isinstance(op, PrunedOperation)}
