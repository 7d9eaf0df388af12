"""Order a program's operations: checks before the writes that they may mask, collectives side by side, strings last.

Any order that keeps data, control and state dependences gives the same values; these are cheaper. A write after all
checks is masked as it is made; one before a check must be undone by a select over the whole variable. Collectives that
have their inputs at the same time can be one.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     count = tf.assign_add(tf.Variable(0.0), 1.0)
...     row = tf.gather(tf.zeros([5]), tf.placeholder(tf.int32, []))
>>> operations = [op for op in graph.get_operations() if op.checks or op.definition.writes]
>>> [op.type for op in late_ones_last(operations, collectives=False)]
['GatherV2', 'AssignVariableOp', 'AssignAddVariableOp']
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Sequence

from towerstrat.graph.ir.graph_elements import Operation, Tensor, dependencies, has_effect, runs_in_numpy
from towerstrat.graph.ir.state import StateVariable

_COLLECTIVE, _WRITE = 1, 2


def late_ones_last(operations: Sequence[Operation], collectives: bool) -> Sequence[Operation]:
    """The operations in topological order, with writes of variables as late as dependences allow.

    A write that comes after all checks keeps the old value by itself where one fails. One that comes before some check
    costs a select over the whole variable at the end.

    Args:
      operations: in an order in which they can be evaluated. Those that need the value or the state that another one
        leaves stay behind it.
      collectives: whether collectives are late too, before the writes: all whose inputs are there by then are combined.
    """
    late = [_lateness(op, collectives) for op in operations]
    first = next((i for i, rank in enumerate(late) if rank), len(late))
    later = list(zip(operations[first:], late[first:], strict=True))
    if not any(op.checks and rank != _WRITE for op, rank in later) and _COLLECTIVE not in late:
        return operations
    index_of = {op: i for i, op in enumerate(operations)}
    followers: dict[int, list[int]] = {}
    waiting = [0] * len(operations)
    for i, befores in enumerate(_befores(operations, index_of)):
        waiting[i] = len(befores)
        for before in befores:
            followers.setdefault(before, []).append(i)
    ready = [(late[i], i) for i, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(operations[i])
        for follower in followers.get(i, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (late[follower], follower))
    return order


def texts_last(operations: Sequence[Operation], fed: Container[Tensor]) -> list[Operation]:
    """The operations, with those that only numpy computes (strings) last, where only their like need them.

    A summary in the middle of a model would cut its program in two, and a gradient cannot be taken across the cut.

    Args:
      operations: in an order in which they can be evaluated.
      fed: tensors that are given.
    """
    before: set[Operation] = set()
    last: set[Operation] = set()
    for op in reversed(operations):
        of_text = op.axis is None and op.definition.host is None and runs_in_numpy(op)
        if of_text and op not in before and not (op.bodies or op.reads or has_effect(op)):
            last.add(op)
        else:
            before.update(dependencies(op, fed))
    return [op for op in operations if op not in last] + [op for op in operations if op in last]


def _lateness(op: Operation, collectives: bool) -> int:
    if _changes_variables(op):
        return _WRITE
    return _COLLECTIVE if collectives and op.definition.collective else 0


def _changes_variables(op: Operation) -> bool:
    return op.definition.writes or (bool(op.bodies) and any(_changes_variables(i) for b in op.bodies for i in b.needed))


def _befores(operations: Sequence[Operation], index_of: dict[Operation, int]) -> list[set[int]]:
    """For each operation the indices of its predecessors: inputs, control inputs, and read/write order of state."""
    result: list[set[int]] = []
    writer: dict[StateVariable, int] = {}
    readers: dict[StateVariable, list[int]] = {}
    for i, op in enumerate(operations):
        befores = {j for d in dependencies(op) if (j := index_of.get(d, i)) < i}
        for cell in (*op.reads, *op.writes):
            if cell in writer:
                befores.add(writer[cell])
        for cell in op.writes:
            befores.update(readers.pop(cell, ()))
            writer[cell] = i
        for cell in op.reads:
            readers.setdefault(cell, []).append(i)
        befores.discard(i)
        result.append(befores)
    return result
