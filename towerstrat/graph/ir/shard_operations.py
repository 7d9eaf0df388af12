"""Operations as single positions of an axis have them, where each position's function is traced by itself.

The traces of all positions become one list of operations that every position runs. What a position's function gets to
see of such an operation is a ``ShardOperation``: it has the position's name, device and inputs, and stands for it
there.
"""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.shapes import Dims


class AxisIndex:
    """One position of an axis. Compared by identity: one object for each position.

    Attributes:
      axis: the axis.
      position: the index along it.
    """

    __slots__ = ("axis", "position")

    def __init__(self, axis: Axis, position: int):
        self.axis = axis
        self.position = position

    def __repr__(self) -> str:
        return f"<{self.axis.name} {self.position}>"


class ShardTensor(Tensor):
    """An output of a ``ShardOperation``: what one position has of the tensor ``whole``."""

    __slots__ = ("whole",)
    op: ShardOperation

    def __init__(self, op: ShardOperation, whole: Tensor):
        self.whole = whole
        self.op = op
        self.value_index = whole.value_index
        self.dtype = whole.dtype
        self.varies = False
        self._consumers = []

    @property
    def dims(self) -> Dims:
        """The static shape, which all positions share."""
        return self.whole.dims

    @dims.setter
    def dims(self, dims: Dims) -> None:
        self.whole.dims = dims


class ShardOperation(Operation):
    """An operation as one position has it. It is in no region: what runs is ``whole``.

    Attributes:
      whole: the operation of all positions.
      place: the position.
    """

    __slots__ = ("place", "whole")
    whole: Operation
    place: AxisIndex

    def stand_for(
        self, whole: Operation, place: AxisIndex, name: str, inputs: tuple[Tensor, ...], attrs: dict[str, Any]
    ) -> ShardOperation:
        """Makes this the part that a position has of ``whole``."""
        self.whole = whole
        self.place = place
        self.name = name
        self._inputs = inputs
        self.attrs = attrs
        self.definition = whole.definition
        self.type = whole.type
        self.graph = whole.graph
        self.line = whole.line
        self.block = whole.block
        self.axis = None
        self.device = ""
        self.index = whole.index
        self.reads = self.writes = ()
        self.counter = None
        self.checks = False
        self._colocation = ()
        self._control_inputs = []
        self._outputs = [ShardTensor(self, tensor) for tensor in whole.outputs]
        return self


def shard_of(tensor: Tensor, place: AxisIndex) -> Tensor:
    """What a position has of a tensor that varies along the axis; made once for each."""
    found: Tensor = shard_of_operation(tensor.op, place).outputs[tensor.value_index]
    return found


def shard_of_operation(op: Operation, place: AxisIndex) -> ShardOperation:
    """The operation as a position has it; made once for each."""
    parts: dict[AxisIndex, ShardOperation] = op.__dict__.setdefault("_parts", {})
    if place not in parts:
        name = f"{op.name}/{place.axis.name}_{place.position}"
        parts[place] = ShardOperation().stand_for(op, place, name, op.inputs, op.attrs)
    return parts[place]


def replicated_of(tensor: Any) -> Any:
    """The tensor or operation that a part is one of; any other value itself."""
    if isinstance(tensor, ShardTensor):
        return tensor.whole
    return tensor.whole if isinstance(tensor, ShardOperation) else tensor
