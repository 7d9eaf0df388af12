"""Sharding annotations: the layout of a tensor over the logical devices of one replica (model parallelism, GSPMD).

Each replica of a mesh axis may have several "logical" devices (``Axis.logical``), as in the original's
``TPUStrategy.experimental_split_to_logical_devices``. They share one program: a value is replicated over them unless it
is annotated here, and the compiler then partitions the work. An annotation does not change a value; it is lowered to
``lax.with_sharding_constraint``:

    w: [8, 4], two logical devices

    split_over(w, axis, [2, 1])      each holds [4, 4]: rows 0 to 3, rows 4 to 7
    replicate(w, axis)               each holds [8, 4]
    assign_to(w, axis, 1)            recorded only: XLA cannot put work on one device of a partitioned program

Annotating what a variable was read as also sets the layout in which the variable is stored, and its gradients and slots
follow. Inside a branch or loop the constraint stands between optimization barriers (``_may_not_run``), as XLA refuses
branches whose results are laid out in different ways.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, Parts, constrain
from towerstrat.graph.ir.op_registry import define_op, same
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.building.op_builder import add_op

_PASSING = ("Identity", "ReadVariableOp")


def split_over(tensor: TensorLike, axis: Axis, partition_dimensions: Sequence[int], name: str | None = None) -> Tensor:
    """Annotates a tensor as split over the logical devices of its replica; its gradient is split alike.

    A variable whose value it is will be stored split, and so will slots that are made for it later.

    Args:
      tensor: of known rank; a variable is read.
      axis: has the number of logical devices of a replica.
      partition_dimensions: the number of parts of each dimension.
      name: of the annotation, which is an operation.

    Raises:
      ValueError: the numbers are not as many as dimensions, or not positive, or their product is not the number of
        logical devices; or a size is known and cannot be divided; or the rank is not known.
    """
    tensor = convert_to_tensor(tensor)
    parts = tuple(operator.index(p) for p in partition_dimensions)
    _check_parts(tensor, parts, axis.logical)
    source = tensor
    while source.op.type in _PASSING:
        source = source.op.inputs[0]
    cell: StateVariable | None = source.op.attrs.get("cell")
    if cell is not None and cell.parts is None:
        cell.parts = parts
    return _add_sharding(tensor, parts, None, name)


def _check_parts(tensor: Tensor, parts: tuple[int, ...], logical: int) -> None:
    dims: Dims = tensor.dims
    if dims is None or len(dims) != len(parts):
        rank = "unknown" if dims is None else len(dims)
        raise ValueError(
            f"partition_dimensions needs one number for each dimension of the tensor, got {list(parts)} for "
            f"{tensor!r} of rank {rank}."
        )
    for i, (size, count) in enumerate(zip(dims, parts, strict=True)):
        if count < 1:
            raise ValueError(f"partition_dimensions[{i}] must be at least 1, got {count}.")
        if size is not None and size % count:
            raise ValueError(
                f"The size of dimension {i} of {tensor!r} must be divisible by partition_dimensions[{i}]; {size} is "
                f"not by {count}."
            )
    if math.prod(parts) != logical:
        raise ValueError(
            f"The product of partition_dimensions must be the number of logical devices of a replica, {logical}; got "
            f"{list(parts)} with the product {math.prod(parts)}."
        )


def replicate(tensor: TensorLike, axis: Axis, name: str | None = None) -> Tensor:
    """Annotates a tensor as replicated: each logical device of its replica holds it whole.

    Raises:
      ValueError: its rank is not known, and there are several logical devices.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dims is None and axis.logical > 1:
        raise ValueError(f"The rank of a tensor that is replicated to logical devices must be known, got {tensor!r}.")
    return _add_sharding(tensor, (1,) * len(tensor.dims or ()), None, name)


def assign_to(tensor: TensorLike, axis: Axis, logical_device_id: int, name: str | None = None) -> Tensor:
    """Records that a tensor belongs on one logical device of its replica; nothing is placed there.

    The number is checked, and kept as the operation's attribute ``_logical_device``. The compiler cannot put work on
    one of the devices that it partitions a program over: every one computes the value.

    Raises:
      ValueError: no logical device has that number.
    """
    number = operator.index(logical_device_id)
    if not 0 <= number < axis.logical:
        raise ValueError(
            f"logical_device_id must be at least 0 and less than the number of logical devices of a replica, "
            f"{axis.logical}; got {number}."
        )
    return _add_sharding(convert_to_tensor(tensor), None, number, name)


def _add_sharding(tensor: Tensor, parts: Parts, device: int | None, name: str | None) -> Tensor:
    return add_op("XlaSharding", [tensor], {"parts": parts, "_logical_device": device}, name or "XlaSharding")


def _lower(lowering: Lowering, op: Operation) -> list[Array]:
    value, parts = lowering.value(op.inputs[0]), op.attrs["parts"]
    return [value if parts is None else constrain(value, parts, _may_not_run(op.block))]


def _may_not_run(block: Block | None) -> bool:
    """Whether a block lies in a branch or a loop, where XLA wants results of one layout from every branch."""
    while block is not None and block.predicate is None:
        block = block.parent
    return block is not None


define_op("XlaSharding", same, lower=_lower)
