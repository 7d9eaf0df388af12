"""Views of operations and tensors by shard: what the function of one tower gets to see of an SPMD operation.

Where each tower's function is traced by itself (``shard_traces``), the traces become one list of operations that every
tower runs. The Python of tower 1 must still find its own names, devices and inputs. So it gets a ``ShardOperation`` and
its ``ShardTensor``s, which stand for ``whole``, the operation or tensor that runs:

    mul            the operation, under the axis               tower_1/mul          the view of tower 1
    mul:0          [2] on each tower, varying                  tower_1/mul:0        ``whole`` is mul:0

When such a view is used, ``Graph.own`` replaces it: by ``whole`` in the trace of the same tower, elsewhere by a
``SelectPosition`` that takes this shard out of the varying tensor.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.op_registry import OpDef
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.user_lines import UserLine

T = TypeVar("T")


class AxisIndex:
    """One index along an axis, as an object. Compared by identity: one object for each index.

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
    """An output of a ``ShardOperation``: one shard of the tensor ``whole``."""

    __slots__ = ("whole",)
    op: ShardOperation

    def __init__(self, op: ShardOperation, full_tensor: Tensor):
        self.whole = full_tensor
        self.op = op
        self.value_index = full_tensor.value_index
        self.dtype = full_tensor.dtype
        self.varies = False
        self._consumers = []

    @property
    def dims(self) -> Dims:
        """The static shape, which all shards have."""
        return self.whole.dims

    @dims.setter
    def dims(self, dims: Dims) -> None:
        self.whole.dims = dims


class ShardOperation(Operation):
    """The view that one shard has of an operation. It is in no region, and has no effects: what runs is ``whole``.

    Args:
      whole: the operation that all shards run.
      place: the shard's axis index.
      name: of the view.
      inputs: the shard's tensors for those of the operation.
      attrs: the attributes that the operation has on the shard.
      definition: the ``OpDef`` of the type that the shard made, a constant where ``whole`` has one for each shard.
      line: the user's line that made it on the shard.
    """

    __slots__ = ("place", "whole")

    axis = None
    reads = writes = ()
    counter = None
    checks = False

    def __init__(
        self, full_operation: Operation, axis_index: AxisIndex, name: str, inputs: tuple[Tensor, ...],
        attrs: dict[str, Any], definition: OpDef, line: UserLine,
    ):  # fmt: skip
        self.whole = full_operation
        self.place = axis_index
        self.name = name
        self._inputs = inputs
        self.attrs = attrs
        self.definition = definition
        self.line = line
        self.type = definition.type
        self.graph = full_operation.graph
        self.block = full_operation.block
        self.index = full_operation.index
        self.device = ""
        self._colocation = ()
        self._control_inputs = []
        self._outputs = [ShardTensor(self, tensor) for tensor in full_operation.outputs]


def shard_of(tensor: Tensor, axis_index: AxisIndex) -> Tensor:
    """The view that one shard has of a varying tensor; made once for each."""
    view: Tensor = shard_of_operation(tensor.op, axis_index).outputs[tensor.value_index]
    return view


def shard_of_operation(op: Operation, axis_index: AxisIndex) -> ShardOperation:
    """The view that one shard has of an operation; made once for each."""
    parts: dict[AxisIndex, ShardOperation] = op.__dict__.setdefault("_parts", {})
    if axis_index not in parts:
        name = f"{op.name}/{axis_index.axis.name}_{axis_index.position}"
        parts[axis_index] = ShardOperation(op, axis_index, name, op.inputs, op.attrs, op.definition, op.line)
    return parts[axis_index]


@overload
def replicated_of(tensor: Tensor) -> Tensor: ...


@overload
def replicated_of(tensor: Operation) -> Operation: ...


@overload
def replicated_of(tensor: T) -> T: ...


def replicated_of(tensor: Any) -> Any:
    """The tensor or operation that a view stands for; any other value itself."""
    if isinstance(tensor, ShardTensor):
        return tensor.whole
    return tensor.whole if isinstance(tensor, ShardOperation) else tensor
