"""Match branches and loops of two towers' traces that differ only in captures and in constants inside.

``shard_traces`` makes one operation of them: captures become varying inputs (``replace_inside``), constants varying
constants. It is refused where such a tensor would decide a shape or the control flow inside (``decides_inside``), since
all towers run the region with the same shapes, or would be written to a replicated variable (``writes_variables``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor


def counterparts(mine: Sequence[Tensor], other: Sequence[Tensor]) -> dict[Tensor, Tensor] | None:
    """One trace's inputs -> the other's, pairwise; None where the mapping is not one to one."""
    there, back = dict(zip(mine, other, strict=False)), dict(zip(other, mine, strict=False))
    one_to_one = all(there[m] is o and back[o] is m for m, o in zip(mine, other, strict=False))
    return there if len(mine) == len(other) and one_to_one else None


def inside(op: Operation) -> Iterator[Operation]:
    """The operations of the bodies of an operation, nested ones included."""
    for body in op.bodies:
        for inner in body.ops:
            yield inner
            yield from inside(inner)


def writes_variables(op: Operation) -> bool:
    """Whether an operation writes replicated variables; random counters do not count."""
    counters = {inner.counter for inner in inside(op)}
    return any(cell not in counters and not cell.is_varying for cell in op.writes)


def decides_inside(op: Operation, tensor: Tensor) -> bool:
    """Whether a shape in the bodies, a branch's predicate or a loop's trip count may depend on a tensor there.

    Booleans and integers are followed, through everything computed from them except floating values.
    """
    operations, results = {*inside(op)}, set(_results(op))
    stack, seen = [tensor], {tensor}
    while stack:
        used = stack.pop()
        discrete = not (used.dtype.is_floating or used.dtype.is_complex)
        if discrete and used in results:
            return True
        for consumer in used._consumers:
            if consumer not in operations:
                continue
            places = [i for i, t in enumerate(consumer._inputs) if t is used]
            definition = consumer.definition
            sized = definition.dynamic or any(i in definition.sized_by for i in places)
            unknown = any(t.dims is None or None in t.dims for t in consumer._outputs)
            known = any(i in places for i in definition.known(len(consumer._inputs), consumer.attrs))
            if known or (discrete and (consumer.bodies or (sized and unknown))):
                return True
            if discrete:
                reached = [t for t in consumer._outputs if not t.dtype.is_floating and t not in seen]
                seen.update(reached)
                stack += reached
    return False


def _results(op: Operation) -> Iterator[Tensor]:
    for body in op.bodies:
        yield from (r for r in body.results if isinstance(r, Tensor))
        for inner in body.ops:
            yield from _results(inner)


def replace_inside(op: Operation, new: Mapping[Tensor, Tensor]) -> None:
    """Replace captures in the bodies of an operation, nested ones included."""
    for body in op.bodies:
        _replace(body, new)


def _replace(block: Block, new: Mapping[Tensor, Tensor]) -> None:
    for op in block.ops:
        for tensor in op._inputs:
            if tensor in new:
                tensor._consumers.remove(op)
                new[tensor]._consumers.append(op)
        op._inputs = tuple(new.get(t, t) for t in op._inputs)
        replace_inside(op, new)
    block.results = tuple(new.get(r, r) for r in block.results)
    if block.predicate is not None:
        block.predicate = new.get(block.predicate, block.predicate)
