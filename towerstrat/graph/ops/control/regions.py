"""Regions of branches and loops: composite values, variance along the mesh axis, checks, and their evaluation.

A region's parameters and results are tensors; composite values (sparse, ragged, TensorArrays) pass as several
(``parts_of``, ``rebuilt``). Shapes of the two branches are merged:

>>> merged_dims((2, 3), (4, 3)), merged_dims((2,), (2, 3))
((None, 3), None)

Along a mesh axis each value is varying or replicated. ``entering`` gives regions replicated inputs as such and
``leaving`` types the results again, so that ``lax.cond`` and ``lax.while_loop`` see the same types in both branches or
before and after an iteration. Under a predicate that varies, replicas take different ways: a collective there would
wait for ever, and a write of a replicated variable would make its copies differ, so ``check_under_varying`` refuses
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.composite_values import Composite
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, make_varying, mark_varying
from towerstrat.graph.ir.mesh import has_logical, undivided, vary, whole
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, resource, string, variant
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.lowering.shard_classes import ByClass

K = TypeVar("K")
Lower = Callable[[Lowering, Operation], list[Any]]
"""The lowering of an operation type: its outputs' values, arrays or ``Unwritten``."""


class EndOfLoop(Exception):
    """Raised by an operation in a loop's body at the end of the data: the loop ends before this iteration."""


def is_composite(leaf: object) -> bool:
    """Whether a value passes through branches and loops as several tensors (a ``Composite``)."""
    return isinstance(leaf, Composite)


def parts_of(leaf: Any) -> list[Tensor]:
    """The tensors that a value consists of; a number or an array becomes a constant."""
    return list(leaf._tensors()) if isinstance(leaf, Composite) else [convert_to_tensor(leaf)]


def rebuilt(leaf: Any, tensors: Iterator[Tensor]) -> Any:
    """A value like ``leaf``, made of the next of ``tensors``."""
    if not isinstance(leaf, Composite):
        return next(tensors)
    return leaf._like([next(tensors) for _ in range(leaf._tensor_count())])


def merged_dims(one: Dims, two: Dims) -> Dims:
    """The partially known shape that covers both shapes."""
    if one is None or two is None or len(one) != len(two):
        return None
    return tuple(a if a == b else None for a, b in zip(one, two, strict=True))


def captures_of(blocks: Iterable[Block], but: Iterable[Tensor] = ()) -> list[Tensor]:
    """The outside tensors that regions use, each once, without those in ``but``."""
    captures = dict.fromkeys(t for block in blocks for t in block.captures())
    for tensor in but:
        captures.pop(tensor, None)
    return list(captures)


# ---- variance along the axis -----------------------------------------------------------------------------------


def remark(block: Block) -> None:
    """Propagate variance through a region again, after an input of it was found to vary."""
    for op in block.ops:
        mark_varying(op)


def region_is_uniform(outer: Block, inner: Block) -> bool:
    """Whether all shards execute ``inner`` equally often per ``outer``: no predicate between them varies."""
    block: Block | None = inner
    while block is not None and block is not outer:
        if block.predicate is not None and block.predicate.varies:
            return False
        block = block.parent
    return True


def _inside(op: Operation) -> Iterator[Operation]:
    """The operations that the bodies of an operation run, nested ones included."""
    for body in op.bodies:
        for inner in body.needed:
            yield inner
            yield from _inside(inner)


def check_under_varying(op: Operation, predicate: Tensor) -> None:
    """Check the operations that run under a varying predicate. Their random counters become varying.

    Raises:
      UnsupportedError: a collective, or an assignment to a replicated variable.
    """
    for inner in _inside(op):
        if inner.definition.collective:
            raise UnsupportedError(
                f"{inner.name} (type {inner.type}, created at {inner.line}) combines values of all towers, but runs "
                f"under the predicate {predicate.name} (created at {predicate.op.line}), which differs by tower: some "
                "towers would wait for others forever. Combine outside of the cond or loop, or make the predicate the "
                "same everywhere."
            )
        for cell in inner.writes:
            if cell.is_varying or inner.bodies:
                continue
            if cell.own is not None:
                make_varying(cell, op.graph)
                continue
            axis = inner.axis or op.axis
            if cell is inner.counter and axis is not None:
                cell.axis = axis
                continue
            raise UnsupportedError(
                f"{inner.name} (created at {inner.line}) assigns to variable {cell.name}, which has one value for all "
                f"towers, under the predicate {predicate.name} (created at {predicate.op.line}), which differs by "
                "tower. Make the variable tower-local (synchronization=ON_READ), or the predicate the same everywhere."
            )


# ---- evaluation ------------------------------------------------------------------------------------------------


