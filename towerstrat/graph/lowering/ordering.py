"""The order in which a program's operations are evaluated: checks before the writes that they may forbid."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from towerstrat.graph.ir.elements import Operation, dependencies
from towerstrat.graph.ir.state import Cell


def checks_first(operations: Sequence[Operation]) -> Sequence[Operation]:
    """The operations, with those that write variables as late as their effects allow.

    A write that comes after all checks keeps the old value by itself where one fails. One that comes before some check
    costs a choice over the whole variable at the end.

    Args:
      operations: in an order in which they can be evaluated. Those that need the value or the state that another one
        leaves stay behind it.
    """
    late = [_changes_variables(op) for op in operations]
    if True not in late:
        return operations
    first = late.index(True)
    if not any(op.checks and not is_late for op, is_late in zip(operations[first:], late[first:], strict=True)):
        return operations
    place = {op: i for i, op in enumerate(operations)}
    followers: dict[int, list[int]] = {}
    waiting = [0] * len(operations)
    for i, befores in enumerate(_befores(operations, place)):
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


def _changes_variables(op: Operation) -> bool:
    return op.definition.writes or (bool(op.bodies) and any(_changes_variables(i) for b in op.bodies for i in b.needed))


def _befores(operations: Sequence[Operation], place: dict[Operation, int]) -> list[set[int]]:
    """For each operation the places of those that have to come before it."""
    result: list[set[int]] = []
    writer: dict[Cell, int] = {}
    readers: dict[Cell, list[int]] = {}
    for i, op in enumerate(operations):
        befores = {j for d in dependencies(op) if (j := place.get(d, i)) < i}
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
