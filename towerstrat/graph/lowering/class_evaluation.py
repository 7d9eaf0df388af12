"""Evaluate operations once per shard class, where shards differ in the shapes of their inputs or in what they run.

An operation that depends on a ragged input has one value per class, a ``ByClass``. ``execute_by_class`` evaluates it in
a child evaluation for each class, which sees that class's values at their exact shapes; operations that combine all
towers take one padded, varying value (``padded_value``), and ``collect`` brings together what the children wrote.

>>> import jax
>>> from towerstrat.graph.ir.uneven_shards import UnevenShards
>>> from towerstrat.graph.ir.mesh import Axis
>>> tower = Axis("tower", jax.devices()[:1] * 3)
>>> classes = ClassEvaluation(VjpScope())
>>> classes.partition = ShardClasses(tower, [UnevenShards.of([np.ones(3), np.ones(3), np.ones(2)])])
>>> loss = classes.by_class({0: np.float32(0.5), 1: np.float32(0.25)})     # towers 0 and 1 have 3 rows, tower 2 has 2
>>> loss.values, at(loss, 1)
((np.float32(0.5), np.float32(0.25)), np.float32(0.25))

The children are made at their first use. Gradients are taken in the children too: their backward passes run in lockstep
(``gradients``), as all shards have to take part in each sum over the axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.shard_classes import (
    ByClass,
    ShardClasses,
    at,
    mark_equal,
    steps_of_gradients,
    tracing,
)
from towerstrat.graph.lowering.vjp_scope import VjpScope

if TYPE_CHECKING:
    from towerstrat.graph.lowering.lowering import Lowering


class ClassEvaluation:
    """The shard classes of an evaluation, and what was evaluated once for each.

    Args:
      vjp: the derivative that the evaluation is part of.
      outer: of the evaluation that this one's was forked from.

    Attributes:
      partition: the shard classes; None where all shards are alike.
      shard_class: of a child for one class, its number; None in an evaluation of all shards.
      operations: those that were evaluated once per shard class.
      children: an evaluation per shard class, once there is one.
    """

    def __init__(self, vjp: VjpScope, outer: ClassEvaluation | None = None):
        self._vjp = vjp
        self.partition: ShardClasses | None = None if outer is None else outer.partition
        self.shard_class: int | None = None if outer is None else outer.shard_class
        self.operations: set[Operation] = set() if outer is None else outer.operations
        self.children: list[Lowering] = []

    @property
    def of_all(self) -> ShardClasses:
        """The shard classes of an evaluation that has some."""
        assert self.partition is not None
        return self.partition

    def by_class(self, values: Mapping[int, Array]) -> ByClass:
        """A ``ByClass`` from the values of some shard classes; zeros for the others, which nobody uses."""
        first = next(iter(values.values()))
        return ByClass([
            values[number] if number in values else jnp.zeros(np.shape(first), first.dtype)
            for number in range(self.of_all.count)
        ])  # fmt: skip

    def padded_value(self, value: Array | ByClass) -> Array:
        """A ``ByClass`` as one varying array, padded to the largest shape; any other value as it is."""
        if self.partition is None:
            assert not isinstance(value, ByClass)
            return value
        return self.partition.padded_value(value, marked=not self._vjp.active)

    def require_one_shape(self, value: Array | ByClass, holder: Tensor | StateVariable) -> Array:
        """``padded_value`` of what ``holder`` has. Raises UnsupportedError where its shape differs by tower."""
        if isinstance(value, ByClass) and len(set(value.shapes)) > 1:
            where = f" (created at {holder.op.line})" if isinstance(holder, Tensor) else ""
            shapes = sorted(set(value.shapes))
            raise UnsupportedError(
                f"{holder!r}{where} differs in shape by tower (an uneven batch): {shapes}. It enters or leaves a "
                "branch or loop that combines values of all towers, and has to be of one shape there. Combine outside, "
                "or use batches of one size (drop_remainder=True)."
            )
        return self.padded_value(value)

    def stored(self, cell: StateVariable, value: Array | ByClass) -> Array:
        """A state variable's value as one array, to be stored.

        Raises:
          UnsupportedError: its shape differs by shard.
        """
        if isinstance(value, ByClass) and len(set(value.shapes)) > 1:
            raise UnsupportedError(
                f"Variable {cell.name} would have another shape on each {cell.axis.name if cell.axis else 'tower'}: "
                f"{sorted(set(value.shapes))}. Assign a value whose shape does not depend on the batch."
            )
        return self.padded_value(value)


def by_shard_class(lowering: Lowering) -> list[Lowering]:
    """One child evaluation per shard class; made at first use."""
    classes = lowering.classes
    if not classes.children:
        for number in range(classes.of_all.count):
            child = lowering.fork()
            child.classes.shard_class = number
            child.state.values = {cell: at(value, number) for cell, value in lowering.state.values.items()}
            lowering.state.by_class.append(child.state)
            classes.children.append(child)
    return classes.children


def differs_by_class(lowering: Lowering, op: Operation) -> bool:
    """Whether the operation, an input, state that it uses or its gradient's path differs by shard class."""
    if op.axis_indices is not None or op.definition.index_dependent:
        return True
    if any(isinstance(lowering.value(t), ByClass) for t in op.inputs if t.dtype is not resource):
        return True
    if any(isinstance(lowering.state.get(c), ByClass) for c in (*op.reads, *op.writes)):
        return True
    by_class = lowering.classes.operations
    return bool(by_class) and any(step in by_class for step in steps_of_gradients(op))


def execute_by_class(lowering: Lowering, op: Operation) -> None:
    """Evaluate an operation once per shard class; an output that the graph calls replicated is the first's."""
    classes = lowering.classes
    numbers = classes.of_all.of(op)
    children = by_shard_class(lowering)
    for number in numbers:
        with tracing(number):
            children[number].execute(op)
    for tensor in op.outputs:
        if tensor not in lowering.fed:
            values = {number: children[number].values.pop(tensor) for number in numbers}
            lowering.values[tensor] = classes.by_class(values) if tensor.varies else mark_equal(values[numbers[0]])
    collect(lowering)


def collect(lowering: Lowering) -> None:
    """Write to an evaluation what its children per shard class wrote, and clear their lists.

    A varying variable gets one value per class, a replicated one that of the first class that wrote it.
    """
    states = lowering.state.by_class
    for cell in {cell: None for state in states for cell in state.written}:
        wrote = next(state[cell] for state in states if cell in state.written)
        if cell.is_varying:
            lowering.state.write(cell, ByClass([state.get(cell, wrote) for state in states]))
        else:
            lowering.state.write(cell, mark_equal(wrote))
    for state in states:
        state.written.clear()