def entering(lowering: Lowering, inputs: Iterable[Tensor]) -> dict[Tensor, Array]:
    """Replicated values of a branch's or loop's inputs that do not vary, for its regions.

    So JAX types replicated values as such, and ``lax.cond`` and ``lax.scan`` keep it so. Empty without a mesh
    axis, and where gradients are taken: there values are varying, to have cotangents of their own.
    """
    if lowering.axis is None or lowering.vjp.active:
        return {}
    return {t: lowering.invariant(t) for t in inputs if not t.varies and t.dtype not in (resource, string, variant)}


def _whole(values: dict[K, Array]) -> dict[K, Array]:
    """The values, gathered over the logical devices of a shard."""
    return dict(zip(values, whole(list(values.values())), strict=True))


def by_position(lower: Lower) -> Lower:
    """Wrap the lowering of a branch or loop that replicas may take differently: no value is sharded inside.

    A sharded value would need an exchange between logical devices that only some replicas reach.
    """

    def lower_whole(lowering: Lowering, op: Operation) -> list[Any]:
        if not has_logical() or region_is_uniform(op.block, op.bodies[1]):
            return lower(lowering, op)
        inputs = [t for t in op.inputs if t.dtype not in (resource, string)]
        values = {t: lowering.value(t) for t in inputs} | entering(lowering, inputs)
        state = {c: lowering.state[c] for c in (*op.reads, *op.writes) if c in lowering.state}
        child = lowering.fork(_whole(values), _whole(state))
        with undivided():
            outputs = lower(child, op)
        for cell in child.state.written:
            lowering.state.write(cell, whole(child.state[cell]))
        if lowering.vjp.lookups is not None:
            lowering.vjp.lookups.take(child.vjp.lookups)
        gathered: list[Any] = whole(outputs)
        return gathered

    return lower_whole


def leaving(child: Lowering, tensor: Tensor, varying: bool, keep: bool = False) -> Any:
    """The value of a region's result, typed as varying or replicated. ``keep``: leave numpy values as they are."""
    value = child.classes.require_one_shape(child.value(tensor), tensor)
    if tensor.dtype is string or not isinstance(value, jax.Array | np.ndarray | np.generic):
        return value
    if keep and not isinstance(value, jax.Array):
        return value
    if varying:
        return vary(jnp.asarray(value), child.axis)
    return jnp.asarray(child.invariant(tensor))


def state_type(lowering: Lowering, cell: StateVariable, value: Array | ByClass) -> jax.Array:
    """A state variable's value, typed as in a carry: varying where it is per replica or differentiated."""
    value = lowering.classes.require_one_shape(value, cell)
    if cell.is_varying or lowering.vjp.active:
        varying: jax.Array = vary(jnp.asarray(value), lowering.axis)
        return varying
    return jnp.asarray(value)


def carry_type(value: Array) -> tuple[tuple[int, ...], str]:
    """(shape, name of the dtype) of a carry's value, which must not change."""
    return (np.shape(value), str(value.dtype))


def _define_identity(name: str) -> None:
    """Define an identity operation of this type."""
    define_op(
        name, lambda inputs, attrs: [Signature(inputs[0].dtype, inputs[0].dims)],
        lower=lambda lowering, op: [lowering.value(op.inputs[0])], numpy=lambda x: x, view=True, derivative="linear",
        passes_rows=True,
    )  # fmt: skip


_define_identity("Merge")
_define_identity("Exit")


def flows_of(
    results: Iterable[Set[Tensor]], inputs: Sequence[Tensor], variables: Sequence[Tensor] = ()
) -> tuple[frozenset[int], ...]:
    """For each output the indices of the inputs that it depends on.

    Indices, since the operation gets its own replica's value of an input, which may be another tensor.

    Args:
      results: for each output all tensors that it depends on.
      inputs: of the operation, in order.
      variables: the tensors that are the first inputs inside of the regions.
    """
    places: dict[Tensor, set[int]] = {}
    for tensors in (inputs, variables):
        for i, tensor in enumerate(tensors):
            places.setdefault(tensor, set()).add(i)
    return tuple(frozenset(i for t in r if t in places for i in places[t]) for r in results)


def flows_through(
    flows: Sequence[frozenset[int]], inputs: Sequence[Tensor], remaining: Sequence[Tensor]
) -> tuple[frozenset[int], ...]:
    """The flows of an operation of which only some inputs are left."""
    return flows_of([{inputs[i] for i in flow} for flow in flows], remaining)


def bind(tensors: Sequence[Tensor], values: Sequence[Any], bindings: Mapping[Tensor, Array]) -> dict[Tensor, Any]:
    """A copy of ``bindings`` with values for some more tensors."""
    return {**bindings, **dict(zip(tensors, values, strict=True))}
